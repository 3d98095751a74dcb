"""What one sample must be in the stream of its session: newer than the last, and no leap.

Owns order and jump flag of one hand; pure. The sender's clock says only what came first and how
long between; whatever it says, dt is bounded by our own receive times.
"""

from __future__ import annotations

from math import radians
from typing import Final, Literal

from proto.rctp import HandPacket
from runtime.se3 import quat_angle_rad, vnorm, vsub

# A fall of the sender's clock by more than this is an app restart, less is a late packet
# (docs/specs/rctp.md §6).
RESTART_FALL_S: Final = 1.0

# A hand does not outdo this between two samples (docs/specs/rctp.md §5); the constants allow for
# tracking noise.
JUMP_SPEED_MPS: Final = 3.0
JUMP_NOISE_M: Final = 0.010
JUMP_SPEED_RADPS: Final = 10.0
JUMP_NOISE_RAD: Final = radians(3.0)
# Packets that Wi-Fi held back arrive together: their captures may lie this much further apart
# than their arrivals.
ARRIVAL_SLACK_S: Final = 0.050
# No sender is faster than 1 kHz; a dt of 0 would call tracking noise a jump.
DT_MIN_S: Final = 0.001

Order = Literal["", "duplicate", "old", "restart"]


class SampleOrder:
    """Order of t_s and the last tracked pose, within one session."""

    def __init__(self) -> None:
        self._newest_s: float | None = None
        self._tracked: HandPacket | None = None
        self._tracked_recv_ns = 0

    def reset(self) -> None:
        """A new session begins: nothing before it counts."""
        self._newest_s = None
        self._tracked = None

    def judge(self, t_send_s: float) -> Order:
        """How a sample of that time stands to the newest accepted one; "" if it is newer."""
        if self._newest_s is None or t_send_s > self._newest_s:
            return ""
        if t_send_s == self._newest_s:
            return "duplicate"
        return "restart" if self._newest_s - t_send_s > RESTART_FALL_S else "old"

    def advance(self, t_send_s: float) -> None:
        """A packet without a pose (an e-stop) was accepted."""
        self._newest_s = t_send_s

    def accept(self, packet: HandPacket, t_recv_ns: int) -> bool:
        """A sample was accepted; True if it lies further from the last than a hand moves."""
        self.advance(packet.t_send_s)
        if not packet.tracking_valid:
            return False
        before, before_ns = self._tracked, self._tracked_recv_ns
        self._tracked, self._tracked_recv_ns = packet, t_recv_ns
        if before is None:
            return False
        return is_jump(before, packet, sample_dt_s(before, packet, (t_recv_ns - before_ns) * 1e-9))


def sample_dt_s(before: HandPacket, after: HandPacket, dt_recv_s: float) -> float:
    """Time between two samples of a session: the sender's, within what our clock allows."""
    return max(DT_MIN_S, min(after.t_send_s - before.t_send_s, dt_recv_s + ARRIVAL_SLACK_S))


def is_jump(before: HandPacket, after: HandPacket, dt_s: float) -> bool:
    """Whether no hand gets from `before` to `after` in `dt_s`."""
    moved_m = vnorm(vsub(after.p_vr_hand_m, before.p_vr_hand_m))
    turned_rad = quat_angle_rad(before.q_vr_hand_xyzw, after.q_vr_hand_xyzw)
    return (
        moved_m > JUMP_SPEED_MPS * dt_s + JUMP_NOISE_M
        or turned_rad > JUMP_SPEED_RADPS * dt_s + JUMP_NOISE_RAD
    )
