"""A hand that is suddenly somewhere else: a glitch is ignored, another hand is not followed."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from proto.messages import ArmState, HandPose
from proto.reasons import SIDES, Side
from runtime.se3 import Vec3, quat_from_rotvec, quat_mul, vadd, vnorm, vsub
from tests.integration.live.hand import Hand
from tests.integration.live.motion import apart_m, command, moved_m, position_m, stood_still
from tests.integration.live.rig import FRAME_S, Rig

pytestmark = pytest.mark.integration

FAR_M: Vec3 = (0.0, 1.0, 0.0)
# After a flagged sample the hand must be back within 100 ms; a machine that stalls in between
# makes another stimulus of it.
BACK_WITHIN_NS = 80_000_000
TRIES = 5


def _far(poses: list[HandPose], from_m: Vec3) -> list[int]:
    """Which of them lie far from there."""
    return [i for i, pose in enumerate(poses) if vnorm(vsub(position_m(pose), from_m)) > 0.5]


def _away_ns(poses: list[HandPose], from_m: Vec3) -> int:
    far = _far(poses, from_m)
    return poses[far[-1] + 1].t_recv_ns - poses[far[0]].t_recv_ns


def _glitch(rig: Rig, packets: int) -> int:
    """Both hands: so many packets from 1 m away, then back. For how long they were away, ns."""
    mark = rig.mark()
    old_m = {side: rig.hands[side].p_m for side in SIDES}

    def far(side: Side) -> list[int]:
        return _far(rig.poses(side, mark), old_m[side])

    for side in SIDES:
        rig.hands[side].p_m = vadd(old_m[side], FAR_M)
    rig.until(lambda: all(len(far(side)) >= packets for side in SIDES), "glitch")
    for side in SIDES:
        rig.hands[side].p_m = old_m[side]
    rig.run(0.2)
    assert all(any(pose.jump for pose in rig.poses(side, mark)) for side in SIDES)
    return max(_away_ns(rig.poses(side, mark), old_m[side]) for side in SIDES)


def _engage_both(rig: Rig) -> dict[Side, ArmState]:
    for side in SIDES:
        rig.calm(side)
    return {side: rig.engage(side) for side in SIDES}


@pytest.mark.parametrize("packets", [1, 3])
def test_a_glitch_of_a_few_packets_moves_and_stops_nothing(duo: Rig, packets: int) -> None:
    for _ in range(TRIES):
        engaged = _engage_both(duo)
        mark = duo.mark()
        if _glitch(duo, packets) < BACK_WITHIN_NS:
            break
    else:
        pytest.fail("this machine never sent 5 packets without a stall")
    for side in SIDES:
        states = duo.states(side, mark)
        assert {(s.state, s.clutch_id) for s in states} == {("ENGAGED", engaged[side].clutch_id)}
        assert moved_m([engaged[side], *states]) < 0.001
    duo.hands["right"].glide(duo.now_s(), (0.06, 0.0, 0.0), 0.6)
    start = engaged["right"]
    duo.until(lambda: apart_m(start, duo.state()) > 0.010, "the hand is followed")


def _by(p_m: Vec3) -> Callable[[Hand], None]:
    def go(hand: Hand) -> None:
        hand.p_m = vadd(hand.p_m, p_m)

    return go


def _turn(hand: Hand) -> None:
    hand.q_xyzw = quat_mul(quat_from_rotvec((math.pi / 2, 0.0, 0.0)), hand.q_xyzw)


@pytest.mark.parametrize(
    ("right", "left"),
    [
        # Within 3 m/s x 100 ms: no hand may take its time to get there. And half a metre.
        (_by((0.0, 0.15, 0.0)), _by((0.0, -0.5, 0.0))),
        # To where targets are cut off, beyond the workspace. And on the spot.
        (_by((0.0, 1.0, 0.0)), _turn),
    ],
)
def test_a_hand_that_stays_away_stops_the_arm_until_an_engage_in_any_mode(
    duo: Rig, right: Callable[[Hand], None], left: Callable[[Hand], None]
) -> None:
    engaged = _engage_both(duo)
    mark = duo.mark()
    right(duo.hands["right"])
    left(duo.hands["left"])
    duo.run(0.65)
    for side in SIDES:
        states = duo.states(side, mark)
        assert any(pose.jump for pose in duo.poses(side, mark))
        assert (states[-1].state, states[-1].reason) == ("PROTECTIVE_STOP", "jump")
        assert moved_m([engaged[side], *states]) < 0.001
        again = duo.engage(side)
        assert command(again) == command(states[-1])
        anew = duo.mark()
        duo.run(FRAME_S * 3)
        assert stood_still([again, *duo.states(side, anew)])


def test_another_hand_after_a_short_loss_is_a_jump(duo: Rig) -> None:
    duo.calm()
    engaged = duo.engage()
    hand, mark = duo.hands["right"], duo.mark()
    hand.sending = False
    duo.until(lambda: duo.state().braking, "braking")
    hand.p_m = vadd(hand.p_m, (0.0, -0.6, 0.0))
    hand.sending = True
    duo.until(lambda: any(p.jump for p in duo.poses("right", mark)), "flagged")
    duo.run(0.3)
    states = duo.states("right", mark)
    assert (states[-1].state, states[-1].reason) == ("PROTECTIVE_STOP", "jump")
    assert moved_m([engaged, *states]) < 0.001
