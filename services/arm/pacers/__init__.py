"""How samples become commands: one pacer per `response`."""

from __future__ import annotations

from runtime.settings import ArmSettings
from services.arm.pacers.base import Pacer, PacerOutput, PacerSample
from services.arm.pacers.legacy import LegacyOptions, LegacyPacer
from services.arm.pacers.quick import QuickPacer

__all__ = ["Pacer", "PacerOutput", "PacerSample", "make"]


def make(arm: ArmSettings) -> Pacer:
    """The pacer of `arm.response` (the configuration admits no other name)."""
    if arm.response == "legacy":
        return LegacyPacer(
            LegacyOptions(
                buffer=arm.legacy_buffer,
                slice_ns=int(arm.legacy_slice_ms * 1e6),
                deadband_m=arm.legacy_deadband_mm * 1e-3,
                mean=arm.legacy_mean,
                queue_maxsize=arm.queue_maxsize,
            )
        )
    return QuickPacer(arm.queue_maxsize)
