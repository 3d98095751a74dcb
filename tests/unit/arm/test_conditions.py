"""services.arm.conditions: what the driver's report means for the arm."""

from __future__ import annotations

from typing import Any

import pytest

from proto.reasons import Reason
from services.arm.conditions import Conditions, Judge, feedback_stop_s
from services.arm.driver_report import DriverReport
from tests.unit.arm.settings import driver_info, measured

MS = 1_000_000
T0_NS = 1_000_000_000  # measured() is of then


def report(**changes: Any) -> DriverReport:
    facts: dict[str, Any] = {
        "connected": True,
        "alive": True,
        "state": measured(),
        "last_ack": None,
        "last_error": "",
        "error_kind": "",
        "error_reason": "",
        "errors": 0,
        "in_flight": "",
        "in_flight_ns": 0,
        "stop_waiting": False,
        "overruns": 0,
        "stale_poses": 0,
        "done": (),
        "tag": 0,
        "t_return_ns": 0,
    }
    return DriverReport(**{**facts, **changes})


def judged(now_ms: float = 0.0, period_s: float = 0.01, **changes: Any) -> Conditions:
    judge = Judge(driver_info(feedback_period_s=period_s))
    return judge.judge(report(**changes), T0_NS + round(now_ms * MS))


def causes(conditions: Conditions) -> tuple[Reason, Reason]:
    return conditions.fault, conditions.protect


def test_a_healthy_driver_stands_in_nobodys_way() -> None:
    conditions = judged(5.0)
    assert conditions == Conditions(feedback_ok=True, drives_on=True, feedback_age_ms=5.0)


@pytest.mark.parametrize(
    ("period_s", "age_ms", "expected"),
    [
        (0.01, 100.0, ("", "")),
        (0.01, 100.1, ("", "can_silent")),
        (0.01, 500.0, ("", "can_silent")),
        (0.01, 500.1, ("can_silent", "")),
        # 2.5 and 5 periods where feedback is rare
        (0.20, 500.0, ("", "")),
        (0.20, 500.1, ("", "can_silent")),
        (0.20, 1000.0, ("", "can_silent")),
        (0.20, 1000.1, ("can_silent", "")),
    ],
)
def test_feedback_age_stops_then_faults(
    period_s: float, age_ms: float, expected: tuple[Reason, Reason]
) -> None:
    conditions = judged(age_ms, period_s)
    assert causes(conditions) == expected
    assert conditions.feedback_ok is (expected == ("", ""))
    assert conditions.feedback_age_ms == pytest.approx(age_ms)
    assert feedback_stop_s(driver_info(feedback_period_s=period_s)) == max(0.1, 2.5 * period_s)


def test_before_the_first_feedback_it_is_silent() -> None:
    conditions = judged(state=None)
    assert causes(conditions) == ("can_silent", "")
    assert conditions.detail == "no feedback yet"
    assert not conditions.feedback_ok


@pytest.mark.parametrize("gone", [{"connected": False}, {"alive": False}])
def test_without_a_driver_it_is_missing_whatever_else(gone: dict[str, bool]) -> None:
    conditions = judged(
        state=None, in_flight="open", in_flight_ns=900 * MS, last_error="no such port", **gone
    )
    assert causes(conditions) == ("driver_missing", "")
    assert conditions.detail == "no such port"


@pytest.mark.parametrize(
    ("in_flight_ms", "expected"),
    [(50.0, ("", "")), (50.1, ("", "sdk_hung")), (500.0, ("", "sdk_hung"))],
)
def test_a_call_in_flight_for_50_ms_stops(
    in_flight_ms: float, expected: tuple[Reason, Reason]
) -> None:
    assert causes(judged(in_flight="pose", in_flight_ns=round(in_flight_ms * MS))) == expected


def test_a_call_in_flight_for_500_ms_is_a_fault_that_says_what_may_be_lost() -> None:
    conditions = judged(in_flight="pose", in_flight_ns=round(500.1 * MS))
    assert conditions.fault == "sdk_hung"
    assert conditions.detail == "the robot may not have received the stop"


def test_the_silence_of_a_hung_sdk_is_no_trouble_of_its_own() -> None:
    """Feedback was read a little before the call began: it must not win by that little."""
    conditions = judged(505.0, in_flight="pose", in_flight_ns=495 * MS)
    assert conditions.fault == "sdk_hung"
    assert causes(judged(150.0, in_flight="pose", in_flight_ns=140 * MS)) == ("", "sdk_hung")


def test_a_fault_of_the_robot_is_a_fault_and_named() -> None:
    conditions = judged(state=measured(faults=("joint 3 hot", "joint 4 hot")))
    assert causes(conditions) == ("fault", "")
    assert conditions.detail == "joint 3 hot, joint 4 hot"


def test_drives_off_is_told_and_no_fault_by_itself() -> None:
    conditions = judged(state=measured(enabled=False))
    assert causes(conditions) == ("", "")
    assert not conditions.drives_on


class TestFailedCalls:
    def at(self, judge: Judge, now_ms: int, **changes: Any) -> Conditions:
        now_ns = T0_NS + now_ms * MS
        return judge.judge(report(state=measured(t_feedback_ns=now_ns), **changes), now_ns)

    def test_one_stops_for_a_second(self) -> None:
        judge = Judge(driver_info())
        failed = {"errors": 1, "error_reason": "can_tx", "last_error": "ENOBUFS"}
        conditions = self.at(judge, 0, **failed)
        assert (*causes(conditions), conditions.detail) == ("", "can_tx", "ENOBUFS")
        assert causes(self.at(judge, 999, **failed)) == ("", "can_tx")
        conditions = self.at(judge, 1000, **failed)
        assert (*causes(conditions), conditions.detail) == ("", "", "")

    def test_three_within_a_second_are_a_fault(self) -> None:
        judge = Judge(driver_info())
        for number, now_ms in enumerate((0, 400, 999), start=1):
            conditions = self.at(judge, now_ms, errors=number, error_reason="can_tx")
            assert conditions.fault == ("can_tx" if number == 3 else "")
        assert self.at(judge, 1001, errors=3, error_reason="can_tx").fault == ""

    def test_many_at_once_are_forgotten_after_a_second_too(self) -> None:
        judge = Judge(driver_info())
        assert self.at(judge, 0, errors=10_000, error_reason="can_tx").fault == "can_tx"
        assert causes(self.at(judge, 1000, errors=10_000)) == ("", "")

    def test_one_that_works_again_by_now_still_counts(self) -> None:
        judge = Judge(driver_info())
        assert causes(self.at(judge, 0, errors=1, error_reason="")) == ("", "fault")

    def test_those_of_a_missing_driver_are_old_when_it_is_back(self) -> None:
        judge = Judge(driver_info())
        self.at(judge, 0, connected=False, errors=1)
        assert causes(self.at(judge, 1500, errors=1)) == ("", "")

    def test_slow_calls_count_once_each(self) -> None:
        judge = Judge(driver_info())
        for start_ms in (0, 300, 600):
            for age_ms in (20, 60, 120):
                conditions = self.at(judge, start_ms + age_ms, in_flight_ns=age_ms * MS)
                third = start_ms == 600 and age_ms > 50
                assert conditions.fault == ("sdk_hung" if third else "")
        assert self.at(judge, 800).fault == "sdk_hung"
        assert self.at(judge, 1100).fault == ""

    def test_slow_and_failed_calls_add_up(self) -> None:
        judge = Judge(driver_info())
        self.at(judge, 0, in_flight_ns=60 * MS)
        assert self.at(judge, 100, errors=2, error_reason="can_tx").fault == "can_tx"


class TestOwnSleep:
    """A process that was stopped has read nothing meanwhile, and nothing is the robot's fault."""

    def test_what_grew_old_meanwhile_is_given_100_ms_to_be_looked_at(self) -> None:
        judge = Judge(driver_info())
        hung = report(in_flight="state", in_flight_ns=3000 * MS)
        woken = judge.judge(hung, T0_NS + 3000 * MS, late_ns=2990 * MS)
        assert causes(woken) == ("", "")
        assert woken.feedback_ok
        assert causes(judge.judge(hung, T0_NS + 3099 * MS)) == ("", "")
        assert judge.judge(hung, T0_NS + 3100 * MS).fault == "sdk_hung"

    def test_a_tick_that_is_just_late_excuses_nothing(self) -> None:
        judge = Judge(driver_info())
        stale = judge.judge(report(), T0_NS + 3000 * MS, late_ns=100 * MS)
        assert causes(stale) == ("can_silent", "")

    def test_without_any_feedback_there_is_nothing_to_excuse(self) -> None:
        judge = Judge(driver_info())
        woken = judge.judge(report(state=None), T0_NS, late_ns=101 * MS)
        assert causes(woken) == ("can_silent", "")
