"""Seeded random numbers, the same on every Python version. Never for secrets.

SplitMix64 (Steele, Lea, Flood 2014). Streams of one seed are independent, so that changing one
impairment never shifts the draws of another.
"""

from __future__ import annotations

import math
from typing import Final

_MASK: Final = 0xFFFFFFFFFFFFFFFF
_GOLDEN: Final = 0x9E3779B97F4A7C15
_FNV_OFFSET: Final = 0xCBF29CE484222325
_FNV_PRIME: Final = 0x100000001B3


class Rng:
    """One stream of random numbers."""

    __slots__ = ("_state",)

    def __init__(self, seed: int, stream: str = "") -> None:
        """Args: seed: any integer. stream: a name; each name is an independent stream."""
        self._state = _FNV_OFFSET
        for byte in f"{seed}/{stream}".encode():  # FNV-1a; next_u64 does the mixing
            self._state = ((self._state ^ byte) * _FNV_PRIME) & _MASK

    def next_u64(self) -> int:
        """A uniform 64-bit integer."""
        self._state = (self._state + _GOLDEN) & _MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def random(self) -> float:
        """Uniform in [0, 1)."""
        return (self.next_u64() >> 11) * 2.0**-53

    def uniform(self, low: float, high: float) -> float:
        """Uniform in [low, high)."""
        return low + (high - low) * self.random()

    def below(self, n: int) -> int:
        """A uniform integer in [0, n); n >= 1."""
        return self.next_u64() % n

    def normal(self) -> float:
        """Standard normal (Box-Muller)."""
        radius = math.sqrt(-2.0 * math.log(1.0 - self.random()))
        return radius * math.cos(2.0 * math.pi * self.random())

    def lognormal(self, median: float, sigma: float) -> float:
        """Lognormal with this median; sigma is that of the logarithm."""
        return median * math.exp(sigma * self.normal())

    def gamma(self, shape: float, scale: float) -> float:
        """Gamma with mean shape * scale; shape >= 1 (Marsaglia and Tsang 2000)."""
        d = shape - 1.0 / 3.0
        c = 1.0 / math.sqrt(9.0 * d)
        while True:
            x = self.normal()
            v = (1.0 + c * x) ** 3
            u = 1.0 - self.random()
            if v > 0.0 and math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
                return scale * d * v
