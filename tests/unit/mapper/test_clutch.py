"""The mapper's half of the clutch, sentence by sentence of docs/safety.md, on a fake clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from runtime.se3 import Vec3
from services.mapper.clutch import ARM_SILENT_NS, PENDING_NS, Clutch, EngageOn, Output, Wait
from services.mapper.mapping import Anchor
from tests.unit.mapper.views import MS, Arm, Hand

OFFER = 0xFEED_BEEF_0000_0001
NEXT_OFFER = 0xFEED_BEEF_0000_0002
STEP_NS = 20 * MS
OFFERING = Arm(clutch_offer=OFFER)
ENGAGED = Arm(state="ENGAGED", clutch_id=OFFER)
MODES: list[EngageOn] = ["command", "tracking"]


@dataclass
class Rig:
    """A hand at 50 Hz and an arm that repeats its state with every sample."""

    engage_on: EngageOn = "command"
    arm: Arm | None = OFFERING
    hand: Hand = field(default_factory=Hand)
    now_ns: int = 1_000 * MS

    def __post_init__(self) -> None:
        self.clutch = Clutch(self.engage_on)

    def step(self, count: int = 1, **changes: Any) -> Output:
        """`count` samples, 20 ms apart; `changes` hold for these and all later samples."""
        self.hand = replace(self.hand, **changes)
        for _ in range(count):
            self.now_ns += STEP_NS
            if self.arm is not None:
                self.clutch.see_arm(self.arm, self.now_ns - 5 * MS)
            output = self.once()
        return output

    def once(self, **changes: Any) -> Output:
        """One sample with passing changes, without a new arm_state."""
        stamps = Hand(t_recv_ns=self.now_ns, t_send_s=self.now_ns * 1e-9)
        hand = replace(self.hand, t_recv_ns=stamps.t_recv_ns, t_send_s=stamps.t_send_s)
        return self.clutch.see_hand(replace(hand, **changes), self.now_ns)

    def settle(self) -> Rig:
        """A second of steady hand, with the arm in HOLD and offering nothing."""
        arm, self.arm = self.arm, Arm()
        assert self.step(50).waits_for == "no_offer"
        self.arm = arm
        return self

    def engage(self) -> Rig:
        """Through offer and answer to ENGAGED."""
        self.settle()
        assert self.step().engaged
        self.arm = ENGAGED
        assert self.step().engaged
        return self


def test_the_figures_of_the_rule() -> None:
    assert (PENDING_NS, ARM_SILENT_NS) == (200 * MS, 300 * MS)


# --- when to engage -------------------------------------------------------------------------------


@pytest.mark.parametrize("engage_on", MODES)
def test_engages_on_an_offer_with_its_id_anchored_on_the_pose_held_with_it(
    engage_on: EngageOn,
) -> None:
    rig = Rig(engage_on).settle()
    q_hand = (0.0, 0.0, 0.6, 0.8)
    p_hand = (0.001, 0.002, 0.003)
    output = rig.step(p_vr_hand_m=p_hand, q_vr_hand_xyzw=q_hand)
    anchor = Anchor(p_hand, q_hand, (0.3, 0.0, 0.4), (0.0, 0.6, 0.0, 0.8))
    assert output == Output(True, OFFER, anchor, "")
    assert output.reason == ""


def test_never_engages_without_an_offer() -> None:
    output = Rig(arm=Arm()).step(100)
    assert output == Output(False, None, None, "no_offer")
    assert output.reason == "not_engaged"


@pytest.mark.parametrize(
    "state", ["DISARMED", "HOMING", "ENGAGED", "PROTECTIVE_STOP", "ESTOP_LATCHED", "FAULT"]
)
def test_never_engages_outside_hold_whatever_is_offered(state: str) -> None:
    rig = Rig(arm=Arm(state=state, clutch_offer=OFFER))
    assert rig.step(100).waits_for == "no_offer"


@pytest.mark.parametrize("missing", ["cmd_p_base_tool_m", "cmd_q_base_tool_xyzw"])
def test_never_engages_without_a_held_pose(missing: str) -> None:
    bare: dict[str, Any] = {missing: None}
    rig = Rig(arm=replace(OFFERING, **bare))
    assert rig.step(100).waits_for == "no_offer"


def test_engages_after_half_a_second_of_tracking_and_not_before() -> None:
    rig = Rig()
    outputs = [rig.step() for _ in range(26)]
    assert [output.engaged for output in outputs] == [False] * 25 + [True]
    assert {output.waits_for for output in outputs[:25]} == {"settling"}


def test_a_fast_hand_does_not_engage() -> None:
    rig = Rig()
    for i in range(100):
        output = rig.step(p_vr_hand_m=(0.01 * i, 0.0, 0.0))  # 0.5 m/s
        assert not output.engaged
    assert output.waits_for == "moving"
    assert output.reason == "not_engaged"


def test_an_untracked_hand_does_not_engage() -> None:
    output = Rig().step(100, tracking_valid=False)
    assert output.waits_for == "untracked"
    assert output.reason == "untracked"


@pytest.mark.parametrize(
    "spoil",
    [{"jump": True}, {"tracking_valid": False}, {"estop": True, "p_vr_hand_m": None}],
)
def test_what_restarts_the_half_second(spoil: dict[str, Any]) -> None:
    rig = Rig().settle()
    rig.now_ns += STEP_NS
    rig.once(**spoil)
    assert not rig.step(24).engaged
    assert rig.step(2).engaged


def test_a_new_session_restarts_the_half_second() -> None:
    rig = Rig().settle()
    assert not rig.step(25, session=8).engaged
    assert rig.step().engaged


# --- enable bit -----------------------------------------------------------------------------------


def test_enable_bit_engages_on_the_press_after_the_offer() -> None:
    rig = Rig("enable_bit").settle()
    assert rig.step(5, enable=False).waits_for == "enable"
    assert rig.step(enable=True).clutch_id == OFFER


@pytest.mark.parametrize("enable", [None, True])
def test_enable_bit_needs_to_see_it_low_first(enable: bool | None) -> None:
    rig = Rig("enable_bit", hand=Hand(enable=enable)).settle()
    assert rig.step(50).waits_for == "enable"


def test_a_release_before_the_offer_is_no_release() -> None:
    rig = Rig("enable_bit", hand=Hand(enable=False)).settle()
    assert rig.step(enable=True).waits_for == "enable"
    rig.step(enable=False)
    assert rig.step(enable=True).engaged


def test_a_release_counts_for_its_own_offer_only() -> None:
    rig = Rig("enable_bit").settle()
    rig.step(enable=False)
    rig.arm = replace(OFFERING, clutch_offer=NEXT_OFFER)
    assert rig.step(enable=True).waits_for == "enable"


def test_a_press_before_the_hand_is_steady_counts_once_it_is() -> None:
    rig = Rig("enable_bit", hand=Hand(enable=False))
    rig.step(5)
    assert rig.step(19, enable=True).waits_for == "settling"
    assert rig.step(5).engaged


@pytest.mark.parametrize("engage_on", MODES)
@pytest.mark.parametrize("enable", [None, False, True])
def test_other_modes_do_not_read_the_bit(engage_on: EngageOn, enable: bool | None) -> None:
    assert Rig(engage_on, hand=Hand(enable=enable)).step(26).engaged


# --- pending --------------------------------------------------------------------------------------


def test_hold_with_the_same_offer_is_pending_for_200_ms() -> None:
    rig = Rig().settle()
    first = rig.step()
    taken_ns = rig.now_ns
    while rig.now_ns + STEP_NS < taken_ns + PENDING_NS:
        assert rig.step(p_vr_hand_m=(1e-4, 0.0, 0.0)) == first
    assert rig.step() == Output(False, None, None, "released")


def test_then_it_may_anchor_anew_on_the_pose_held_at_that_moment() -> None:
    rig = Rig().settle()
    rig.step()
    moved = replace(OFFERING, cmd_p_base_tool_m=(0.31, 0.0, 0.4))
    rig.arm = moved
    outputs = [rig.step() for _ in range(12)]
    released = [output.waits_for for output in outputs].index("released")
    assert [output.engaged for output in outputs] == [i != released for i in range(12)]
    anchors = [output.anchor.p_base_tool_m if output.anchor else None for output in outputs]
    assert anchors[released - 1] == OFFERING.cmd_p_base_tool_m
    assert anchors[released + 1] == moved.cmd_p_base_tool_m


def test_hold_is_pending_whatever_clutch_id_it_still_shows() -> None:
    rig = Rig().settle()
    first = rig.step()
    rig.arm = replace(OFFERING, clutch_id=OFFER)
    assert rig.step(3) == first


def test_an_answer_within_the_200_ms_ends_the_pending_time() -> None:
    rig = Rig().settle()
    first = rig.step()
    rig.step(5)
    rig.arm = ENGAGED
    assert rig.step(100) == first


def test_a_hand_that_moves_off_while_pending_keeps_its_grip() -> None:
    """The answer may be on its way: the arm engaged on the first target, the hand is free."""
    rig = Rig().settle()
    rig.step()
    assert rig.step(p_vr_hand_m=(0.05, 0.0, 0.0)).engaged


@pytest.mark.parametrize(
    ("spoil", "waits_for"),
    [
        ({"jump": True}, "released"),
        ({"tracking_valid": False}, "released"),
        ({"session": 8}, "released"),
        ({"estop": True}, "estop"),
        ({"enable": False}, "released"),
    ],
)
def test_what_ends_a_pending_grip(spoil: dict[str, Any], waits_for: Wait) -> None:
    rig = Rig("enable_bit").settle()
    rig.step(enable=False)
    assert rig.step(enable=True).engaged
    assert rig.step(**spoil).waits_for == waits_for


@pytest.mark.parametrize(
    "arm",
    [
        Arm(clutch_offer=None),
        Arm(clutch_offer=NEXT_OFFER),
        Arm(state="HOMING", clutch_offer=OFFER),
        Arm(state="ENGAGED", clutch_id=NEXT_OFFER),
        Arm(state="PROTECTIVE_STOP", clutch_offer=OFFER),
        replace(OFFERING, boot=2),
    ],
    ids=["withdrawn", "replaced", "homing", "engaged with another", "stopped", "restarted"],
)
def test_an_answer_that_is_no_ends_a_pending_grip_at_once(arm: Arm) -> None:
    rig = Rig().settle()
    rig.step()
    rig.arm = arm
    assert rig.step().waits_for == "released"


# --- while engaged --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arm",
    [
        OFFERING,  # the same offer again after ENGAGED is no pending any more
        Arm(clutch_offer=NEXT_OFFER),
        Arm(),
        Arm(state="ENGAGED", clutch_id=NEXT_OFFER),
        Arm(state="ENGAGED", clutch_id=None),
        Arm(state="PROTECTIVE_STOP"),
        Arm(state="ESTOP_LATCHED"),
        Arm(state="FAULT"),
        Arm(state="DISARMED"),
        Arm(state="HOMING"),
        replace(ENGAGED, boot=2),
    ],
)
def test_lets_go_as_soon_as_the_arm_shows_anything_but_our_grip(arm: Arm) -> None:
    rig = Rig().engage()
    rig.arm = arm
    assert rig.step() == Output(False, None, None, "released")


def test_a_state_between_two_samples_is_not_missed() -> None:
    rig = Rig().engage()
    rig.clutch.see_arm(Arm(state="PROTECTIVE_STOP"), rig.now_ns + 3 * MS)
    assert rig.step().waits_for == "released"  # although this step shows ENGAGED again


def test_an_engaged_arm_never_gets_a_grip_that_was_let_go() -> None:
    """Old stream or restarted mapper: an ENGAGED arm alone brings nothing back."""
    rig = Rig().engage()
    rig.clutch.see_arm(Arm(state="PROTECTIVE_STOP"), rig.now_ns)
    assert not any(rig.step().engaged for _ in range(100))


def test_anchors_anew_only_with_a_new_offer_after_leaving_engaged() -> None:
    rig = Rig().engage()
    held: Vec3 = (0.2, 0.1, 0.5)
    rig.arm = Arm(clutch_offer=NEXT_OFFER, cmd_p_base_tool_m=held)
    assert rig.step().waits_for == "released"
    output = rig.step(p_vr_hand_m=(0.004, 0.0, 0.0))
    assert output.clutch_id == NEXT_OFFER
    assert output.anchor is not None
    assert (output.anchor.p_vr_hand_m, output.anchor.p_base_tool_m) == ((0.004, 0.0, 0.0), held)


def test_lets_go_when_the_arm_is_silent_for_300_ms() -> None:
    rig = Rig().engage()
    seen_ns = rig.now_ns - 5 * MS
    rig.arm = None
    while rig.now_ns + STEP_NS <= seen_ns + ARM_SILENT_NS:
        assert rig.step().engaged
    assert rig.step() == Output(False, None, None, "arm_silent")
    rig.arm = ENGAGED
    assert not any(rig.step().engaged for _ in range(50))


def test_an_arm_never_heard_of_is_silent() -> None:
    output = Rig(arm=None).step(100)
    assert output.waits_for == "arm_silent"
    assert output.reason == "not_engaged"


def test_an_old_offer_is_not_taken() -> None:
    rig = Rig().settle()
    rig.clutch.see_arm(OFFERING, rig.now_ns)
    rig.arm = None
    rig.now_ns += ARM_SILENT_NS
    assert rig.step().waits_for == "arm_silent"


@pytest.mark.parametrize(
    "change",
    [
        {"tracking_valid": False},
        {"tracking_valid": False, "p_vr_hand_m": None},
        {"jump": True},
        {"session": 8},
        {"enable": False},
        {"p_vr_hand_m": (2.0, 2.0, 2.0)},
    ],
)
def test_while_engaged_the_arm_judges_the_hand(change: dict[str, Any]) -> None:
    """Losses, jumps and sessions are passed on with the same grip; the anchor stays."""
    rig = Rig().engage()
    before = rig.step()
    assert rig.step(10, **change) == before


def test_a_hole_in_the_stream_keeps_the_grip() -> None:
    rig = Rig().engage()
    before = rig.step()
    for _ in range(40):  # 0.8 s without a sample; the arm goes on telling
        rig.now_ns += STEP_NS
        rig.clutch.see_arm(ENGAGED, rig.now_ns)
    assert rig.step() == before


@pytest.mark.parametrize("engaged", [False, True])
def test_a_stop_lets_go_at_once(engaged: bool) -> None:
    rig = Rig().engage() if engaged else Rig().settle()
    output = rig.step(estop=True, tracking_valid=False, p_vr_hand_m=None)
    assert output == Output(False, None, None, "estop")
    assert output.reason == "estop"


def test_a_shifted_anchor_is_used_from_the_next_sample_on() -> None:
    rig = Rig().engage()
    anchor = rig.step().anchor
    assert anchor is not None
    slid = replace(anchor, p_base_tool_m=(0.0, 0.0, 0.1))
    rig.clutch.move_anchor(slid)
    assert rig.step().anchor == slid


def test_without_a_grip_there_is_no_anchor_to_shift() -> None:
    rig = Rig().settle()
    first = Rig().settle().step().anchor
    assert first is not None
    rig.clutch.move_anchor(replace(first, p_base_tool_m=(9.0, 9.0, 9.0)))
    assert rig.step().anchor == first


@pytest.mark.parametrize(
    "lose", [lambda rig: rig.once(estop=True), lambda rig: rig.once(jump=True)]
)
def test_a_mapper_started_next_to_an_engaged_arm_stays_open(lose: Callable[[Rig], Output]) -> None:
    rig = Rig(arm=ENGAGED)
    assert not any(rig.step().engaged for _ in range(60))
    assert not lose(rig).engaged
