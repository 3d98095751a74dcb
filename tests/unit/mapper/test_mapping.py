"""The mapping against an independent oracle: numpy matrices and scipy rotations, M R M^T spelt out.

Promise: position to 1 um, rotation to 0.002 deg, determinant +1. float64 allows far better, so
the asserts ask for it: a wrong digit in a formula shows, a wrong rounding does not.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from runtime import se3
from runtime.se3 import Pose, Quat, Vec3
from services.mapper.mapping import (
    Anchor,
    MappingConfig,
    Mode,
    VrAxes,
    map_absolute,
    map_relative,
    map_rotation,
    map_vector,
    transform_position,
)

Array = NDArray[np.float64]

M_AXES: dict[VrAxes, Array] = {
    "openxr": np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    "unity": np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
}
MAX_POSITION_ERROR_M = 1e-12
MAX_ROTATION_ERROR_RAD = 1e-13
MAX_EULER_ERROR_RAD = math.radians(0.002)
POSES_PER_CASE = 100_000
ALL_AXES = get_args(VrAxes)
ALL_MODES = get_args(Mode)


def configs(mode: Mode, vr_axes: VrAxes) -> list[MappingConfig]:
    """A plain one, published Piper, and a torso with heading, origin and every kind of offset."""
    tilted = se3.quat_from_rpy_deg((70.0, -20.0, 130.0))
    everything = MappingConfig(
        mode=mode,
        scale=1.7,
        position_offset_m=(0.1, -0.2, 0.45),
        rotation_offset_deg=(10.0, -50.0, 170.0),
        vr_axes=vr_axes,
        vr_origin_m=(0.02, 1.35, -0.3),
        heading_deg=-37.0,
        T_torso_base=((0.05, 0.21, 0.9), tilted),
    )
    return [
        MappingConfig(mode=mode, vr_axes=vr_axes),
        replace(
            MappingConfig(mode=mode, vr_axes=vr_axes),
            scale=0.75,
            position_offset_m=(0.0, 0.0, 0.3),
            rotation_offset_deg=(0.0, 90.0, 0.0),
        ),
        everything,
        replace(everything, offset_frame="vr"),
        replace(everything, offsets_applied_by="sender"),
    ]


class Oracle:
    """docs/frames.md in numpy, straight from the formulas, nothing folded together."""

    def __init__(self, config: MappingConfig) -> None:
        heading = Rotation.from_euler("z", config.heading_deg, degrees=True).as_matrix()
        self.M = heading @ M_AXES[config.vr_axes]
        p_torso_base, q_torso_base = config.T_torso_base
        self.p_torso_base = np.asarray(p_torso_base)
        self.R_torso_base = Rotation.from_quat(q_torso_base).as_matrix()
        self.R_offset = Rotation.from_euler(
            "xyz", config.rotation_offset_deg, degrees=True
        ).as_matrix()
        self.p_offset = np.asarray(config.position_offset_m)
        self.scale = config.scale
        self.origin = np.asarray(config.vr_origin_m)
        if config.offset_frame == "vr":
            self.p_offset = self.M @ self.p_offset
            self.R_offset = self.M @ self.R_offset @ self.M.T
        if config.offsets_applied_by == "sender":
            self.p_offset, self.R_offset, self.scale = np.zeros(3), np.eye(3), 1.0

    def absolute(self, p: Array, R: Array) -> tuple[Array, Array]:
        p_torso = (self.scale * (p - self.origin)) @ self.M.T + self.p_offset
        R_torso = self.M @ R @ self.M.T @ self.R_offset
        return (p_torso - self.p_torso_base) @ self.R_torso_base, self.R_torso_base.T @ R_torso

    def relative(self, anchor: Anchor, p: Array, R: Array) -> tuple[Array, Array]:
        """By the detour through the torso frame, which the code under test does not take."""
        R_vr_anchor = Rotation.from_quat(anchor.q_vr_hand_xyzw).as_matrix()
        R_base_anchor = Rotation.from_quat(anchor.q_base_tool_xyzw).as_matrix()
        p_torso_anchor = self.R_torso_base @ np.asarray(anchor.p_base_tool_m) + self.p_torso_base
        p_torso = p_torso_anchor + self.scale * (p - np.asarray(anchor.p_vr_hand_m)) @ self.M.T
        R_torso = self.M @ R @ R_vr_anchor.T @ self.M.T @ self.R_torso_base @ R_base_anchor
        return (p_torso - self.p_torso_base) @ self.R_torso_base, self.R_torso_base.T @ R_torso


ANCHOR = Anchor(
    p_vr_hand_m=(0.3, 1.2, -0.4),
    q_vr_hand_xyzw=se3.quat_from_rpy_deg((20.0, -35.0, 80.0)),
    p_base_tool_m=(0.25, -0.1, 0.3),
    q_base_tool_xyzw=se3.quat_from_rpy_deg((0.0, 90.0, 0.0)),
)


def poses(p: Array, q: Array) -> list[tuple[Vec3, Quat]]:
    pairs = zip(p.tolist(), q.tolist(), strict=True)
    return [((x, y, z), (a, b, c, d)) for (x, y, z), (a, b, c, d) in pairs]


def mapped(config: MappingConfig, p: Array, q: Array) -> tuple[Array, Array]:
    if config.mode == "absolute":
        out = [map_absolute(pi, qi, config) for pi, qi in poses(p, q)]
    else:
        out = [map_relative(ANCHOR, pi, qi, config) for pi, qi in poses(p, q)]
    return np.asarray([pose[0] for pose in out]), np.asarray([pose[1] for pose in out])


def expected(config: MappingConfig, p: Array, q: Array) -> tuple[Array, Array]:
    R = Rotation.from_quat(q).as_matrix()
    oracle = Oracle(config)
    return oracle.absolute(p, R) if config.mode == "absolute" else oracle.relative(ANCHOR, p, R)


def angle_rad(q: Array, R: Array) -> Array:
    """Geodesic angle between our quaternions and the oracle's matrices, by scipy."""
    magnitude: Array = (Rotation.from_quat(q).inv() * Rotation.from_matrix(R)).magnitude()
    return magnitude


def hands(count: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.RandomState(seed)
    return rng.uniform(-3.0, 3.0, (count, 3)), Rotation.random(count, random_state=rng).as_quat()


@pytest.mark.parametrize("mode", ALL_MODES)
@pytest.mark.parametrize("vr_axes", ALL_AXES)
def test_random_poses_agree_with_the_oracle(mode: Mode, vr_axes: VrAxes) -> None:
    cases = configs(mode, vr_axes)
    for seed, config in enumerate(cases):
        p_vr, q_vr = hands(POSES_PER_CASE // len(cases), seed)
        p, q = mapped(config, p_vr, q_vr)
        p_oracle, R_oracle = expected(config, p_vr, q_vr)
        assert np.linalg.norm(p - p_oracle, axis=1).max() < MAX_POSITION_ERROR_M
        assert angle_rad(q, R_oracle).max() < MAX_ROTATION_ERROR_RAD
        assert np.abs(np.linalg.det(R_oracle) - 1.0).max() < 1e-12  # the formula itself is proper
        assert np.abs(np.linalg.norm(q, axis=1) - 1.0).max() < 1e-15  # so det R(q) = +1


def targets_at_lock() -> Array:
    """Tool rotations at both gimbal locks and within 1 deg of them, on a grid of roll and yaw."""
    beside_deg = [0.0, *(s * 10.0**e for e in np.arange(-9, 0.01, 0.5) for s in (1.0, -1.0))]
    turns_deg = np.arange(-180.0, 180.0, 22.5)
    rpy_deg = [
        (roll, lock + beside, yaw)
        for lock in (90.0, -90.0)
        for beside in beside_deg
        for roll in turns_deg
        for yaw in turns_deg
    ]
    result: Array = Rotation.from_euler("xyz", rpy_deg, degrees=True).as_matrix()
    return result


@pytest.mark.parametrize("mode", ALL_MODES)
@pytest.mark.parametrize("vr_axes", ALL_AXES)
def test_every_pose_within_a_degree_of_gimbal_lock(mode: Mode, vr_axes: VrAxes) -> None:
    R_target = targets_at_lock()
    for config in configs(mode, vr_axes)[1:3]:
        # The hand pose that leads there, by the oracle: rotations map one to one.
        oracle = Oracle(config)
        _, R_identity = expected(config, np.zeros((1, 3)), np.array([[0.0, 0.0, 0.0, 1.0]]))
        M = oracle.R_torso_base.T @ oracle.M
        q_vr = Rotation.from_matrix(M.T @ R_target @ R_identity[0].T @ M).as_quat()
        _, q = mapped(config, np.zeros((len(q_vr), 3)), q_vr)
        assert angle_rad(q, R_target).max() < MAX_ROTATION_ERROR_RAD
        wish_deg = (3.0, 91.0, -170.0)
        for nearest in (None, wish_deg):
            rpy_deg = [se3.quat_to_euler((a, b, c, d), nearest) for a, b, c, d in q.tolist()]
            again = Rotation.from_euler("xyz", rpy_deg, degrees=True).as_quat()
            assert angle_rad(again, R_target).max() < MAX_EULER_ERROR_RAD / 5


@pytest.mark.parametrize(
    ("vr_axes", "v_vr", "v_base"),
    [
        ("openxr", (1.0, 0.0, 0.0), (0.0, -1.0, 0.0)),  # the operator's right: base -y
        ("openxr", (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),  # up stays up
        ("openxr", (0.0, 0.0, -1.0), (1.0, 0.0, 0.0)),  # forward is -z
        ("unity", (1.0, 0.0, 0.0), (0.0, -1.0, 0.0)),
        ("unity", (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
        ("unity", (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)),  # forward is +z
    ],
)
def test_axes_table(vr_axes: VrAxes, v_vr: Vec3, v_base: Vec3) -> None:
    config = MappingConfig(vr_axes=vr_axes)
    assert map_vector(v_vr, config) == v_base
    # Heading 90 turns the operator's forward onto the robot's left.
    turned = map_vector(v_vr, replace(config, heading_deg=90.0))
    assert turned == pytest.approx((-v_base[1], v_base[0], v_base[2]), abs=1e-15)


@pytest.mark.parametrize("vr_axes", ALL_AXES)
def test_a_hand_pitched_up_pitches_the_tool_up(vr_axes: VrAxes) -> None:
    """The mirror test: the same physical gesture from either sender gives the same motion."""
    forward_vr = {"openxr": (0.0, 0.0, -1.0), "unity": (0.0, 0.0, 1.0)}[vr_axes]
    # Nose up is +20 deg about x in right-handed OpenXR, -20 deg about x in left-handed Unity.
    pitch_deg = {"openxr": 20.0, "unity": -20.0}[vr_axes]
    q_vr = se3.quat_from_rpy_deg((pitch_deg, 0.0, 0.0))
    nose_vr = se3.quat_rotate(q_vr, forward_vr)
    config = MappingConfig(vr_axes=vr_axes)
    up = math.radians(20.0)
    for nose in (
        map_vector(nose_vr, config),  # the nose moved in VR, then mapped
        se3.quat_rotate(map_rotation(q_vr, config), map_vector(forward_vr, config)),
    ):
        assert nose == pytest.approx((math.cos(up), 0.0, math.sin(up)), abs=1e-15)


@pytest.mark.parametrize("vr_axes", ALL_AXES)
def test_published_piper_values(vr_axes: VrAxes) -> None:
    config = MappingConfig(
        mode="absolute",
        scale=0.75,
        position_offset_m=(0.0, 0.0, 0.3),
        rotation_offset_deg=(0.0, 90.0, 0.0),
        vr_axes=vr_axes,
    )
    p, q = map_absolute((0.0, 0.0, 0.0), se3.IDENTITY, config)
    assert p == (0.0, 0.0, 0.3)
    assert se3.quat_to_euler(q) == pytest.approx((0.0, 90.0, 0.0), abs=1e-12)
    forward = -1.0 if vr_axes == "openxr" else 1.0
    ahead = (0.2, -0.1, 0.4 * forward)
    assert transform_position(ahead, config) == pytest.approx((0.3, -0.15, 0.225), abs=1e-15)


unit = st.floats(-1.0, 1.0)
points = st.tuples(unit, unit, unit)
rotations = (
    st.tuples(unit, unit, unit, unit)
    .filter(lambda q: math.hypot(*q) > 1e-2)
    .map(se3.quat_normalize)
)
any_config = st.builds(
    MappingConfig,
    scale=st.floats(0.1, 3.0),
    heading_deg=st.floats(-180.0, 180.0),
    vr_axes=st.sampled_from(ALL_AXES),
    T_torso_base=st.tuples(points, rotations),
)


@given(any_config, points, rotations, points, rotations, st.floats(0.9, 1.1))
def test_the_first_target_is_the_held_pose(
    config: MappingConfig, p_vr: Vec3, q_vr: Quat, p_held: Vec3, q_held: Quat, length: float
) -> None:
    # ingest lets quaternions through that are not quite unit
    x, y, z, w = q_vr
    q_raw = (x * length, y * length, z * length, w * length)
    p, q = map_relative(Anchor(p_vr, q_raw, p_held, q_held), p_vr, q_raw, config)
    assert p == p_held
    assert se3.quat_angle_rad(q, q_held) < 1e-12


@given(any_config, points, points, rotations)
def test_motion_is_scaled_in_length_and_not_in_angle(
    config: MappingConfig, p_vr: Vec3, step: Vec3, q_vr: Quat
) -> None:
    anchor = Anchor(p_vr, se3.IDENTITY, se3.ZERO, se3.IDENTITY)
    p, q = map_relative(anchor, se3.vadd(p_vr, step), q_vr, config)
    assert se3.vnorm(p) == pytest.approx(config.scale * se3.vnorm(step), abs=1e-14)
    turned_rad = se3.quat_angle_rad(se3.IDENTITY, q_vr)
    assert se3.quat_angle_rad(se3.IDENTITY, q) == pytest.approx(turned_rad, abs=1e-13)


@given(any_config, points, rotations, points, rotations)
def test_two_arms_of_one_torso_move_alike(
    config: MappingConfig, p_vr: Vec3, q_vr: Quat, p_other: Vec3, q_other: Quat
) -> None:
    """One algorithm for both mounts: seen from the torso, one gesture is one motion."""
    mirrored = replace(config, T_torso_base=(p_other, q_other))
    in_torso: list[Pose] = []
    for each in (config, mirrored):
        at_absolute = map_absolute(p_vr, q_vr, each)
        in_torso.append(se3.pose_mul(each.T_torso_base, at_absolute))
    assert in_torso[0][0] == pytest.approx(in_torso[1][0], abs=1e-13)
    assert se3.quat_angle_rad(in_torso[0][1], in_torso[1][1]) < 1e-13
    for v in ((1.0, 0.0, 0.0), p_vr):
        a = se3.quat_rotate(config.T_torso_base[1], map_vector(v, config))
        b = se3.quat_rotate(mirrored.T_torso_base[1], map_vector(v, mirrored))
        assert a == pytest.approx(b, abs=1e-14)


@given(points, rotations, st.sampled_from(ALL_AXES))
def test_offsets_of_a_sender_are_never_applied_twice(p: Vec3, q: Quat, axes: VrAxes) -> None:
    """What the sender did by itself and what the mapper does for it end in the same pose."""
    offset_m, offset_deg, scale = (0.1, 0.2, -0.3), (5.0, -40.0, 90.0), 0.75
    by_mapper = MappingConfig(
        mode="absolute",
        scale=scale,
        position_offset_m=offset_m,
        rotation_offset_deg=offset_deg,
        offset_frame="vr",
        vr_axes=axes,
        heading_deg=15.0,
    )
    by_sender = replace(by_mapper, offsets_applied_by="sender")
    sent_p = se3.vadd(se3.vscale(p, scale), offset_m)
    sent_q = se3.quat_mul(q, se3.quat_from_rpy_deg(offset_deg))
    p_sender, q_sender = map_absolute(sent_p, sent_q, by_sender)
    p_mapper, q_mapper = map_absolute(p, q, by_mapper)
    assert p_sender == pytest.approx(p_mapper, abs=1e-14)
    assert se3.quat_angle_rad(q_sender, q_mapper) < 1e-14


def test_offsets_of_a_sender_cancel_in_relative_mode() -> None:
    config = MappingConfig(scale=0.5, offsets_applied_by="sender")
    anchor = Anchor(se3.ZERO, se3.IDENTITY, se3.ZERO, se3.IDENTITY)
    p, _ = map_relative(anchor, (0.0, 0.4, 0.0), se3.IDENTITY, config)
    assert p == (0.0, 0.0, 0.4)  # already scaled in the packet


def test_a_mount_that_is_no_rotation_is_refused() -> None:
    with pytest.raises(ValueError, match="names no rotation"):
        MappingConfig(T_torso_base=(se3.ZERO, (0.0, 0.0, 0.0, 0.0)))
