"""Parts of an arm's settings in the words of those who take them: driver and pacer."""

from __future__ import annotations

from runtime.settings import ArmSettings
from services.arm.pacers.base import PacerOptions

MS = 1e-3


def driver_options(arm: ArmSettings) -> dict[str, object]:
    """Options for `drivers.load(arm.driver, …)`."""
    if arm.driver != "sim":
        return {}
    return {
        "home_p_base_tool_m": arm.home_p_m,
        "home_rpy_base_tool_deg": arm.home_rpy_deg,
        "servo_lag_s": arm.sim_servo_lag_ms * MS,
        "feedback_period_s": arm.sim_feedback_period_ms * MS,
        "v_max_mps": arm.sim_tcp_max_mps,
        "w_max_radps": arm.sim_rotation_max_radps,
        "faults_file": arm.sim_faults_file,
    }


def pacer_options(arm: ArmSettings) -> PacerOptions:
    """Options for `pacers.make(arm.response, …)`."""
    return PacerOptions(
        queue_maxsize=arm.queue_maxsize,
        legacy_buffer=arm.legacy_buffer,
        legacy_slice_s=arm.legacy_slice_ms * MS,
        legacy_deadband_m=arm.legacy_deadband_mm * 1e-3,
        legacy_mean=arm.legacy_mean,
    )
