"""services.arm.slew: the braking law against a brute-force brake."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.arm.slew import Slew, brake_speed, clipped, stop_distance

accelerations = st.floats(0.1, 50.0)
ticks_s = st.floats(0.002, 0.05)


@settings(max_examples=60, deadline=None)
@given(distance=st.floats(0.0, 2.0), a=accelerations, dt_s=ticks_s)
def test_brake_speed_uses_up_the_distance_and_no_more(
    distance: float, a: float, dt_s: float
) -> None:
    speed = brake_speed(distance, a, dt_s)
    way = speed * dt_s + stop_distance(speed, a, dt_s)
    assert way == pytest.approx(distance, rel=1e-9, abs=1e-12)


def test_no_distance_is_no_speed() -> None:
    assert brake_speed(0.0, 5.0, 0.01) == 0.0
    assert brake_speed(-0.1, 5.0, 0.01) == 0.0


@settings(max_examples=40, deadline=None)
@given(
    speed=st.floats(0.001, 2.0),
    a=accelerations,
    first_s=ticks_s,
    rest_s=st.lists(ticks_s, min_size=1, max_size=5),
)
def test_braking_takes_the_same_way_however_the_ticks_fall(
    speed: float, a: float, first_s: float, rest_s: list[float]
) -> None:
    """The way left after a tick is stop_distance, and no tick changes more than its share."""
    slew = Slew()
    slew.v, slew._dt_s = (speed, 0.0, 0.0), first_s
    way, before_s, k = 0.0, first_s, 0
    while slew.v[0] > 0.0:
        dt_s = rest_s[k % len(rest_s)]
        old = slew.v[0]
        new = slew.brake(dt_s, a)[0]
        assert 0.0 <= old - new <= a * 0.5 * (dt_s + before_s) * (1.0 + 1e-9)
        way, before_s, k = way + new * dt_s, dt_s, k + 1
    assert way == pytest.approx(stop_distance(speed, a, first_s), rel=1e-9, abs=1e-12)


def test_clipped_keeps_direction() -> None:
    assert clipped((0.3, 0.4, 0.0), 1.0) == (0.3, 0.4, 0.0)
    assert clipped((3.0, 4.0, 0.0), 1.0) == pytest.approx((0.6, 0.8, 0.0))
    assert math.hypot(*clipped((0.0, 0.0, 0.0), 0.0)) == 0.0
