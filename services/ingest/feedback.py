"""Makes the feedback packet of one hand from its arm's state. Pure; the caller keeps the rate."""

from __future__ import annotations

from typing import Final

from proto.feedback import JOINTS_MAX, SEQ_MODULUS, FeedbackPacket
from proto.views import ArmFeedback

# A short buzz tells the hand that something changed; a wall buzzes while it is pushed.
WALL_RATIO: Final = 0.3
BRAKING_RATIO: Final = 0.6
STOPPED_RATIO: Final = 1.0
STOPPED_NS: Final = 300_000_000


class FeedbackMaker:
    """Numbers and translates the states of one arm."""

    def __init__(self) -> None:
        self._seq = 0
        self._state = ""
        self._stopped_ns = -STOPPED_NS

    def make(self, state: ArmFeedback, t_send_s_echo: float | None, now_ns: int) -> FeedbackPacket:
        """The packet to send now."""
        changed = state.state != self._state
        if changed and state.state in ("PROTECTIVE_STOP", "ESTOP_LATCHED", "FAULT"):
            self._stopped_ns = now_ns
        self._state = state.state
        self._seq = (self._seq + 1) % SEQ_MODULUS
        return FeedbackPacket(
            seq=self._seq,
            side=state.side,
            state=state.state,
            reason=state.reason,
            t_send_s_echo=t_send_s_echo,
            engaged=state.state == "ENGAGED",
            simulated=state.simulated,
            gripper_follows=state.gripper_follows,
            predicting=state.predicting,
            braking=state.braking,
            homing=state.state == "HOMING",
            gripper_ratio=state.meas_gripper_ratio,
            p_base_tool_m=state.meas_p_base_tool_m,
            q_base_tool_xyzw=state.meas_q_base_tool_xyzw,
            q_rad=(state.meas_q_rad or ())[:JOINTS_MAX],
            haptic_ratio=self._haptic_ratio(state, now_ns),
            latency_ms=state.latency_ms,
        )

    def _haptic_ratio(self, state: ArmFeedback, now_ns: int) -> float:
        if now_ns - self._stopped_ns < STOPPED_NS:
            return STOPPED_RATIO
        if state.braking:
            return BRAKING_RATIO
        return WALL_RATIO if state.reason in ("clamped", "outside_box") else 0.0
