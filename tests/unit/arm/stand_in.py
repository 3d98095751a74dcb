"""A scripted stand-in for the driver's thread: a robot that is where it is told, and its troubles.

It answers at once and without a thread; the real one has its own tests.
"""

from __future__ import annotations

from collections import deque

from proto.reasons import Reason
from services.arm.driver import Ack, DriverInfo, DriverState, StopKind, Target
from services.arm.driver_report import Done, DriverReport
from services.arm.mailbox import DriverVerb
from tests.unit.arm.fakes import FakeClock
from tests.unit.arm.make import HELD
from tests.unit.arm.settings import driver_info


class StandIn:
    """What DriverThread shows the loop. Tests set the attributes."""

    def __init__(self, clock: FakeClock, info: DriverInfo | None = None) -> None:
        self.info = info or driver_info()
        self._clock = clock
        self.p_m, self.q_xyzw = HELD
        self.gripper_ratio = 0.5
        self.drives_on = False
        self.faults: tuple[str, ...] = ()
        self.connected = self.alive = True
        self.feedback = True  # False: none ever came
        self.feedback_ns: int | None = None  # the newest feedback is of then; None: of now
        self.follows = True
        self.slot_busy = False
        self.enables = True
        self.does_verbs = True
        self.call_since_ns: int | None = None
        self.errors = 0
        self.last_error = ""
        self.error_reason: Reason = ""
        self.ack: Ack | None = None
        self.poses: list[tuple[int, Target, int]] = []
        self.verbs: list[tuple[DriverVerb, bool]] = []
        self.stops: list[StopKind] = []
        self._done: deque[Done] = deque()

    def fail(self, reason: Reason, why: str = "on demand") -> None:
        """One more call fails."""
        self.errors += 1
        self.last_error, self.error_reason = why, reason

    def finish(self, verb: DriverVerb, ok: bool, why: str = "") -> None:
        """A verb ends."""
        self._done.append(Done(verb, ok, why))

    def submit_pose(self, target: Target, tag: int) -> bool:
        if not self.connected:
            return False
        self.poses.append((self._clock.now_ns(), target, tag))
        if self.follows:
            self.p_m, self.q_xyzw = target.p_base_tool_m, target.q_base_tool_xyzw
            self.gripper_ratio = target.gripper_ratio
        return True

    def submit_stop(self, kind: StopKind) -> bool:
        self.stops.append(kind)
        return self.connected

    def submit_verb(self, verb: DriverVerb, confirm_drop: bool = False) -> bool:
        if self.slot_busy or not self.connected:
            return False
        self.verbs.append((verb, confirm_drop))
        if self.does_verbs and verb != "enable":
            self.finish(verb, True)
        if verb == "enable" and self.enables:
            self.drives_on = True
        if verb == "disable":
            self.drives_on = False
        return True

    def report(self) -> DriverReport:
        now_ns = self._clock.now_ns()
        since_ns = self.call_since_ns
        newest = self.poses[-1] if self.poses else (0, None, 0)
        done = tuple(self._done)
        self._done.clear()
        return DriverReport(
            connected=self.connected,
            alive=self.alive,
            state=self._state(now_ns) if self.feedback else None,
            last_ack=self.ack,
            last_error=self.last_error,
            error_kind="bus" if self.errors else "",
            error_reason=self.error_reason,
            errors=self.errors,
            in_flight="" if since_ns is None else "pose",
            in_flight_ns=0 if since_ns is None else now_ns - since_ns,
            stop_waiting=False,
            overruns=0,
            stale_poses=0,
            done=done,
            tag=newest[2],
            t_return_ns=newest[0],
        )

    def _state(self, now_ns: int) -> DriverState:
        return DriverState(
            t_feedback_ns=now_ns if self.feedback_ns is None else self.feedback_ns,
            p_base_tool_m=self.p_m,
            q_base_tool_xyzw=self.q_xyzw,
            gripper_ratio=self.gripper_ratio,
            q_rad=None,
            enabled=self.drives_on,
            faults=self.faults,
        )
