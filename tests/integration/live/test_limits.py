"""Walls and speed: targets slide, hands that outrun the arm let it slip, nothing is chased."""

from __future__ import annotations

import pytest

from proto.messages import ArmState
from runtime.se3 import vnorm, vsub
from tests.integration.live.motion import apart_m, command, fastest_mps, shifted_m
from tests.integration.live.rig import Rig

pytestmark = pytest.mark.integration

# `odd`, left arm: it starts at y = 100 mm, outside its box.
WALL_M = 0.060
TCP_MAX_MPS = 0.25
LEAD_M = 0.030
PERIOD_M = 0.0025 + 1e-6  # at most, in one tick at 100 Hz


def _y_m(state: ArmState) -> float:
    return command(state)[0][1]


def _inside(rig: Rig) -> ArmState:
    """Engaged well inside the wall, at rest."""
    rig.calm("left")
    x_m, _, z_m = command(rig.engage("left"))[0]
    return rig.lead((x_m, 0.04, z_m), "left")


def test_an_arm_that_stands_outside_may_only_come_in(odd: Rig) -> None:
    odd.restart("arm-left")
    odd.calm("left")
    start = odd.engage("left")
    assert _y_m(start) == pytest.approx(0.100)
    mark = odd.mark()
    odd.glide((-0.04, 0.02, 0.0), 0.4, "left")  # out, and up along the wall
    assert max(map(_y_m, odd.states("left", mark))) <= _y_m(start) + 1e-9
    assert command(odd.until_followed("left"))[0][2] > command(start)[0][2] + 0.010
    assert "clamped" in {s.reason for s in odd.states("left", mark)}
    odd.glide((0.04, -0.02, 0.0), 0.4, "left")  # in by 30 mm
    half_way = odd.until_followed("left")
    assert WALL_M < _y_m(half_way) < _y_m(start) - 0.015
    mark = odd.mark()
    odd.glide((-0.04, 0.0, 0.0), 0.4, "left")
    assert max(map(_y_m, odd.states("left", mark))) <= _y_m(half_way) + 1e-9


def test_targets_slide_along_the_wall_and_a_hand_that_turns_back_is_followed_at_once(
    odd: Rig,
) -> None:
    start = _inside(odd)
    mark = odd.mark()
    odd.glide((-0.12, 0.0, -0.04), 0.8, "left")  # 90 mm at the wall, 30 mm along it
    at_wall = odd.until_followed("left")
    assert _y_m(at_wall) == pytest.approx(WALL_M, abs=1e-6)
    assert max(map(_y_m, odd.states("left", mark))) <= WALL_M + 1e-9
    assert command(at_wall)[0][0] - command(start)[0][0] > 0.020
    pushing = [t for t in odd.targets("left", mark) if any(t.clamped)]
    assert {t.clamped for t in pushing} == {(False, True, False)}
    assert {t.reason for t in pushing} == {"clamped"}
    assert "clamped" in {s.reason for s in odd.states("left", mark)}
    odd.glide((0.02, 0.0, 0.04), 0.4, "left")  # 15 mm back, as if there had been no wall
    back = odd.until_followed("left")
    assert WALL_M - _y_m(back) == pytest.approx(0.015, abs=0.002)
    assert odd.watch.targets["left"][-1].clamped == (False, False, False)


def test_an_arm_that_was_outrun_slips_and_does_not_chase(odd: Rig) -> None:
    start = _inside(odd)
    mark = odd.mark()
    odd.hands["left"].glide(odd.now_s(), (0.0, 0.24, 0.0), 0.24)  # 180 mm up at 0.75 m/s
    odd.run(0.24)
    odd.until(lambda: _hand_stands(odd), "the hand stands")
    at_stop = odd.state("left")
    still = odd.until_followed("left")
    states = odd.states("left", mark)
    assert any(s.reason == "speed_limited" for s in states)
    assert vnorm(still.slip_p_m) > 0.05
    assert fastest_mps(states) <= TCP_MAX_MPS * 1.001
    assert apart_m(at_stop, still) <= LEAD_M + 2 * PERIOD_M
    assert apart_m(start, still) < 0.13
    target = odd.watch.targets["left"][-1]
    assert vnorm(vsub(command(still)[0], shifted_m(target, still))) < 1e-9
    odd.glide((0.0, -0.06, 0.0), 0.6, "left")  # turned back: followed at once, by as much
    back = odd.until_followed("left")
    assert command(still)[0][2] - command(back)[0][2] == pytest.approx(0.045, abs=0.002)
    assert back.slip_p_m == pytest.approx(still.slip_p_m, abs=0.002)


def _hand_stands(rig: Rig) -> bool:
    first, second = rig.watch.targets["left"][-2:]
    return first.target_p_base_tool_m == second.target_p_base_tool_m


def test_a_home_outside_the_workspace_is_refused(odd: Rig) -> None:
    odd.calm("left")
    assert odd.order("left", "home") == "refused: the home pose is outside the workspace"
    assert odd.is_in("HOLD", "left")
