"""What the state machine is told: this moment, and the rules of this arm. Data only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from proto.reasons import Reason

EngageOn = Literal["command", "enable_bit", "tracking"]
Verb = Literal["arm", "disarm", "engage", "release", "reset", "clear", "home", "estop"]


class Situation(NamedTuple):
    """All that the machine may know of this moment.

    `fault` and `protect` stand as long as their condition does. `protect_motion` counts only
    while the arm may move. `verb` is one operator command, `verb_refused` why it cannot be met
    (set by whoever knows, e.g. a home path through a wall). `taken`: a clutch offer was taken by
    a valid target. `let_go`: mapper, enable bit or pedal let go. `estop` is a level or a new count.
    """

    now_ns: int = 0
    estop: bool = False
    estop_clear: bool = True
    fault: Reason = ""
    protect: Reason = ""
    protect_motion: Reason = ""
    at_rest: bool = True
    drives_on: bool = True
    feedback_ok: bool = True
    verb: Verb | None = None
    verb_refused: str = ""
    taken: bool = False
    let_go: bool = False
    homed: bool = False
    enable_low: bool = False
    enable_rose: bool = False
    cause_stands: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the configuration and the driver make of the machine."""

    engage_on: EngageOn
    auto_arm: bool
    simulated: bool
    clear_needed_after_estop: bool = False
