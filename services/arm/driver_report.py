"""What the driver thread tells the arm loop. Data only."""

from __future__ import annotations

from typing import NamedTuple

from proto.reasons import Reason
from services.arm.driver import Ack, DriverState


class Done(NamedTuple):
    """A verb or a stop that is over. verb: "stop HOLD", "stop ESTOP", "enable", …"""

    verb: str
    ok: bool
    why: str = ""


class DriverReport(NamedTuple):
    """What the loop may know of the driver at this moment.

    Attributes:
        connected: open() succeeded and the device was not lost since.
        alive: False once the thread has ended: by close(), or by a defect of the driver.
        state: newest feedback, None while there is none of this connection.
        last_ack: of the newest pose; None before the first.
        last_error, error_kind, error_reason: of the newest failed call, "" once the same call
            succeeded again. error_kind is DriverError.kind.
        errors: failed calls so far, waiting for a missing device not counted.
        in_flight, in_flight_ns: name and age of the call the SDK has not returned from, or "", 0.
        stop_waiting: a stop was submitted and has not reached the SDK yet.
        overruns: poses that a newer one displaced.
        stale_poses: poses dropped because they waited over POSE_MAX_AGE_NS.
        done: verbs and stops that ended since the last report().
        tag, t_return_ns: of the newest pose whose call returned; 0, 0 before the first.
    """

    connected: bool
    alive: bool
    state: DriverState | None
    last_ack: Ack | None
    last_error: str
    error_kind: str
    error_reason: Reason
    errors: int
    in_flight: str
    in_flight_ns: int
    stop_waiting: bool
    overruns: int
    stale_poses: int
    done: tuple[Done, ...]
    tag: int
    t_return_ns: int
