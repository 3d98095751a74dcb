"""From a hand in the VR frame to a tool in the arm's base frame; formulas: docs/frames.md.

Pure: plain floats, no state, no clock. Never decides whether an arm may move, and never clamps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import radians
from typing import Final, Literal

from runtime.se3 import (
    IDENTITY,
    ZERO,
    Pose,
    Quat,
    Vec3,
    quat_conj,
    quat_from_rpy_deg,
    quat_from_rpy_rad,
    quat_mul,
    quat_normalize,
    quat_rotate,
    vadd,
    vscale,
    vsub,
)

Mode = Literal["relative", "absolute"]
VrAxes = Literal["openxr", "unity"]
OffsetFrame = Literal["base", "vr"]
OffsetsAppliedBy = Literal["mapper", "sender"]

NO_MOUNT: Final[Pose] = (ZERO, IDENTITY)


@dataclass(frozen=True, slots=True)
class MappingConfig:
    """One arm's mapping. "torso" is the robot's frame; without a torso it is the arm's base.

    Attributes:
        mode: relative to the clutch's anchor, or absolute (the published Piper formula).
        scale: robot metres per hand metre.
        position_offset_m: absolute mode: added after scaling.
        rotation_offset_deg: absolute mode: extrinsic XYZ, applied on the tool's side.
        offset_frame: axes of both offsets: the robot's ("base") or the headset's ("vr").
        offsets_applied_by: "sender": scale and both offsets are already in the packets.
        vr_axes: what the sender calls x, y, z.
        vr_origin_m: absolute mode: the point of the VR frame that maps onto the robot's origin.
        heading_deg: turns the operator's forward onto the robot's, about the robot's z.
        T_torso_base: mount of this arm; a proper rotation also for a mirrored arm.

    Raises:
        ValueError: the quaternion of T_torso_base names no rotation.
    """

    mode: Mode = "relative"
    scale: float = 1.0
    position_offset_m: Vec3 = ZERO
    rotation_offset_deg: Vec3 = ZERO
    offset_frame: OffsetFrame = "base"
    offsets_applied_by: OffsetsAppliedBy = "mapper"
    vr_axes: VrAxes = "openxr"
    vr_origin_m: Vec3 = ZERO
    heading_deg: float = 0.0
    T_torso_base: Pose = NO_MOUNT
    # Computed once so that the hot path is a few products:
    gain_ratio: float = field(init=False, repr=False)
    q_base_axes_xyzw: Quat = field(init=False, repr=False)  # M = R(q_base_axes) @ M_axes
    p_base_zero_m: Vec3 = field(init=False, repr=False)  # where vr_origin_m lands
    q_tail_xyzw: Quat = field(init=False, repr=False)  # right-hand factor of an absolute rotation

    def __post_init__(self) -> None:
        """Fold heading, mount and offsets into the four computed fields."""
        p_torso_base_m, q_torso_base = self.T_torso_base
        q_base_torso = quat_conj(quat_normalize(q_torso_base))
        q_torso_axes = quat_from_rpy_rad(0.0, 0.0, radians(self.heading_deg))
        gain, p_offset_m, q_offset = 1.0, ZERO, IDENTITY
        if self.offsets_applied_by == "mapper":
            gain = self.scale
            p_offset_m, q_offset = (
                self.position_offset_m,
                quat_from_rpy_deg(self.rotation_offset_deg),
            )
        if self.offset_frame == "vr":
            p_offset_m = quat_rotate(q_torso_axes, _to_axes(p_offset_m, self.vr_axes))
            q_offset = _turn(q_torso_axes, q_offset, self.vr_axes)
        put = object.__setattr__  # the documented way to fill a frozen dataclass
        put(self, "gain_ratio", gain)
        put(self, "q_base_axes_xyzw", quat_mul(q_base_torso, q_torso_axes))
        put(self, "p_base_zero_m", quat_rotate(q_base_torso, vsub(p_offset_m, p_torso_base_m)))
        put(self, "q_tail_xyzw", quat_mul(q_base_torso, q_offset))


@dataclass(frozen=True, slots=True)
class Anchor:
    """The pair of poses that a clutch made equal: where the hand was, where the tool was held."""

    p_vr_hand_m: Vec3
    q_vr_hand_xyzw: Quat
    p_base_tool_m: Vec3
    q_base_tool_xyzw: Quat


def transform_position(p_vr_hand_m: Vec3, config: MappingConfig) -> Vec3:
    """Absolute mode: M (scale (p_vr - vr_origin)) + position_offset, in the arm's base, metres."""
    step_m = vscale(vsub(p_vr_hand_m, config.vr_origin_m), config.gain_ratio)
    return vadd(map_vector(step_m, config), config.p_base_zero_m)


def map_absolute(p_vr_hand_m: Vec3, q_vr_hand_xyzw: Quat, config: MappingConfig) -> Pose:
    """The tool pose in the arm's base for a hand pose: position above, (M R_vr M^T) R_offset.

    Raises:
        ValueError: the quaternion names no rotation (ingest lets none through).
    """
    q = quat_mul(map_rotation(q_vr_hand_xyzw, config), config.q_tail_xyzw)
    return transform_position(p_vr_hand_m, config), quat_normalize(q)


def map_relative(
    anchor: Anchor, p_vr_hand_m: Vec3, q_vr_hand_xyzw: Quat, config: MappingConfig
) -> Pose:
    """The tool pose in the arm's base for the hand's motion since the anchor.

    p = p_anchor + scale M (p_vr - p_vr_anchor), R = (M R_vr R_vr_anchor^T M^T) R_anchor.
    At the anchor's own sample this is the held pose.

    Raises:
        ValueError: a quaternion names no rotation.
    """
    step_m = vscale(vsub(p_vr_hand_m, anchor.p_vr_hand_m), config.gain_ratio)
    turn = quat_mul(q_vr_hand_xyzw, quat_conj(anchor.q_vr_hand_xyzw))
    q = quat_mul(map_rotation(turn, config), anchor.q_base_tool_xyzw)
    return vadd(anchor.p_base_tool_m, map_vector(step_m, config)), quat_normalize(q)


def map_vector(v_vr: Vec3, config: MappingConfig) -> Vec3:
    """M v: a difference of positions, from VR axes to the axes of the arm's base."""
    return quat_rotate(config.q_base_axes_xyzw, _to_axes(v_vr, config.vr_axes))


def map_rotation(q_vr_xyzw: Quat, config: MappingConfig) -> Quat:
    """M R M^T: a turn, from VR axes to the axes of the arm's base. Never M R: that may mirror."""
    return _turn(config.q_base_axes_xyzw, q_vr_xyzw, config.vr_axes)


def _to_axes(v_vr: Vec3, vr_axes: VrAxes) -> Vec3:
    """M_axes v: VR axes renamed to forward, left, up."""
    x, y, z = v_vr
    return (z if vr_axes == "unity" else -z, -x, y)


def _turn(q_axes: Quat, q_vr: Quat, vr_axes: VrAxes) -> Quat:
    """M R M^T in quaternions: the axis of R maps as a vector, times det M; the angle stays."""
    x, y, z, w = q_vr
    axis = _to_axes((x, y, z), vr_axes)
    if vr_axes == "unity":  # det M = -1: a mirror turns every rotation the other way round
        axis = (-axis[0], -axis[1], -axis[2])
    u = quat_rotate(q_axes, axis)
    return (u[0], u[1], u[2], w)
