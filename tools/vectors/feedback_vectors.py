"""Golden feedback packets, good and bad, packed from the byte table field by field."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from proto.reasons import REASONS, SIDES, STATES
from tools.vectors.vector import Vector, f32, overwritten, unit

FLAG_NAMES: Final = ("engaged", "simulated", "gripper_follows", "predicting", "braking", "homing")
HAS_ECHO, HAS_POSE, HAS_GRIPPER, HAS_LATENCY = 0x100, 0x200, 0x400, 0x800
HAS_ALL: Final = HAS_ECHO | HAS_POSE | HAS_GRIPPER | HAS_LATENCY


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of the byte table, as the robot sends them."""

    version: int = 1
    side: int = 0
    state: int = 3
    joints: int = 6
    reason: int = 0
    flags: int = HAS_ALL | 0x05
    seq: int = 42
    echo: float = 12.5
    gripper: float = 0.75
    haptic: float = 0.25
    latency: float = 8.5
    p: tuple[float, float, float] = (0.25, -0.125, 0.5)
    q: tuple[float, float, float, float] = (0.5, 0.5, -0.5, 0.5)
    q_rad: tuple[float, ...] = field(default=(0.25, 1.5, -1.25, 0.0, 0.75, -0.5, 0.0, 0.0))

    def pack(self) -> bytes:
        """The 96 bytes."""
        return b"".join(
            (
                b"RCTF",
                bytes([self.version, self.side, self.state, self.joints]),
                struct.pack("<HHI", self.reason, self.flags, self.seq),
                struct.pack("<d", self.echo),
                struct.pack("<3f", self.gripper, self.haptic, self.latency),
                struct.pack("<3f", *self.p),
                struct.pack("<4f", *self.q),
                struct.pack("<8f", *self.q_rad),
            )
        )

    def expect(self) -> dict[str, object]:
        """What a headset decodes; what is not there is null."""
        flags = {name: bool(self.flags >> bit & 1) for bit, name in enumerate(FLAG_NAMES)}
        return {
            "seq": self.seq,
            "side": SIDES[self.side],
            "state": STATES[self.state],
            "reason": REASONS[self.reason],
            "t_send_s_echo": self.echo if self.flags & HAS_ECHO else None,
            **flags,
            "gripper_ratio": min(1.0, max(0.0, self.gripper)) if self.flags & HAS_GRIPPER else None,
            "p_base_tool_m": [f32(c) for c in self.p] if self.flags & HAS_POSE else None,
            "q_base_tool_xyzw": unit(self.q) if self.flags & HAS_POSE else None,
            "q_rad": [f32(angle) for angle in self.q_rad[: self.joints]],
            "haptic_ratio": min(1.0, max(0.0, self.haptic)),
            "latency_ms": f32(self.latency) if self.flags & HAS_LATENCY else None,
        }


FIELDS: Final = Fields()
EMPTY: Final = Fields(
    state=0,
    joints=0,
    reason=REASONS.index("not_armed"),
    flags=0,
    seq=0,
    echo=0.0,
    gripper=0.0,
    haptic=0.0,
    latency=0.0,
    p=(0.0,) * 3,
    q=(0.0,) * 4,
    q_rad=(0.0,) * 8,
)


def feedback_vectors() -> tuple[Vector, ...]:
    """All golden feedback packets."""
    return (*_good(), *_states(), *_bad())


def _accepted(name: str, what: str, fields: Fields, suffix: bytes = b"") -> Vector:
    return Vector(
        name=f"feedback_{name}",
        packet="feedback",
        what=what,
        data=fields.pack() + suffix,
        expect=fields.expect(),
    )


def _rejected(name: str, what: str, data: bytes, reason: str) -> Vector:
    return Vector(
        name=f"feedback_bad_{name}", packet="feedback", what=what, data=data, reject=reason
    )


def _good() -> Iterator[Vector]:
    nan3 = (math.nan,) * 3
    hidden = replace(EMPTY, gripper=math.nan, latency=math.nan, echo=math.nan, p=nan3)
    yield _accepted("good", "engaged, everything known, six joints", FIELDS)
    yield _accepted("empty", "nothing known yet: only state and reason", EMPTY)
    yield _accepted("all_flags", "every flag, reserved ones too", replace(FIELDS, flags=0xFFFF))
    yield _accepted("absent_is_ignored", "NaN where the has-bit is clear", hidden)
    yield _accepted("left_eight_joints", "left arm, eight joints", Fields(side=1, joints=8))
    yield _accepted("not_exact", "values that f32 rounds", Fields(p=(0.1, 0.2, 0.3), latency=8.4))
    yield _accepted("quat_long", "quaternion of length 1.08: normalised", Fields(q=(0, 0, 0, 1.08)))
    yield _accepted("clamped", "ratios outside 0..1: clamped", Fields(gripper=1.5, haptic=-0.5))
    yield _accepted("seq_max", "largest sequence number, 0 follows", Fields(seq=2**32 - 1))
    yield _accepted("longer", "later fields behind 96 bytes are ignored", FIELDS, b"later fields")


def _states() -> Iterator[Vector]:
    for code, state in enumerate(STATES):
        yield _accepted(f"state_{state.lower()}", f"state code {code}", replace(EMPTY, state=code))
    last = len(REASONS) - 1
    yield _accepted("reason_last", f"reason code {last}", replace(EMPTY, reason=last))


def _bad() -> Iterator[Vector]:
    good = FIELDS.pack()
    yield _rejected("empty", "no bytes", b"", "short")
    yield _rejected("short", "95 bytes", good[:95], "short")
    yield _rejected("magic", "a hand packet's magic", b"RCTP" + good[4:], "bad_magic")
    yield _rejected("version", "version 2", replace(FIELDS, version=2).pack(), "bad_version")
    yield _rejected("side", "side code 2", replace(FIELDS, side=2).pack(), "unknown_code")
    yield _rejected("state", "state code 255", replace(FIELDS, state=255).pack(), "unknown_code")
    far = replace(FIELDS, reason=0xFFFF).pack()
    yield _rejected("reason", "reason code 65535", far, "unknown_code")
    for name, offset, form in FLOATS:
        data = overwritten(good, offset, form, math.nan)
        yield _rejected(f"nan_{name}", f"{name} is nan", data, "not_finite")
    zero = replace(FIELDS, q=(0.0,) * 4).pack()
    yield _rejected("quat_zero", "pose is there, its quaternion is 0", zero, "bad_quat")
    yield _rejected("joints", "nine joints", replace(FIELDS, joints=9).pack(), "out_of_range")


FLOATS: Final = (
    ("echo", 16, "<d"),
    ("gripper", 24, "<f"),
    ("haptic", 28, "<f"),
    ("latency", 32, "<f"),
    ("position", 40, "<f"),
    ("quat", 60, "<f"),
    ("joint", 84, "<f"),
)
