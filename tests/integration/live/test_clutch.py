"""Engaging: when the arm may begin to follow, from which pose, and how it is let go again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from proto.reasons import SIDES, Side
from runtime.se3 import vnorm, vsub
from tests.integration.live.hand import Hand
from tests.integration.live.motion import command, moved_m, shifted_m, stood_still
from tests.integration.live.rig import Rig

pytestmark = pytest.mark.integration

OFFER_WINDOW_S = 2.0


def test_in_tracking_mode_a_steady_hand_engages_and_the_first_command_is_the_held_pose(
    duo: Rig,
) -> None:
    hand = duo.hands["right"]
    hand.behave()
    hand.sending = False
    duo.restart("arm-right")
    duo.until_state("HOLD")
    mark = duo.mark()
    duo.run(0.15)
    waiting = duo.states("right", mark)
    assert {s.state for s in waiting} == {"HOLD"}
    measured = (waiting[0].meas_p_base_tool_m, waiting[0].meas_q_base_tool_xyzw)
    assert {command(s) for s in waiting} == {measured}
    hand.sending = True
    duo.until_state("ENGAGED")
    states = duo.states("right", mark)
    first = next(i for i, s in enumerate(states) if s.state == "ENGAGED")
    assert command(states[first]) == command(states[first - 1])
    assert states[first].clutch_id == states[first - 1].clutch_offer is not None
    mark = duo.mark()
    duo.run(0.15)
    assert stood_still([states[first], *duo.states("right", mark)])
    assert command(duo.state()) == command(states[0])


def test_engaged_arms_follow_their_hands_by_the_mapping(duo: Rig) -> None:
    """openxr (x, y, z) goes to base (-z, -x, y), by the scale of 0.75."""
    for side in SIDES:
        duo.calm(side)
    held = {side: duo.engage(side) for side in SIDES}
    for side in SIDES:
        duo.hands[side].glide(duo.now_s(), (0.02, 0.03, -0.04), 0.4)
    for side in SIDES:
        still = duo.until_followed(side)
        target = duo.watch.targets[side][-1]
        assert vnorm(vsub(command(still)[0], shifted_m(target, still))) < 1e-9
        went = vsub(vsub(command(still)[0], command(held[side])[0]), still.slip_p_m)
        assert went == pytest.approx((0.75 * 0.04, 0.75 * -0.02, 0.75 * 0.03), abs=1e-6)


def test_in_command_mode_nothing_moves_before_an_engage(duo: Rig) -> None:
    duo.calm("left")
    duo.until(lambda: not duo.watch.targets["left"][-1].engaged, "the mapper has let go")
    mark = duo.mark()
    duo.run(0.65)
    duo.glide((0.0, 0.05, 0.0), 0.3, "left")
    states = duo.states("left", mark)
    assert {s.state for s in states} == {"HOLD"}
    assert {s.clutch_offer for s in states} == {None}
    assert not any(t.engaged for t in duo.targets("left", mark))
    assert stood_still(states)


def test_release_lets_go_until_the_next_engage(duo: Rig) -> None:
    duo.calm("left")
    first = duo.engage("left")
    assert duo.order("left", "release") == "ok"
    duo.until_state("HOLD", "left")
    duo.until_still("left")
    mark = duo.mark()
    duo.glide((0.0, 0.04, 0.0), 0.3, "left")
    assert stood_still(duo.states("left", mark))
    again = duo.engage("left")
    assert again.clutch_id not in (None, first.clutch_id)
    assert command(again) == command(first)
    duo.glide((0.0, -0.02, 0.0), 0.4, "left")
    assert 0.010 < moved_m(duo.states("left", mark)) < 0.020
    duo.glide((0.0, 0.02, 0.0), 0.4, "left")


def test_after_a_release_a_tracked_hand_does_not_engage_by_itself(duo: Rig) -> None:
    duo.calm("right")
    mark = duo.mark()
    duo.run(0.65)
    states = duo.states("right", mark)
    assert {s.state for s in states} == {"HOLD"}
    assert {s.clutch_offer for s in states} == {None}
    assert duo.engage("right").state == "ENGAGED"


Unfit = Callable[[Hand, float], None]


def _absent(hand: Hand, now_s: float) -> None:
    hand.sending = False


def _untracked(hand: Hand, now_s: float) -> None:
    hand.tracked = False


def _moving(hand: Hand, now_s: float) -> None:
    hand.glide(now_s, (0.0, 1.6, 0.0), 3.0)


WHY: dict[Unfit, str] = {
    _absent: "no_packets",
    _untracked: "untracked",
    _moving: "moving or settling",
}


@pytest.mark.parametrize(("left", "right"), [(_absent, _untracked), (_moving, _absent)])
def test_an_engage_is_refused_with_the_reason_when_its_two_seconds_pass(
    duo: Rig, left: Unfit, right: Unfit
) -> None:
    unfit: dict[Side, Unfit] = {"left": left, "right": right}
    for side in SIDES:
        duo.calm(side)
        unfit[side](duo.hands[side], duo.now_s())
    duo.run(0.6)
    mark, asked_s = duo.mark(), duo.now_s()
    duo.post("right", "engage")
    answer = duo.order("left", "engage")
    assert duo.now_s() - asked_s > 0.9 * OFFER_WINDOW_S
    assert answer.startswith("refused: the hand must be tracked and slower than 0.3 m/s for 0.5 s")
    assert answer.endswith(f"({WHY[left]})")
    duo.until(
        lambda: duo.state("right").last_command_result.endswith(f"({WHY[right]})"), "right, too"
    )
    for side in SIDES:
        states = duo.states(side, mark)
        assert {s.state for s in states} == {"HOLD"}
        assert any(s.clutch_offer for s in states)
        assert stood_still(states)
    mark = duo.mark()
    duo.calm_hand("left")
    duo.run(0.65)
    assert {s.state for s in duo.states("left", mark)} == {"HOLD"}
