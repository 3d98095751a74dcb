"""The safety state machine of one arm: pure, no clock of its own, no I/O.

Decides which state the arm is in and why; never how it moves. Upstream is untrusted: a stop needs
less evidence than motion, and of several events in one step the gravest wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from proto.reasons import Reason, State

EngageOn = Literal["command", "enable_bit", "tracking"]
Verb = Literal["arm", "disarm", "engage", "release", "reset", "clear", "home", "estop"]

ARMING_TIMEOUT_NS: Final = 3_000_000_000

# Causes that pass by themselves in `tracking` mode: the hand or its link was lost and is back.
LOST_HAND: Final[frozenset[Reason]] = frozenset({"stale", "untracked", "no_packets"})
# …and where nothing real moves, a restarted process or another hand.
RESTARTED: Final[frozenset[Reason]] = frozenset({"upstream_restarted", "session_changed"})

MOVING: Final[frozenset[State]] = frozenset({"ENGAGED", "HOMING"})
POWERED: Final[frozenset[State]] = frozenset({"HOLD", "HOMING", "ENGAGED", "PROTECTIVE_STOP"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """A command with no condition of its own. None: leave as it is."""

    to: State | None = None
    answer: str = "ok"
    needs_engage: bool | None = None


class Machine:
    """State, why, and what it takes to leave it."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.state: State = "DISARMED"
        self.cause: Reason = ""
        self.before_estop: State = "DISARMED"
        # True: no motion before an explicit `engage`, in every mode.
        self.needs_engage = False
        self._arming_since_ns: int | None = None

    @property
    def arming(self) -> bool:
        """Whether the drives should be enabled now (DISARMED, waiting for them)."""
        return self._arming_since_ns is not None

    def step(self, s: Situation) -> str:
        """Advances by one moment; returns the answer to `s.verb` ("ok", "refused: …", "")."""
        if s.estop or s.verb == "estop":
            self._latch()
            return "ok" if s.verb == "estop" else _refused(s, "estop")
        if s.fault and self.state != "DISARMED":
            self._fail(s.fault)
            # A reset only leads back to FAULT; refused, the one way out (clear) would be shut.
            if (self.state, s.verb) != ("ESTOP_LATCHED", "reset"):
                return _refused(s, s.fault)
        protect = self._protective_cause(s)
        if protect:
            self._enter("PROTECTIVE_STOP", protect)
            return _refused(s, protect)
        if s.verb is not None:
            return self._obey(s, s.verb)
        self._drift(s)
        return ""

    # --- gravest first -------------------------------------------------------------------------

    def _latch(self) -> None:
        if self.state != "ESTOP_LATCHED":
            self.before_estop = self.state
            self._enter("ESTOP_LATCHED", "estop")
        self.needs_engage = True

    def _fail(self, fault: Reason) -> None:
        if self.state == "ESTOP_LATCHED":
            self.before_estop = "FAULT"
        elif self.state != "FAULT":
            self._enter("FAULT", fault)

    def _protective_cause(self, s: Situation) -> Reason:
        if self.state in MOVING:
            return s.protect or s.protect_motion
        return s.protect if self.state == "HOLD" else ""

    def _enter(self, state: State, cause: Reason = "") -> None:
        self.state = state
        self.cause = cause
        self._arming_since_ns = None

    # --- what happens by itself ----------------------------------------------------------------

    def _drift(self, s: Situation) -> None:
        if self.state == "DISARMED":
            self._drift_disarmed(s)
        elif self._goes_to_hold(s):
            self._enter("HOLD")
        elif self.state == "HOLD" and s.taken and not self.needs_engage:
            self._enter("ENGAGED")
        elif self.state == "FAULT" and self._rules.auto_arm:
            self._enter("DISARMED")

    def _goes_to_hold(self, s: Situation) -> bool:
        if self.state == "ENGAGED":
            return s.let_go
        if self.state == "HOMING":
            return s.homed or s.enable_rose
        return self.state == "PROTECTIVE_STOP" and self._passes_by_itself(s)

    def _drift_disarmed(self, s: Situation) -> None:
        if s.fault or s.protect or not s.estop_clear:
            self._arming_since_ns = None
            return
        if self._arming_since_ns is None and self._rules.auto_arm:
            self._arming_since_ns = s.now_ns
        if self._arming_since_ns is None:
            return
        if s.drives_on and s.feedback_ok:
            self._enter("HOLD")
        elif s.now_ns - self._arming_since_ns > ARMING_TIMEOUT_NS:
            self._arming_since_ns = None

    def _passes_by_itself(self, s: Situation) -> bool:
        if not s.at_rest or s.protect or s.cause_stands:
            return False
        if self._rules.engage_on == "enable_bit":
            return s.enable_low
        if self._rules.engage_on != "tracking":
            return False
        restarted = self._rules.simulated and self.cause in RESTARTED
        return self.cause in LOST_HAND or restarted

    # --- what the operator orders ----------------------------------------------------------------

    def _obey(self, s: Situation, verb: Verb) -> str:
        if s.verb_refused:
            return f"refused: {s.verb_refused}"
        if self.state == "HOMING" and verb != "home":
            self._enter("HOLD")  # any other command ends homing; then it is obeyed from HOLD
        plain = _PLAIN.get((self.state, verb))
        if plain is not None:
            return self._do(plain)
        guarded = _GUARDED.get((self.state, verb))
        return guarded(self, s) if guarded else f"refused: {verb} does nothing in {self.state}"

    def _do(self, plain: Plain) -> str:
        if plain.to is not None:
            self._enter(plain.to)
        if plain.needs_engage is not None:
            self.needs_engage = plain.needs_engage
        return plain.answer

    def _arm(self, s: Situation) -> str:
        if s.fault or s.protect:
            return f"refused: {s.fault or s.protect}"
        if not s.estop_clear:
            return "refused: estop"
        if not s.feedback_ok:
            return "refused: can_silent"
        self._arming_since_ns = s.now_ns
        if s.drives_on:
            self._enter("HOLD")
        return "ok"

    def _reset_protective(self, s: Situation) -> str:
        refusal = self._recover(s)
        if not refusal:
            self.needs_engage = True
        return refusal or "ok"

    def _engage_protective(self, s: Situation) -> str:
        refusal = self._recover(s)
        if not refusal:
            self.needs_engage = False
        return refusal or "pending"

    def _recover(self, s: Situation) -> str:
        if s.protect or s.cause_stands:
            return f"refused: {s.protect or self.cause} still stands"
        if not s.at_rest:
            return "refused: still braking"
        self._enter("HOLD")
        return ""

    def _reset_estop(self, s: Situation) -> str:
        if not s.estop_clear:
            return "refused: estop still pressed (wait 1 s after its release)"
        if not s.at_rest:
            return "refused: still braking"
        self.needs_engage = True
        self._enter(self._state_after_estop(s), "fault" if self.before_estop == "FAULT" else "")
        return "ok"

    def _state_after_estop(self, s: Situation) -> State:
        if self.before_estop == "FAULT":
            return "FAULT"
        keeps = s.drives_on and not self._rules.clear_needed_after_estop
        return "HOLD" if self.before_estop in POWERED and keeps else "DISARMED"


def _refused(s: Situation, why: str) -> str:
    return f"refused: {why}" if s.verb else ""


_STAY: Final = Plain()
_RELEASE: Final = Plain(needs_engage=True)

# What each command does in each state; a pair that is in neither table is refused.
_PLAIN: Final[dict[tuple[State, Verb], Plain]] = {
    ("DISARMED", "disarm"): Plain(to="DISARMED"),
    ("DISARMED", "reset"): _STAY,
    ("DISARMED", "clear"): _STAY,
    ("DISARMED", "release"): _RELEASE,
    ("HOLD", "arm"): _STAY,
    ("HOLD", "disarm"): Plain(to="DISARMED"),
    ("HOLD", "engage"): Plain(answer="pending", needs_engage=False),
    ("HOLD", "release"): _RELEASE,
    ("HOLD", "home"): Plain(to="HOMING"),
    ("HOLD", "reset"): _STAY,
    ("HOLD", "clear"): _STAY,
    ("HOMING", "home"): _STAY,
    ("ENGAGED", "arm"): _STAY,
    ("ENGAGED", "engage"): _STAY,
    ("ENGAGED", "release"): Plain(to="HOLD", needs_engage=True),
    ("PROTECTIVE_STOP", "release"): _RELEASE,
    ("ESTOP_LATCHED", "release"): _RELEASE,
    ("FAULT", "release"): _RELEASE,
    ("FAULT", "clear"): Plain(to="DISARMED", needs_engage=True),
}
_GUARDED: Final = {
    ("DISARMED", "arm"): Machine._arm,
    ("PROTECTIVE_STOP", "reset"): Machine._reset_protective,
    ("PROTECTIVE_STOP", "engage"): Machine._engage_protective,
    ("ESTOP_LATCHED", "reset"): Machine._reset_estop,
}
