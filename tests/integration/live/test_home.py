"""The slow way home: what starts it, what ends it, and what does not."""

from __future__ import annotations

import pytest

from runtime.se3 import vnorm, vsub
from tests.integration.live.motion import command, fastest_mps, fastest_radps, stood_still
from tests.integration.live.rig import Rig

pytestmark = pytest.mark.integration

HOME_M = (0.25, 0.0, 0.25)  # home_p_m of the simulator configuration
HOME_MAX_MPS = 0.050
HOME_MAX_RADPS = 0.3


def _away_from_home(rig: Rig) -> None:
    """HOLD, about 40 mm from home."""
    rig.calm("left")
    rig.engage("left")
    rig.lead((0.25, 0.03, 0.28), "left")
    assert rig.order("left", "release") == "ok"


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


def test_any_other_command_ends_homing_in_hold(duo: Rig) -> None:
    _away_from_home(duo)
    duo.hands["left"].sending = False  # so that an engage stays pending
    for verb in ("release", "arm", "clear", "engage"):
        assert duo.order("left", "home") == "ok"
        assert duo.is_in("HOMING", "left")
        duo.post("left", verb)
        duo.until_state("HOLD", "left")
        held = duo.until_still("left")
        mark = duo.mark()
        duo.run(0.1)
        assert stood_still([held, *duo.states("left", mark)])
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
