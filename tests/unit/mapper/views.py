"""Plain stand-ins for bus messages, with defaults that a test changes one at a time."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.se3 import IDENTITY, ZERO, Quat, Vec3

MS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Hand:
    """A hand_pose: a good sample at rest."""

    session: int = 7
    t_send_s: float | None = 0.0
    t_recv_ns: int = 0
    p_vr_hand_m: Vec3 | None = ZERO
    q_vr_hand_xyzw: Quat | None = IDENTITY
    tracking_valid: bool = True
    enable: bool | None = None
    estop: bool = False
    jump: bool = False


@dataclass(frozen=True, kw_only=True)
class Arm:
    """An arm_state: at rest in HOLD, nothing offered."""

    boot: int = 1
    state: str = "HOLD"
    clutch_id: int | None = None
    clutch_offer: int | None = None
    slip_p_m: Vec3 = ZERO
    cmd_p_base_tool_m: Vec3 | None = (0.3, 0.0, 0.4)
    cmd_q_base_tool_xyzw: Quat | None = (0.0, 0.6, 0.0, 0.8)
