"""The mapper's half of the clutch: when to take an arm's offer, what to anchor on, when to let go.

Pure: the caller brings the messages and the time. The arm decides everything about motion; this
side only ever answers an offer, so that a restarted mapper or arm or an old stream moves nothing.
Never judges what a lost, jumping or new hand means while engaged: the arm does, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from proto.reasons import Reason
from services.mapper.mapping import Anchor
from services.mapper.steady import Steadiness, Verdict
from services.mapper.views import ArmView, HandView

# An offer taken but not yet confirmed by the arm; long enough for any stream rate, short enough
# that a refusal is tried again before a person wonders (docs/safety.md).
PENDING_NS: Final = 200_000_000
# No arm_state for this long: the arm may be gone (docs/safety.md).
ARM_SILENT_NS: Final = 300_000_000

EngageOn = Literal["command", "tracking", "enable_bit"]
Wait = Literal[
    "", "estop", "arm_silent", "released", "no_offer", "untracked", "moving", "settling", "enable"
]


class Output(NamedTuple):
    """What one hand sample is worth.

    Attributes:
        engaged: the sample counts as motion of the arm.
        clutch_id: the offer taken, None when not engaged.
        anchor: the pair of poses to map from, None when not engaged.
        waits_for: what keeps the clutch open; "" when engaged.
    """

    engaged: bool
    clutch_id: int | None
    anchor: Anchor | None
    waits_for: Wait

    @property
    def reason(self) -> Reason:
        """The code for arm_target."""
        if self.waits_for == "estop" or self.waits_for == "untracked":
            return self.waits_for
        return "not_engaged" if self.waits_for else ""


@dataclass(slots=True)
class _Grip:
    """One offer, taken."""

    clutch_id: int
    arm_boot: int
    session: int
    taken_ns: int
    anchor: Anchor
    confirmed: bool = False  # the arm has shown ENGAGED with this id


class Clutch:
    """One hand and one arm."""

    def __init__(self, engage_on: EngageOn) -> None:
        """Open, knowing neither hand nor arm."""
        self._engage_on = engage_on
        self._steadiness = Steadiness()
        self._grip: _Grip | None = None
        self._arm: ArmView | None = None
        self._arm_ns = 0
        self._enable_low_at: int | None = None  # the offer during which the bit was seen low
        self._let_go_unsaid = False

    @property
    def confirmed(self) -> bool:
        """Whether the arm has said that it follows this hand."""
        return self._grip is not None and self._grip.confirmed

    def see_arm(self, arm: ArmView, now_ns: int) -> None:
        """Take an arm_state, in order; lets go at once where the rules say so."""
        self._arm, self._arm_ns = arm, now_ns
        grip = self._grip
        if grip is None:
            return
        if arm.state == "ENGAGED" and arm.clutch_id == grip.clutch_id:
            grip.confirmed = True
        if not _keeps(grip, arm):
            self._let_go()

    def see_hand(self, hand: HandView, now_ns: int) -> Output:
        """Take a fresh hand sample, in order, and say what it is worth."""
        verdict = self._steadiness.observe(hand)
        output = self._judge(verdict, hand, now_ns)
        if not output.engaged:
            self._let_go_unsaid = False
        return output

    def _judge(self, verdict: Verdict, hand: HandView, now_ns: int) -> Output:
        arm = self._arm
        if arm is None or now_ns - self._arm_ns > ARM_SILENT_NS:
            self._let_go()
            return _open("arm_silent")
        self._note_enable(hand, arm.clutch_offer)
        if self._grip is not None and self._drops(self._grip, hand, now_ns):
            self._let_go()
        if self._grip is not None:
            return _closed(self._grip)
        if hand.estop:
            return _open("estop")
        if self._let_go_unsaid:
            # At least one sample says so: taking the same offer again must be a new attempt.
            return _open("released")
        if verdict != "steady":
            return _open("no_offer" if arm.clutch_offer is None else verdict)
        return self._try(hand, arm, now_ns)

    def move_anchor(self, anchor: Anchor) -> None:
        """Replace the anchor of the present grip (it slips along walls); without one, nothing."""
        if self._grip is not None:
            self._grip.anchor = anchor

    def _try(self, hand: HandView, arm: ArmView, now_ns: int) -> Output:
        """Take the arm's offer with a hand that is fit for it."""
        offer = arm.clutch_offer if arm.state == "HOLD" else None
        anchor = _anchor(hand, arm)
        if offer is None or anchor is None:
            return _open("no_offer")
        if not self._enabled(hand, offer):
            return _open("enable")
        self._grip = _Grip(offer, arm.boot, hand.session, now_ns, anchor)
        return _closed(self._grip)

    def _note_enable(self, hand: HandView, offer: int | None) -> None:
        if hand.enable is False and offer is not None:
            self._enable_low_at = offer

    def _enabled(self, hand: HandView, offer: int) -> bool:
        """In enable_bit mode: pressed, and seen released since the arm made this offer."""
        if self._engage_on != "enable_bit":
            return True
        return hand.enable is True and self._enable_low_at == offer

    def _drops(self, grip: _Grip, hand: HandView, now_ns: int) -> bool:
        """Whether this sample ends the grip. Once confirmed only a stop does; the arm decides."""
        if hand.estop or grip.confirmed:
            return hand.estop
        return (
            now_ns - grip.taken_ns >= PENDING_NS
            or not hand.tracking_valid
            or hand.jump
            or hand.session != grip.session
            or not self._enabled(hand, grip.clutch_id)
        )

    def _let_go(self) -> None:
        self._let_go_unsaid = self._let_go_unsaid or self._grip is not None
        self._grip = None


def _keeps(grip: _Grip, arm: ArmView) -> bool:
    """Whether this arm_state lets a grip stand: ours, or still waiting for its first answer."""
    if arm.boot != grip.arm_boot:
        return False
    if arm.state == "ENGAGED":
        return arm.clutch_id == grip.clutch_id
    return not grip.confirmed and arm.state == "HOLD" and arm.clutch_offer == grip.clutch_id


def _anchor(hand: HandView, arm: ArmView) -> Anchor | None:
    """This hand sample and the pose held with the offer; None if either is missing."""
    p_vr, q_vr = hand.p_vr_hand_m, hand.q_vr_hand_xyzw
    p_held, q_held = arm.cmd_p_base_tool_m, arm.cmd_q_base_tool_xyzw
    if p_vr is None or q_vr is None or p_held is None or q_held is None:
        return None
    return Anchor(p_vr, q_vr, p_held, q_held)


def _open(waits_for: Wait) -> Output:
    return Output(False, None, None, waits_for)


def _closed(grip: _Grip) -> Output:
    return Output(True, grip.clutch_id, grip.anchor, "")
