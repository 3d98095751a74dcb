"""A space bar as a hold-to-run key: every way in which a hold must end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.clock import NS_PER_MS
from tools.pedal_key import FIRST_HOLD_NS, HOLD_MS, REPEAT_HOLD_NS, SEND_PERIOD_NS, PedalKey

SPACE = b" "
HOLDING, ENGAGED, STOPPED = "HOLD", "ENGAGED", "PROTECTIVE_STOP"


class Desk:
    """A key, a clock in ms, and everything that was sent with its time."""

    def __init__(self) -> None:
        self.key = PedalKey()
        self.now_ms = 1000
        self.sent: list[tuple[int, str]] = []

    def wait(self, span_ms: int) -> None:
        """Time passes; whatever falls due is sent, millisecond by millisecond."""
        for _ in range(span_ms):
            self.now_ms += 1
            self.look()

    def look(self) -> None:
        order = self.key.order(self.now_ms * NS_PER_MS)
        if order:
            self.sent.append((self.now_ms, order))

    def type(self, data: bytes) -> None:
        self.key.on_input(data, self.now_ms * NS_PER_MS)
        self.look()

    def arm(self, state: str, boot: int = 7) -> None:
        self.key.on_arm(state, boot, self.now_ms * NS_PER_MS)
        self.look()

    def hold(self, span_ms: int, every_ms: int = 30) -> None:
        """Auto-repeat for so long."""
        for _ in range(span_ms // every_ms):
            self.wait(every_ms)
            self.type(SPACE)

    def held(self) -> bool:
        return self.key.held

    def engages(self) -> list[int]:
        return [at for at, order in self.sent if order == "engage"]

    def orders(self) -> list[str]:
        """With repeats of one order folded."""
        return [o for i, (_, o) in enumerate(self.sent) if i == 0 or self.sent[i - 1][1] != o]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_nothing_is_sent_before_a_press(desk: Desk) -> None:
    desk.arm(HOLDING)
    desk.wait(1000)
    assert desk.sent == []
    assert desk.key.next_ns() is None


def test_a_press_sends_at_once_and_then_every_50_ms(desk: Desk) -> None:
    desk.type(SPACE)
    desk.wait(200)
    assert desk.engages() == [1000, 1050, 1100, 1150, 1200]


def test_the_first_hold_lasts_until_auto_repeat_can_have_begun(desk: Desk) -> None:
    desk.type(SPACE)
    desk.wait(699)
    assert desk.held()
    desk.wait(1)
    assert not desk.held()
    assert desk.sent[-1] == (1700, "release")
    desk.wait(500)
    assert desk.orders() == ["engage", "release"]


def test_after_a_repeat_the_hold_ends_150_ms_after_the_last(desk: Desk) -> None:
    desk.type(SPACE)
    desk.wait(650)
    desk.hold(3000)
    last_ms = desk.now_ms
    desk.wait(149)
    assert desk.orders() == ["engage"]
    desk.wait(1)
    assert desk.sent[-1] == (last_ms + 150, "release")


def test_a_hold_has_no_gap_longer_than_the_arm_waits(desk: Desk) -> None:
    desk.type(SPACE)
    desk.wait(660)
    desk.hold(2000, every_ms=140)
    gaps = [b - a for a, b in zip(desk.engages(), desk.engages()[1:], strict=False)]
    assert max(gaps) < HOLD_MS


def test_a_new_press_after_a_release_holds_again(desk: Desk) -> None:
    desk.type(SPACE)
    desk.wait(800)
    desk.type(SPACE)
    desk.wait(100)
    assert desk.orders() == ["engage", "release", "engage"]


def test_a_late_look_sees_the_release_between_two_presses(desk: Desk) -> None:
    desk.type(SPACE)
    desk.now_ms += 5000
    desk.type(SPACE)
    desk.wait(1)
    assert [order for _, order in desk.sent] == ["engage", "release", "engage"]


def test_a_late_look_sends_one_engage_not_a_volley(desk: Desk) -> None:
    desk.type(SPACE)
    desk.now_ms += 400
    desk.look()
    desk.look()
    assert desk.engages() == [1000, 1400]


@pytest.mark.parametrize("data", [b"", b"q", b"\x03", b"\x1a", b" \x03", b"\x1b[A", b"\xff"])
def test_another_key_or_the_end_of_the_input_releases_and_ends(desk: Desk, data: bytes) -> None:
    desk.type(SPACE)
    desk.wait(60)
    desk.type(data)
    assert desk.key.finished
    assert desk.sent[-1][1] == "release"
    count = len(desk.sent)
    desk.wait(1000)
    assert len(desk.sent) == count


def test_repeats_that_a_stalled_link_kept_back_are_no_press(desk: Desk) -> None:
    desk.type(SPACE * 20)
    desk.hold(1000)
    assert desk.sent == []
    desk.wait(150)
    desk.type(SPACE)
    assert desk.orders() == ["engage"]


@pytest.mark.parametrize("state", [HOLDING, STOPPED, "ESTOP_LATCHED", "FAULT", "DISARMED"])
def test_a_stop_while_held_is_not_overcome_by_the_held_key(desk: Desk, state: str) -> None:
    desk.type(SPACE)
    desk.wait(150)
    desk.arm(ENGAGED)
    desk.arm(state)
    assert desk.sent[-1][1] == "release"
    count = len(desk.sent)
    desk.wait(500)
    desk.hold(1000)
    assert len(desk.sent) == count
    desk.wait(150)
    desk.type(SPACE)
    assert desk.sent[-1][1] == "engage"


def test_a_stopped_arm_may_be_engaged_by_a_new_press(desk: Desk) -> None:
    desk.arm(STOPPED)
    desk.type(SPACE)
    for state in (STOPPED, HOLDING, ENGAGED, ENGAGED):
        desk.wait(150)
        desk.arm(state)
    assert desk.orders() == ["engage"]


def test_states_from_before_the_press_do_not_count(desk: Desk) -> None:
    desk.type(SPACE)
    desk.wait(20)
    desk.arm(ENGAGED)
    desk.wait(100)
    desk.arm(HOLDING)
    assert desk.orders() == ["engage"]


def test_a_restarted_arm_needs_a_new_press(desk: Desk) -> None:
    desk.arm(HOLDING, boot=7)
    desk.type(SPACE)
    desk.wait(20)
    desk.arm(HOLDING, boot=8)
    desk.wait(400)
    assert desk.orders() == ["engage", "release"]


@given(st.lists(st.tuples(st.integers(1, 300), st.sampled_from(["space", "engaged", "hold", "-"]))))
def test_no_engage_is_ever_sent_without_a_fresh_key(events: list[tuple[int, str]]) -> None:
    desk = Desk()
    typed_ms = [-10_000]
    for gap_ms, what in events:
        desk.wait(gap_ms)
        if what == "space":
            typed_ms.append(desk.now_ms)
            desk.type(SPACE)
        elif what != "-":
            desk.arm(ENGAGED if what == "engaged" else HOLDING)
    desk.wait(1000)
    for at_ms, order in desk.sent:
        last_ms = max(at for at in typed_ms if at <= at_ms)
        assert order != "engage" or at_ms - last_ms < FIRST_HOLD_NS // NS_PER_MS
    assert not desk.sent or desk.sent[-1][1] == "release"


def test_the_figures_fit_together() -> None:
    assert SEND_PERIOD_NS * 3 < HOLD_MS * NS_PER_MS
    assert REPEAT_HOLD_NS < HOLD_MS * NS_PER_MS < FIRST_HOLD_NS
