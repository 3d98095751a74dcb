"""RCTP hand packet: bytes to values and back (docs/specs/rctp.md).

Owns the byte layout and the checks that one packet can answer for alone. It knows nothing of time,
senders or sessions, verifies no signature, and raises nothing but RctpError for any bytes.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Final, Literal, get_args

MAGIC: Final = b"RCTP"
PACKET_BYTES: Final = 45
TRAILER_MAGIC: Final = b"S1"
TRAILER_BYTES: Final = 32
SIGNED_BYTES: Final = PACKET_BYTES + TRAILER_BYTES
TAG_BYTES: Final = 16

FLAGS_OFFSET: Final = 44
FLAG_TRACKED: Final = 0x01
FLAG_ESTOP: Final = 0x02

TFLAG_ENABLE_HELD: Final = 0x01
TFLAG_ENABLE_SUPPORTED: Final = 0x02
TFLAG_LEFT_HAND: Final = 0x04

# Twice the 5 m from centre to edge of a large play area: a hand out here is a broken sender.
POSITION_MAX_M: Final = 10.0
# |q| within 10 % of 1: far wider than f32 rounding (1e-7) or any sender's drift, and still far
# from the zero quaternion of an uninitialised Unity struct.
QUAT_NORM2_MIN: Final = 0.81
QUAT_NORM2_MAX: Final = 1.21

RejectReason = Literal[
    "short",
    "bad_magic",
    "not_allowed",
    "not_finite",
    "bad_quat",
    "out_of_range",
    "duplicate",
    "old",
    "foreign_source",
    "bad_signature",
    "replayed",
]
# Every reason a receiver may drop a hand packet for. The codec itself gives short, bad_magic,
# not_finite, bad_quat and out_of_range; the others need an address, a history or a key.
REJECT_REASONS: Final[tuple[RejectReason, ...]] = get_args(RejectReason)

Vec3 = tuple[float, float, float]
Quat = tuple[float, float, float, float]

_PACKET: Final = struct.Struct("<4sd8fB")
_TRAILER: Final = struct.Struct("<2sBBQI16s")


class RctpError(ValueError):
    """Bytes (or values) that are no hand packet.

    Attributes:
        reason: the member of REJECT_REASONS to count it under.
    """

    def __init__(self, reason: RejectReason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason: RejectReason = reason


@dataclass(frozen=True, slots=True)
class Trailer:
    """The optional 32 bytes behind the packet, as sent: nothing in here is verified.

    `enable_held` means something only where `enable_supported` is set.
    """

    key_id: int
    enable_held: bool
    enable_supported: bool
    left_hand: bool
    session: int
    seq: int
    tag: bytes


@dataclass(frozen=True, slots=True)
class HandPacket:
    """One hand sample as the headset sent it. Axes of the vr frame: docs/frames.md."""

    t_send_s: float
    p_vr_hand_m: Vec3
    q_vr_hand_xyzw: Quat
    gripper_ratio: float
    tracking_valid: bool
    estop: bool
    trailer: Trailer | None = None


def header_reason(data: bytes) -> Literal["", "short", "bad_magic"]:
    """Why `data` cannot be a hand packet at all; "" if length and magic are right."""
    if len(data) < PACKET_BYTES:
        return "short"
    if data[:4] != MAGIC:
        return "bad_magic"
    return ""


def estop_bit(data: bytes) -> bool:
    """Whether `data` asks for an e-stop: length, magic and bit 1 decide, nothing else matters."""
    return header_reason(data) == "" and bool(data[FLAGS_OFFSET] & FLAG_ESTOP)


def decode(data: bytes) -> HandPacket:
    """The packet in `data`: quaternion normalised, gripper clamped to 0..1.

    Bytes behind the packet are ignored unless they are a whole trailer; reserved bits are ignored.

    Raises:
        RctpError: short, bad_magic, not_finite, bad_quat or out_of_range, the first that holds.
    """
    reason = header_reason(data)
    if reason == "short":
        raise RctpError(reason, f"{len(data)} bytes, a packet has {PACKET_BYTES}")
    if reason == "bad_magic":
        raise RctpError(reason, f"starts with {bytes(data[:4])!r}, not with {MAGIC!r}")
    _, t_send_s, x, y, z, qx, qy, qz, qw, gripper, flags = _PACKET.unpack_from(data)
    q_vr_hand_xyzw = _check(t_send_s, (x, y, z), (qx, qy, qz, qw), gripper)
    return HandPacket(
        t_send_s=t_send_s,
        p_vr_hand_m=(x, y, z),
        q_vr_hand_xyzw=q_vr_hand_xyzw,
        gripper_ratio=_clamp_ratio(gripper),
        tracking_valid=bool(flags & FLAG_TRACKED),
        estop=bool(flags & FLAG_ESTOP),
        trailer=_decode_trailer(data),
    )


def encode(packet: HandPacket) -> bytes:
    """The 45 bytes of `packet`, 77 with a trailer; `decode` takes whatever this returns.

    Raises:
        RctpError: not_finite, bad_quat or out_of_range: values that no receiver would take.
        ValueError: a trailer field does not fit its bytes.
    """
    p_vr_hand_m = packet.p_vr_hand_m
    q_xyzw = _check(packet.t_send_s, p_vr_hand_m, packet.q_vr_hand_xyzw, packet.gripper_ratio)
    flags = FLAG_TRACKED * packet.tracking_valid | FLAG_ESTOP * packet.estop
    gripper_ratio = _clamp_ratio(packet.gripper_ratio)
    body = _PACKET.pack(MAGIC, packet.t_send_s, *p_vr_hand_m, *q_xyzw, gripper_ratio, flags)
    return body if packet.trailer is None else body + _encode_trailer(packet.trailer)


def _check(t_send_s: float, p_m: Vec3, q_xyzw: Quat, gripper_ratio: float) -> Quat:
    """The normalised quaternion, once every field has passed; raises RctpError otherwise."""
    if not all(map(math.isfinite, (t_send_s, *p_m, *q_xyzw, gripper_ratio))):
        raise RctpError("not_finite", "a field is NaN or infinite")
    x, y, z, w = q_xyzw
    norm2 = x * x + y * y + z * z + w * w
    if not QUAT_NORM2_MIN <= norm2 <= QUAT_NORM2_MAX:
        limits = f"{QUAT_NORM2_MIN}..{QUAT_NORM2_MAX}"
        raise RctpError("bad_quat", f"squared norm {norm2:g}, must be within {limits}")
    if max(map(abs, p_m)) > POSITION_MAX_M:
        raise RctpError("out_of_range", f"position {p_m} beyond {POSITION_MAX_M:g} m")
    norm = math.sqrt(norm2)
    return (x / norm, y / norm, z / norm, w / norm)


def _clamp_ratio(gripper_ratio: float) -> float:
    return min(1.0, max(0.0, gripper_ratio))


def _decode_trailer(data: bytes) -> Trailer | None:
    """The trailer at offset 45; None if there is none, or only a part of one.

    A part counts as none: the packet is then unsigned, which is never more than it claimed to be.
    """
    if len(data) < SIGNED_BYTES or data[PACKET_BYTES : PACKET_BYTES + 2] != TRAILER_MAGIC:
        return None
    _, key_id, tflags, session, seq, tag = _TRAILER.unpack_from(data, PACKET_BYTES)
    return Trailer(
        key_id=key_id,
        enable_held=bool(tflags & TFLAG_ENABLE_HELD),
        enable_supported=bool(tflags & TFLAG_ENABLE_SUPPORTED),
        left_hand=bool(tflags & TFLAG_LEFT_HAND),
        session=session,
        seq=seq,
        tag=tag,
    )


def _encode_trailer(trailer: Trailer) -> bytes:
    if len(trailer.tag) != TAG_BYTES:
        raise ValueError(f"trailer tag has {len(trailer.tag)} bytes, must have {TAG_BYTES}")
    tflags = (
        TFLAG_ENABLE_HELD * trailer.enable_held
        | TFLAG_ENABLE_SUPPORTED * trailer.enable_supported
        | TFLAG_LEFT_HAND * trailer.left_hand
    )
    fields = (trailer.key_id, tflags, trailer.session, trailer.seq)
    try:
        return _TRAILER.pack(TRAILER_MAGIC, *fields, trailer.tag)
    except struct.error as err:
        raise ValueError(f"trailer field too large for its bytes: {err}") from err
