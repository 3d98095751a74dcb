"""Test doubles of this package: a clock that moves only when told."""

from __future__ import annotations

from runtime.clock import NS_PER_S


class FakeClock:
    """Starts at 100 s, so that an instant of 0 is noticed as a mistake."""

    def __init__(self, now_ns: int = 100 * NS_PER_S) -> None:
        self.ns = now_ns

    def now_ns(self) -> int:
        return self.ns

    def advance_s(self, dt_s: float) -> None:
        self.ns += round(dt_s * NS_PER_S)
