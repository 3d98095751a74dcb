"""Targets stop at the workspace; a relative anchor slips along, the arm's slip counted in."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.se3 import IDENTITY, ZERO, Vec3, vadd
from runtime.workspace import Zone, outside_m
from services.mapper.mapping import Anchor, MappingConfig, map_relative
from services.mapper.walls import JUMP_NS, Slid, Walls
from tests.unit.mapper.views import Arm, Hand

ZONE = Zone((-0.4, -0.4, 0.05), (0.4, 0.4, 0.7), reach_max_m=0.75)
CONFIG = MappingConfig(scale=1.0)
START = Anchor(ZERO, IDENTITY, (0.3, 0.0, 0.4), IDENTITY)
NO_SHELL = Zone((-0.4, -0.4, 0.05), (0.4, 0.4, 0.7))


def forward(metres: float) -> Vec3:
    """An OpenXR hand this far forward, which is base +x."""
    return (0.0, 0.0, -metres)


class Rig:
    def __init__(self, zone: Zone = NO_SHELL, arm: Arm | None = None) -> None:
        self.walls = Walls(zone)
        self.anchor = START
        if arm is not None:
            self.walls.see_arm(arm)

    def move(self, p_vr: Vec3, hand: Hand | None = None) -> Slid:
        p_m, _ = map_relative(self.anchor, p_vr, IDENTITY, CONFIG)
        slid = self.walls.relative(p_m, self.anchor, hand or Hand())
        self.anchor = slid.anchor
        return slid


def test_inside_nothing_changes() -> None:
    slid = Rig().move(forward(0.05))
    assert slid.p_m == (0.35, 0.0, 0.4)
    assert slid.anchor is START
    assert slid.clamp.clamped == (False, False, False)
    assert slid.clamp.outside_mm == 0.0


def test_a_hand_that_turns_back_beyond_a_wall_moves_the_arm_at_once() -> None:
    rig = Rig()
    for cm in range(31):  # 30 cm forward, the wall is after 10
        slid = rig.move(forward(0.01 * cm))
    assert slid.p_m == pytest.approx((0.4, 0.0, 0.4), abs=1e-15)
    assert slid.clamp.clamped == (True, False, False)
    assert slid.clamp.outside_mm == pytest.approx(10.0)  # this step's, the rest has slipped
    assert rig.move(forward(0.29)).p_m == pytest.approx((0.39, 0.0, 0.4), abs=1e-15)


def test_along_a_wall_the_hand_is_followed_exactly() -> None:
    rig = Rig()
    for i in range(20):
        slid = rig.move((-0.01 * i, 0.0, -0.3))
        assert slid.p_m == pytest.approx((0.4, 0.01 * i, 0.4), abs=1e-14)


def test_the_wall_meets_target_plus_slip() -> None:
    """The arm adds its slip to the target: with 30 mm of it, the wall comes 30 mm earlier."""
    slip: Vec3 = (0.03, 0.0, 0.0)
    rig = Rig(arm=Arm(state="ENGAGED", slip_p_m=slip))
    assert not any(rig.move(forward(0.069)).clamp.clamped)
    slid = rig.move(forward(0.2))
    assert slid.clamp.clamped == (True, False, False)
    assert vadd(slid.p_m, slip) == pytest.approx((0.4, 0.0, 0.4), abs=1e-15)
    assert rig.move(forward(0.19)).p_m == pytest.approx((0.36, 0.0, 0.4), abs=1e-15)


points = st.tuples(st.floats(-2.0, 2.0), st.floats(-2.0, 2.0), st.floats(-2.0, 2.0))
slips = st.tuples(st.floats(-0.1, 0.1), st.floats(-0.1, 0.1), st.floats(-0.1, 0.1))


@given(st.lists(points, min_size=1, max_size=6), slips)
def test_target_plus_slip_never_leaves_the_zone_and_the_same_hand_stays(
    path: list[Vec3], slip: Vec3
) -> None:
    rig = Rig(ZONE, Arm(state="ENGAGED", slip_p_m=slip))
    for p_vr in path:
        slid = rig.move(p_vr)
        assert outside_m(vadd(slid.p_m, slip), ZONE) < 1e-12
        again = rig.move(p_vr)
        assert again.p_m == pytest.approx(slid.p_m, abs=1e-9)


def test_a_glitch_beyond_a_wall_leaves_the_anchor_alone() -> None:
    """A flagged jump of some frames stops at the wall; when the hand is back, so is the arm."""
    rig = Rig()
    rig.move(forward(0.05), Hand(t_recv_ns=0))
    for i in range(1, 4):
        glitch = Hand(t_recv_ns=i * 20_000_000, jump=i == 1)
        assert rig.move(forward(0.9), glitch).p_m == pytest.approx((0.4, 0.0, 0.4), abs=1e-15)
    back = Hand(t_recv_ns=80_000_000, jump=True)
    assert rig.move(forward(0.05), back).p_m == (0.35, 0.0, 0.4)
    assert rig.anchor is START


@pytest.mark.parametrize(("after_ns", "slips_along"), [(JUMP_NS - 1, False), (JUMP_NS, True)])
def test_the_anchor_is_fixed_for_as_long_as_the_arm_waits(after_ns: int, slips_along: bool) -> None:
    assert JUMP_NS == 100_000_000
    rig = Rig()
    rig.move(forward(0.0), Hand(t_recv_ns=1_000, jump=True))
    rig.move(forward(0.3), Hand(t_recv_ns=1_000 + after_ns))
    assert (rig.anchor != START) is slips_along


def test_absolute_targets_stop_at_the_wall_and_say_how_far_outside_they_were() -> None:
    clamp = Walls(NO_SHELL).absolute((0.5, 0.0, 0.0))
    assert clamp.p_m == (0.4, 0.0, 0.05)
    assert clamp.clamped == (True, False, True)
    assert clamp.outside_mm == pytest.approx(111.803, abs=1e-3)


def test_an_arm_outside_may_stay_and_come_in_only() -> None:
    walls = Walls(NO_SHELL)
    held = Arm(cmd_p_base_tool_m=(0.5, 0.0, 0.4))
    walls.see_arm(held)
    assert walls.absolute((0.5, 0.1, 0.4)).p_m == (0.5, 0.1, 0.4)
    assert walls.absolute((0.6, 0.1, 0.4)).p_m == (0.5, 0.1, 0.4)
    moving = replace(held, state="ENGAGED", cmd_p_base_tool_m=(0.45, 0.0, 0.4))
    walls.see_arm(moving)
    assert walls.absolute((0.6, 0.1, 0.4)).p_m == (0.45, 0.1, 0.4)
    walls.see_arm(replace(held, state="ENGAGED"))  # does not open the wall again
    assert walls.absolute((0.6, 0.1, 0.4)).p_m == (0.45, 0.1, 0.4)
    walls.see_arm(replace(held, state="FAULT", cmd_p_base_tool_m=None))  # not known: no change
    assert walls.absolute((0.6, 0.1, 0.4)).p_m == (0.45, 0.1, 0.4)
    walls.see_arm(held)  # at rest again out there
    assert walls.absolute((0.6, 0.1, 0.4)).p_m == (0.5, 0.1, 0.4)
