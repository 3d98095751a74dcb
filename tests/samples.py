"""One plain example of every bus message; tests change the fields they are about."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from proto.messages import ArmState, ArmTarget, HandPose, OperatorCommand, ServiceHealth

U64_MAX = 2**64 - 1


def hand_pose(**changes: Any) -> HandPose:
    """A tracked right hand."""
    sample = HandPose(
        side="right",
        session=U64_MAX,
        t_send_s=12.5,
        t_recv_ns=4_000_000_000,
        p_vr_hand_m=(0.1, 1.2, -0.3),
        q_vr_hand_xyzw=(0.0, 0.0, 0.0, 1.0),
        gripper_ratio=0.5,
        tracking_valid=True,
        enable=None,
        estop=False,
        estop_count=0,
        authenticated=False,
        jump=False,
    )
    return replace(sample, **changes)


def arm_target(**changes: Any) -> ArmTarget:
    """An engaged target for the right arm."""
    sample = ArmTarget(
        side="right",
        mode="relative",
        clutch_id=U64_MAX - 1,
        engaged=True,
        jump=False,
        session=U64_MAX,
        ingest_boot=7,
        enable=None,
        authenticated=False,
        t_send_s=12.5,
        t_recv_ns=4_000_000_000,
        t_map_ns=4_000_100_000,
        target_p_base_tool_m=(0.25, 0.0, 0.25),
        target_q_base_tool_xyzw=(0.0, 0.6, 0.0, 0.8),
        target_rpy_base_tool_deg=(0.0, 73.74, 0.0),
        gripper_ratio=0.5,
        tracking_valid=True,
        clamped=(False, False, True),
        outside_mm=3.5,
        reason="clamped",
    )
    return replace(sample, **changes)


def arm_state(**changes: Any) -> ArmState:
    """The right arm, engaged and moving."""
    sample = ArmState(
        side="right",
        driver="sim",
        simulated=True,
        state="ENGAGED",
        reason="",
        clutch_id=U64_MAX - 1,
        t_tick_ns=4_000_200_000,
        limited_p_base_tool_m=(0.25, 0.0, 0.25),
        limited_q_base_tool_xyzw=(0.0, 0.6, 0.0, 0.8),
        cmd_p_base_tool_m=(0.25, 0.0, 0.25),
        cmd_q_base_tool_xyzw=(0.0, 0.6, 0.0, 0.8),
        cmd_gripper_ratio=0.5,
        meas_q_rad=(0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
        latency_ms=1.25,
        data_age_ms=8.0,
        missed_ticks=3,
        gate_blocks=2,
        faults=("E17",),
    )
    return replace(sample, **changes)


def operator_command(**changes: Any) -> OperatorCommand:
    """An order to arm."""
    sample = OperatorCommand(
        id=2**52, to_boot=U64_MAX, verb="arm", args={"hold_ms": 200}, max_age_ms=1000.0
    )
    return replace(sample, **changes)


def service_health(**changes: Any) -> ServiceHealth:
    """A contented ingest."""
    sample = ServiceHealth(
        name="ingest",
        version="0.1.0",
        pid=4321,
        uptime_s=17.25,
        status="ok",
        reason="",
        counters={"received": 5, "short": 1},
        rates={"packets_hz": 49.5},
        jitter_p50_ms=0.1,
        jitter_p99_ms=0.4,
        details={"owner": None, "ports": [8888, 8889]},
    )
    return replace(sample, **changes)


ONE_OF_EACH = (
    hand_pose(),
    hand_pose(p_vr_hand_m=None, q_vr_hand_xyzw=None, gripper_ratio=None, t_send_s=None, estop=True),
    arm_target(),
    arm_state(),
    operator_command(),
    operator_command(verb="estop", to_boot=None, max_age_ms=None, args={}),
    service_health(),
)
