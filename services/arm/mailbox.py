"""The one slot between the arm loop and the driver thread, and who may displace whom in it.

A pose gives way to a newer pose and to a stop; a stop gives way only to a harder stop; a verb waits
for an empty slot and gives way only to a stop. Nothing here ever waits for the driver.
"""

from __future__ import annotations

from threading import Lock
from typing import Literal, NamedTuple

from services.arm.driver import StopKind, Target

DriverVerb = Literal["enable", "disable", "clear"]


class PoseJob(NamedTuple):
    """A target; `tag` comes back with it, t_submit_ns bounds its life."""

    target: Target
    tag: int
    t_submit_ns: int


class StopJob(NamedTuple):
    """A stop of the robot's own."""

    kind: StopKind


class VerbJob(NamedTuple):
    """A verb of an operator."""

    verb: DriverVerb
    confirm_drop: bool


Job = PoseJob | StopJob | VerbJob


class Mailbox:
    """Any thread puts, one thread takes. Puts hold a lock for a few assignments only."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._slot: Job | None = None
        # Held while there is nothing to take: a lock waits in C without polling. (A SimpleQueue's
        # first get with a tiny timeout waits for ever on Python 3.10, one time in twenty.)
        self._wake = Lock()
        self._wake.acquire()
        self.overruns = 0

    @property
    def waiting(self) -> Job | None:
        """What lies in the slot."""
        return self._slot

    def put_pose(self, job: PoseJob) -> bool:
        """False if something graver waits; a waiting pose is replaced and counted."""
        with self._lock:
            if self._slot is None:
                self._fill(job)
                return True
            if not isinstance(self._slot, PoseJob):
                return False
            self._slot = job
            self.overruns += 1
            return True

    def put_stop(self, job: StopJob) -> VerbJob | None:
        """Always waits next; returns the verb it displaced, which will never be done."""
        with self._lock:
            before = self._slot
            if before is None:
                self._fill(job)
            elif not (isinstance(before, StopJob) and before.kind == "ESTOP"):
                self._slot = job
            return before if isinstance(before, VerbJob) else None

    def put_verb(self, job: VerbJob) -> bool:
        """False if anything waits."""
        with self._lock:
            if self._slot is not None:
                return False
            self._fill(job)
            return True

    def take(self, timeout_s: float) -> Job | None:
        """Empties the slot, waiting up to timeout_s for something to be in it."""
        if not self._wake.acquire(timeout=max(0.0, timeout_s)):
            return None
        with self._lock:
            job, self._slot = self._slot, None
        return job

    def wake(self) -> None:
        """Ends a take() that waits; it returns None."""
        with self._lock:
            self._ring()

    def _fill(self, job: Job) -> None:
        self._slot = job
        self._ring()

    def _ring(self) -> None:
        """Opens `_wake`; called with `_lock` held, so that it is never opened twice."""
        if self._wake.locked():
            self._wake.release()
