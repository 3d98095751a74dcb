"""The gripper's soft take-over: a re-engage never drops a part. Pure.

Frozen until the hand's gripper has met the held one: crossed it, or come within 0.10 of it.
"""

from __future__ import annotations

from typing import Final

MEET_RATIO: Final = 0.10


class GripperTakeover:
    """Ratios: 0 closed, 1 open."""

    def __init__(self, rate_per_s: float) -> None:
        self._rate_per_s = rate_per_s
        self._hand_before: float | None = None
        self.ratio = 0.0
        self.follows = False

    def seat(self, measured_ratio: float) -> None:
        """Starts at what the robot holds."""
        self.ratio = min(max(measured_ratio, 0.0), 1.0)
        self._let_go()

    def step(self, hand_ratio: float | None, dt_s: float) -> float:
        """One tick; None: not engaged, or the sample has no gripper. Returns the command."""
        if hand_ratio is None:
            self._let_go()
            return self.ratio
        self.follows = self.follows or self._meets(hand_ratio)
        self._hand_before = hand_ratio
        if self.follows:
            step = self._rate_per_s * dt_s
            self.ratio += min(max(hand_ratio - self.ratio, -step), step)
            self.ratio = min(max(self.ratio, 0.0), 1.0)
        return self.ratio

    def _meets(self, hand_ratio: float) -> bool:
        before = self._hand_before
        crossed = before is not None and (before - self.ratio) * (hand_ratio - self.ratio) <= 0.0
        return crossed or abs(hand_ratio - self.ratio) <= MEET_RATIO

    def _let_go(self) -> None:
        self.follows = False
        self._hand_before = None
