"""The transition table: every row of state, event, next state, answer. docs/safety.md shows it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from proto.reasons import STATES, State
from services.arm.machine import MOVING, Machine
from services.arm.situation import EngageOn as Mode
from services.arm.situation import Rules, Situation, Verb


def now(m: Machine) -> str:
    """The state, read afresh: a type checker cannot know that `step` changes it."""
    return m.state


VERBS: tuple[Verb, ...] = (
    "arm",
    "disarm",
    "engage",
    "release",
    "reset",
    "clear",
    "home",
    "estop",
)


def machine(
    state: State = "DISARMED", mode: Mode = "command", *, auto: bool = False, **kw: Any
) -> Machine:
    made = Machine(Rules(engage_on=mode, auto_arm=auto, simulated=auto))
    made.state = state
    for name, value in kw.items():
        setattr(made, name, value)
    return made


# state, verb → next state, answer; with everything else as it should be. Not listed: refused.
VERB_TABLE: dict[tuple[State, Verb], tuple[State, str]] = {
    ("DISARMED", "arm"): ("HOLD", "ok"),
    ("DISARMED", "disarm"): ("DISARMED", "ok"),
    ("DISARMED", "reset"): ("DISARMED", "ok"),
    ("DISARMED", "clear"): ("DISARMED", "ok"),
    ("DISARMED", "release"): ("DISARMED", "ok"),
    ("HOLD", "arm"): ("HOLD", "ok"),
    ("HOLD", "disarm"): ("DISARMED", "ok"),
    ("HOLD", "engage"): ("HOLD", "pending"),
    ("HOLD", "release"): ("HOLD", "ok"),
    ("HOLD", "home"): ("HOMING", "ok"),
    ("HOLD", "reset"): ("HOLD", "ok"),
    ("HOLD", "clear"): ("HOLD", "ok"),
    ("HOMING", "arm"): ("HOLD", "ok"),
    ("HOMING", "disarm"): ("DISARMED", "ok"),
    ("HOMING", "engage"): ("HOLD", "pending"),
    ("HOMING", "release"): ("HOLD", "ok"),
    ("HOMING", "home"): ("HOMING", "ok"),
    ("HOMING", "reset"): ("HOLD", "ok"),
    ("HOMING", "clear"): ("HOLD", "ok"),
    ("ENGAGED", "arm"): ("ENGAGED", "ok"),
    ("ENGAGED", "engage"): ("ENGAGED", "ok"),
    ("ENGAGED", "release"): ("HOLD", "ok"),
    ("PROTECTIVE_STOP", "engage"): ("HOLD", "pending"),
    ("PROTECTIVE_STOP", "release"): ("PROTECTIVE_STOP", "ok"),
    ("PROTECTIVE_STOP", "reset"): ("HOLD", "ok"),
    ("ESTOP_LATCHED", "release"): ("ESTOP_LATCHED", "ok"),
    ("ESTOP_LATCHED", "reset"): ("HOLD", "ok"),
    ("FAULT", "release"): ("FAULT", "ok"),
    ("FAULT", "clear"): ("DISARMED", "ok"),
}


@pytest.mark.parametrize(("state", "verb"), list(itertools.product(STATES, VERBS)))
def test_every_command_in_every_state(state: State, verb: Verb) -> None:
    m = machine(state, before_estop="HOLD")
    answer = m.step(Situation(verb=verb))
    if verb == "estop":
        assert (m.state, answer) == ("ESTOP_LATCHED", "ok")
    elif (state, verb) in VERB_TABLE:
        assert (m.state, answer) == VERB_TABLE[state, verb]
    else:
        assert now(m) == state
        assert answer == f"refused: {verb} does nothing in {state}"


@pytest.mark.parametrize("state", STATES)
def test_estop_latches_from_every_state(state: State) -> None:
    m = machine(state, before_estop="FAULT")
    assert m.step(Situation(estop=True, verb="arm")) == "refused: estop"
    assert now(m) == "ESTOP_LATCHED"
    assert m.cause == "estop" or state == "ESTOP_LATCHED"
    assert m.before_estop == ("FAULT" if state == "ESTOP_LATCHED" else state)
    assert m.needs_engage


@pytest.mark.parametrize("state", STATES)
def test_fault_stops_all_but_disarmed(state: State) -> None:
    m = machine(state, before_estop="HOLD")
    m.step(Situation(fault="sdk_hung"))
    if state == "DISARMED":
        assert now(m) == "DISARMED"
    elif state == "ESTOP_LATCHED":
        assert (m.state, m.before_estop) == ("ESTOP_LATCHED", "FAULT")
    else:
        assert now(m) == "FAULT"


@pytest.mark.parametrize("state", STATES)
def test_protect_stops_what_holds_or_moves(state: State) -> None:
    m = machine(state)
    m.step(Situation(protect="can_silent"))
    stops = state in ("HOLD", "HOMING", "ENGAGED")
    assert now(m) == ("PROTECTIVE_STOP" if stops else state)


@pytest.mark.parametrize("state", STATES)
def test_motion_causes_stop_only_motion(state: State) -> None:
    m = machine(state)
    m.step(Situation(protect_motion="jump"))
    assert now(m) == ("PROTECTIVE_STOP" if state in MOVING else state)


def test_gravest_wins_in_one_step() -> None:
    m = machine("ENGAGED")
    m.step(Situation(estop=True, fault="fault", protect="can_silent", protect_motion="jump"))
    assert now(m) == "ESTOP_LATCHED"
    m = machine("ENGAGED")
    m.step(Situation(fault="fault", protect="can_silent", protect_motion="jump", let_go=True))
    assert now(m) == "FAULT"
    m = machine("ENGAGED")
    m.step(Situation(protect_motion="jump", let_go=True))
    assert (m.state, m.cause) == ("PROTECTIVE_STOP", "jump")


def test_only_a_taken_offer_engages() -> None:
    m = machine("HOLD")
    m.step(Situation())
    assert now(m) == "HOLD"
    m.step(Situation(taken=True))
    assert now(m) == "ENGAGED"
    m = machine("HOLD", needs_engage=True)
    m.step(Situation(taken=True))
    assert now(m) == "HOLD"


@pytest.mark.parametrize("state", [s for s in STATES if s != "HOLD"])
def test_a_taken_offer_means_nothing_outside_hold(state: State) -> None:
    m = machine(state)
    m.step(Situation(taken=True))
    assert now(m) == state


def test_let_go_and_homing_end_in_hold() -> None:
    rows: tuple[tuple[State, Situation], ...] = (
        ("ENGAGED", Situation(let_go=True)),
        ("HOMING", Situation(homed=True)),
        ("HOMING", Situation(enable_rose=True)),
    )
    for state, situation in rows:
        m = machine(state)
        m.step(situation)
        assert now(m) == "HOLD"


class TestArming:
    def test_waits_for_drives_and_feedback(self) -> None:
        m = machine()
        assert m.step(Situation(verb="arm", drives_on=False)) == "pending"
        assert (m.state, m.arming) == ("DISARMED", True)
        m.step(Situation(drives_on=True, feedback_ok=False))
        assert now(m) == "DISARMED"
        m.step(Situation())
        assert now(m) == "HOLD"
        assert not m.arming

    def test_gives_up_after_three_seconds(self) -> None:
        m = machine()
        m.step(Situation(verb="arm", drives_on=False))
        m.step(Situation(now_ns=3_000_000_001, drives_on=False))
        assert not m.arming
        m.step(Situation(now_ns=3_000_000_002))
        assert now(m) == "DISARMED"

    @pytest.mark.parametrize(
        ("situation", "why"),
        [
            (Situation(verb="arm", fault="driver_missing"), "driver_missing"),
            (Situation(verb="arm", protect="can_silent"), "can_silent"),
            (Situation(verb="arm", estop_clear=False), "estop"),
            (Situation(verb="arm", feedback_ok=False), "can_silent"),
            (Situation(verb="arm", verb_refused="no"), "no"),
        ],
    )
    def test_refusals(self, situation: Situation, why: str) -> None:
        m = machine()
        assert m.step(situation) == f"refused: {why}"
        assert (m.state, m.arming) == ("DISARMED", False)

    def test_trouble_on_the_way_ends_it(self) -> None:
        m = machine()
        m.step(Situation(verb="arm", drives_on=False))
        m.step(Situation(fault="driver_missing"))
        m.step(Situation())
        assert now(m) == "DISARMED"

    @pytest.mark.parametrize("busy", ["sdk_hung", "can_silent"])
    def test_a_driver_that_is_busy_switching_on_is_waited_for(self, busy: Any) -> None:
        m = machine()
        m.step(Situation(verb="arm", drives_on=False))
        m.step(Situation(protect=busy, drives_on=False, feedback_ok=False))
        m.step(Situation(fault=busy, feedback_ok=False))
        m.step(Situation(protect=busy))
        assert (m.state, m.arming) == ("DISARMED", True)
        m.step(Situation())
        assert now(m) == "HOLD"

    @pytest.mark.parametrize("busy", ["sdk_hung", "can_silent"])
    def test_auto_arm_does_not_begin_while_the_driver_is_busy(self, busy: Any) -> None:
        for situation in (Situation(fault=busy), Situation(protect=busy)):
            m = machine(auto=True)
            m.step(situation)
            assert not m.arming

    @pytest.mark.parametrize("state", ["HOLD", "HOMING"])
    def test_a_disarm_waits_for_rest(self, state: State) -> None:
        m = machine(state)
        assert m.step(Situation(verb="disarm", at_rest=False)) == "refused: still braking"
        assert now(m) == "HOLD"

    def test_after_a_disarm_auto_arm_keeps_off_until_an_arm(self) -> None:
        m = machine("HOLD", auto=True)
        assert m.step(Situation(verb="disarm")) == "ok"
        for _ in range(10):
            m.step(Situation())
        assert now(m) == "DISARMED"
        assert m.step(Situation(verb="arm")) == "ok"
        assert now(m) == "HOLD"
        m.step(Situation(fault="can_silent"))
        m.step(Situation())
        m.step(Situation())
        assert now(m) == "HOLD"

    def test_auto_arm_arms_and_clears_a_fault_whose_cause_is_gone(self) -> None:
        m = machine(auto=True)
        m.step(Situation())
        assert now(m) == "HOLD"
        m.step(Situation(fault="can_silent"))
        m.step(Situation(fault="can_silent"))
        assert now(m) == "FAULT"
        m.step(Situation())
        assert now(m) == "DISARMED"

    def test_auto_arm_never_clears_an_estop(self) -> None:
        m = machine("ENGAGED", "tracking", auto=True)
        m.step(Situation(estop=True))
        for _ in range(100):
            m.step(Situation(taken=True))
        assert now(m) == "ESTOP_LATCHED"


class TestLeavingProtectiveStop:
    @pytest.mark.parametrize(
        ("mode", "cause", "simulated", "situation", "leaves"),
        [
            ("tracking", "stale", False, Situation(), True),
            ("tracking", "untracked", False, Situation(), True),
            ("tracking", "no_packets", False, Situation(), True),
            ("tracking", "stale", False, Situation(at_rest=False), False),
            ("tracking", "stale", False, Situation(cause_stands=True), False),
            ("tracking", "upstream_restarted", False, Situation(), False),
            ("tracking", "upstream_restarted", True, Situation(), True),
            ("tracking", "session_changed", True, Situation(), True),
            ("tracking", "jump", True, Situation(), False),
            ("tracking", "tracking_unstable", True, Situation(), False),
            ("tracking", "not_following", True, Situation(), False),
            ("command", "stale", True, Situation(), False),
            ("enable_bit", "stale", False, Situation(enable_low=True), True),
            ("enable_bit", "jump", False, Situation(enable_low=True), True),
            ("enable_bit", "stale", False, Situation(), False),
        ],
    )
    def test_by_itself(
        self, mode: Mode, cause: Any, simulated: bool, situation: Situation, leaves: bool
    ) -> None:
        m = Machine(Rules(engage_on=mode, auto_arm=False, simulated=simulated))
        m.state, m.cause = "PROTECTIVE_STOP", cause
        m.step(situation)
        assert now(m) == ("HOLD" if leaves else "PROTECTIVE_STOP")

    @pytest.mark.parametrize("verb", ["engage", "reset"])
    def test_by_command_only_at_rest_and_with_the_cause_gone(self, verb: Verb) -> None:
        for situation, refusal in (
            (Situation(verb=verb, at_rest=False), "refused: still braking"),
            (Situation(verb=verb, cause_stands=True), "refused: stale still stands"),
            (Situation(verb=verb, protect="sdk_hung"), "refused: sdk_hung still stands"),
        ):
            m = machine("PROTECTIVE_STOP", cause="stale")
            assert m.step(situation) == refusal
            assert now(m) == "PROTECTIVE_STOP"

    def test_reset_does_not_engage_and_engage_does(self) -> None:
        m = machine("PROTECTIVE_STOP", "tracking", cause="jump")
        m.step(Situation(verb="reset"))
        m.step(Situation(taken=True))
        assert now(m) == "HOLD"
        m = machine("PROTECTIVE_STOP", "tracking", cause="jump", needs_engage=True)
        m.step(Situation(verb="engage"))
        m.step(Situation(taken=True))
        assert now(m) == "ENGAGED"


class TestResetAfterEstop:
    @pytest.mark.parametrize(
        ("before", "drives_on", "vendor_stopped", "clear_needed", "after"),
        [
            ("DISARMED", True, False, False, "DISARMED"),
            ("HOLD", True, False, False, "HOLD"),
            ("HOMING", True, False, False, "HOLD"),
            ("ENGAGED", True, False, False, "HOLD"),
            ("PROTECTIVE_STOP", True, False, False, "HOLD"),
            ("FAULT", True, False, False, "FAULT"),
            ("ENGAGED", False, False, False, "DISARMED"),
            ("ENGAGED", True, True, False, "HOLD"),
            ("ENGAGED", True, False, True, "HOLD"),
            ("ENGAGED", True, True, True, "DISARMED"),
            ("FAULT", True, True, True, "FAULT"),
        ],
    )
    def test_where_it_leads(
        self,
        before: State,
        drives_on: bool,
        vendor_stopped: bool,
        clear_needed: bool,
        after: State,
    ) -> None:
        m = Machine(
            Rules(
                engage_on="tracking",
                auto_arm=False,
                simulated=False,
                clear_needed_after_estop=clear_needed,
            )
        )
        m.state = before
        m.step(Situation(estop=True))
        m.vendor_stopped = vendor_stopped
        assert m.step(Situation(verb="reset", drives_on=drives_on)) == "ok"
        assert now(m) == after
        assert m.needs_engage

    @pytest.mark.parametrize(
        "situation",
        [Situation(verb="reset", estop_clear=False), Situation(verb="reset", at_rest=False)],
    )
    def test_refused_while_pressed_or_moving(self, situation: Situation) -> None:
        m = machine("ESTOP_LATCHED", before_estop="HOLD")
        assert m.step(situation).startswith("refused: ")
        assert now(m) == "ESTOP_LATCHED"

    def test_what_the_last_estop_sent_does_not_count(self) -> None:
        rules = Rules(
            engage_on="command", auto_arm=False, simulated=False, clear_needed_after_estop=True
        )
        m = Machine(rules)
        m.state = "HOLD"
        m.step(Situation(estop=True))
        m.vendor_stopped = True
        m.step(Situation(verb="reset"))
        m.state = "HOLD"
        m.step(Situation(estop=True))
        m.step(Situation(verb="reset"))
        assert now(m) == "HOLD"

    def test_with_a_fault_it_leads_to_fault_and_from_there_a_clear_leads_out(self) -> None:
        """Refused because of the fault it would shut the only way to the clear."""
        m = machine("HOLD")
        m.step(Situation(estop=True))
        assert m.step(Situation(verb="clear", fault="fault")) == "refused: fault"
        assert m.step(Situation(verb="reset", fault="can_silent", at_rest=False)) == (
            "refused: still braking"
        )
        assert m.step(Situation(verb="reset", fault="can_silent")) == "ok"
        assert (m.state, m.cause) == ("FAULT", "can_silent")
        assert m.step(Situation(verb="clear")) == "ok"
        assert now(m) == "DISARMED"

    def test_release_of_the_bit_changes_nothing(self) -> None:
        m = machine("ENGAGED", "tracking", auto=True)
        m.step(Situation(estop=True, estop_clear=False))
        for _ in range(1000):
            m.step(Situation(taken=True, enable_rose=True))
        assert now(m) == "ESTOP_LATCHED"


class TestCommandsEveryTick:
    """A pedal may repeat its engage every tick: nothing else may wait for it."""

    def test_a_let_go_is_obeyed(self) -> None:
        m = machine("ENGAGED")
        assert m.step(Situation(verb="engage", let_go=True)) == "ok"
        assert now(m) == "HOLD"

    def test_an_offer_is_taken(self) -> None:
        m = machine("HOLD")
        assert m.step(Situation(verb="engage", taken=True)) == "pending"
        assert now(m) == "ENGAGED"

    def test_but_not_in_the_step_in_which_the_engage_came_that_it_needs(self) -> None:
        m = machine("HOLD", needs_engage=True)
        assert m.step(Situation(verb="engage", taken=True)) == "pending"
        assert now(m) == "HOLD"

    def test_nor_in_that_of_a_release(self) -> None:
        m = machine("HOLD")
        m.step(Situation(verb="release", taken=True))
        assert now(m) == "HOLD"

    def test_a_refused_command_ends_homing_too(self) -> None:
        m = machine("HOMING")
        assert m.step(Situation(verb="clear", verb_refused="no")) == "refused: no"
        assert now(m) == "HOLD"
        m = machine("HOMING")
        assert m.step(Situation(verb="home", verb_refused="no")) == "refused: no"
        assert now(m) == "HOMING"


class TestRefusedEngage:
    """An engage that comes to nothing has changed nothing."""

    @pytest.mark.parametrize("needed", [False, True])
    def test_in_hold(self, needed: bool) -> None:
        m = machine("HOLD", "tracking", needs_engage=needed)
        for _ in range(3):  # a pedal repeats it
            m.step(Situation(verb="engage"))
        assert not m.needs_engage
        m.engage_refused()
        assert m.needs_engage is needed
        m.needs_engage = not needed
        m.engage_refused()
        assert m.needs_engage is not needed

    def test_out_of_a_protective_stop_it_stays_needed(self) -> None:
        m = machine("PROTECTIVE_STOP", "tracking", cause="jump")
        m.step(Situation(verb="engage"))
        m.engage_refused()
        assert (m.state, m.needs_engage) == ("HOLD", True)

    def test_by_a_stop_on_the_way(self) -> None:
        m = machine("HOLD", "tracking", needs_engage=True)
        m.step(Situation(verb="engage"))
        m.step(Situation(protect="can_silent"))
        assert (m.state, m.needs_engage) == ("PROTECTIVE_STOP", True)

    def test_a_release_after_it_stands(self) -> None:
        m = machine("HOLD", "tracking")
        m.step(Situation(verb="engage"))
        m.step(Situation(verb="release"))
        m.engage_refused()
        assert m.needs_engage

    def test_once_engaged_it_is_used_up(self) -> None:
        m = machine("HOLD", "tracking", needs_engage=True)
        m.step(Situation(verb="engage"))
        m.step(Situation(taken=True))
        m.step(Situation(let_go=True))
        m.engage_refused()
        assert (m.state, m.needs_engage) == ("HOLD", False)


def test_clear_of_a_standing_fault_is_refused() -> None:
    m = machine("FAULT", cause="can_silent")
    assert m.step(Situation(verb="clear", fault="can_silent")) == "refused: can_silent"
    assert now(m) == "FAULT"


class AnyOrder(RuleBasedStateMachine):
    """No order of events moves an arm without a clutch, or out of an e-stop without a reset."""

    def __init__(self) -> None:
        super().__init__()
        self.m = Machine(Rules(engage_on="tracking", auto_arm=True, simulated=True))
        self.latched = False
        self.engage_since_stop = True

    @rule(
        verb=st.sampled_from((None, *VERBS)),
        estop=st.sampled_from((False, False, False, True)),
        fault=st.sampled_from(("", "", "can_silent")),
        protect=st.sampled_from(("", "", "sdk_hung")),
        motion=st.sampled_from(("", "", "jump", "stale")),
        flags=st.lists(st.booleans(), min_size=8, max_size=8),
    )
    def step(
        self, verb: Any, estop: bool, fault: Any, protect: Any, motion: Any, flags: Any
    ) -> None:
        before = self.m.state
        answer = self.m.step(
            Situation(
                verb=verb,
                estop=estop,
                fault=fault,
                protect=protect,
                protect_motion=motion,
                taken=flags[0],
                let_go=flags[1],
                at_rest=flags[2],
                drives_on=flags[3],
                feedback_ok=flags[4],
                estop_clear=flags[5],
                homed=flags[6],
                enable_rose=flags[7],
            )
        )
        assert (answer == "") == (verb is None)
        if self.m.state == "ENGAGED" and before != "ENGAGED":
            assert before == "HOLD"
            assert flags[0]
            assert self.engage_since_stop
        if before == "ESTOP_LATCHED" and self.m.state != "ESTOP_LATCHED":
            assert verb == "reset"
            assert flags[5]
            assert now(self.m) in ("HOLD", "DISARMED", "FAULT")
        if estop or verb == "estop":
            self.engage_since_stop = False
        elif answer == "pending":
            self.engage_since_stop = True

    @invariant()
    def estop_was_told(self) -> None:
        assert self.m.state in STATES


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@given(st.sampled_from(STATES))
def test_nothing_happens_when_nothing_happens(state: State) -> None:
    m = machine(state)
    m.step(Situation())
    assert now(m) == state


@pytest.mark.parametrize("cause", ["jump", "tracking_unstable", "not_following", "tick_late"])
def test_a_fault_is_no_way_past_an_engage_that_is_due(cause: Any) -> None:
    m = machine("PROTECTIVE_STOP", "tracking", auto=True, cause=cause)
    m.step(Situation(fault="can_silent"))
    for _ in range(10):
        m.step(Situation(taken=True))
    assert now(m) == "HOLD"
    m.step(Situation(verb="engage"))
    m.step(Situation(taken=True))
    assert now(m) == "ENGAGED"


def test_a_robot_that_was_silent_and_is_back_goes_on_by_itself_in_a_simulator() -> None:
    m = machine("PROTECTIVE_STOP", "tracking", auto=True, cause="can_silent")
    m.step(Situation(fault="can_silent"))
    for _ in range(5):
        m.step(Situation(taken=True))
    assert now(m) == "ENGAGED"


def test_an_estop_of_the_run_before_is_left_only_by_a_reset() -> None:
    m = machine(auto=True, mode="tracking")
    m.latched_before()
    for _ in range(10):
        m.step(Situation(taken=True))
    assert now(m) == "ESTOP_LATCHED"
    assert m.step(Situation(verb="reset")) == "ok"
    for _ in range(10):
        m.step(Situation(taken=True))
    assert now(m) == "HOLD"
