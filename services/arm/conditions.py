"""Judges the driver side of this moment: what is a fault, what asks for a stop, what is fine. Pure.

Feedback age is the truth about the robot: SDK flags and send calls are not believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

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
# One failed call stops the arm; so many in a second are a fault.
ERRORS_FAULT: Final = 3
ERRORS_WINDOW_NS: Final = 1_000_000_000
# Our own process slept this long: its driver thread did too, and has this long to look again.
ASLEEP_NS: Final = 100_000_000


def feedback_stop_s(info: DriverInfo) -> float:
    """Feedback older than this stops the arm."""
    return max(FEEDBACK_STOP_NS * 1e-9, FEEDBACK_STOP_PERIODS * info.feedback_period_s)


@dataclass(frozen=True, slots=True)
class Conditions:
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
        self._errors_seen = 0
        self._woke_ns: int | None = None

    def judge(self, report: DriverReport, now_ns: int, late_ns: int = 0) -> Conditions:
        """The conditions that `report` makes at `now_ns`, in a tick that comes `late_ns` late."""
        if late_ns > ASLEEP_NS:
            self._woke_ns = now_ns
        if self._woke_ns is not None and now_ns - self._woke_ns < ASLEEP_NS:
            report, now_ns = _as_before_the_sleep(report, now_ns)
        if report.in_flight_ns > CALL_HUNG_NS:
            return Conditions(fault="sdk_hung", detail="the robot may not have received the stop")
        if not (report.connected and report.alive):
            return Conditions(fault="driver_missing", detail=report.last_error)
        errors = self._recent_errors(report, now_ns)
        age = self._feedback(report, now_ns)
        slow: Reason = "sdk_hung" if report.in_flight_ns > CALL_SLOW_NS else ""
        failing: Reason = (report.error_reason or "fault") if errors else ""
        return Conditions(
            fault=age.fault or (failing if errors >= ERRORS_FAULT else ""),
            protect=slow or age.protect or failing,
            feedback_ok=age.feedback_ok,
            drives_on=age.drives_on,
            feedback_age_ms=age.feedback_age_ms,
            detail=age.detail or (report.last_error if errors else ""),
        )

    def _recent_errors(self, report: DriverReport, now_ns: int) -> int:
        new = report.errors - self._errors_seen
        self._errors_seen = report.errors
        self._error_times.extend([now_ns] * min(new, ERRORS_FAULT))
        self._error_times = [t for t in self._error_times if now_ns - t < ERRORS_WINDOW_NS]
        return len(self._error_times)

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


def _as_before_the_sleep(report: DriverReport, now_ns: int) -> tuple[DriverReport, int]:
    """Nothing grew old while nobody looked: neither the feedback nor a call in flight."""
    if report.state is not None:
        now_ns = min(now_ns, report.state.t_feedback_ns)
    return report._replace(in_flight_ns=0), now_ns
