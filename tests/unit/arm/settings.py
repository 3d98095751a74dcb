"""Settings and driver facts for the arm's unit tests: the simulator's, unless told."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from runtime import config
from runtime.settings import ArmSettings, MapperSettings, Settings
from services.arm.driver import DriverInfo, DriverState
from tests.config_copy import copy_config
from tests.unit.arm.make import HELD


@cache
def _sim() -> Settings:
    with TemporaryDirectory() as folder:
        copy = copy_config(Path(folder))
        return config.load({"ROBOT": "sim", "FARHAND_CONFIG_DIR": str(copy)})


def arm_settings(**changes: Any) -> ArmSettings:
    """[arm] of the simulator: 100 Hz, 1 m/s, 20 m/s²."""
    return replace(_sim().arm["right"], **changes)


def mapper_settings(**changes: Any) -> MapperSettings:
    """[mapper] of the simulator: relative, scale 0.75, engages on tracking."""
    return replace(_sim().mapper["right"], **changes)


def driver_info(**changes: Any) -> DriverInfo:
    """A robot that is where it is told to be, measured every 10 ms."""
    facts: dict[str, Any] = {
        "name": "stand-in",
        "command_space": "pose_latest",
        "rate_max_hz": 200.0,
        "servo_lag_s": 0.0,
        "feedback_period_s": 0.01,
        "lead_s": 0.0,
        "simulated": False,
    }
    return DriverInfo(**{**facts, **changes})


def measured(**changes: Any) -> DriverState:
    """Feedback of now (one second), drives on, at the held pose."""
    facts: dict[str, Any] = {
        "t_feedback_ns": 1_000_000_000,
        "p_base_tool_m": HELD[0],
        "q_base_tool_xyzw": HELD[1],
        "gripper_ratio": 0.5,
        "q_rad": None,
        "enabled": True,
    }
    return DriverState(**{**facts, **changes})
