"""Samples for pacer tests: 20 ms apart on both clocks, along x, unless said otherwise."""

from __future__ import annotations

from runtime.se3 import IDENTITY, Quat, Vec3
from services.arm.pacers.base import PacerSample

T0_NS = 10**12
MS = 1_000_000


def sample(k: float, p_m: Vec3 | None = None, q_xyzw: Quat = IDENTITY) -> PacerSample:
    """The k-th sample; by default 1 mm further along x each."""
    t_recv_ns = T0_NS + round(k * 20 * MS)
    return PacerSample(5.0 + 0.02 * k, t_recv_ns, p_m or (0.001 * k, 0.0, 0.0), q_xyzw)
