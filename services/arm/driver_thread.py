"""The driver's own thread: an SDK that hangs can never stop the loop, and is seen to hang.

Opens the driver and waits for a missing device, does the job that lies in the mailbox, polls the
feedback. Decides nothing: what a late call or an error means is the loop's business. Every submit
and report() returns at once, whatever the SDK does.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from proto.reasons import Reason
from runtime.clock import NS_PER_S, Clock
from runtime.log import log
from services.arm.driver import (
    Ack,
    Driver,
    DriverError,
    DriverMissingError,
    DriverState,
    StopKind,
    Target,
)
from services.arm.driver_report import Done, DriverReport
from services.arm.mailbox import DriverVerb, Job, Mailbox, PoseJob, StopJob, VerbJob

# A missing device is asked for again this often.
RETRY_NS: Final = NS_PER_S
# A pose that waited longer belongs to a moment that is over: the age limit of all streams.
POSE_MAX_AGE_NS: Final = 100_000_000
# Feedback is read after each command, and without commands about once a feedback period: not more
# often than this (wake-ups cost CPU), and often enough for the 100 ms feedback watchdog.
POLL_MIN_S: Final = 0.010
POLL_MAX_S: Final = 0.050
# Idle polls come a little later than commands would at that rate, so that the two never alternate.
_POLL_SLACK: Final = 1.25


class _Failure(NamedTuple):
    call: str = ""
    text: str = ""
    kind: str = ""
    reason: Reason = ""


_NO_FAILURE: Final = _Failure()


class DriverThread:
    """Owns the driver from start() to close(). One thread submits and reads reports."""

    def __init__(self, driver: Driver, clock: Clock) -> None:
        self.info = driver.info
        self._driver = driver
        self._clock = clock
        self._mail = Mailbox()
        self._thread = threading.Thread(
            target=self._run, name=f"driver-{self.info.name}", daemon=True
        )
        period_s = min(max(self.info.feedback_period_s, POLL_MIN_S), POLL_MAX_S)
        self._poll_ns = round(period_s * _POLL_SLACK * NS_PER_S)
        self._next_poll_ns = self._next_open_ns = clock.now_ns()
        self._closing = False
        # Written by the driver's thread, read by report(): single attributes, replaced as a whole.
        self._connected = False
        self._ended = False
        self._state: DriverState | None = None
        self._ack: Ack | None = None
        self._failure = _NO_FAILURE
        self._errors = 0
        self._in_flight: tuple[str, int] | None = None
        self._returned = (0, 0)
        self._stale_poses = 0
        self._done: deque[Done] = deque()

    def start(self) -> None:
        """Starts the thread, which opens the driver."""
        self._thread.start()

    def submit_pose(self, target: Target, tag: int) -> bool:
        """Hands over the newest pose; False if there is no device, or a stop or verb waits.

        Args:
            target: the pose.
            tag: comes back in DriverReport.tag, e.g. the receive stamp of its newest sample.
        """
        job = PoseJob(target, tag, self._clock.now_ns())
        return self._connected and self._mail.put_pose(job)

    def submit_stop(self, kind: StopKind) -> bool:
        """Empties the slot for a stop; False if there is no device that could receive it."""
        if not self._connected:
            return False
        displaced = self._mail.put_stop(StopJob(kind))
        if displaced is not None:
            self._done.append(Done(displaced.verb, False, "a stop came first"))
        return True

    def submit_verb(self, verb: DriverVerb, confirm_drop: bool = False) -> bool:
        """Hands over a verb; False if there is no device or the slot is taken: try again."""
        return self._connected and self._mail.put_verb(VerbJob(verb, confirm_drop))

    def report(self) -> DriverReport:
        """The present state of affairs; takes what ended since the last report."""
        in_flight, failure, returned = self._in_flight, self._failure, self._returned
        name, since_ns = in_flight if in_flight else ("", 0)
        return DriverReport(
            connected=self._connected,
            alive=not self._ended,
            state=self._state,
            last_ack=self._ack,
            last_error=failure.text,
            error_kind=failure.kind,
            error_reason=failure.reason,
            errors=self._errors,
            in_flight=name,
            in_flight_ns=self._clock.now_ns() - since_ns if in_flight else 0,
            stop_waiting=isinstance(self._mail.waiting, StopJob),
            overruns=self._mail.overruns,
            stale_poses=self._stale_poses,
            done=tuple(self._done.popleft() for _ in range(len(self._done))),
            tag=returned[0],
            t_return_ns=returned[1],
        )

    def close(self, timeout_s: float) -> bool:
        """Does what waits if it is a stop, closes the driver, ends the thread.

        Returns:
            False if the SDK did not come back in time; the thread dies with the process.
        """
        self._closing = True
        self._mail.wake()
        return self.join(timeout_s)

    def join(self, timeout_s: float) -> bool:
        """Waits for the thread to have ended by itself; False if it has not."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    # --- the driver's thread -------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._closing:
                self.step()
            self._finish()
        finally:
            self._ended = True

    def step(self) -> None:
        """Waits for one job or the next poll, and does it (the thread's loop; tests call it)."""
        if self._connected:
            job = self._mail.take(self.next_wake_s())
            if job is not None:
                self._do(job)
            if self._connected:
                self._poll()
        elif self.next_wake_s() > 0.0:
            self._drop(self._mail.take(self.next_wake_s()))
        else:
            self._open()

    def next_wake_s(self) -> float:
        """Time until the thread acts without being asked; negative if that is overdue."""
        due_ns = self._next_poll_ns if self._connected else self._next_open_ns
        return (due_ns - self._clock.now_ns()) / NS_PER_S

    def _finish(self) -> None:
        job = self._mail.take(0.0)
        if self._connected and isinstance(job, StopJob):
            self._do(job)
        self._connected = False
        self._call("close", self._driver.close)

    def _open(self) -> None:
        missing = self._failure.kind == DriverMissingError.kind
        if self._call("open", self._driver.open):
            self._drop(self._mail.take(0.0))
            self._connected = True
            self._next_poll_ns = self._clock.now_ns()
            log.info("driver_opened", driver=self.info.name)
            return
        self._next_open_ns = self._clock.now_ns() + RETRY_NS
        if not missing:
            log.warning("driver_missing", driver=self.info.name, why=self._failure.text)

    def _do(self, job: Job) -> None:
        if isinstance(job, PoseJob):
            self._do_pose(job)
            return
        if isinstance(job, StopJob):
            name = f"stop {job.kind}"
            ok = self._call(name, lambda: self._driver.stop(job.kind))
        else:
            name = job.verb
            ok = self._call(name, lambda: self._verb(job))
        self._done.append(Done(name, ok, "" if ok else self._failure.text))

    def _do_pose(self, job: PoseJob) -> None:
        if self._clock.now_ns() - job.t_submit_ns > POSE_MAX_AGE_NS:
            self._stale_poses += 1
        elif self._call("pose", lambda: self._command(job.target)):
            self._returned = (job.tag, self._clock.now_ns())

    def _command(self, target: Target) -> None:
        self._ack = self._driver.command(target)

    def _verb(self, job: VerbJob) -> None:
        if job.verb == "enable":
            self._driver.enable()
        elif job.verb == "disable":
            self._driver.disable(confirm_drop=job.confirm_drop)
        else:
            self._driver.clear(confirm_drop=job.confirm_drop)

    def _poll(self) -> None:
        self._call("state", self._read_state)
        self._next_poll_ns = self._clock.now_ns() + self._poll_ns

    def _read_state(self) -> None:
        self._state = self._driver.state()

    def _call(self, name: str, function: Callable[[], None]) -> bool:
        """Runs one driver call under the in-flight stamp; False if it failed."""
        self._in_flight = (name, self._clock.now_ns())
        try:
            function()
        except DriverError as error:
            self._fail(name, error)
            return False
        finally:
            self._in_flight = None
        if self._failure.call == name:
            self._failure = _NO_FAILURE
        return True

    def _fail(self, name: str, error: DriverError) -> None:
        self._failure = _Failure(name, str(error), error.kind, error.reason)
        if name == "open":
            return
        self._errors += 1
        if isinstance(error, DriverMissingError) and self._connected:
            self._lose(error)

    def _lose(self, error: DriverMissingError) -> None:
        """The device is gone: close what is left, open anew after the back-off."""
        log.warning("driver_lost", driver=self.info.name, why=str(error))
        self._connected = False
        self._state = None
        self._next_open_ns = self._clock.now_ns() + RETRY_NS
        self._drop(self._mail.take(0.0))
        failure = self._failure
        self._call("close", self._driver.close)
        self._failure = _Failure("open", failure.text, failure.kind, failure.reason)

    def _drop(self, job: Job | None) -> None:
        """Tells of a verb or a stop that found no device."""
        if isinstance(job, VerbJob | StopJob):
            name = job.verb if isinstance(job, VerbJob) else f"stop {job.kind}"
            self._done.append(Done(name, False, "no device"))
