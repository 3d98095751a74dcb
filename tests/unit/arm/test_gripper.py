"""services.arm.gripper: frozen, met, followed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.arm.gripper import GripperTakeover

ratios = st.floats(0.0, 1.0)


def holding(ratio: float, ratio_per_s: float = 2.0) -> GripperTakeover:
    gripper = GripperTakeover(ratio_per_s)
    gripper.seat(ratio)
    return gripper


def test_before_it_is_seated_there_is_nothing_to_command() -> None:
    gripper = GripperTakeover(2.0)
    assert gripper.step(0.5, 0.01) is None
    assert not gripper.follows


@pytest.mark.parametrize(("measured", "held"), [(-0.02, 0.0), (0.4, 0.4), (1.03, 1.0)])
def test_a_measured_ratio_is_held_within_bounds(measured: float, held: float) -> None:
    assert holding(measured).step(None, 0.01) == held


def test_an_open_hand_does_not_drop_the_part() -> None:
    gripper = holding(0.2)
    for _ in range(100):
        assert gripper.step(1.0, 0.01) == 0.2
    assert not gripper.follows


@pytest.mark.parametrize(
    ("hand", "follows"), [(0.3, True), (0.301, False), (0.1, True), (0.099, False)]
)
def test_within_a_tenth_it_follows_at_once(hand: float, follows: bool) -> None:
    gripper = holding(0.2)
    gripper.step(hand, 0.01)
    assert gripper.follows is follows


@pytest.mark.parametrize(("first", "second"), [(0.9, 0.05), (0.05, 0.9)])
def test_a_hand_that_crosses_in_one_leap_takes_over(first: float, second: float) -> None:
    gripper = holding(0.4)
    gripper.step(first, 0.01)
    assert not gripper.follows
    gripper.step(second, 0.01)
    assert gripper.follows


def test_what_the_hand_did_before_it_let_go_is_no_crossing() -> None:
    gripper = holding(0.4)
    gripper.step(0.9, 0.01)
    gripper.step(None, 0.01)
    gripper.step(0.05, 0.01)
    assert not gripper.follows


def test_once_it_follows_it_follows_anywhere_at_a_limited_rate() -> None:
    gripper = holding(0.4, ratio_per_s=2.0)
    gripper.step(0.4, 0.01)
    seen = [gripper.step(1.0, 0.1) for _ in range(5)]
    assert seen == pytest.approx([0.6, 0.8, 1.0, 1.0, 1.0])
    assert gripper.step(0.0, 0.1) == pytest.approx(0.8)
    assert gripper.follows


def test_letting_go_freezes_it_where_it_is() -> None:
    gripper = holding(0.4)
    gripper.step(0.4, 0.01)
    moved = gripper.step(1.0, 0.1)
    assert gripper.step(None, 0.1) == moved
    assert not gripper.follows
    assert gripper.step(1.0, 0.1) == moved


@settings(max_examples=60, deadline=None)
@given(
    held=ratios,
    hands=st.lists(st.one_of(st.none(), st.floats(-0.5, 1.5)), max_size=20),
    dt_s=st.floats(0.001, 0.1),
)
def test_never_faster_than_its_rate_never_out_of_bounds(
    held: float, hands: list[float | None], dt_s: float
) -> None:
    gripper = holding(held)
    before = gripper.ratio
    assert before is not None
    for hand in hands:
        now = gripper.step(hand, dt_s)
        assert now is not None
        assert 0.0 <= now <= 1.0
        assert abs(now - before) <= 2.0 * dt_s + 1e-12
        if hand is None:
            assert now == before
        before = now
