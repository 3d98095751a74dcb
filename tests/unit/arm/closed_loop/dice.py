"""The random stream of a run: the same on every Python version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from sim.rng import Rng

T = TypeVar("T")


class Dice(Rng):
    """Draws from lists and ranges."""

    __slots__ = ()

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]

    def within(self, low: int, high: int) -> int:
        """Both included."""
        return low + self.below(high - low + 1)
