"""services.arm.driver: the checks every driver shares."""

from __future__ import annotations

import math

import pytest

from proto.reasons import REASONS
from runtime.errors import EXIT_DEVICE
from services.arm import driver
from services.arm.driver import (
    ConfirmDropError,
    DriverError,
    DriverInfo,
    Target,
    clamp_gripper,
    require_drop_confirmed,
    target_problem,
)

GOOD = Target((0.1, 0.2, 0.3), (0.0, 0.6, 0.0, 0.8), 0.5)
ERRORS = [e for e in vars(driver).values() if isinstance(e, type) and issubclass(e, DriverError)]


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        (GOOD, ""),
        (Target((math.nan, 0.0, 0.0), GOOD.q_base_tool_xyzw, 0.5), "pose is not finite"),
        (Target((0.0, 0.0, -math.inf), GOOD.q_base_tool_xyzw, 0.5), "pose is not finite"),
        (Target(GOOD.p_base_tool_m, (0.0, math.nan, 0.0, 1.0), 0.5), "pose is not finite"),
        (Target(GOOD.p_base_tool_m, GOOD.q_base_tool_xyzw, math.nan), "gripper is not finite"),
        (Target(GOOD.p_base_tool_m, (0.0, 0.0, 0.0, 0.0), 0.5), "quaternion is not of length 1"),
        (Target(GOOD.p_base_tool_m, (0.0, 0.0, 0.0, 1.002), 0.5), "quaternion is not of length 1"),
        (Target(GOOD.p_base_tool_m, (0.0, 0.0, 0.0, -0.9995), 0.5), ""),
    ],
)
def test_target_problem(target: Target, problem: str) -> None:
    assert target_problem(target) == problem


@pytest.mark.parametrize(("ratio", "clamped"), [(-0.1, 0.0), (0.0, 0.0), (1.0, 1.0), (1.5, 1.0)])
def test_gripper_is_clamped(ratio: float, clamped: float) -> None:
    target = Target(GOOD.p_base_tool_m, GOOD.q_base_tool_xyzw, ratio)
    result = clamp_gripper(target)
    assert result == Target(GOOD.p_base_tool_m, GOOD.q_base_tool_xyzw, clamped)
    assert (result is target) == (ratio == clamped)


def test_a_verb_that_drops_the_arm_needs_confirmation() -> None:
    info = DriverInfo("x", "pose_latest", 50.0, 0.0, 0.01, 0.0, False, drops_arm=("clear",))
    require_drop_confirmed(info, "disable", False)
    require_drop_confirmed(info, "clear", True)
    with pytest.raises(ConfirmDropError, match=r"clear lets the arm of x drop.*--confirm-drop"):
        require_drop_confirmed(info, "clear", False)


def test_every_error_has_its_kind_a_known_reason_and_asks_for_a_restart() -> None:
    assert len({e.kind for e in ERRORS}) == len(ERRORS) == 7
    for error in ERRORS:
        assert error.reason in REASONS
        assert error("x").exit_code == EXIT_DEVICE
