"""What every arm driver must do: one class of tests, subclassed with constants for each driver.

A new driver adds one subclass, run against its emulator on every test run and against the robot
with --hw=NAME. docs/adding-a-robot.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import pytest

from runtime.se3 import quat_angle_rad, quat_from_rpy_deg, vnorm, vsub
from services.arm.driver import (
    ConfirmDropError,
    Driver,
    DriverOrderError,
    DriverState,
    StopKind,
    Target,
)
from services.arm.drivers.sim import SimDriver
from services.arm.drivers.sim_options import SimOptions
from tests.unit.arm.fakes import FakeClock

STOPS: tuple[StopKind, ...] = ("HOLD", "ESTOP")


class ArmDriverContract:
    """The suite. A subclass sets the constants, make() and wait()."""

    # Two poses that the arm reaches from where it starts, far enough apart to stop on the way.
    near: ClassVar[Target]
    far: ClassVar[Target]
    # A pose that the arm can never reach.
    beyond: ClassVar[Target]
    # Time from `near` to `far`, and to anywhere else.
    settle_s: ClassVar[float]
    # How well a pose comes back from the robot.
    read_back_m: ClassVar[float] = 0.0005
    read_back_rad: ClassVar[float] = 0.001
    read_back_ratio: ClassVar[float] = 0.01
    # Longest way after a stop in full motion.
    stop_m: ClassVar[float]
    # Longest time from a stop to rest.
    stop_s: ClassVar[float] = 1.0

    def make(self) -> Driver:
        """A driver that is not open."""
        raise NotImplementedError

    def wait(self, dt_s: float) -> None:
        """Lets dt_s pass for the robot."""
        raise NotImplementedError

    @pytest.fixture
    def closed(self) -> Driver:
        return self.make()

    @pytest.fixture
    def driver(self, closed: Driver) -> Iterator[Driver]:
        closed.open()
        self.wait(4.0 * closed.info.feedback_period_s + 0.1)
        yield closed
        closed.close()

    @pytest.fixture
    def enabled(self, driver: Driver) -> Driver:
        driver.enable()
        return driver

    def state(self, driver: Driver) -> DriverState:
        state = driver.state()
        assert state is not None
        return state

    def settle(self, driver: Driver) -> DriverState:
        self.wait(self.settle_s)
        return self.state(driver)

    def is_at(self, state: DriverState, target: Target) -> bool:
        far_m = vnorm(vsub(state.p_base_tool_m, target.p_base_tool_m))
        far_rad = quat_angle_rad(state.q_base_tool_xyzw, target.q_base_tool_xyzw)
        far_ratio = abs(state.gripper_ratio - target.gripper_ratio)
        return (
            far_m <= self.read_back_m
            and far_rad <= self.read_back_rad
            and far_ratio <= self.read_back_ratio
        )

    def as_target(self, state: DriverState) -> Target:
        return Target(state.p_base_tool_m, state.q_base_tool_xyzw, state.gripper_ratio)

    # --- life ------------------------------------------------------------------------------------

    def test_info_works_unconnected_and_makes_sense(self, closed: Driver) -> None:
        info = closed.info
        assert info.name
        assert 10.0 <= info.rate_max_hz <= 1000.0
        assert 0.0 <= info.servo_lag_s < 0.5
        assert 0.0 < info.feedback_period_s < 0.5
        assert 0.0 <= info.lead_s < 0.5
        assert set(info.drops_arm) <= {"disable", "clear", "estop"}

    def test_info_does_not_change_by_connecting(self, closed: Driver) -> None:
        before = closed.info
        closed.open()
        assert closed.info == before
        closed.close()

    def test_opening_twice_is_refused(self, driver: Driver) -> None:
        with pytest.raises(DriverOrderError):
            driver.open()
        assert self.state(driver) is not None

    def test_closing_is_idempotent(self, closed: Driver) -> None:
        closed.close()
        closed.open()
        closed.close()
        closed.close()

    def test_it_opens_again_after_closing(self, closed: Driver) -> None:
        for _ in range(2):
            closed.open()
            self.wait(4.0 * closed.info.feedback_period_s + 0.1)
            assert self.state(closed) is not None
            closed.close()

    def test_a_closed_driver_takes_no_orders(self, closed: Driver) -> None:
        with pytest.raises(DriverOrderError):
            closed.enable()
        with pytest.raises(DriverOrderError):
            closed.command(self.near)
        with pytest.raises(DriverOrderError):
            closed.stop("ESTOP")

    def test_opening_and_enabling_moves_nothing(self, driver: Driver) -> None:
        before = self.as_target(self.state(driver))
        driver.enable()
        driver.enable()
        assert self.is_at(self.settle(driver), before)
        assert self.state(driver).enabled

    # --- commands --------------------------------------------------------------------------------

    def test_a_command_before_enable_is_rejected_and_moves_nothing(self, driver: Driver) -> None:
        before = self.as_target(self.state(driver))
        ack = driver.command(self.far)
        assert (ack.status, ack.sent) == ("REJECTED", None)
        assert ack.why
        assert self.is_at(self.settle(driver), before)

    def test_a_command_returns_what_was_sent_and_reads_back(self, enabled: Driver) -> None:
        for target in (self.near, self.far, self.near):
            ack = enabled.command(target)
            assert (ack.status, ack.sent) == ("SENT", target)
            assert self.is_at(self.settle(enabled), target)

    def test_the_newest_command_wins(self, enabled: Driver) -> None:
        enabled.command(self.far)
        enabled.command(self.near)
        assert self.is_at(self.settle(enabled), self.near)

    def test_a_negated_quaternion_is_the_same_pose(self, enabled: Driver) -> None:
        x, y, z, w = self.near.q_base_tool_xyzw
        enabled.command(replace(self.near, q_base_tool_xyzw=(-x, -y, -z, -w)))
        assert self.is_at(self.settle(enabled), self.near)

    @pytest.mark.parametrize("axis", [0, 1, 2])
    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
    def test_a_position_that_is_no_number_is_rejected(
        self, enabled: Driver, axis: int, value: float
    ) -> None:
        p = list(self.near.p_base_tool_m)
        p[axis] = value
        self.rejected(enabled, replace(self.near, p_base_tool_m=(p[0], p[1], p[2])))

    @pytest.mark.parametrize("q", [(0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.1), (math.nan,) * 4])
    def test_a_rotation_that_is_none_is_rejected(
        self, enabled: Driver, q: tuple[float, float, float, float]
    ) -> None:
        self.rejected(enabled, replace(self.near, q_base_tool_xyzw=q))

    def test_a_gripper_that_is_no_number_is_rejected(self, enabled: Driver) -> None:
        self.rejected(enabled, replace(self.near, gripper_ratio=math.nan))

    def rejected(self, driver: Driver, target: Target) -> None:
        """REJECTED, and the command before stays in force."""
        driver.command(self.near)
        ack = driver.command(target)
        assert (ack.status, ack.sent) == ("REJECTED", None)
        assert ack.why
        assert self.is_at(self.settle(driver), self.near)

    def test_out_of_reach_is_clamped_or_rejected_and_never_silent(self, enabled: Driver) -> None:
        enabled.command(self.near)
        ack = enabled.command(self.beyond)
        assert ack.status in ("CLAMPED", "REJECTED")
        assert ack.why
        assert (ack.sent is None) == (ack.status == "REJECTED")
        assert self.is_at(self.settle(enabled), ack.sent or self.near)

    @pytest.mark.parametrize(("asked", "given"), [(-0.5, 0.0), (1.5, 1.0)])
    def test_the_gripper_is_clamped(self, enabled: Driver, asked: float, given: float) -> None:
        ack = enabled.command(replace(self.near, gripper_ratio=asked))
        assert (ack.status, ack.sent) == ("CLAMPED", replace(self.near, gripper_ratio=given))
        assert self.is_at(self.settle(enabled), replace(self.near, gripper_ratio=given))

    def test_silence_holds_the_last_command(self, enabled: Driver) -> None:
        enabled.command(self.near)
        self.settle(enabled)
        assert self.is_at(self.settle(enabled), self.near)
        assert self.state(enabled).enabled

    # --- feedback --------------------------------------------------------------------------------

    def test_feedback_stamps_advance_with_the_declared_period(self, driver: Driver) -> None:
        period_s = driver.info.feedback_period_s
        before = self.state(driver).t_feedback_ns
        self.wait(10.0 * period_s)
        advanced_s = (self.state(driver).t_feedback_ns - before) * 1e-9
        assert 8.0 * period_s <= advanced_s <= 12.0 * period_s

    def test_feedback_of_a_healthy_arm_reports_no_fault(self, enabled: Driver) -> None:
        state = self.state(enabled)
        assert state.faults == ()
        assert abs(math.hypot(*state.q_base_tool_xyzw) - 1.0) < 1e-6
        assert 0.0 <= state.gripper_ratio <= 1.0
        assert state.q_rad is None or all(map(math.isfinite, state.q_rad))

    # --- stop ------------------------------------------------------------------------------------

    def in_motion(self, driver: Driver) -> DriverState:
        """On the way from `near` to `far`."""
        driver.command(self.near)
        self.settle(driver)
        driver.command(self.far)
        for _ in range(1000):
            self.wait(0.01)
            state = self.state(driver)
            gone_m = vnorm(vsub(state.p_base_tool_m, self.near.p_base_tool_m))
            if gone_m > 0.2 * vnorm(vsub(self.far.p_base_tool_m, self.near.p_base_tool_m)):
                return state
        raise AssertionError("the arm does not move")

    @pytest.mark.parametrize("kind", STOPS)
    def test_stop_decelerates_and_holds(self, enabled: Driver, kind: StopKind) -> None:
        moving = self.in_motion(enabled)
        enabled.stop(kind)
        self.wait(self.stop_s)
        stopped = self.state(enabled)
        way_m = vnorm(vsub(stopped.p_base_tool_m, moving.p_base_tool_m))
        assert way_m <= self.stop_m
        assert not self.is_at(stopped, self.far)
        assert self.is_at(self.settle(enabled), self.as_target(stopped))
        assert self.state(enabled).enabled or "estop" in enabled.info.drops_arm

    @pytest.mark.parametrize("kind", STOPS)
    def test_stop_is_accepted_at_rest_and_with_drives_off(
        self, driver: Driver, kind: StopKind
    ) -> None:
        before = self.as_target(self.state(driver))
        driver.stop(kind)
        driver.stop(kind)
        assert self.is_at(self.settle(driver), before)

    def test_a_command_after_a_hold_moves_again(self, enabled: Driver) -> None:
        self.in_motion(enabled)
        enabled.stop("HOLD")
        self.wait(self.stop_s)
        assert enabled.command(self.near).status == "SENT"
        assert self.is_at(self.settle(enabled), self.near)

    def test_a_command_after_an_estop_moves_only_as_declared(self, enabled: Driver) -> None:
        self.in_motion(enabled)
        enabled.stop("ESTOP")
        self.wait(self.stop_s)
        stopped = self.as_target(self.state(enabled))
        ack = enabled.command(self.near)
        assert (ack.status == "REJECTED") == enabled.info.clear_needed_after_estop
        if enabled.info.clear_needed_after_estop:
            assert self.is_at(self.settle(enabled), stopped)
            enabled.clear(confirm_drop=True)
            enabled.enable()
            assert enabled.command(self.near).status == "SENT"
        assert self.is_at(self.settle(enabled), self.near)

    # --- what may drop the arm -------------------------------------------------------------------

    def test_disable_asks_before_it_drops_the_arm(self, enabled: Driver) -> None:
        if "disable" in enabled.info.drops_arm:
            with pytest.raises(ConfirmDropError):
                enabled.disable()
            assert self.settle(enabled).enabled
        enabled.disable(confirm_drop=True)
        assert not self.settle(enabled).enabled
        assert enabled.command(self.far).status == "REJECTED"

    def test_clear_asks_before_it_drops_the_arm(self, enabled: Driver) -> None:
        if "clear" in enabled.info.drops_arm:
            with pytest.raises(ConfirmDropError):
                enabled.clear()
            assert self.settle(enabled).enabled
        enabled.clear(confirm_drop=True)

    def test_clear_moves_and_enables_nothing(self, driver: Driver) -> None:
        before = self.as_target(self.state(driver))
        driver.clear(confirm_drop=True)
        after = self.settle(driver)
        assert self.is_at(after, before)
        assert not after.enabled


class TestSimDriver(ArmDriverContract):
    """The plain simulator, first-order servo."""

    near = Target((0.25, 0.0, 0.30), quat_from_rpy_deg((0.0, 80.0, 0.0)), 0.6)
    far = Target((0.30, 0.30, 0.40), quat_from_rpy_deg((20.0, 60.0, 30.0)), 0.2)
    beyond = Target((2.0, 0.0, 0.3), quat_from_rpy_deg((0.0, 80.0, 0.0)), 0.6)
    settle_s = 2.0
    stop_m = 1.0**2 / (2.0 * 5.0) + 0.03  # v^2 / 2a, and lag
    options: ClassVar[SimOptions] = SimOptions(v_max_mps=1.0)

    def make(self) -> Driver:
        self.clock = FakeClock()
        return SimDriver(self.options, self.clock)

    def wait(self, dt_s: float) -> None:
        self.clock.advance_s(dt_s)


class TestSimDriverWithDelayAndOldFeedback(TestSimDriver):
    """Pure delay, rare and late feedback."""

    options = SimOptions(
        v_max_mps=1.0, servo="delay", servo_lag_s=0.04, feedback_period_s=0.05, feedback_age_s=0.03
    )
    stop_m = 1.0**2 / (2.0 * 5.0) + 0.04 + 0.05 + 0.03


class TestSimDriverOfAnArmThatDrops(TestSimDriver):
    """Everything that can be declared, declared."""

    options = SimOptions(
        v_max_mps=1.0, drops_arm=("disable", "clear", "estop"), clear_after_estop=True
    )
