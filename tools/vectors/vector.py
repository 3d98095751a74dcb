"""One golden packet and what a receiver makes of it. No packing of its own beyond f32 rounding."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """Bytes with a verdict: `expect` (field name to value) or `reject` (a reason), never both."""

    name: str
    packet: Literal["hand", "feedback"]
    what: str
    data: bytes
    expect: dict[str, object] | None = None
    reject: str | None = None
    estop_bit: bool | None = None
    dst_port: int | None = None

    def __post_init__(self) -> None:
        if (self.expect is None) == (self.reject is None):
            raise ValueError(f"{self.name}: exactly one of expect and reject")


def f32(value: float) -> float:
    """`value` as it survives 32 bits."""
    rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return rounded


def unit(q_xyzw: tuple[float, ...]) -> list[float]:
    """The normalised quaternion a receiver gets from `q_xyzw` sent as f32."""
    components = [f32(component) for component in q_xyzw]
    norm = math.sqrt(sum(component * component for component in components))
    return [component / norm for component in components]


def overwritten(data: bytes, offset: int, form: str, value: float) -> bytes:
    """`data` with one field replaced."""
    changed = bytearray(data)
    struct.pack_into(form, changed, offset, value)
    return bytes(changed)
