"""Figures that more than one bench needs. Pure."""

import math
import statistics
from collections.abc import Sequence


def percentile_us(values_ns: Sequence[int], percent: float) -> float:
    """The nearest-rank percentile of durations in nanoseconds, as microseconds to 0.1.

    Raises:
        ValueError: there are none.
    """
    if not values_ns:
        raise ValueError("no values")
    rank = max(1, math.ceil(percent * len(values_ns) / 100))
    return round(sorted(values_ns)[rank - 1] / 1000, 1)


def drift_ms_per_min(t_ns: Sequence[int], offsets_ns: Sequence[float]) -> float:
    """How fast offsets from an ideal grid grow: median of the last third against the first.

    Medians, because one late tick at either end would otherwise pass for drift.

    Args:
        t_ns: instants, ascending, at least 2.
        offsets_ns: distance of each from its place on the grid.
    """
    third = max(1, len(t_ns) // 3)
    span_ns = statistics.median(t_ns[-third:]) - statistics.median(t_ns[:third])
    grown_ns = statistics.median(offsets_ns[-third:]) - statistics.median(offsets_ns[:third])
    return round(grown_ns * 60e3 / span_ns, 3)
