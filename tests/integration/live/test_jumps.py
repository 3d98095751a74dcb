"""A hand that is suddenly somewhere else: a glitch is ignored, another hand is not followed."""

from __future__ import annotations

import math

import pytest

from proto.messages import HandPose
from runtime.se3 import Vec3, quat_from_rotvec, vadd
from tests.integration.live.motion import apart_m, command, moved_m, position_m, stood_still
from tests.integration.live.rig import FRAME_S, Rig

pytestmark = pytest.mark.integration

FAR_M: Vec3 = (0.0, 1.0, 0.0)
# After a flagged sample the hand must be back within 100 ms; a machine that stalls in between
# makes another stimulus of it.
BACK_WITHIN_NS = 80_000_000
TRIES = 5


def _glitch(rig: Rig, packets: int) -> list[HandPose]:
    """So many packets from 1 m away, then the old track again; what ingest made of it."""
    hand, mark = rig.hands["right"], rig.mark()
    old_m = hand.p_m
    hand.p_m = vadd(old_m, FAR_M)
    rig.until(lambda: sum(_is_far(p) for p in rig.poses("right", mark)) >= packets, "glitch")
    hand.p_m = old_m
    rig.run(0.25)
    return rig.poses("right", mark)


def _is_far(pose: HandPose) -> bool:
    return position_m(pose)[1] > 0.5


def _away_ns(poses: list[HandPose]) -> int:
    far = [i for i, pose in enumerate(poses) if _is_far(pose)]
    return poses[far[-1] + 1].t_recv_ns - poses[far[0]].t_recv_ns


@pytest.mark.parametrize("packets", [1, 2, 3])
def test_a_glitch_of_a_few_packets_moves_and_stops_nothing(duo: Rig, packets: int) -> None:
    for _ in range(TRIES):
        duo.calm()
        engaged = duo.engage()
        mark = duo.mark()
        poses = _glitch(duo, packets)
        if _away_ns(poses) < BACK_WITHIN_NS:
            break
    else:
        pytest.fail("this machine never sent 5 packets without a stall")
    assert sum(map(_is_far, poses)) >= packets
    assert any(pose.jump for pose in poses)
    states = duo.states("right", mark)
    assert {(s.state, s.clutch_id) for s in states} == {("ENGAGED", engaged.clutch_id)}
    assert moved_m([engaged, *states]) < 0.001
    duo.hands["right"].glide(duo.now_s(), (0.06, 0.0, 0.0), 0.6)
    duo.until(lambda: apart_m(engaged, duo.state()) > 0.010, "the hand is followed")


@pytest.mark.parametrize(
    ("by_m", "turn_rad"),
    [
        ((0.0, 0.5, 0.0), 0.0),
        ((0.0, 0.15, 0.0), 0.0),  # within 3 m/s x 100 ms: no hand may take its time to get there
        ((0.0, 1.0, 0.0), 0.0),  # ends beyond the workspace, where targets are cut off
        ((0.0, 0.0, 0.0), math.pi / 2),
    ],
)
def test_a_hand_that_stays_away_stops_the_arm_until_an_engage(
    duo: Rig, by_m: Vec3, turn_rad: float
) -> None:
    duo.calm()
    duo.engage()
    hand, mark = duo.hands["right"], duo.mark()
    hand.p_m = vadd(hand.p_m, by_m)
    hand.q_xyzw = quat_from_rotvec((turn_rad, 0.0, 0.0))
    duo.until(lambda: any(p.jump for p in duo.poses("right", mark)), "flagged")
    duo.run(0.9)
    states = duo.states("right", mark)
    assert (states[-1].state, states[-1].reason) == ("PROTECTIVE_STOP", "jump")
    assert moved_m(states) < 0.001
    again = duo.engage()
    assert command(again) == command(states[-1])
    mark = duo.mark()
    duo.run(FRAME_S * 5)
    assert stood_still(duo.states("right", mark))


def test_another_hand_after_a_short_loss_is_a_jump(duo: Rig) -> None:
    duo.calm()
    duo.engage()
    hand, mark = duo.hands["right"], duo.mark()
    hand.sending = False
    duo.until(lambda: duo.state().braking, "braking")
    hand.p_m = vadd(hand.p_m, (0.0, -0.6, 0.0))
    hand.sending = True
    duo.until(lambda: any(p.jump for p in duo.poses("right", mark)), "flagged")
    duo.run(0.3)
    states = duo.states("right", mark)
    assert (states[-1].state, states[-1].reason) == ("PROTECTIVE_STOP", "jump")
    assert moved_m(states) < 0.001
