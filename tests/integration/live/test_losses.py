"""Losing the hand or its link: brake, hold, resume where the arm stands, or stop for good."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from proto.messages import ArmState
from proto.reasons import SIDES, Side
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
from tests.integration.live.rig import Mark, Rig

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


def _moving(rig: Rig, side: Side = "right") -> Mark:
    """Engaged, the hand in the middle of a motion."""
    rig.calm(side)
    mark = rig.mark()
    engaged = rig.engage(side)
    rig.hands[side].glide(rig.now_s(), (0.06, 0.0, 0.0), 0.8)
    rig.until(lambda: apart_m(engaged, rig.state(side)) > 0.010, "moving")
    return mark


def _until_braking(rig: Rig, side: Side = "right") -> None:
    rig.until(lambda: rig.state(side).braking, "braking", within_s=3.0)


def test_one_untracked_packet_changes_nothing(duo: Rig) -> None:
    duo.calm()
    engaged = duo.engage()
    hand, mark = duo.hands["right"], duo.mark()
    hand.tracked = False
    hand.frame(duo.now_s())
    hand.tracked = True
    hand.frame(duo.now_s())
    duo.run(0.3)
    assert any(not pose.tracking_valid for pose in duo.poses("right", mark))
    states = duo.states("right", mark)
    assert {(s.state, s.clutch_id) for s in states} == {("ENGAGED", engaged.clutch_id)}
    assert stood_still(states)


@LOST
def test_a_short_loss_brakes_and_resumes_where_the_arm_stands(
    duo: Rig, lose: Lose, reason: str
) -> None:
    mark = _moving(duo)
    hand = duo.hands["right"]
    clutch_id = duo.state().clutch_id
    lose(hand)
    _until_braking(duo)
    held = duo.until_still()
    assert held.braking and held.state == "ENGAGED" and held.reason == reason
    resumed = duo.mark()
    _back(hand)
    duo.until(lambda: not duo.state().braking, "following again", within_s=3.0)
    after = duo.states("right", resumed)
    first = next(s for s in after if not s.braking)
    assert command(first) == command(held)
    assert vnorm(first.slip_p_m) > 0.0
    duo.run(0.8)
    duo.until_still()
    whole = [s for s in duo.states("right", mark) if s.state != "HOLD"]
    assert {(s.state, s.clutch_id) for s in whole} == {("ENGAGED", clutch_id)}
    assert fastest_mps(whole) <= TCP_MAX_MPS * 1.001
    # What the hand did while it was lost is no motion: only what came after counts.
    seen = [pose for pose in duo.poses("right", resumed) if pose.tracking_valid]
    hand_m = vnorm(vsub(position_m(seen[-1]), position_m(seen[0])))
    assert 0.0 < apart_m(held, duo.state()) < 0.75 * hand_m + 1e-6


@LOST
def test_in_tracking_mode_a_long_loss_stops_and_passes_by_itself(
    duo: Rig, lose: Lose, reason: str
) -> None:
    _moving(duo)
    clutch_id = duo.state().clutch_id
    lose(duo.hands["right"])
    duo.until_state("PROTECTIVE_STOP", reason=reason)
    stopped = duo.until_still()
    mark = duo.mark()
    duo.run(0.3)
    assert {s.state for s in duo.states("right", mark)} == {"PROTECTIVE_STOP"}
    duo.hands["right"].behave()
    _back(duo.hands["right"])
    duo.until_state("ENGAGED")
    again = duo.state()
    assert again.clutch_id not in (None, clutch_id)
    assert command(again) == command(stopped)


@LOST
def test_in_command_mode_a_long_loss_needs_an_engage(duo: Rig, lose: Lose, reason: str) -> None:
    _moving(duo, "left")
    lose(duo.hands["left"])
    duo.until_state("PROTECTIVE_STOP", "left", reason)
    stopped = duo.until_still("left")
    assert duo.order("left", "engage") == f"refused: {reason} still stands"
    duo.hands["left"].behave()
    _back(duo.hands["left"])
    mark = duo.mark()
    duo.run(0.9)
    assert {s.state for s in duo.states("left", mark)} == {"PROTECTIVE_STOP"}
    assert stood_still(duo.states("left", mark))
    assert duo.order("left", "engage") == "ok"
    assert command(duo.state("left")) == command(stopped)


@pytest.mark.parametrize("side", SIDES)
def test_the_sixth_loss_in_ten_seconds_stops_and_needs_an_engage(duo: Rig, side: Side) -> None:
    duo.calm(side)
    before = duo.engage(side).starvations
    hand = duo.hands[side]
    while not duo.is_in("PROTECTIVE_STOP", side):
        hand.sending = False
        duo.until(lambda: _lost(duo.state(side)), "a loss")
        hand.sending = True
        duo.until(lambda: not duo.state(side).braking, "its end")
    assert duo.state(side).reason == "tracking_unstable"
    assert duo.state(side).starvations - before == LOSSES + 1
    mark = duo.mark()
    duo.run(0.7)
    assert {s.state for s in duo.states(side, mark)} == {"PROTECTIVE_STOP"}
    assert duo.order(side, "engage") == "ok"


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
