"""The histogram against the exact nearest-rank percentile of the same numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.histogram import Histogram


def exact_ms(values_ns: list[int], percent: float) -> float:
    ordered = sorted(values_ns)
    return ordered[max(1, math.ceil(percent * len(ordered) / 100)) - 1] / 1e6


def filled(values_ns: list[int]) -> Histogram:
    histogram = Histogram()
    for value_ns in values_ns:
        histogram.add(value_ns)
    return histogram


def test_empty_has_no_percentile() -> None:
    assert Histogram().percentile_ms(50) is None


@given(
    st.lists(st.integers(0, 2**40 - 1), min_size=1, max_size=60),
    st.sampled_from([0, 1, 25, 50, 90, 99, 99.9, 100]),
)
def test_percentile_is_within_its_stated_error(values_ns: list[int], percent: float) -> None:
    found_ms = filled(values_ns).percentile_ms(percent)
    assert found_ms == pytest.approx(exact_ms(values_ns, percent), rel=0.016)


@pytest.mark.parametrize("value_ns", [0, 1, 31, 32, 63, 64, 65, 127, 128])
def test_small_values_are_exact_to_a_nanosecond(value_ns: int) -> None:
    found_ms = filled([value_ns]).percentile_ms(50)
    assert found_ms is not None
    assert abs(found_ms * 1e6 - value_ns) <= 1


def test_percentile_never_exceeds_the_longest() -> None:
    histogram = filled([1_000_001] * 3)
    assert histogram.percentile_ms(100) == histogram.max_ns / 1e6 == 1.000001


def test_rank_counts_from_the_smallest() -> None:
    histogram = filled([10, 20, 30, 40])
    assert [histogram.percentile_ms(p) for p in (0, 25, 26, 75, 100)] == [
        1e-5,
        1e-5,
        2e-5,
        3e-5,
        4e-5,
    ]


def test_negative_and_endless_durations_are_counted_at_the_ends() -> None:
    histogram = filled([-5, 2**50])
    assert histogram.count == 2
    assert histogram.percentile_ms(50) == 0
    assert histogram.max_ns == 2**50
    last_ms = histogram.percentile_ms(100)
    assert last_ms == pytest.approx(2**40 / 1e6, rel=0.016)


def test_reset_forgets() -> None:
    histogram = filled([1, 2, 3])
    histogram.reset()
    assert (histogram.count, histogram.max_ns, histogram.percentile_ms(50)) == (0, 0, None)
