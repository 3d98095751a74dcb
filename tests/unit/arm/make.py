"""Messages for the arm's unit tests, with everything ordinary unless told."""

from __future__ import annotations

from typing import Any

from proto.messages import ArmTarget, HandPose, OperatorCommand

HELD = ((0.25, 0.0, 0.25), (0.0, 0.0, 0.0, 1.0))


def target(**changes: Any) -> ArmTarget:
    """A tracked, engaged relative target on the held pose."""
    values: dict[str, Any] = {
        "boot": 7,
        "side": "right",
        "mode": "relative",
        "clutch_id": 11,
        "engaged": True,
        "jump": False,
        "session": 5,
        "ingest_boot": 3,
        "enable": None,
        "authenticated": False,
        "t_send_s": 1.0,
        "t_recv_ns": 1_000_000_000,
        "t_map_ns": 1_000_100_000,
        "target_p_base_tool_m": HELD[0],
        "target_q_base_tool_xyzw": HELD[1],
        "target_rpy_base_tool_deg": (0.0, 0.0, 0.0),
        "gripper_ratio": 0.5,
        "tracking_valid": True,
        "clamped": (False, False, False),
        "outside_mm": 0.0,
        "reason": "",
    }
    values.update(changes)
    return ArmTarget(**values)


def untracked(**changes: Any) -> ArmTarget:
    """A target of a hand that the headset does not see."""
    lost = {
        "tracking_valid": False,
        "target_p_base_tool_m": None,
        "target_q_base_tool_xyzw": None,
        "target_rpy_base_tool_deg": None,
        "reason": "untracked",
    }
    return target(**{**lost, **changes})


def hand(**changes: Any) -> HandPose:
    """A tracked hand sample."""
    values: dict[str, Any] = {
        "boot": 3,
        "side": "right",
        "session": 5,
        "t_send_s": 1.0,
        "t_recv_ns": 1_000_000_000,
        "p_vr_hand_m": (0.0, 0.0, 0.0),
        "q_vr_hand_xyzw": (0.0, 0.0, 0.0, 1.0),
        "gripper_ratio": 0.5,
        "tracking_valid": True,
        "enable": None,
        "estop": False,
        "estop_count": 0,
        "authenticated": False,
        "jump": False,
    }
    values.update(changes)
    return HandPose(**values)


def order(verb: str, **changes: Any) -> OperatorCommand:
    """An operator's command to the arm of boot 1, a millisecond old at one second."""
    values: dict[str, Any] = {
        "id": 42,
        "to_boot": 1,
        "verb": verb,
        "t_mono_ns": 999_000_000,
        "max_age_ms": 1000.0,
    }
    values.update(changes)
    return OperatorCommand(**values)
