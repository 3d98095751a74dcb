"""The safety state machine of one arm: pure, no clock of its own, no I/O.

Decides which state the arm is in and why; never how it moves. Upstream is untrusted: a stop needs
less evidence than motion, and of several events in one step the gravest wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from proto.reasons import Reason, State
from services.arm.situation import Rules, Situation, Verb

ARMING_TIMEOUT_NS: Final = 3_000_000_000

# Causes that pass by themselves in `tracking` mode: the hand or its link was lost and is back.
LOST_HAND: Final[frozenset[Reason]] = frozenset({"stale", "untracked", "no_packets"})
# …and where nothing real moves, a restarted process or another hand.
RESTARTED: Final[frozenset[Reason]] = frozenset({"upstream_restarted", "session_changed"})
# Causes after which only an operator's act lets the arm move again, in every mode.
NEEDS_ACT: Final[frozenset[Reason]] = frozenset(
    {"jump", "not_following", "tick_late", "clock_domain", "tracking_unstable"}
)
# Switching the drives on may keep a driver busy for seconds, and its feedback with it.
WHILE_ENABLING: Final[frozenset[Reason]] = frozenset({"", "sdk_hung", "can_silent"})

MOVING: Final[frozenset[State]] = frozenset({"ENGAGED", "HOMING"})
POWERED: Final[frozenset[State]] = frozenset({"HOLD", "HOMING", "ENGAGED", "PROTECTIVE_STOP"})


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
        # The vendor's own stop was sent in this e-stop; set by whoever sends it.
        self.vendor_stopped = False
        self._arming_since_ns: int | None = None
        self._stays_disarmed = False  # by a `disarm`: auto_arm keeps off until an `arm`
        self._needed_before: bool | None = None  # needs_engage before an engage that is pending

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
        if s.verb is None:
            self._drift(s)
            return ""
        before = (self.state, self.needs_engage)
        answer = self._obey(s, s.verb)
        if (self.state, self.needs_engage) == before:
            # Commands may come every tick (a pedal's): they must not keep a let-go waiting.
            self._drift(s)
        return answer

    def engage_refused(self) -> None:
        """A pending engage came to nothing: it changed nothing."""
        if self._needed_before is not None:
            self.needs_engage = self._needed_before
        self._needed_before = None

    def latched_before(self) -> None:
        """At our start: our predecessor ended with an e-stop latched. Only a reset leads out."""
        self.state, self.cause, self.before_estop = "ESTOP_LATCHED", "estop", "DISARMED"
        self.needs_engage = True

    # --- gravest first -------------------------------------------------------------------------

    def _latch(self) -> None:
        if self.state != "ESTOP_LATCHED":
            self.before_estop = self.state
            self.vendor_stopped = False
            self._enter("ESTOP_LATCHED", "estop")
        self.needs_engage = True

    def _fail(self, fault: Reason) -> None:
        # A fault must not be the way past an act that is due (auto_arm clears faults by itself).
        if self.state == "PROTECTIVE_STOP" and self.cause in NEEDS_ACT:
            self.needs_engage = True
        if self.state == "ESTOP_LATCHED":
            self.before_estop = "FAULT"
        elif self.state != "FAULT":
            self._enter("FAULT", fault)

    def _protective_cause(self, s: Situation) -> Reason:
        if self.state in MOVING:
            return s.protect or s.protect_motion
        return s.protect if self.state == "HOLD" else ""

    def _enter(self, state: State, cause: Reason = "") -> None:
        if state == "ENGAGED":
            self._needed_before = None
        self.engage_refused()
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
        trouble = s.fault or s.protect
        if trouble not in WHILE_ENABLING or not s.estop_clear:
            self._arming_since_ns = None
            return
        if self._arming_since_ns is None:
            if not self._rules.auto_arm or self._stays_disarmed or trouble:
                return
            self._arming_since_ns = s.now_ns
        if s.drives_on and s.feedback_ok and not trouble:
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
        if self.state == "HOMING" and verb != "home":
            self._enter("HOLD")  # any other command ends homing; then it is obeyed from HOLD
        if s.verb_refused:
            return f"refused: {s.verb_refused}"
        plain = _PLAIN.get((self.state, verb))
        if plain is not None:
            return self._do(plain)
        guarded = _GUARDED.get((self.state, verb))
        return guarded(self, s) if guarded else f"refused: {verb} does nothing in {self.state}"

    def _do(self, plain: Plain) -> str:
        if plain.to is not None:
            self._enter(plain.to)
        if plain.needs_engage is not None:
            self._needed_before = None
            self.needs_engage = plain.needs_engage
        return plain.answer

    def _arm(self, s: Situation) -> str:
        if s.fault or s.protect:
            return f"refused: {s.fault or s.protect}"
        if not s.estop_clear:
            return "refused: estop"
        if not s.feedback_ok:
            return "refused: can_silent"
        self._stays_disarmed = False
        if s.drives_on:
            self._enter("HOLD")
            return "ok"
        self._arming_since_ns = s.now_ns
        return "pending"

    def _disarm(self, s: Situation) -> str:
        if not s.at_rest:
            return "refused: still braking"  # silence would end the motion, but not softly
        self._enter("DISARMED")
        self._stays_disarmed = True
        return "ok"

    def _engage(self, s: Situation) -> str:
        del s
        if self._needed_before is None:
            self._needed_before = self.needs_engage
        self.needs_engage = False
        return "pending"

    def _reset_protective(self, s: Situation) -> str:
        refusal = self._recover(s)
        if not refusal:
            self.needs_engage = True
        return refusal or "ok"

    def _engage_protective(self, s: Situation) -> str:
        refusal = self._recover(s)
        if not refusal:
            self._needed_before, self.needs_engage = True, False
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
        after = self._state_after_estop(s)
        self._enter(after, (s.fault or "fault") if after == "FAULT" else "")
        return "ok"

    def _state_after_estop(self, s: Situation) -> State:
        if self.before_estop == "FAULT":
            return "FAULT"
        needs_clear = self.vendor_stopped and self._rules.clear_needed_after_estop
        keeps = s.drives_on and not needs_clear
        return "HOLD" if self.before_estop in POWERED and keeps else "DISARMED"


def _refused(s: Situation, why: str) -> str:
    return f"refused: {why}" if s.verb else ""


_STAY: Final = Plain()
_RELEASE: Final = Plain(needs_engage=True)

# What each command does in each state; a pair that is in neither table is refused.
_PLAIN: Final[dict[tuple[State, Verb], Plain]] = {
    ("DISARMED", "reset"): _STAY,
    ("DISARMED", "clear"): _STAY,
    ("DISARMED", "release"): _RELEASE,
    ("HOLD", "arm"): _STAY,
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
    ("DISARMED", "disarm"): Machine._disarm,
    ("HOLD", "disarm"): Machine._disarm,
    ("HOLD", "engage"): Machine._engage,
    ("PROTECTIVE_STOP", "reset"): Machine._reset_protective,
    ("PROTECTIVE_STOP", "engage"): Machine._engage_protective,
    ("ESTOP_LATCHED", "reset"): Machine._reset_estop,
}
