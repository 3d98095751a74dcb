"""Verbs on their way to the driver: each waits for an empty slot, then for its end. Pure.

A pose in the slot must not swallow an operator's order, nor may a late order hit an arm that has
moved on: one that waits too long is dropped, and that is told.
"""

from __future__ import annotations

from typing import Final, Literal

from services.arm.driver_report import DriverReport
from services.arm.driver_thread import DriverThread

Ordered = Literal["clear", "disable"]

PATIENCE_NS: Final = 1_000_000_000


class Errands:
    """At most one ordered verb at a time, and `enable` while the arm is arming."""

    def __init__(self, driver: DriverThread) -> None:
        self._driver = driver
        self._verb: Ordered | None = None
        self._confirmed = False
        self._sent = False
        self._until_ns = 0
        self._enable_asked = False

    def order(self, verb: Ordered, confirmed: bool, now_ns: int) -> None:
        """An operator's order, which takes the place of one that waits."""
        self._verb, self._confirmed, self._sent = verb, confirmed, False
        self._until_ns = now_ns + PATIENCE_NS

    def drop(self, only: Ordered | None = None) -> bool:
        """What was not handed over yet never will be: the arm has moved on. True if it waited."""
        waits = self._verb is not None and not self._sent and only in (None, self._verb)
        if waits:
            self._verb = None
        return waits

    def step(self, report: DriverReport, now_ns: int, *, enable: bool) -> str:
        """Once a step: hands over what waits; how an order ended, "" if none did.

        Args:
            report: of this step.
            now_ns: of this step.
            enable: the drives should be switched on.
        """
        ended = self._run(report, now_ns)
        if not enable:
            self._enable_asked = False
        elif self._verb is None and not self._enable_asked:
            self._enable_asked = self._driver.submit_verb("enable")
        return ended

    def _run(self, report: DriverReport, now_ns: int) -> str:
        if self._verb is None:
            return ""
        if not report.connected:
            return self._end("refused: driver_missing")
        if not self._sent:
            self._sent = self._driver.submit_verb(self._verb, self._confirmed)
        else:
            done = next((done for done in report.done if done.verb == self._verb), None)
            if done is not None:
                return self._end("ok" if done.ok else f"refused: {done.why}")
        late = now_ns >= self._until_ns
        return self._end("refused: the driver does not answer") if late else ""

    def _end(self, result: str) -> str:
        self._verb = None
        return result
