"""services.arm.options: settings in the words of driver and pacer."""

from __future__ import annotations

import pytest

from services.arm.drivers import load
from services.arm.options import driver_options, pacer_options
from services.arm.pacers.base import PacerOptions
from tests.unit.arm.settings import arm_settings


def test_the_plain_simulator_is_given_its_own_and_takes_them() -> None:
    arm = arm_settings(driver="sim", sim_servo_lag_ms=35.0, sim_feedback_period_ms=8.0)
    info = load("sim", driver_options(arm)).info
    assert info.servo_lag_s == pytest.approx(0.035)
    assert info.feedback_period_s == pytest.approx(0.008)


def test_another_driver_is_given_nothing() -> None:
    assert driver_options(arm_settings(driver="piper")) == {}


def test_pacers_are_given_metres_and_seconds() -> None:
    arm = arm_settings(
        queue_maxsize=7,
        legacy_buffer=4,
        legacy_slice_ms=25.0,
        legacy_deadband_mm=3.0,
        legacy_mean=2,
    )
    assert pacer_options(arm) == PacerOptions(7, 4, 0.025, 0.003, 2)
