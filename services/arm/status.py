"""Makes the arm_state message from what the core knows. Reads, never changes anything."""

from __future__ import annotations

from proto.messages import ArmState
from proto.reasons import Reason, first_reason
from services.arm.core import ArmCore

NS_PER_MS = 1e6


def arm_state(core: ArmCore, now_ns: int) -> ArmState:
    """The state of `core` after its step at `now_ns`."""
    motion, report, measured = core.motion, core.report, core.report.state
    engagement = core.engagement
    newest = engagement.newest
    sample = newest[0] if newest is not None else None
    command = motion.command
    limited = motion.limited
    reason, detail = why(core, now_ns)
    engaged = core.machine.state == "ENGAGED"
    return ArmState(
        side=core.side,
        driver=core.info.name,
        simulated=core.info.simulated,
        mode=core.mapper.mode,
        engage_on=core.mapper.engage_on,
        state=core.machine.state,
        reason=reason,
        reason_detail=detail,
        predicting=engagement.predicting,
        braking=engagement.braking,
        clutch_id=core.offer.id if engaged else None,
        clutch_offer=core.clutch_offer,
        slip_p_m=engagement.slip[0],
        slip_q_xyzw=engagement.slip[1],
        gripper_follows=motion.gripper_follows,
        rest_mm=engagement.rest_mm,
        last_command_id=core.desk.last_id,
        last_command_result=core.desk.last_result,
        t_tick_ns=now_ns,
        t_send_s=None if sample is None else sample.t_send_s,
        t_recv_ns=None if sample is None else sample.t_recv_ns,
        t_map_ns=None if sample is None else sample.t_map_ns,
        t_target_ns=None if newest is None else newest[1],
        limited_p_base_tool_m=None if limited is None else limited[0],
        limited_q_base_tool_xyzw=None if limited is None else limited[1],
        limited_gripper_ratio=motion.gripper_ratio,
        cmd_p_base_tool_m=None if command is None else command[0],
        cmd_q_base_tool_xyzw=None if command is None else command[1],
        cmd_gripper_ratio=motion.gripper_ratio,
        meas_p_base_tool_m=None if measured is None else measured.p_base_tool_m,
        meas_q_base_tool_xyzw=None if measured is None else measured.q_base_tool_xyzw,
        meas_gripper_ratio=None if measured is None else measured.gripper_ratio,
        meas_q_rad=None if measured is None else measured.q_rad,
        latency_ms=core.latency_ms,
        data_age_ms=None if sample is None else (now_ns - sample.t_recv_ns) / NS_PER_MS,
        playout_delay_ms=engagement.playout_delay_ms,
        missed_ticks=core.missed_ticks,
        starvations=engagement.losses,
        glitches_rejected=engagement.glitches_rejected,
        gate_blocks=motion.gate_blocks,
        driver_overruns=report.overruns,
        feedback_age_ms=core.conditions.feedback_age_ms,
        faults=() if measured is None else measured.faults,
    )


def why(core: ArmCore, now_ns: int) -> tuple[Reason, str]:
    """The reason of highest precedence, and words for a person beside it."""
    conditions, state = core.conditions, core.machine.state
    if state == "DISARMED":
        reason = first_reason(conditions.fault, conditions.protect, "not_armed")
        return reason, conditions.detail
    if state == "HOLD":
        foreign: Reason = "clock_domain" if core.stream.clock_foreign(now_ns) else ""
        return first_reason(foreign, "not_engaged"), _waiting_for(core, now_ns)
    if state == "HOMING":
        return "homing", ""
    if state == "ENGAGED":
        motion, rejected = core.motion, _rejected(core)
        unreachable: Reason = "unreachable" if rejected else ""
        reason = first_reason(core.engagement.reason(now_ns), motion.cut_reason, unreachable)
        return reason, motion.cut_by or rejected
    return core.machine.cause, conditions.detail or _drives(core)


def _rejected(core: ArmCore) -> str:
    """Why the driver did not take the newest pose, "" if it did."""
    ack = core.report.last_ack
    return ack.why if ack is not None and ack.status == "REJECTED" else ""


def _drives(core: ArmCore) -> str:
    off = core.machine.state == "FAULT" and not core.conditions.drives_on
    return "the drives are off" if off else ""


def _waiting_for(core: ArmCore, now_ns: int) -> str:
    """What is missing for an engage, in a reason's own word where there is one."""
    lacks = core.stream.lacks(now_ns)
    if lacks:
        return lacks
    return "needs an engage command" if core.machine.needs_engage else core.refusal(now_ns)
