"""Kernel stamps to monotonic time, whatever the wall clock does. No sockets."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.udp import StampConverter

MS = 1_000_000
HOUR = 3_600_000 * MS
WALL_NS = 1_700_000_000_000 * MS  # wall clock at monotonic 0


def converted_ns(
    arrival_ns: int, *, step_ns: int = 0, stepped_at_ns: int = 0, now_ns: int = 20 * MS
) -> int:
    """The result for a datagram at `arrival_ns` between drains at 0 and `now_ns`, in which the
    wall clock steps by `step_ns` at `stepped_at_ns`."""
    converter = StampConverter(0, -WALL_NS)
    wall_at_arrival_ns = WALL_NS + arrival_ns + (step_ns if arrival_ns >= stepped_at_ns else 0)
    converter.sampled(now_ns, -(WALL_NS + step_ns))
    return converter.monotonic_ns(wall_at_arrival_ns)


def test_a_stamp_is_the_arrival() -> None:
    assert converted_ns(7 * MS) == 7 * MS


@pytest.mark.parametrize("step_ns", [HOUR, -HOUR, 21 * MS, -21 * MS])
@pytest.mark.parametrize("arrival_ns", [0, 3 * MS, 9 * MS, 10 * MS, 11 * MS, 20 * MS])
def test_a_step_of_the_wall_clock_changes_nothing(arrival_ns: int, step_ns: int) -> None:
    assert converted_ns(arrival_ns, step_ns=step_ns, stepped_at_ns=10 * MS) == arrival_ns


@settings(max_examples=200)
@given(st.integers(0, 20 * MS), st.integers(0, 20 * MS), st.integers(-20 * MS, 20 * MS))
def test_a_small_step_may_age_a_sample_but_never_freshens_it(
    arrival_ns: int, stepped_at_ns: int, step_ns: int
) -> None:
    result_ns = converted_ns(arrival_ns, step_ns=step_ns, stepped_at_ns=stepped_at_ns)
    assert 0 <= result_ns <= arrival_ns
    assert arrival_ns - result_ns <= abs(step_ns)


def test_without_a_stamp_it_is_the_moment_of_the_drain() -> None:
    converter = StampConverter(0, -WALL_NS)
    converter.sampled(20 * MS, -WALL_NS)
    assert converter.monotonic_ns(None) == 20 * MS


def test_what_fits_no_offset_stays_between_the_drains() -> None:
    converter = StampConverter(5 * MS, -WALL_NS)
    converter.sampled(20 * MS, -WALL_NS)
    assert converter.monotonic_ns(WALL_NS - HOUR) == 5 * MS
    assert converter.monotonic_ns(WALL_NS + HOUR) == 20 * MS


def test_only_an_emptied_socket_moves_the_lower_bound() -> None:
    converter = StampConverter(0, -WALL_NS)
    converter.sampled(20 * MS, -WALL_NS)  # stopped at the limit: older datagrams still wait
    converter.sampled(40 * MS, -WALL_NS)
    assert converter.monotonic_ns(WALL_NS + 1 * MS) == 1 * MS
    converter.emptied(40 * MS)
    converter.sampled(60 * MS, -WALL_NS)
    assert converter.monotonic_ns(WALL_NS + 1 * MS) == 40 * MS
