"""Drops tracking glitches: a few samples far off the track of a hand that goes on where it was.

A jump that persists becomes the new track, and the limits behind make a smooth motion of it. What
no hand can do at all is flagged by ingest and judged before the pacer.
"""

from __future__ import annotations

from typing import Final

from runtime.se3 import (
    ZERO,
    Vec3,
    quat_angle_rad,
    quat_conj,
    quat_from_rotvec,
    quat_mul,
    quat_to_rotvec,
    vadd,
    vnorm,
    vscale,
    vsub,
)
from services.arm.pacers.base import PacerSample

# Glitches of headsets are 30-80 mm for up to 3 frames; no hand leaves its straight track by 25 mm
# within 20 ms (62 m/s^2). The gate widens with the square of the time since the last sample.
GATE_M: Final = 0.025
GATE_MPS2: Final = 2.0
GATE_RAD: Final = 0.30
GATE_RADPS2: Final = 20.0
PERSISTS: Final = 3
# The track is straight for this long; beyond it nobody knows.
TRACK_S: Final = 0.060
# A sender's clock may leap; it counts for no more than our own plus this.
CLOCK_SLACK_S: Final = 0.050


class GlitchGate:
    """Remembers the last good sample and the hand's velocity."""

    def __init__(self) -> None:
        self.rejected = 0
        self._last: PacerSample | None = None
        self._v_mps: Vec3 = ZERO
        self._w_radps: Vec3 = ZERO
        self._in_a_row = 0

    def seat(self, sample: PacerSample | None) -> None:
        """`sample` is good whatever was before; None: the next one is."""
        self._last = sample
        self._v_mps = self._w_radps = ZERO
        self._in_a_row = 0

    def accepts(self, sample: PacerSample) -> bool:
        """Whether `sample` lies on the track; one that does, or persists, becomes its end."""
        last = self._last
        if last is None:
            self.seat(sample)
            return True
        dt_s = self._dt_s(last, sample)
        if self._off_track(last, sample, dt_s):
            self._in_a_row += 1
            self.rejected += 1
            if self._in_a_row <= PERSISTS:
                return False
            self.seat(sample)
            return True
        self._v_mps = vscale(vsub(sample.p_m, last.p_m), 1.0 / dt_s)
        turn = quat_to_rotvec(quat_mul(sample.q_xyzw, quat_conj(last.q_xyzw)))
        self._w_radps = vscale(turn, 1.0 / dt_s)
        self._last, self._in_a_row = sample, 0
        return True

    def _dt_s(self, last: PacerSample, sample: PacerSample) -> float:
        ours_s = (sample.t_recv_ns - last.t_recv_ns) * 1e-9
        return max(1e-3, min(sample.t_send_s - last.t_send_s, ours_s + CLOCK_SLACK_S))

    def _off_track(self, last: PacerSample, sample: PacerSample, dt_s: float) -> bool:
        ahead_s = min(dt_s, TRACK_S)
        p_m = vadd(last.p_m, vscale(self._v_mps, ahead_s))
        q_xyzw = quat_mul(quat_from_rotvec(vscale(self._w_radps, ahead_s)), last.q_xyzw)
        # A gap in the data widens the gate, suspicion does not.
        gap_s2 = 0.0 if self._in_a_row else dt_s * dt_s
        off_m = vnorm(vsub(sample.p_m, p_m))
        off_rad = quat_angle_rad(q_xyzw, sample.q_xyzw)
        return off_m > GATE_M + GATE_MPS2 * gap_s2 or off_rad > GATE_RAD + GATE_RADPS2 * gap_s2
