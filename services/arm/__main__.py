"""One arm's process: python -m services.arm --side right [--driver sim]."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from proto.messages import ArmTarget, HandPose
from proto.reasons import SIDES, Side
from proto.topics import ARM_STATES, Topic
from proto.views import HandStop
from runtime.bus import CommandServer
from runtime.errors import ConfigError
from runtime.histogram import Histogram
from runtime.log import OnChange
from runtime.service import Context, draw_u64, flag_value, run_as_main, stay_idle
from runtime.settings import ArmSettings
from runtime.tick import Tick, period_from_hz
from services.arm import status
from services.arm.core import ArmCore
from services.arm.driver_thread import DriverThread
from services.arm.drivers import load
from services.arm.latch_file import LatchFile
from services.arm.options import driver_options

CLOSE_WAIT_S: Final = 0.5


class ArmService:
    """Sockets and clock around one ArmCore."""

    def __init__(self, context: Context, side: Side, arm: ArmSettings) -> None:
        self._context = context
        self._clock = context.clock
        driver = load(arm.driver, driver_options(arm))
        self.thread = DriverThread(driver, context.clock)
        self.core = ArmCore(
            side,
            arm,
            context.settings.mapper[side],
            driver.info,
            self.thread,
            context.who.boot,
            draw_u64,
        )
        self._latch = LatchFile(context.run_dir / f"arm-{side}.estop")
        if self._latch.latched:
            context.log.warning("estop_latched_before", fix=f"python -m tools.arm reset {side}")
            self.core.machine.latched_before()
        self._topic: Topic = ARM_STATES[SIDES.index(side)]
        self._bus = context.subscriber(views={HandPose: HandStop})
        self._commands = CommandServer(context.zmq, context.run_dir, side)
        self._tick = Tick(period_from_hz(arm.control_hz), context.clock)
        self._lateness = Histogram()
        self._told = OnChange(context.log, "arm_state_changed")
        self._counted_foreign_ns: int | None = None
        context.loop.on_readable(self._bus.socket, self._on_bus)
        context.loop.on_readable(self._commands.socket, self._on_commands)
        context.loop.every(self._tick, self._on_tick)
        context.on_stop = self._ask_stop
        context.health.counters = self._counters
        context.health.jitter_ms = self._jitter_ms

    def _on_bus(self) -> None:
        """Stops first, at once; then the targets in order."""
        received = self._bus.drain()
        now_ns = self._clock.now_ns()
        stops = [
            self.core.on_hand_pose(item.message, now_ns)
            for item in received
            if isinstance(item.message, HandStop)
        ]
        if any(stops):
            self._step(now_ns)
        if self._bus.foreign_host_ns != self._counted_foreign_ns:
            self._counted_foreign_ns = self._bus.foreign_host_ns
            self.core.on_foreign_host(now_ns)
        for item in received:
            if isinstance(item.message, ArmTarget):
                self.core.on_target(item.message, now_ns)

    def _on_commands(self) -> None:
        now_ns = self._clock.now_ns()
        stops = [self.core.on_command(command, now_ns) for command in self._commands.drain()]
        if any(stops):
            self._step(now_ns)

    def _on_tick(self, expired: int) -> None:
        now_ns = self._clock.now_ns()
        late_ns = now_ns - self._tick.deadline_ns + (expired - 1) * self._tick.period_ns
        self._lateness.add(max(0, late_ns))
        self._step(now_ns, late_ns, expired - 1)
        if self.core.stopping and self.core.stopped:
            self._context.loop.stop()

    def _step(self, now_ns: int, late_ns: int = 0, missed: int = 0) -> None:
        self.core.step(now_ns, late_ns, missed)
        self._latch.keep(self.core.machine.state == "ESTOP_LATCHED")
        state = status.arm_state(self.core, now_ns)
        self._context.publisher.publish(self._topic, state)
        self._told.update(f"{state.state}:{state.reason or 'ok'}")

    def _ask_stop(self) -> None:
        """SIGTERM: brake, hold, then end."""
        self.core.stopping = True

    def _counters(self) -> dict[str, int]:
        return {
            "missed_ticks": self.core.missed_ticks,
            "commands_refused": self.core.desk.refused,
            **self._bus.counters,
            **{f"command_{name}": count for name, count in self._commands.counters.items()},
        }

    def _jitter_ms(self) -> tuple[float | None, float | None]:
        """Tick lateness since the last health message."""
        both = self._lateness.percentile_ms(50), self._lateness.percentile_ms(99)
        self._lateness.reset()
        return both


def body(context: Context) -> None:
    """Sets the arm up on the loop, or stays idle where this configuration has no such arm."""
    side = flag_value(context.args, "--side")
    if side not in SIDES:
        raise ConfigError(f"--side must be one of {', '.join(SIDES)}, is {side}")
    arm = context.settings.arm.get(side)
    if arm is None:
        stay_idle(context, f"robot {context.settings.robot} has no [arm.{side}]")
        return
    named = flag_value(context.args, "--driver")
    if named is not None:
        arm = replace(arm, driver=named)
    service = ArmService(context, side, arm)
    service.thread.start()
    context.at_end = lambda: service.thread.close(CLOSE_WAIT_S)


def program_of(args: tuple[str, ...]) -> str:
    """Name in the process table: sim-arm-* where the driver is overridden."""
    prefix = "sim-arm" if "--driver" in args else "arm"
    return f"{prefix}-{flag_value(args, '--side') or 'right'}"


if __name__ == "__main__":
    run_as_main(program_of, body)
