"""A histogram of durations in plain integers: constant cost to add, bounded error, fixed memory.

Buckets are logarithmic with 32 steps an octave, so a percentile is off by at most 1.6 %.
"""

import itertools

from runtime.clock import NS_PER_MS

_STEP_BITS = 5
_STEPS = 1 << _STEP_BITS
# 2**40 ns is 18 minutes; anything longer counts as that.
_MAX_BITS = 40
_BUCKETS = (_MAX_BITS - _STEP_BITS + 1) * _STEPS


def _index(value_ns: int) -> int:
    shift = value_ns.bit_length() - _STEP_BITS - 1
    return value_ns if shift <= 0 else shift * _STEPS + (value_ns >> shift)


def _middle_ns(index: int) -> int:
    shift = index // _STEPS - 1
    if shift <= 0:
        return index
    low_ns = (index - shift * _STEPS) << shift
    return low_ns + (1 << shift) // 2


class Histogram:
    """Counts of durations since the last reset.

    Attributes:
        count: how many were added.
        max_ns: the longest, exact.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets everything."""
        self.count = 0
        self.max_ns = 0
        self._buckets = [0] * _BUCKETS

    def add(self, value_ns: int) -> None:
        """Counts one duration; a negative one (two clocks compared) counts as 0."""
        value_ns = max(0, value_ns)
        self._buckets[min(_index(value_ns), _BUCKETS - 1)] += 1
        self.count += 1
        self.max_ns = max(self.max_ns, value_ns)

    def percentile_ms(self, percent: float) -> float | None:
        """The nearest-rank percentile.

        Args:
            percent: 0 to 100.

        Returns:
            Milliseconds, within 1.6 % of the true value; None if nothing was added.
        """
        if not self.count:
            return None
        rank = max(1, -int(-percent * self.count // 100))
        seen = enumerate(itertools.accumulate(self._buckets))
        index = next(index for index, count in seen if count >= rank)
        return min(_middle_ns(index), self.max_ns) / NS_PER_MS
