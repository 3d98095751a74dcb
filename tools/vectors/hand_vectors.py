"""Golden hand packets, good and bad, packed from the byte table field by field."""

from __future__ import annotations

import hmac
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from tools.vectors.vector import Vector, f32, overwritten, unit

SIGNING_KEY: Final = bytes(range(32))
RIGHT_PORT: Final = 8888
LEFT_PORT: Final = 8889
# Unix microseconds at app start: 2026-01-01T00:00:00Z.
SESSION: Final = 1_767_225_600_000_000


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of the byte table, as the sender wants them."""

    t: float = 12.5
    p: tuple[float, float, float] = (0.25, -0.5, 1.25)
    q: tuple[float, float, float, float] = (0.5, -0.5, 0.5, 0.5)
    gripper: float = 0.75
    flags: int = 0x01
    order: str = "<"

    def pack(self) -> bytes:
        """The 45 bytes."""
        return b"".join(
            (
                b"RCTP",
                struct.pack(f"{self.order}d", self.t),
                struct.pack(f"{self.order}3f", *self.p),
                struct.pack(f"{self.order}4f", *self.q),
                struct.pack(f"{self.order}f", self.gripper),
                bytes([self.flags]),
            )
        )

    def expect(self, trailer: dict[str, object] | None = None) -> dict[str, object]:
        """What a receiver decodes."""
        return {
            "t_send_s": self.t,
            "p_vr_hand_m": [f32(component) for component in self.p],
            "q_vr_hand_xyzw": unit(self.q),
            "gripper_ratio": min(1.0, max(0.0, f32(self.gripper))),
            "tracking_valid": bool(self.flags & 1),
            "estop": bool(self.flags & 2),
            "trailer": trailer,
        }


FIELDS: Final = Fields()
GOOD: Final = FIELDS.pack()


def hand_vectors() -> tuple[Vector, ...]:
    """All golden hand packets."""
    return (*_good(), *_trailing(), *_signed(), *_bad_header(), *_bad_values(), *_estops())


def _accepted(name: str, what: str, fields: Fields, suffix: bytes = b"") -> Vector:
    return Vector(
        name=f"hand_{name}",
        packet="hand",
        what=what,
        data=fields.pack() + suffix,
        expect=fields.expect(),
        estop_bit=bool(fields.flags & 2),
    )


def _rejected(name: str, what: str, data: bytes, reason: str, estop_bit: bool = False) -> Vector:
    return Vector(
        name=f"hand_{name}", packet="hand", what=what, data=data, reject=reason, estop_bit=estop_bit
    )


def _good() -> Iterator[Vector]:
    identity = Fields(t=0.0, p=(0.0, 0.0, 0.0), q=(0.0, 0.0, 0.0, 1.0), gripper=1.0)
    yield _accepted("good", "a tracked hand, every field with its own value", FIELDS)
    yield _accepted("good_identity", "first packet after app start, hand open", identity)
    yield _accepted("good_not_exact", "values that f32 rounds", replace(FIELDS, p=(0.1, 0.2, 0.3)))
    yield _accepted(
        "good_negative_w", "q and -q are one rotation", replace(FIELDS, q=(0, 0, 0, -1))
    )
    yield _accepted("good_late", "a day after app start", replace(FIELDS, t=86400.015625))
    yield _accepted("good_untracked", "tracking lost: the pose says nothing", Fields(flags=0))
    yield _accepted("good_reserved_flags", "reserved flag bits are ignored", Fields(flags=0xFD))
    yield _accepted("good_at_10_m", "exactly at the position limit", Fields(p=(10.0, -10.0, 0.0)))
    for name, factor in (("short", 0.92), ("long", 1.08)):
        x, y, z, w = (component * factor for component in FIELDS.q)
        what = f"quaternion of length {factor}: normalised"
        yield _accepted(f"good_quat_{name}", what, replace(FIELDS, q=(x, y, z, w)))
    for name, gripper in (("below", -0.5), ("above", 1.5), ("1e38", 1e38)):
        what = f"gripper {gripper:g}: clamped to 0..1"
        yield _accepted(f"good_gripper_{name}", what, replace(FIELDS, gripper=gripper))


def _trailing() -> Iterator[Vector]:
    yield _accepted("long_one_byte", "46 bytes: the last is ignored", FIELDS, b"\x00")
    garbage = bytes((7 * index + 3) % 256 for index in range(155))
    yield _accepted("long_garbage", "200 bytes: all behind 45 are ignored", FIELDS, garbage)
    part = _trailer(FIELDS, tflags=3, seq=1, dst_port=RIGHT_PORT)[:-1]
    yield _accepted("long_trailer_cut", "a trailer one byte short is no trailer", FIELDS, part)
    other = b"S2" + bytes(30)
    yield _accepted("long_trailer_unknown", "trailer of an unknown kind is ignored", FIELDS, other)


def _trailer(fields: Fields, *, tflags: int, seq: int, dst_port: int, key_id: int = 1) -> bytes:
    head = b"S1" + bytes([key_id, tflags]) + struct.pack("<QI", SESSION, seq)
    message = fields.pack() + head + struct.pack("<H", dst_port)
    return head + hmac.digest(SIGNING_KEY, message, "sha256")[:16]


def _signed_vector(name: str, what: str, fields: Fields, *, tflags: int, extra: bytes) -> Vector:
    dst_port = LEFT_PORT if tflags & 4 else RIGHT_PORT
    trailer = _trailer(fields, tflags=tflags, seq=1000, dst_port=dst_port)
    expected: dict[str, object] = {
        "key_id": 1,
        "enable_held": bool(tflags & 1),
        "enable_supported": bool(tflags & 2),
        "left_hand": bool(tflags & 4),
        "session": SESSION,
        "seq": 1000,
        "tag": trailer[16:].hex(),
    }
    return Vector(
        name=f"hand_{name}",
        packet="hand",
        what=what,
        data=fields.pack() + trailer + extra,
        expect=fields.expect(expected),
        estop_bit=bool(fields.flags & 2),
        dst_port=dst_port,
    )


def _signed() -> Iterator[Vector]:
    yield _signed_vector("signed", "signed, no enable bit", FIELDS, tflags=0, extra=b"")
    yield _signed_vector("signed_enable", "signed, enable held", FIELDS, tflags=3, extra=b"")
    yield _signed_vector("signed_left", "left hand, enable released", FIELDS, tflags=6, extra=b"")
    estop = replace(FIELDS, flags=3)
    yield _signed_vector("signed_estop", "signed e-stop", estop, tflags=2, extra=b"")
    yield _signed_vector("signed_longer", "bytes behind 77 too", FIELDS, tflags=3, extra=b"later")


def _bad_header() -> Iterator[Vector]:
    yield _rejected("bad_empty", "no bytes", b"", "short")
    yield _rejected("bad_magic_only", "4 bytes", GOOD[:4], "short")
    yield _rejected("bad_short", "44 bytes", GOOD[:44], "short")
    yield _rejected("bad_magic", "another magic", b"RCTQ" + GOOD[4:], "bad_magic")
    yield _rejected("bad_magic_case", "magic in lower case", b"rctp" + GOOD[4:], "bad_magic")
    yield _rejected("bad_magic_swapped", "magic as a swapped u32", b"PTCR" + GOOD[4:], "bad_magic")
    swapped = replace(FIELDS, order=">").pack()
    yield _rejected("bad_big_endian", "fields in big-endian order", swapped, "bad_quat")


def _bad_values() -> Iterator[Vector]:
    for value_name, value in (("nan", math.nan), ("inf", math.inf), ("minus_inf", -math.inf)):
        for field_name, offset, form in FLOATS:
            data = overwritten(GOOD, offset, form, value)
            what = f"{field_name} is {value}"
            yield _rejected(f"bad_{value_name}_{field_name}", what, data, "not_finite")
    zero = replace(FIELDS, q=(0.0, 0.0, 0.0, 0.0)).pack()
    yield _rejected("bad_quat_zero", "an uninitialised quaternion", zero, "bad_quat")
    for name, length in (("short", 0.89), ("long", 1.11), ("huge", 1e19)):
        data = replace(FIELDS, q=(0.0, length, 0.0, 0.0)).pack()
        yield _rejected(f"bad_quat_{name}", f"quaternion of length {length:g}", data, "bad_quat")
    for name, x in (("beyond", 10.01), ("1e38", 1e38), ("minus_1e38", -1e38)):
        data = replace(FIELDS, p=(0.0, x, 0.0)).pack()
        yield _rejected(f"bad_position_{name}", f"y is {x:g} m", data, "out_of_range")
    both = replace(FIELDS, p=(1e38, 0.0, 0.0), q=(0.0, 0.0, 0.0, 0.0)).pack()
    yield _rejected("bad_order", "zero quaternion and 1e38 m: first check wins", both, "bad_quat")


FLOATS: Final = (
    ("t", 4, "<d"),
    ("px", 12, "<f"),
    ("py", 16, "<f"),
    ("pz", 20, "<f"),
    ("qx", 24, "<f"),
    ("qy", 28, "<f"),
    ("qz", 32, "<f"),
    ("qw", 36, "<f"),
    ("gripper", 40, "<f"),
)


def _estops() -> Iterator[Vector]:
    pressed = replace(FIELDS, flags=3)
    untracked = replace(FIELDS, flags=2)
    lost = Fields(t=math.nan, p=(math.nan,) * 3, q=(math.nan,) * 4, gripper=math.nan, flags=2)
    zeros = Fields(t=0.0, p=(0.0,) * 3, q=(0.0,) * 4, gripper=0.0, flags=2)
    yield _accepted("estop", "e-stop on a tracked hand", pressed)
    yield _accepted("estop_untracked", "e-stop while tracking is lost", untracked)
    yield _accepted("estop_reserved_flags", "all flag bits set", replace(FIELDS, flags=0xFF))
    nan = lost.pack()
    yield _rejected("estop_nan", "no usable pose: the e-stop counts", nan, "not_finite", True)
    yield _rejected("estop_zero", "magic and e-stop only", zeros.pack(), "bad_quat", True)
    all_ones = b"RCTP" + b"\xff" * 196
    yield _rejected("estop_garbage", "long, all bits set", all_ones, "not_finite", True)
    short = pressed.pack()[:44]
    yield _rejected("estop_short", "the flags byte is missing: no e-stop", short, "short")
    magic = b"RCTX" + pressed.pack()[4:]
    yield _rejected("estop_bad_magic", "wrong magic: no e-stop", magic, "bad_magic")
