"""Test doubles of this package: a clock that moves only when told, a driver that records."""

from __future__ import annotations

from collections.abc import Callable

from runtime.clock import NS_PER_S
from services.arm.driver import Ack, Driver, DriverInfo, DriverState, StopKind, Target


class FakeClock:
    """Starts at 100 s, so that an instant of 0 is noticed as a mistake."""

    def __init__(self, now_ns: int = 100 * NS_PER_S) -> None:
        self.ns = now_ns

    def now_ns(self) -> int:
        return self.ns

    def advance_s(self, dt_s: float) -> None:
        self.ns += round(dt_s * NS_PER_S)


class FakeDriver(Driver):
    """Records each call by name; `on[name]` runs inside it and may raise or block."""

    def __init__(self, clock: FakeClock, info: DriverInfo) -> None:
        self.calls: list[str] = []
        self.targets: list[Target] = []
        self.on: dict[str, Callable[[], None]] = {}
        self._clock = clock
        self._info = info

    @property
    def info(self) -> DriverInfo:
        return self._info

    def _record(self, call: str) -> None:
        self.calls.append(call)
        self.on.get(call, lambda: None)()

    def open(self) -> None:
        self._record("open")

    def close(self) -> None:
        self._record("close")

    def enable(self) -> None:
        self._record("enable")

    def disable(self, *, confirm_drop: bool = False) -> None:
        self._record(f"disable {confirm_drop}")

    def command(self, target: Target) -> Ack:
        self._record("command")
        self.targets.append(target)
        return Ack("SENT", "", target)

    def state(self) -> DriverState | None:
        self._record("state")
        pose = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 0.5)
        return DriverState(self._clock.now_ns(), *pose, q_rad=None, enabled=True)

    def stop(self, kind: StopKind) -> None:
        self._record(f"stop {kind}")

    def clear(self, *, confirm_drop: bool = False) -> None:
        self._record(f"clear {confirm_drop}")


class LogLines:
    """A log sink that keeps the lines: `monkeypatch.setattr(log, "sink", LogLines())`."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, line: bytes) -> bool:
        self.lines.append(line.decode())
        return True

    @property
    def events(self) -> list[str]:
        """Names of the events, in order."""
        return [line.split()[3] for line in self.lines]
