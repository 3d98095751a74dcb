"""The e-stop lane: level, count, restarts of ingest and of the arm."""

from __future__ import annotations

from services.arm.estop import EstopLane
from tests.unit.arm.make import hand

S = 1_000_000_000


def test_level_of_either_hand_stops() -> None:
    for side in ("right", "left"):
        assert EstopLane().on_hand_pose(hand(side=side, estop=True, estop_count=1), S)


def test_a_missed_stop_shows_in_the_count() -> None:
    lane = EstopLane()
    assert not lane.on_hand_pose(hand(), S)
    assert lane.on_hand_pose(hand(estop_count=1), S)
    assert not lane.on_hand_pose(hand(estop_count=1), S)


def test_hands_are_counted_apart() -> None:
    lane = EstopLane()
    lane.on_hand_pose(hand(estop_count=4), S)
    assert not lane.on_hand_pose(hand(side="left", estop_count=9), S)
    assert lane.on_hand_pose(hand(side="left", estop_count=10), S)


def test_stops_from_before_our_start_do_not_count() -> None:
    assert not EstopLane().on_hand_pose(hand(estop_count=5), S)


def test_a_stop_in_the_first_moments_of_a_new_ingest_counts() -> None:
    lane = EstopLane()
    lane.on_hand_pose(hand(boot=3, estop_count=5), S)
    assert not lane.on_hand_pose(hand(boot=4, estop_count=0), S)
    lane.on_hand_pose(hand(boot=3, estop_count=5), S)
    assert lane.on_hand_pose(hand(boot=5, estop_count=1), S)


def test_clear_after_one_second_without_the_bit() -> None:
    lane = EstopLane()
    assert lane.clear(S)
    lane.on_hand_pose(hand(estop=True, estop_count=1), S)
    assert not lane.clear(2 * S)
    assert lane.clear(2 * S + 1)
