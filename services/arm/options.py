"""The part of an arm's settings that its driver is given, in the driver's own words."""

from __future__ import annotations

from runtime.settings import ArmSettings

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
