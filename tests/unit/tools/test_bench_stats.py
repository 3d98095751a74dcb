"""Percentile by hand, drift against a grid that is known."""

import pytest

from tools.bench_stats import drift_ms_per_min, percentile_us

MS = 1_000_000


@pytest.mark.parametrize(
    ("percent", "found_us"), [(0, 1.0), (50, 2.0), (51, 3.0), (75, 3.0), (99, 4.0), (100, 4.0)]
)
def test_percentile_is_the_nearest_rank(percent: float, found_us: float) -> None:
    assert percentile_us([4000, 1000, 3000, 2000], percent) == found_us


def test_percentile_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile_us([], 50)


@pytest.mark.parametrize("drift", [0.0, 0.5, -2.0, 260.0])
def test_drift_is_the_slope_of_the_offsets(drift: float) -> None:
    t_ns = [k * 10 * MS for k in range(3000)]
    offsets_ns = [drift * t / 60e3 for t in t_ns]
    assert drift_ms_per_min(t_ns, offsets_ns) == pytest.approx(drift)


def test_a_late_tick_at_either_end_is_no_drift() -> None:
    t_ns = [k * 10 * MS for k in range(300)]
    offsets_ns = [50e3] * 300
    offsets_ns[0] = offsets_ns[-1] = 5e6
    assert drift_ms_per_min(t_ns, offsets_ns) == 0.0


def test_two_ticks_are_enough() -> None:
    assert drift_ms_per_min([0, 60_000 * MS], [0.0, 1e6]) == 1.0
