"""Names of states, reasons and sides. The position in a table is the code on the wire: append only.

Order of REASONS is also precedence: of several reasons not to move, the first in the table is told.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

Side = Literal["right", "left"]
SIDES: Final[tuple[Side, ...]] = ("right", "left")

State = Literal[
    "DISARMED", "HOLD", "HOMING", "ENGAGED", "PROTECTIVE_STOP", "ESTOP_LATCHED", "FAULT"
]
STATES: Final[tuple[State, ...]] = get_args(State)

# "" = nothing stands in the way.
Reason = Literal[
    "",
    "estop",
    "fault",
    "sdk_hung",
    "driver_missing",
    "can_tx",
    "can_silent",
    "not_following",
    "jump",
    "session_changed",
    "upstream_restarted",
    "tick_late",
    "clock_domain",
    "tracking_unstable",
    "not_configured",
    "not_armed",
    "not_engaged",
    "homing",
    "approach",
    "no_packets",
    "not_allowed",
    "stale",
    "untracked",
    "outside_box",
    "clamped",
    "speed_limited",
    "unreachable",
]
REASONS: Final[tuple[Reason, ...]] = get_args(Reason)


def first_reason(*reasons: Reason) -> Reason:
    """The reason of highest precedence among `reasons`; "" if none stands."""
    standing = [REASONS.index(reason) for reason in reasons if reason]
    return REASONS[min(standing)] if standing else ""
