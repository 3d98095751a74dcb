"""The mathematics of `tools.arm calibrate`: when a hand is still or has moved straight, and what
follows for the mapping. Pure; formulas in docs/frames.md.
"""

from __future__ import annotations

from collections import deque
from math import atan2, degrees, hypot, radians
from typing import Final, NamedTuple

from proto.messages import HandPose, Vec3
from runtime.clock import NS_PER_S
from runtime.se3 import (
    quat_conj,
    quat_from_rpy_deg,
    quat_from_rpy_rad,
    quat_mul,
    quat_rotate,
    vadd,
    vnorm,
    vscale,
    vsub,
)
from runtime.settings import MapperSettings

STILL_NS: Final = NS_PER_S
# A hand held still in the air wanders by a few millimetres; beyond this it is moving.
STILL_RADIUS_M: Final = 0.01
FORWARD_M: Final = 0.20
# A straight reach of an arm bows by a few per cent; more than this has no one direction.
BOW_RATIO: Final = 0.15
# Both waits end when the stream has a hole: then nobody knows what the hand did.
GAP_NS: Final = NS_PER_S // 5


class Sample(NamedTuple):
    """Where the hand was, and when it was received."""

    p_vr_hand_m: Vec3
    t_recv_ns: int


def sample_of(hand: HandPose) -> Sample | None:
    """The usable part of a hand pose; None if it is untracked or a jump."""
    if not hand.tracking_valid or hand.jump or hand.p_vr_hand_m is None:
        return None
    return Sample(hand.p_vr_hand_m, hand.t_recv_ns)


class Track:
    """Consecutive samples; starts anew whenever one is missing."""

    def __init__(self) -> None:
        self._session: int | None = None
        self.samples: deque[Sample] = deque(maxlen=4096)

    def add(self, hand: HandPose) -> bool:
        """Takes the next hand pose; False if it broke the track."""
        sample = sample_of(hand)
        broken = (
            sample is None
            or hand.session != self._session
            or (self.samples and sample.t_recv_ns - self.samples[-1].t_recv_ns > GAP_NS)
        )
        if broken:
            self.samples.clear()
            self._session = hand.session
        if sample is not None:
            self.samples.append(sample)
        return not broken


class StillHand:
    """Waits for a hand to be still for a second."""

    def __init__(self) -> None:
        self._track = Track()

    def observe(self, hand: HandPose) -> Vec3 | None:
        """Its mean position over that second, once there is one."""
        self._track.add(hand)
        samples = self._track.samples
        if not samples:
            return None
        newest = samples[-1]
        while vnorm(vsub(samples[0].p_vr_hand_m, newest.p_vr_hand_m)) > STILL_RADIUS_M:
            samples.popleft()
        if newest.t_recv_ns - samples[0].t_recv_ns < STILL_NS:
            return None
        mean_m = _mean(samples)
        apart_m = max(vnorm(vsub(sample.p_vr_hand_m, mean_m)) for sample in samples)
        if apart_m > STILL_RADIUS_M:
            samples.popleft()
            return None
        return mean_m


def _mean(samples: deque[Sample]) -> Vec3:
    total_m = (0.0, 0.0, 0.0)
    for sample in samples:
        total_m = vadd(total_m, sample.p_vr_hand_m)
    return vscale(total_m, 1.0 / len(samples))


class ForwardHand:
    """Waits for a hand to go 20 cm straight ahead, from where it is first seen.

    Attributes:
        bowed: the way was long enough and not straight.
    """

    def __init__(self) -> None:
        self._track = Track()
        self.bowed = False

    def observe(self, hand: HandPose) -> Vec3 | None:
        """The horizontal way in the VR frame, once it is long enough."""
        self._track.add(hand)
        samples = self._track.samples
        if self.bowed or not samples:
            return None
        start_m = samples[0].p_vr_hand_m
        way_m = _level(vsub(samples[-1].p_vr_hand_m, start_m))
        length_m = vnorm(way_m)
        if length_m < FORWARD_M:
            return None
        bow_m = max(
            abs(_off_line(_level(vsub(s.p_vr_hand_m, start_m)), way_m, length_m)) for s in samples
        )
        self.bowed = bow_m > BOW_RATIO * length_m
        return None if self.bowed else way_m


def _level(v_vr_m: Vec3) -> Vec3:
    """Both axes conventions have y up."""
    return (v_vr_m[0], 0.0, v_vr_m[2])


def _off_line(point_m: Vec3, way_m: Vec3, length_m: float) -> float:
    return (point_m[0] * way_m[2] - point_m[2] * way_m[0]) / length_m


def solve_heading_deg(way_vr_m: Vec3, mapper: MapperSettings) -> float:
    """The heading that turns this way, seen from above, onto the robot's +x."""
    forward_m, left_m, _ = to_axes(way_vr_m, mapper.vr_axes)
    if hypot(forward_m, left_m) == 0.0:
        raise ValueError("a way without length has no direction")
    return round(-degrees(atan2(left_m, forward_m)), 2) + 0.0


def solve_origin_m(p_vr_hand_m: Vec3, p_base_tool_m: Vec3, mapper: MapperSettings) -> Vec3:
    """The vr_origin_m for which absolute mode maps this hand onto this tool position.

    Solves p_base_tool = M (gain (p_vr - vr_origin)) + p_zero for vr_origin.
    """
    q_torso_axes = quat_from_rpy_rad(0.0, 0.0, radians(mapper.heading_deg))
    q_base_torso = quat_conj(quat_from_rpy_deg(mapper.torso_base_rpy_deg))
    gain_ratio, offset_m = 1.0, (0.0, 0.0, 0.0)
    if mapper.offsets_applied_by == "mapper":
        gain_ratio, offset_m = mapper.scale, mapper.position_offset_m
    if mapper.offset_frame == "vr":
        offset_m = quat_rotate(q_torso_axes, to_axes(offset_m, mapper.vr_axes))
    p_zero_m = quat_rotate(q_base_torso, vsub(offset_m, mapper.torso_base_p_m))
    q_axes_base = quat_conj(quat_mul(q_base_torso, q_torso_axes))
    step_m = quat_rotate(q_axes_base, vsub(p_base_tool_m, p_zero_m))
    step_vr_m = vscale(from_axes(step_m, mapper.vr_axes), 1.0 / gain_ratio)
    x, y, z = vsub(p_vr_hand_m, step_vr_m)
    return (round(x, 4) + 0.0, round(y, 4) + 0.0, round(z, 4) + 0.0)


def to_axes(v_vr: Vec3, vr_axes: str) -> Vec3:
    """VR axes to forward, left, up."""
    x, y, z = v_vr
    return (z if vr_axes == "unity" else -z, -x, y)


def from_axes(v: Vec3, vr_axes: str) -> Vec3:
    """Forward, left, up to VR axes."""
    forward, left, up = v
    return (-left, up, forward if vr_axes == "unity" else -forward)
