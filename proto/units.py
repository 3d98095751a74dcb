"""Unit annotations of message fields, and the suffix each unit demands of a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Unit:
    """Marks a field's unit, e.g. `Annotated[float, Unit("m")]`."""

    symbol: str


# The last word of a field's name is its unit: a field with a unit ends in that suffix, and a name
# that ends in one of these carries that unit. Frames and provenance come before it.
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
