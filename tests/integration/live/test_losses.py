"""Losing the hand or its link: brake, hold, resume where the arm stands, or stop for good."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from proto.messages import ArmState
from proto.reasons import SIDES
from runtime.se3 import vnorm, vsub
from tests.integration.live.hand import Hand
from tests.integration.live.motion import (
    apart_m,
    command,
    fastest_mps,
    moved_m,
    position_m,
    stood_still,
)
from tests.integration.live.rig import Rig

pytestmark = pytest.mark.integration

# [arm] of the simulator configuration.
TCP_MAX_MPS = 1.0
LOSSES = 5


def _lose_tracking(hand: Hand) -> None:
    hand.tracked = False


def _lose_link(hand: Hand) -> None:
    hand.sending = False


def _back(hand: Hand) -> None:
    hand.tracked = hand.sending = True


LOST = pytest.mark.parametrize(
    ("lose", "reason"), [(_lose_tracking, "untracked"), (_lose_link, "stale")]
)
Lose = Callable[[Hand], None]


def _until_braking(rig: Rig) -> None:
    rig.until(lambda: rig.state().braking, "braking")


def test_one_untracked_packet_changes_nothing(duo: Rig) -> None:
    duo.calm()
    engaged = duo.engage()
    hand, mark = duo.hands["right"], duo.mark()
    hand.tracked = False
    hand.frame(duo.now_s())
    hand.tracked = True
    hand.frame(duo.now_s())
    duo.run(0.15)
    assert any(not pose.tracking_valid for pose in duo.poses("right", mark))
    states = duo.states("right", mark)
    assert {(s.state, s.clutch_id) for s in states} == {("ENGAGED", engaged.clutch_id)}
    assert stood_still(states)


def test_a_short_loss_brakes_and_resumes_where_the_arm_stands(duo: Rig) -> None:
    for side in SIDES:
        duo.calm(side)
    engaged = {side: duo.engage(side) for side in SIDES}
    mark = duo.mark()
    for hand in duo.hands.values():
        hand.glide(duo.now_s(), (0.06, 0.0, 0.0), 0.8)
    duo.until(lambda: all(apart_m(engaged[s], duo.state(s)) > 0.01 for s in SIDES), "moving")
    _lose_link(duo.hands["right"])
    _lose_tracking(duo.hands["left"])
    duo.until(lambda: all(duo.state(side).braking for side in SIDES), "braking")
    held = {side: duo.until_still(side) for side in SIDES}
    assert {(s.state, s.braking, s.reason) for s in held.values()} == {
        ("ENGAGED", True, "stale"),
        ("ENGAGED", True, "untracked"),
    }
    resumed = duo.mark()
    for hand in duo.hands.values():
        _back(hand)
    for side in SIDES:
        duo.until_followed(side)
        after = duo.states(side, resumed)
        first = next(s for s in after if not s.braking)
        assert command(first) == command(held[side])
        assert vnorm(first.slip_p_m) > 0.0
        whole = [engaged[side], *duo.states(side, mark)]
        assert {(s.state, s.clutch_id) for s in whole} == {("ENGAGED", engaged[side].clutch_id)}
        assert fastest_mps(whole) <= TCP_MAX_MPS * 1.001
        # What the hand did while it was lost is no motion: only what came after counts.
        seen = [pose for pose in duo.poses(side, resumed) if pose.tracking_valid]
        hand_m = vnorm(vsub(position_m(seen[-1]), position_m(seen[0])))
        assert 0.0 < apart_m(held[side], duo.state(side)) < 0.75 * hand_m + 1e-6


@LOST
def test_a_long_loss_stops_the_arm_and_only_tracking_mode_goes_on_by_itself(
    duo: Rig, lose: Lose, reason: str
) -> None:
    for side in SIDES:
        duo.calm(side)
    before = {side: duo.engage(side) for side in SIDES}
    for side in SIDES:
        lose(duo.hands[side])
    for side in SIDES:
        duo.until_state("PROTECTIVE_STOP", side, reason)
    mark = duo.mark()
    assert duo.order("left", "engage") == f"refused: {reason} still stands"
    duo.run(0.2)
    assert all({s.state for s in duo.states(x, mark)} == {"PROTECTIVE_STOP"} for x in SIDES)
    for side in SIDES:
        _back(duo.hands[side])
    duo.until_state("ENGAGED", "right")
    assert duo.state("right").clutch_id not in (None, before["right"].clutch_id)
    duo.run(0.2)
    assert {s.state for s in duo.states("left", mark)} == {"PROTECTIVE_STOP"}
    assert duo.order("left", "engage") == "ok"
    for side in SIDES:
        assert stood_still([before[side], *duo.states(side, mark)])


def test_the_sixth_loss_in_ten_seconds_stops_and_needs_an_engage_in_any_mode(duo: Rig) -> None:
    for side in SIDES:
        duo.calm(side)
    before = {side: duo.engage(side).starvations for side in SIDES}
    while not all(duo.is_in("PROTECTIVE_STOP", side) for side in SIDES):
        _send(duo, False)
        duo.until(lambda: all(_lost(duo.state(side)) for side in SIDES), "a loss")
        _send(duo, True)
        duo.until(lambda: not any(duo.state(side).braking for side in SIDES), "its end")
    for side in SIDES:
        assert duo.state(side).reason == "tracking_unstable"
        assert duo.state(side).starvations - before[side] == LOSSES + 1
    mark = duo.mark()
    duo.run(0.65)
    for side in SIDES:
        assert {s.state for s in duo.states(side, mark)} == {"PROTECTIVE_STOP"}
        assert duo.order(side, "engage") == "ok"


def _send(rig: Rig, sending: bool) -> None:
    for hand in rig.hands.values():
        hand.sending = sending


def _lost(state: ArmState) -> bool:
    return state.braking or state.state == "PROTECTIVE_STOP"


def test_a_frame_now_and_then_moves_nothing(duo: Rig) -> None:
    """Each frame of such a stream is a resume: the arm may not creep along with the hand."""
    duo.calm()
    duo.engage()
    hand = duo.hands["right"]
    hand.sending = False
    _until_braking(duo)
    mark = duo.mark()
    for _ in range(LOSSES - 1):
        hand.p_m = (hand.p_m[0] + 0.02, hand.p_m[1], hand.p_m[2])
        hand.send(hand.packet(duo.now_s()))
        duo.until(lambda: not duo.state().braking, "resumed")
        _until_braking(duo)
    assert moved_m(duo.states("right", mark)) < 1e-9
