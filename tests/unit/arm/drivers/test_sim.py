"""services.arm.drivers.sim: feedback stamps and faults on demand; the rest is in the contract."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from services.arm.driver import (
    DriverBusError,
    DriverMissingError,
    DriverOrderError,
    DriverRefusedError,
    DriverState,
    Target,
)
from services.arm.drivers.sim import SimDriver
from services.arm.drivers.sim_faults import NO_FAULTS, SimFaults
from services.arm.drivers.sim_options import SimOptions
from tests.unit.arm.fakes import FakeClock

AWAY = Target((0.35, 0.0, 0.25), (0.0, 0.0, 0.0, 1.0), 0.5)


class Bench:
    """A driver on a fake clock; sleeping moves the clock."""

    def __init__(self, options: SimOptions | None = None) -> None:
        self.clock = FakeClock()
        self.slept_s: list[float] = []
        self.driver = SimDriver(options, self.clock, self._sleep)

    def _sleep(self, duration_s: float) -> None:
        self.slept_s.append(duration_s)
        self.clock.advance_s(duration_s)

    def up(self) -> SimDriver:
        self.driver.open()
        self.driver.enable()
        return self.driver

    def state(self) -> DriverState:
        state = self.driver.state()
        assert state is not None
        return state


def test_feedback_comes_in_whole_periods_and_late() -> None:
    bench = Bench(SimOptions(feedback_period_s=0.01, feedback_age_s=0.025))
    bench.driver.open()
    opened_ns = bench.clock.ns
    assert bench.driver.state() is None
    bench.clock.advance_s(0.024)
    assert bench.driver.state() is None
    bench.clock.advance_s(0.013)
    assert bench.state().t_feedback_ns == opened_ns + 10_000_000  # 37 ms - 25 ms, whole periods


def test_a_late_measurement_shows_where_the_arm_was() -> None:
    bench = Bench(SimOptions(feedback_age_s=0.1, servo="delay", servo_lag_s=0.0, v_max_mps=1.0))
    bench.up()
    bench.driver.command(AWAY)
    bench.clock.advance_s(0.15)
    assert bench.state().p_base_tool_m == pytest.approx((0.30, 0.0, 0.25), abs=1e-9)


def test_the_arm_moves_without_being_asked() -> None:
    bench = Bench()
    bench.up().command(AWAY)
    bench.clock.advance_s(5.0)
    assert bench.state().p_base_tool_m == AWAY.p_base_tool_m


def test_hang_blocks_one_call_but_never_feedback() -> None:
    bench = Bench()
    bench.up().set_faults(SimFaults(hang_s=5.0))
    bench.state()
    assert bench.slept_s == []
    bench.driver.command(AWAY)
    bench.driver.command(AWAY)
    assert bench.slept_s == [5.0]


@pytest.mark.parametrize("call", ["enable", "disable", "command", "state", "stop", "clear"])
def test_a_call_fails_on_demand(call: str) -> None:
    bench = Bench()
    driver = bench.up()
    calls: dict[str, Callable[[], object]] = {
        "enable": driver.enable,
        "disable": driver.disable,
        "command": lambda: driver.command(AWAY),
        "state": driver.state,
        "stop": lambda: driver.stop("HOLD"),
        "clear": driver.clear,
    }
    driver.set_faults(SimFaults(raise_in=(call,)))
    with pytest.raises(DriverBusError, match=f"{call} failed on demand"):
        calls[call]()
    driver.set_faults(NO_FAULTS)
    calls[call]()


def test_a_missing_device() -> None:
    bench = Bench()
    bench.driver.set_faults(SimFaults(raise_in=("open",)))
    with pytest.raises(DriverMissingError):
        bench.driver.open()
    bench.driver.set_faults(NO_FAULTS)
    bench.driver.open()


def test_frozen_feedback_goes_on_stamping_an_old_pose() -> None:
    bench = Bench()
    bench.up().command(AWAY)
    bench.clock.advance_s(0.02)
    before = bench.state()
    bench.driver.set_faults(SimFaults(feedback="frozen"))
    bench.clock.advance_s(1.0)
    frozen = bench.state()
    assert frozen.p_base_tool_m == before.p_base_tool_m != AWAY.p_base_tool_m
    assert frozen.t_feedback_ns == before.t_feedback_ns + 1_000_000_000
    bench.driver.set_faults(NO_FAULTS)
    assert bench.state().p_base_tool_m == AWAY.p_base_tool_m


def test_silent_feedback_grows_old() -> None:
    bench = Bench()
    bench.up()
    bench.clock.advance_s(0.02)
    before = bench.state()
    bench.driver.set_faults(SimFaults(feedback="silent"))
    bench.clock.advance_s(1.0)
    bench.driver.set_faults(SimFaults(feedback="silent", faults=("STALE",)))  # a second fault
    assert bench.state().t_feedback_ns == before.t_feedback_ns
    assert bench.state().faults == ("STALE",)


def test_an_arm_that_does_not_follow_says_sent_all_the_same() -> None:
    bench = Bench()
    driver = bench.up()
    driver.set_faults(SimFaults(freeze_motion=True))
    assert driver.command(AWAY).status == "SENT"
    bench.clock.advance_s(1.0)
    assert bench.state().p_base_tool_m == (0.25, 0.0, 0.25)


def test_drives_drop_out_and_come_back_only_by_enable() -> None:
    bench = Bench()
    driver = bench.up()
    driver.set_faults(SimFaults(drives_off=True))
    assert not bench.state().enabled
    assert driver.command(AWAY).status == "REJECTED"
    with pytest.raises(DriverRefusedError):
        driver.enable()
    driver.set_faults(NO_FAULTS)
    assert driver.command(AWAY).status == "REJECTED"
    driver.enable()
    assert driver.command(AWAY).status == "SENT"


def test_enable_refused() -> None:
    bench = Bench()
    bench.driver.open()
    bench.driver.set_faults(SimFaults(refuse_enable=True))
    with pytest.raises(DriverRefusedError):
        bench.driver.enable()


def test_clear_is_refused_while_a_fault_stands() -> None:
    bench = Bench()
    driver = bench.up()
    driver.set_faults(SimFaults(faults=("OVERTEMP", "COLLISION")))
    with pytest.raises(DriverRefusedError, match="OVERTEMP, COLLISION"):
        driver.clear()


def test_faults_are_taken_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "faults.json"
    bench = Bench(SimOptions(faults_file=str(path)))
    driver = bench.up()
    path.write_text('{"raise_in": ["command"]}')
    with pytest.raises(DriverBusError):
        driver.command(AWAY)
    path.unlink()
    assert driver.command(AWAY).status == "SENT"


def test_calls_while_closed_are_out_of_order() -> None:
    bench = Bench()
    with pytest.raises(DriverOrderError):
        bench.driver.state()
    with pytest.raises(DriverOrderError):
        bench.driver.enable()
    with pytest.raises(DriverOrderError):
        bench.driver.command(AWAY)


def test_a_target_out_of_reach_is_rejected() -> None:
    bench = Bench(SimOptions(reach_max_m=0.5))
    ack = bench.up().command(Target((0.4, 0.4, 0.0), (0.0, 0.0, 0.0, 1.0), 0.5))
    assert (ack.status, ack.sent) == ("REJECTED", None)
    assert ack.why == "out of reach: 0.566 m of 0.500"
