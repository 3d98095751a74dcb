"""Judges the driver side of this moment: what is a fault, what asks for a stop, what is fine. Pure.

Feedback age is the truth about the robot: SDK flags and send calls are not believed.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from proto.reasons import Reason
from services.arm.driver import DriverInfo
from services.arm.driver_report import DriverReport

CALL_SLOW_NS: Final = 50_000_000
CALL_HUNG_NS: Final = 500_000_000
# Feedback older than the larger of the two stops the arm; later it is a fault.
FEEDBACK_STOP_NS: Final = 100_000_000
FEEDBACK_STOP_PERIODS: Final = 2.5
FEEDBACK_FAULT_NS: Final = 500_000_000
FEEDBACK_FAULT_PERIODS: Final = 5.0
# One failed or slow call stops the arm; so many in a second are a fault.
ERRORS_FAULT: Final = 3
ERRORS_WINDOW_NS: Final = 1_000_000_000
# Our own process slept this long: its driver thread did too, and has this long to look again.
ASLEEP_NS: Final = 100_000_000
HUNG: Final = "the robot may not have received the stop"


def feedback_stop_s(info: DriverInfo) -> float:
    """Feedback older than this stops the arm."""
    return max(FEEDBACK_STOP_NS * 1e-9, FEEDBACK_STOP_PERIODS * info.feedback_period_s)


class Conditions(NamedTuple):
    """What stands now. `detail` is for a person."""

    fault: Reason = ""
    protect: Reason = ""
    feedback_ok: bool = False
    drives_on: bool = False
    feedback_age_ms: float | None = None
    detail: str = ""


class Judge:
    """Remembers the few things that need a past: recent errors, the newest feedback."""

    def __init__(self, info: DriverInfo) -> None:
        self._stop_ns = feedback_stop_s(info) * 1e9
        self._fault_ns = max(
            FEEDBACK_FAULT_NS, FEEDBACK_FAULT_PERIODS * info.feedback_period_s * 1e9
        )
        self._error_times: list[int] = []
        self._slow_times: list[int] = []
        self._errors_seen = 0
        self._was_slow = False
        self._woke_ns: int | None = None

    def judge(self, report: DriverReport, now_ns: int, late_ns: int = 0) -> Conditions:
        """The conditions that `report` makes at `now_ns`, in a tick that comes `late_ns` late."""
        if late_ns > ASLEEP_NS:
            self._woke_ns = now_ns
        if self._woke_ns is not None and now_ns - self._woke_ns < ASLEEP_NS:
            report, now_ns = _as_before_the_sleep(report, now_ns)
        errors, failures = self._recent(report, now_ns)
        if not (report.connected and report.alive):
            return Conditions(fault="driver_missing", detail=report.last_error)
        age = self._feedback(report, now_ns)
        slow = report.in_flight_ns > CALL_SLOW_NS
        # The thread that waits for the SDK cannot read feedback: both are one trouble.
        if report.in_flight_ns > CALL_HUNG_NS or (slow and age.fault == "can_silent"):
            return age._replace(fault="sdk_hung", detail=HUNG)
        if not (failures or slow):
            return age
        failing: Reason = (report.error_reason or "fault") if errors else ""
        often: Reason = (failing or "sdk_hung") if failures >= ERRORS_FAULT else ""
        return age._replace(
            fault=age.fault or often,
            protect=("sdk_hung" if slow else "") or age.protect or failing,
            detail=age.detail or (report.last_error if errors else ""),
        )

    def _recent(self, report: DriverReport, now_ns: int) -> tuple[int, int]:
        """Failed calls of the last second; failed and slow ones."""
        new = min(report.errors - self._errors_seen, ERRORS_FAULT)
        self._errors_seen = report.errors
        slow = report.in_flight_ns > CALL_SLOW_NS
        if not (new or slow or self._was_slow or self._error_times or self._slow_times):
            return 0, 0
        self._error_times = _kept(self._error_times + [now_ns] * new, now_ns)
        once = [now_ns] if slow and not self._was_slow else []
        self._slow_times = _kept(self._slow_times + once, now_ns)
        self._was_slow = slow
        return len(self._error_times), len(self._error_times) + len(self._slow_times)

    def _feedback(self, report: DriverReport, now_ns: int) -> Conditions:
        if report.state is None:
            return Conditions(fault="can_silent", detail="no feedback yet")
        age_ns = now_ns - report.state.t_feedback_ns
        age_ms = age_ns * 1e-6
        faults = report.state.faults
        if age_ns > self._fault_ns:
            return Conditions(fault="can_silent", feedback_age_ms=age_ms)
        return Conditions(
            fault="fault" if faults else "",
            protect="can_silent" if age_ns > self._stop_ns else "",
            feedback_ok=age_ns <= self._stop_ns,
            drives_on=report.state.enabled,
            feedback_age_ms=age_ms,
            detail=", ".join(faults),
        )


def _kept(times_ns: list[int], now_ns: int) -> list[int]:
    return [t_ns for t_ns in times_ns if now_ns - t_ns < ERRORS_WINDOW_NS]


def _as_before_the_sleep(report: DriverReport, now_ns: int) -> tuple[DriverReport, int]:
    """Nothing grew old while nobody looked: neither the feedback nor a call in flight."""
    if report.state is not None:
        now_ns = min(now_ns, report.state.t_feedback_ns)
    return report._replace(in_flight_ns=0), now_ns
