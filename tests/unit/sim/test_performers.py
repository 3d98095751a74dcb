"""When a simulated hand moves, stands still and falls silent."""

from __future__ import annotations

from itertools import pairwise

import pytest

from proto.feedback import FeedbackPacket
from proto.rctp import HandPacket
from proto.reasons import STATES, Reason, Side, State
from runtime.se3 import vnorm, vsub
from sim.motion import Circle
from sim.performers import Operator, Performer, Wearer

FRAME_S = 1.0 / 64.0  # exact in binary
FEEDBACK_S = 1.0 / 32.0


def word(
    state: State = "ENGAGED",
    reason: Reason = "",
    simulated: bool = True,
    side: Side = "right",
) -> FeedbackPacket:
    return FeedbackPacket(seq=0, side=side, state=state, reason=reason, simulated=simulated)


class Stage:
    """Plays a performer against what the robot says, 32 times a second."""

    def __init__(self, performer: Performer) -> None:
        self.performer = performer
        self.frames = 0

    @property
    def now_s(self) -> float:
        return 50.0 + self.frames * FRAME_S

    def play(self, length_s: float, said: FeedbackPacket | None = None) -> list[HandPacket | None]:
        packets = []
        for _ in range(round(length_s / FRAME_S)):
            if said is not None and self.frames % round(FEEDBACK_S / FRAME_S) == 0:
                self.performer.on_feedback(said, self.now_s)
            packets.append(self.performer.sample(self.now_s))
            self.frames += 1
        return packets


def moved_m(packets: list[HandPacket | None]) -> float:
    """Length of the way over these packets, all of which must be there."""
    p_m = [packet.p_vr_hand_m for packet in packets if packet is not None]
    assert len(p_m) == len(packets)
    return sum(vnorm(vsub(b, a)) for a, b in pairwise(p_m))


def silent(packets: list[HandPacket | None]) -> bool:
    return packets == [None] * len(packets)


def operator() -> Operator:
    return Operator("right")


def wearer(wait: bool = True) -> Wearer:
    return Wearer("right", Circle(0.1, 0.25), wait)


# ---- the background operator


def test_operator_stands_without_feedback_and_moves_while_engaged() -> None:
    stage = Stage(operator())
    assert moved_m(stage.play(3.0)) == 0.0
    stage.play(1.0, word())
    assert moved_m(stage.play(2.0, word())) > 0.1


@pytest.mark.parametrize("state", [state for state in STATES if state != "ENGAGED"])
def test_operator_stands_in_every_other_state(state: State) -> None:
    stage = Stage(operator())
    stage.play(4.0, word())
    stage.play(0.5, word(state, "not_engaged"))
    assert moved_m(stage.play(3.0, word(state, "not_engaged"))) == 0.0


def test_operator_stands_while_the_arm_approaches() -> None:
    stage = Stage(operator())
    stage.play(1.5)
    assert moved_m(stage.play(3.0, word(reason="approach"))) == 0.0
    stage.play(1.0, word(reason="clamped"))
    assert moved_m(stage.play(1.0, word(reason="clamped"))) > 0.05


def test_operator_stops_within_a_second_and_a_bit_of_the_last_feedback() -> None:
    stage = Stage(operator())
    stage.play(4.0, word())
    assert moved_m(stage.play(0.9)) > 0.05
    stage.play(0.45)
    assert moved_m(stage.play(2.0)) == 0.0


def test_operator_never_jumps_and_is_always_slow() -> None:
    stage = Stage(operator())
    packets = stage.play(1.0)
    for said in (word(), word("HOLD"), word(), None, word("PROTECTIVE_STOP"), word()) * 2:
        packets += stage.play(1.7, said)
    p_m = [packet.p_vr_hand_m for packet in packets if packet is not None]
    assert len(p_m) == len(packets)
    steps_m = [vnorm(vsub(b, a)) for a, b in pairwise(p_m)]
    assert max(steps_m) < 0.3 * FRAME_S
    assert sum(steps_m) > 0.5


def test_operator_ignores_the_other_hand() -> None:
    stage = Stage(operator())
    assert moved_m(stage.play(4.0, word(side="left"))) == 0.0


def test_operator_yields_on_a_rise_and_returns_after_three_seconds_without_a_sender() -> None:
    person = operator()
    stage = Stage(person)
    person.on_foreign(5, stage.now_s)  # history of before its time: no rise
    assert None not in stage.play(2.0, word())
    person.on_foreign(6, stage.now_s)
    assert person.yielding
    assert silent(stage.play(2.0))
    for _ in range(10):  # the newcomer holds the hand now
        person.on_sender(stage.now_s)
        assert silent(stage.play(1.0))
    assert silent(stage.play(2.0))  # a second has already passed since it was last seen
    assert None not in stage.play(1.0)
    assert not person.yielding


def test_operator_returns_standing_where_its_hand_was() -> None:
    person = operator()
    stage = Stage(person)
    person.on_foreign(0, stage.now_s)
    before = stage.play(4.0, word())[-1]
    person.on_foreign(1, stage.now_s)
    back = [packet for packet in stage.play(6.0, word()) if packet is not None]
    assert before is not None
    first_m = vnorm(vsub(back[0].p_vr_hand_m, before.p_vr_hand_m))
    assert first_m < 0.1 * 0.3  # what an easing stop needs
    assert person.hand.t_send_s(stage.now_s) > before.t_send_s


def test_operator_counts_a_new_ingest_from_zero() -> None:
    person = operator()
    person.on_foreign(7, 1.0)
    person.on_foreign(0, 2.0)
    assert not person.yielding
    person.on_foreign(0, 3.0)
    assert not person.yielding
    person.on_foreign(2, 4.0)
    assert person.yielding


def test_operator_takes_a_smaller_count_that_is_not_zero_as_a_rise() -> None:
    person = operator()
    person.on_foreign(7, 1.0)
    person.on_foreign(3, 2.0)
    assert person.yielding


def test_a_sender_means_nothing_while_the_operator_itself_sends() -> None:
    person = operator()
    person.on_sender(1.0)
    assert not person.yielding


@pytest.mark.parametrize("state", ["HOLD", "HOMING", "ENGAGED"])
def test_operator_never_drives_a_real_arm(state: State) -> None:
    stage = Stage(operator())
    stage.play(1.0)
    stage.performer.on_feedback(word(state, simulated=False), stage.now_s)
    assert silent(stage.play(3.0, word()))


def test_operator_waits_for_an_arm_that_has_not_said_what_it_is() -> None:
    stage = Stage(operator())
    stage.play(2.0, word("DISARMED", "not_armed", simulated=False))
    stage.play(1.0, word())
    assert moved_m(stage.play(1.0, word())) > 0.05


# ---- the person at the controls


def test_wearer_moves_after_a_second_when_nothing_answers() -> None:
    stage = Stage(wearer())
    assert moved_m(stage.play(1.0)) == 0.0
    assert moved_m(stage.play(1.5)) > 0.02


def test_wearer_waits_for_the_first_engage_where_the_arm_answers() -> None:
    stage = Stage(wearer())
    assert moved_m(stage.play(6.0, word("HOLD", "not_engaged"))) == 0.0
    assert moved_m(stage.play(2.0, word())) > 0.05


@pytest.mark.parametrize("state", ["ESTOP_LATCHED", "PROTECTIVE_STOP", "HOLD", "FAULT"])
def test_wearer_moves_on_once_it_was_engaged(state: State) -> None:
    stage = Stage(wearer())
    stage.play(4.0, word())
    assert moved_m(stage.play(2.0, word(state))) > 0.2


def test_wearer_that_takes_over_while_moving_stops_to_be_engaged() -> None:
    stage = Stage(wearer())
    stage.play(3.0)  # not the owner yet: nothing answers
    stage.play(0.4, word("HOLD", "not_engaged"))
    assert moved_m(stage.play(2.0, word("HOLD", "not_engaged"))) == 0.0


def test_wearer_without_waiting_moves_whatever_the_arm_says() -> None:
    stage = Stage(wearer(wait=False))
    stage.play(2.0, word("HOLD", "not_engaged"))
    assert moved_m(stage.play(1.0, word("HOLD", "not_engaged"))) > 0.1


def test_reclutch_waits_for_a_new_engage_and_takes_no_old_word_for_it() -> None:
    person = wearer()
    stage = Stage(person)
    stage.play(4.0, word())
    person.reclutch(stage.now_s)
    stage.play(1.5, word())  # the old clutch, seen while out of sight
    assert moved_m(stage.play(3.0, word("HOLD", "not_engaged"))) == 0.0
    assert moved_m(stage.play(2.0, word())) > 0.05
