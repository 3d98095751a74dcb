"""Absolute mode: the arm goes to where the hand points, slowly at first, or says why not."""

from __future__ import annotations

import pytest

from proto.messages import ArmState
from runtime.se3 import Vec3, quat_from_rotvec, vnorm, vsub
from tests.integration.live.hand import REST_M, UPRIGHT
from tests.integration.live.motion import command, fastest_mps, fastest_radps, stood_still, target_m
from tests.integration.live.rig import Rig

pytestmark = pytest.mark.integration

APPROACH_MPS = 0.050
APPROACH_RADPS = 0.3
NEAR_MM = 20.0
SCALE = 0.75


def _point(rig: Rig, at_m: Vec3) -> None:
    """Puts the hand where it points at this place of the robot's base frame.

    `odd` maps the rest point onto the home pose; openxr (x, y, z) is base (-z, -x, y).
    """
    rig.hands["right"].q_xyzw = UPRIGHT
    home_m = (0.25, 0.0, 0.25)
    x, y, z = (a - h for a, h in zip(at_m, home_m, strict=True))
    rig.hands["right"].p_m = (
        REST_M[0] - y / SCALE,
        REST_M[1] + z / SCALE,
        REST_M[2] - x / SCALE,
    )
    rig.run(0.1)  # until the arm's side knows: only a hand that stands there may engage


def _calm_pointing(rig: Rig, at_m: Vec3) -> ArmState:
    held = rig.calm("right")
    _point(rig, at_m)
    return held


def _at_m(state: ArmState) -> Vec3:
    return command(state)[0]


def _beside(state: ArmState, by_m: Vec3) -> Vec3:
    x, y, z = _at_m(state)
    return (x + by_m[0], y + by_m[1], z + by_m[2])


def test_the_arm_approaches_slowly_and_then_follows_to_the_very_place(odd: Rig) -> None:
    held = _calm_pointing(odd, _beside(odd.calm("right"), (0.0, 0.0, 0.06)))
    mark = odd.mark()
    first = odd.engage("right")
    assert command(first) == command(held)
    odd.until(lambda: odd.state("right").rest_mm is not None, "approach")
    assert odd.state("right").reason == "approach"
    assert odd.state("right").rest_mm == pytest.approx(60.0, abs=5.0)
    odd.until(lambda: odd.state("right").reason == "", "follows")
    approach = [s for s in odd.states("right", mark) if s.reason in ("approach", "not_engaged")]
    assert fastest_mps(approach) <= APPROACH_MPS * 1.001
    assert fastest_radps(approach) <= APPROACH_RADPS * 1.001
    rests = [s.rest_mm for s in approach if s.rest_mm is not None]
    assert rests == sorted(rests, reverse=True)
    assert NEAR_MM - 1.0 < rests[-1] < NEAR_MM + 1.0
    still = odd.until_followed("right")
    assert vnorm(vsub(_at_m(still), target_m(odd.watch.targets["right"][-1]))) < 1e-9
    assert {s.slip_p_m for s in odd.states("right", mark)} == {(0.0, 0.0, 0.0)}


def _outside(rig: Rig, held: ArmState) -> None:
    _point(rig, (0.46, 0.0, 0.25))


def _far(rig: Rig, held: ArmState) -> None:
    x, y, z = _at_m(held)
    _point(rig, (x - 0.31, y, z))


def _turned(rig: Rig, held: ArmState) -> None:
    _point(rig, _at_m(held))
    rig.hands["right"].q_xyzw = quat_from_rotvec((0.0, 0.85, 0.0))  # 49 degrees
    rig.run(0.1)


@pytest.mark.parametrize(
    ("place", "answer"),
    [
        (_outside, "refused: outside_box (the hand points 60 mm outside)"),
        (_far, "refused: approach (the hand points 31"),
        (_turned, "refused: approach (the hand is turned 49"),
    ],
)
def test_a_hand_that_points_too_far_off_is_refused_with_the_reason(
    odd: Rig, place: object, answer: str
) -> None:
    assert callable(place)
    held = odd.calm("right")
    place(odd, held)
    mark = odd.mark()
    said = odd.order("right", "engage")
    assert said.startswith(answer)
    odd.run(0.1)
    assert {s.state for s in odd.states("right", mark)} == {"HOLD"}
    assert stood_still([held, *odd.states("right", mark)])


@pytest.mark.parametrize("over_s", [2.2, 0.3])
def test_a_hand_that_walks_off_ends_the_approach_in_hold(odd: Rig, over_s: float) -> None:
    """Slowly until it is 100 mm further than it was, or faster than 0.3 m/s."""
    held = odd.calm("right")
    _point(odd, _beside(held, (0.0, 0.0, 0.05)))
    odd.engage("right")
    odd.until(lambda: odd.state("right").reason == "approach", "approach")
    mark = odd.mark()
    odd.hands["right"].glide(odd.now_s(), (-0.4, 0.0, 0.0), over_s)
    odd.until_state("HOLD", "right")
    assert fastest_mps(odd.states("right", mark)) <= APPROACH_MPS * 1.001
    odd.until_still("right")
    mark = odd.mark()
    odd.run(0.3)
    assert {s.state for s in odd.states("right", mark)} == {"HOLD"}
    assert vnorm(vsub(_at_m(odd.state("right")), _at_m(held))) < 0.15
