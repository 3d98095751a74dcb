"""Unit annotations of message fields, and the suffix each unit demands of a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Unit:
    """Marks a field's unit, e.g. `Annotated[float, Unit("m")]`."""

    symbol: str


# A name whose last word (before a frame or `xyzw` order) is one of these must carry that unit.
SUFFIX_OF_UNIT: Final[dict[str, str]] = {
    "m": "_m",
    "mm": "_mm",
    "s": "_s",
    "ms": "_ms",
    "ns": "_ns",
    "Hz": "_hz",
    "rad": "_rad",
    "deg": "_deg",
    "m/s": "_mps",
    "rad/s": "_radps",
    "ratio": "_ratio",
    "quaternion": "_xyzw",
}
