"""The slow way home: what starts it, what ends it, and what does not."""

from __future__ import annotations

import pytest

from runtime.se3 import vnorm, vsub
from tests.integration.live.motion import command, fastest_mps, fastest_radps, moved_m, stood_still
from tests.integration.live.rig import Rig

pytestmark = pytest.mark.integration

HOME_M = (0.25, 0.0, 0.25)  # home_p_m of the simulator configuration
HOME_MAX_MPS = 0.050
HOME_MAX_RADPS = 0.3


def _away_from_home(rig: Rig) -> None:
    """HOLD, about 30 mm from home."""
    rig.calm("left")
    at_m = command(rig.state("left"))[0]
    rig.engage("left")
    step_m = vsub((0.25, 0.02, 0.27), at_m)
    rig.glide((-step_m[1] / 0.75, step_m[2] / 0.75, -step_m[0] / 0.75), 0.5, "left")
    rig.until_still("left")
    assert rig.order("left", "release") == "ok"
    assert vnorm(vsub(command(rig.state("left"))[0], HOME_M)) > 0.02


def test_home_goes_slowly_to_the_home_pose_whatever_the_hand_does(duo: Rig) -> None:
    _away_from_home(duo)
    mark = duo.mark()
    assert duo.order("left", "home") == "ok"
    duo.hands["left"].glide(duo.now_s(), (0.1, 0.1, 0.0), 0.5)
    duo.until(lambda: duo.is_in("HOLD", "left"), "home")
    states = duo.states("left", mark)
    homing = [s for s in states if s.state == "HOMING"]
    assert {s.reason for s in homing} == {"homing"}
    assert vnorm(vsub(command(states[-1])[0], HOME_M)) < 1e-5
    assert fastest_mps(states) <= HOME_MAX_MPS * 1.001
    assert fastest_radps(states) <= HOME_MAX_RADPS * 1.001


@pytest.mark.parametrize("verb", ["release", "engage", "arm", "clear"])
def test_any_other_command_ends_homing_in_hold(duo: Rig, verb: str) -> None:
    _away_from_home(duo)
    duo.hands["left"].sending = False  # so that an engage stays pending
    assert duo.order("left", "home") == "ok"
    assert duo.is_in("HOMING", "left")
    duo.post("left", verb)
    duo.until_state("HOLD", "left")
    mark = duo.mark()
    held = duo.until_still("left")
    duo.run(0.2)
    assert moved_m(duo.states("left", mark)) < 0.002
    assert vnorm(vsub(command(held)[0], HOME_M)) > 0.005


def test_an_estop_ends_homing(duo: Rig) -> None:
    _away_from_home(duo)
    assert duo.order("left", "home") == "ok"
    assert duo.order("left", "estop") == "ok"
    assert duo.is_in("ESTOP_LATCHED", "left")
    duo.until_still("left")
    mark = duo.mark()
    duo.run(0.2)
    assert stood_still(duo.states("left", mark))
    assert duo.order("left", "reset") == "ok"
    assert duo.is_in("HOLD", "left")


def test_an_engaged_arm_does_not_go_home(duo: Rig) -> None:
    duo.calm("left")
    duo.engage("left")
    assert duo.order("left", "home") == "refused: home does nothing in ENGAGED"
    assert duo.is_in("ENGAGED", "left")
