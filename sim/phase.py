"""Two clocks of the simulated operator: motion time that eases in and out, and frame deadlines.

Pure: both are told the time. Neither ever runs backwards or skips motion.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

EASE_IN_S: Final = 1.0
EASE_OUT_S: Final = 0.3
# A program that was stopped for longer goes on where its hand was, as if time had stood still.
MAX_STEP_S: Final = 0.1


class PhaseClock:
    """Motion time: stands, or runs at full rate, with a smoothstep ramp between the two."""

    def __init__(self) -> None:
        self.phase_s = 0.0
        self._level = 0.0  # 0 standing ... 1 running; the rate is its smoothstep

    @property
    def rate(self) -> float:
        """Motion seconds per second, 0 to 1."""
        return self._level * self._level * (3.0 - 2.0 * self._level)

    def advance(self, dt_s: float, run: bool) -> float:
        """Moves on by `dt_s` (limited to MAX_STEP_S) towards running or standing; the new phase.

        Exact for any step: the ramp is integrated in closed form.
        """
        dt_s = min(max(dt_s, 0.0), MAX_STEP_S)
        ramp_s, goal = (EASE_IN_S, 1.0) if run else (EASE_OUT_S, 0.0)
        ramping_s = min(dt_s, abs(goal - self._level) * ramp_s)
        before = self._level
        self._level += math.copysign(ramping_s / ramp_s, goal - before)
        if ramping_s < dt_s:
            self._level = goal
        area = abs(_ramp_integral(self._level) - _ramp_integral(before))
        self.phase_s += ramp_s * area + (dt_s - ramping_s) * goal
        return self.phase_s


def _ramp_integral(level: float) -> float:
    """Integral of the smoothstep 3u^2 - 2u^3 from 0 to `level`."""
    return level**3 - 0.5 * level**4


class FrameClock:
    """Deadlines of a display: absolute, so that lateness never adds up; late frames are dropped."""

    def __init__(self, start_s: float, hz: float, intervals_s: Sequence[float] = ()) -> None:
        """Args: intervals_s: recorded frame intervals to repeat, scaled to `hz`; none = even."""
        self.skipped = 0
        self.next_s = start_s
        self._intervals_s = _scaled(intervals_s, hz) if intervals_s else (1.0 / hz,)
        self._round_s = math.fsum(self._intervals_s)
        self._round_start_s = start_s
        self._index = 0

    def due(self, now_s: float) -> float | None:
        """The newest frame time <= now_s that was not given out yet; None if none."""
        newest: float | None = None
        while self.next_s <= now_s:
            self.skipped += newest is not None
            newest = self.next_s
            self._step()
        return newest

    def _step(self) -> None:
        self.next_s += self._intervals_s[self._index]
        self._index += 1
        if self._index == len(self._intervals_s):  # no rounding error outlives a round
            self._round_start_s += self._round_s
            self.next_s = self._round_start_s
            self._index = 0


def _scaled(intervals_s: Sequence[float], hz: float) -> tuple[float, ...]:
    factor = len(intervals_s) / (hz * math.fsum(intervals_s))
    return tuple(interval_s * factor for interval_s in intervals_s)
