"""The gripper's soft take-over: a re-engage never drops a part. Pure.

Frozen while nobody leads it. A hand that engages with its gripper elsewhere gets hold of it only
where the two meet, and then moves it at a limited rate.
"""

from __future__ import annotations

from typing import Final

# So near the held ratio a hand counts as meeting it.
MEETS_RATIO: Final = 0.10


class GripperTakeover:
    """The commanded ratio, 0 closed … 1 open.

    Attributes:
        ratio: command of now; None until seat().
        follows: whether the hand leads it.
    """

    def __init__(self, ratio_per_s: float) -> None:
        self._ratio_per_s = ratio_per_s
        self._hand: float | None = None
        self.ratio: float | None = None
        self.follows = False

    def seat(self, ratio: float) -> None:
        """Holds `ratio`, e.g. the measured one; nobody leads."""
        self.ratio = min(max(ratio, 0.0), 1.0)
        self.follows = False
        self._hand = None

    def step(self, hand_ratio: float | None, dt_s: float) -> float | None:
        """One tick.

        Args:
            hand_ratio: the hand's gripper; None outside ENGAGED, which freezes and lets go.
            dt_s: time since the last tick.

        Returns:
            The commanded ratio; None while there is none to hold.
        """
        if self.ratio is None or hand_ratio is None:
            self.follows = False
            self._hand = None
            return self.ratio
        self.follows = self.follows or self._meets(hand_ratio, self.ratio)
        self._hand = hand_ratio
        if self.follows:
            reach = self._ratio_per_s * dt_s
            wish = min(max(hand_ratio, 0.0), 1.0)
            self.ratio = min(max(wish, self.ratio - reach), self.ratio + reach)
        return self.ratio

    def _meets(self, hand: float, held: float) -> bool:
        """Within reach, or on the other side of the held ratio than one tick before."""
        if abs(hand - held) <= MEETS_RATIO:
            return True
        return self._hand is not None and (hand > held) != (self._hand > held)
