"""RCTP feedback packet, robot to headset: values to bytes and back (docs/specs/rctp.md).

Owns the 96-byte layout. A value that is not known is None here and a cleared "has" bit on the wire,
never NaN. It decides nothing about when or to whom a packet is sent.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Final, Literal

from proto.rctp import QUAT_NORM2_MAX, QUAT_NORM2_MIN, Quat, Vec3
from proto.reasons import REASONS, SIDES, STATES, Reason, Side, State

MAGIC: Final = b"RCTF"
VERSION: Final = 1
PACKET_BYTES: Final = 96
JOINTS_MAX: Final = 8
SEQ_MODULUS: Final = 1 << 32

FLAG_ENGAGED: Final = 0x0001
FLAG_SIMULATED: Final = 0x0002
FLAG_GRIPPER_FOLLOWS: Final = 0x0004
FLAG_PREDICTING: Final = 0x0008
FLAG_BRAKING: Final = 0x0010
FLAG_HOMING: Final = 0x0020
FLAG_HAS_ECHO: Final = 0x0100
FLAG_HAS_POSE: Final = 0x0200
FLAG_HAS_GRIPPER: Final = 0x0400
FLAG_HAS_LATENCY: Final = 0x0800

FeedbackRejectReason = Literal[
    "short", "bad_magic", "bad_version", "unknown_code", "not_finite", "bad_quat", "out_of_range"
]
FEEDBACK_REJECT_REASONS: Final[tuple[FeedbackRejectReason, ...]] = (
    "short",
    "bad_magic",
    "bad_version",
    "unknown_code",
    "not_finite",
    "bad_quat",
    "out_of_range",
)

# Every field sits on a multiple of its own size: a C++ struct of the same order needs no packing.
_PACKET: Final = struct.Struct("<4sBBBBHHId18f")
_F32_MAX: Final = 3.4028234663852886e38
_ZERO_VEC3: Final[Vec3] = (0.0, 0.0, 0.0)
_ZERO_QUAT: Final[Quat] = (0.0, 0.0, 0.0, 0.0)


class FeedbackError(ValueError):
    """Bytes (or values) that are no feedback packet.

    Attributes:
        reason: the member of FEEDBACK_REJECT_REASONS to count it under.
    """

    def __init__(self, reason: FeedbackRejectReason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason: FeedbackRejectReason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackPacket:
    """What the operator's hand should know of its arm. Pose and joints are measured ones.

    Attributes:
        seq: +1 per packet and hand, modulo 2**32.
        t_send_s_echo: `t_send_s` of the newest hand packet taken, sender's clock; None before any.
        state: safety state of the arm.
        reason: why the arm does not move; "" if nothing stands in the way.
        side: the hand this is about.
        gripper_ratio: measured, 0 closed to 1 open; None without a gripper or a reading.
        p_base_tool_m: measured tool position in the arm's base frame; None if not known.
        q_base_tool_xyzw: measured tool rotation; None exactly where the position is.
        q_rad: measured joint angles, base to tip, at most 8; empty if not known.
        haptic_ratio: vibration the sender may play, 0..1.
        latency_ms: receive of a hand packet to the driver call that used it; None if not known.
    """

    seq: int
    side: Side
    state: State
    reason: Reason = ""
    t_send_s_echo: float | None = None
    engaged: bool = False
    simulated: bool = False
    gripper_follows: bool = False
    predicting: bool = False
    braking: bool = False
    homing: bool = False
    gripper_ratio: float | None = None
    p_base_tool_m: Vec3 | None = None
    q_base_tool_xyzw: Quat | None = None
    q_rad: tuple[float, ...] = ()
    haptic_ratio: float = 0.0
    latency_ms: float | None = None


def encode(packet: FeedbackPacket) -> bytes:
    """The 96 bytes of `packet`; `decode` takes whatever this returns.

    Raises:
        FeedbackError: not_finite, bad_quat or out_of_range: values that no receiver would take.
    """
    p_m, q_xyzw = _pose_to_send(packet)
    if len(packet.q_rad) > JOINTS_MAX:
        raise FeedbackError("out_of_range", f"{len(packet.q_rad)} joints, at most {JOINTS_MAX}")
    echo_s = packet.t_send_s_echo or 0.0
    ratios = (packet.gripper_ratio or 0.0, packet.haptic_ratio)
    joints_rad = packet.q_rad + (0.0,) * (JOINTS_MAX - len(packet.q_rad))
    floats = (packet.latency_ms or 0.0, *p_m, *q_xyzw, *joints_rad)
    _require_finite((echo_s, *ratios, *floats))  # before the clamp: it would turn NaN into 0
    if max(map(abs, floats)) > _F32_MAX:
        raise FeedbackError("out_of_range", "a field does not fit 32 bits")
    return _PACKET.pack(
        MAGIC,
        VERSION,
        SIDES.index(packet.side),
        STATES.index(packet.state),
        len(packet.q_rad),
        REASONS.index(packet.reason),
        _flags(packet),
        packet.seq % SEQ_MODULUS,
        echo_s,
        *map(_clamp_ratio, ratios),
        *floats,
    )


def decode(data: bytes) -> FeedbackPacket:
    """The packet in `data`; longer data is a later minor form, its extra bytes are ignored.

    Raises:
        FeedbackError: the first reason that holds, in the order of FEEDBACK_REJECT_REASONS.
    """
    _check_header(data)
    _, _, side, state, joints, reason, flags, seq, echo_s, *floats = _PACKET.unpack_from(data)
    if side >= len(SIDES) or state >= len(STATES) or reason >= len(REASONS):
        raise FeedbackError("unknown_code", f"side {side}, state {state}, reason {reason}")
    gripper, haptic, latency_ms = floats[:3]
    echo = _present(flags, FLAG_HAS_ECHO, echo_s)
    gripper_ratio = _present(flags, FLAG_HAS_GRIPPER, gripper)
    latency = _present(flags, FLAG_HAS_LATENCY, latency_ms)
    pose = floats[3:10] if flags & FLAG_HAS_POSE else []
    q_rad = tuple(floats[10 : 10 + joints])
    known = [value for value in (echo, gripper_ratio, latency) if value is not None]
    _require_finite((haptic, *known, *pose, *q_rad))
    p_m, q_xyzw = _pose_received(pose)
    if joints > JOINTS_MAX:
        raise FeedbackError("out_of_range", f"{joints} joints, at most {JOINTS_MAX}")
    return FeedbackPacket(
        seq=seq,
        side=SIDES[side],
        state=STATES[state],
        reason=REASONS[reason],
        t_send_s_echo=echo,
        engaged=bool(flags & FLAG_ENGAGED),
        simulated=bool(flags & FLAG_SIMULATED),
        gripper_follows=bool(flags & FLAG_GRIPPER_FOLLOWS),
        predicting=bool(flags & FLAG_PREDICTING),
        braking=bool(flags & FLAG_BRAKING),
        homing=bool(flags & FLAG_HOMING),
        gripper_ratio=None if gripper_ratio is None else _clamp_ratio(gripper_ratio),
        p_base_tool_m=p_m,
        q_base_tool_xyzw=q_xyzw,
        q_rad=q_rad,
        haptic_ratio=_clamp_ratio(haptic),
        latency_ms=latency,
    )


def _check_header(data: bytes) -> None:
    if len(data) < PACKET_BYTES:
        raise FeedbackError("short", f"{len(data)} bytes, a packet has {PACKET_BYTES}")
    if data[:4] != MAGIC:
        raise FeedbackError(
            "bad_magic", f"starts with {bytes(data[:4])!r}, a packet with {MAGIC!r}"
        )
    if data[4] != VERSION:
        raise FeedbackError("bad_version", f"version {data[4]}, this reads {VERSION}")


def _flags(packet: FeedbackPacket) -> int:
    return (
        FLAG_ENGAGED * packet.engaged
        | FLAG_SIMULATED * packet.simulated
        | FLAG_GRIPPER_FOLLOWS * packet.gripper_follows
        | FLAG_PREDICTING * packet.predicting
        | FLAG_BRAKING * packet.braking
        | FLAG_HOMING * packet.homing
        | FLAG_HAS_ECHO * (packet.t_send_s_echo is not None)
        | FLAG_HAS_POSE * (packet.p_base_tool_m is not None)
        | FLAG_HAS_GRIPPER * (packet.gripper_ratio is not None)
        | FLAG_HAS_LATENCY * (packet.latency_ms is not None)
    )


def _pose_to_send(packet: FeedbackPacket) -> tuple[Vec3, Quat]:
    p_m, q_xyzw = packet.p_base_tool_m, packet.q_base_tool_xyzw
    if (p_m is None) != (q_xyzw is None):
        raise FeedbackError("bad_quat", "position and rotation are known together or not at all")
    if p_m is None or q_xyzw is None:
        return _ZERO_VEC3, _ZERO_QUAT
    _require_finite((*p_m, *q_xyzw))
    return p_m, _normalized(q_xyzw)


def _pose_received(pose: list[float]) -> tuple[Vec3, Quat] | tuple[None, None]:
    if not pose:
        return None, None
    x, y, z, qx, qy, qz, qw = pose
    return (x, y, z), _normalized((qx, qy, qz, qw))


def _normalized(q_xyzw: Quat) -> Quat:
    x, y, z, w = q_xyzw
    norm2 = x * x + y * y + z * z + w * w
    if not QUAT_NORM2_MIN <= norm2 <= QUAT_NORM2_MAX:
        limits = f"{QUAT_NORM2_MIN}..{QUAT_NORM2_MAX}"
        raise FeedbackError("bad_quat", f"squared norm {norm2:g}, must be within {limits}")
    norm = math.sqrt(norm2)
    return (x / norm, y / norm, z / norm, w / norm)


def _require_finite(values: tuple[float, ...]) -> None:
    if not all(map(math.isfinite, values)):
        raise FeedbackError("not_finite", "a field is NaN or infinite")


def _present(flags: int, bit: int, value: float) -> float | None:
    return value if flags & bit else None


def _clamp_ratio(ratio: float) -> float:
    return min(1.0, max(0.0, ratio))
