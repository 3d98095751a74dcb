"""When a hand is still or went straight, and what the mapping becomes."""

from __future__ import annotations

from dataclasses import replace
from math import cos, radians, sin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proto.messages import HandPose, Vec3
from runtime import config
from runtime.se3 import quat_from_rpy_deg
from runtime.settings import MapperSettings
from services.mapper.mapping import MappingConfig, map_vector, transform_position
from tools.calibration import ForwardHand, StillHand, solve_heading_deg, solve_origin_m

DEFAULT = config.load({"ROBOT": "sim"}).mapper["right"]
STEP_NS = 20_000_000


def hand(p_m: Vec3 | None, tick: int, *, session: int = 1, jump: bool = False) -> HandPose:
    """A sample of a 50 Hz stream."""
    return HandPose(
        side="right",
        session=session,
        t_send_s=0.0,
        t_recv_ns=tick * STEP_NS,
        p_vr_hand_m=p_m,
        q_vr_hand_xyzw=(0.0, 0.0, 0.0, 1.0),
        gripper_ratio=0.0,
        tracking_valid=p_m is not None,
        enable=None,
        estop=False,
        estop_count=0,
        authenticated=False,
        jump=jump,
    )


def test_a_still_hand_is_found_after_a_second_as_its_mean() -> None:
    still = StillHand()
    found = [still.observe(hand((1.0, 2.0 + (tick % 2) * 0.002, 3.0), tick)) for tick in range(51)]
    assert found[:50] == [None] * 50
    assert found[50] == pytest.approx((1.0, 2.001, 3.0), abs=1e-4)


def test_a_hand_that_moves_is_not_still_until_it_has_rested_a_second() -> None:
    still = StillHand()
    way = [(0.02 * tick, 0.0, 0.0) for tick in range(60)] + [(2.0, 0.0, 0.0)] * 60
    found = [tick for tick, p_m in enumerate(way) if still.observe(hand(p_m, tick)) is not None]
    assert found[0] == 110


def test_a_slow_drift_is_no_rest() -> None:
    still = StillHand()
    assert not any(still.observe(hand((0.0006 * tick, 0.0, 0.0), tick)) for tick in range(200))


@pytest.mark.parametrize("break_", ["untracked", "jump", "session", "gap"])
def test_a_break_starts_the_second_anew(break_: str) -> None:
    still = StillHand()
    at_m = (1.0, 0.0, 0.0)
    for tick in range(40):
        assert still.observe(hand(at_m, tick)) is None
    late = 50 if break_ == "gap" else 0
    session = 2 if break_ == "session" else 1
    still.observe(
        hand(
            None if break_ == "untracked" else at_m,
            40 + late,
            session=session,
            jump=break_ == "jump",
        )
    )
    found = [
        tick
        for tick in range(41, 110)
        if still.observe(hand(at_m, tick + late, session=session)) is not None
    ]
    assert found[0] in (90, 91)


def test_forward_is_the_level_way_once_it_is_20_cm() -> None:
    forward = ForwardHand()
    for tick in range(20):
        assert forward.observe(hand((0.0, 0.01 * tick, -0.01 * tick), tick)) is None
    assert forward.observe(hand((0.0, 0.2, -0.2), 20)) == pytest.approx((0.0, 0.0, -0.2))
    assert not forward.bowed


def test_up_is_not_forward() -> None:
    forward = ForwardHand()
    assert not any(forward.observe(hand((0.0, 0.02 * tick, 0.0), tick)) for tick in range(50))


def test_a_bowed_way_is_refused_for_good() -> None:
    forward = ForwardHand()
    bow = [(0.08 * sin(radians(9 * t)), 0.0, -0.0105 * t) for t in range(21)]
    assert not any(forward.observe(hand(p_m, tick)) for tick, p_m in enumerate(bow))
    assert forward.bowed
    assert forward.observe(hand((0.0, 0.0, -0.5), 21)) is None


def test_a_jump_starts_the_way_anew() -> None:
    forward = ForwardHand()
    forward.observe(hand((0.0, 0.0, 0.0), 0))
    assert forward.observe(hand((0.0, 0.0, -0.5), 1, jump=True)) is None
    assert forward.observe(hand((0.0, 0.0, -0.5), 2)) is None


def mapping(mapper: MapperSettings) -> MappingConfig:
    return MappingConfig(
        mode="absolute",
        scale=mapper.scale,
        position_offset_m=mapper.position_offset_m,
        rotation_offset_deg=mapper.rotation_offset_deg,
        offset_frame=mapper.offset_frame,
        offsets_applied_by=mapper.offsets_applied_by,
        vr_axes=mapper.vr_axes,
        vr_origin_m=mapper.vr_origin_m,
        heading_deg=mapper.heading_deg,
        T_torso_base=(mapper.torso_base_p_m, quat_from_rpy_deg(mapper.torso_base_rpy_deg)),
    )


metres = st.floats(-2.0, 2.0)
vectors = st.tuples(metres, metres, metres)
degrees = st.floats(-180.0, 180.0)
mappers = st.builds(
    lambda **changed: replace(DEFAULT, **changed),
    scale=st.floats(0.1, 2.0),
    position_offset_m=vectors,
    offset_frame=st.sampled_from(["base", "vr"]),
    offsets_applied_by=st.sampled_from(["mapper", "sender"]),
    vr_axes=st.sampled_from(["openxr", "unity"]),
    vr_origin_m=vectors,
    heading_deg=degrees,
    torso_base_p_m=vectors,
    torso_base_rpy_deg=st.tuples(degrees, degrees, degrees),
)


@given(mappers, vectors, vectors)
def test_the_mapper_then_puts_this_hand_onto_this_tool(
    mapper: MapperSettings, p_vr_hand_m: Vec3, p_base_tool_m: Vec3
) -> None:
    solved = replace(mapper, vr_origin_m=solve_origin_m(p_vr_hand_m, p_base_tool_m, mapper))
    # rounded to 0.1 mm on each axis
    assert transform_position(p_vr_hand_m, mapping(solved)) == pytest.approx(
        p_base_tool_m, abs=2e-4 * max(1.0, mapper.scale)
    )


@given(mappers, st.floats(0.0, 360.0), metres)
def test_the_mapper_then_takes_this_way_for_the_robots_forward(
    mapper: MapperSettings, angle_deg: float, up_m: float
) -> None:
    way_m = (0.3 * sin(radians(angle_deg)), 0.0, 0.3 * cos(radians(angle_deg)))
    solved = replace(
        mapper,
        heading_deg=solve_heading_deg(way_m, mapper),
        torso_base_rpy_deg=(0.0, 0.0, 0.0),
    )
    mapped = map_vector((way_m[0], up_m, way_m[2]), mapping(solved))
    assert mapped == pytest.approx((0.3, 0.0, up_m), abs=1e-4)


def test_a_way_without_length_is_refused() -> None:
    with pytest.raises(ValueError, match="no direction"):
        solve_heading_deg((0.0, 0.1, 0.0), DEFAULT)
