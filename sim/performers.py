"""Who decides when a simulated hand moves: a person at the controls, or the background operator.

Pure: told the time and what the robot says, give packets. No sockets, no clock.
"""

from __future__ import annotations

from typing import Final, Protocol

from proto.feedback import FeedbackPacket
from proto.rctp import HandPacket
from proto.reasons import Side, State
from sim.hand import Hand
from sim.motion import Circle, Motion

FEEDBACK_FRESH_S: Final = 1.0  # no feedback for longer is none at all
# The background operator comes back to a hand that had no sender for this long.
NO_SENDER_S: Final = 3.0
# Drives on. In the other states the arm may not have said yet whether it is simulated.
LIVE_STATES: Final[tuple[State, ...]] = ("HOLD", "HOMING", "ENGAGED")
OPERATOR_AMPLITUDE_M: Final = 0.08
OPERATOR_FREQ_HZ: Final = 0.2  # with the amplitude: 0.1 m/s, under every robot's limit


class Performer(Protocol):
    """One hand with a will of its own."""

    @property
    def hand(self) -> Hand:
        """Its body, for cues."""
        ...

    def on_feedback(self, packet: FeedbackPacket, now_s: float) -> None:
        """The robot said this."""
        ...

    def sample(self, now_s: float) -> HandPacket | None:
        """The packet of this frame; None = send nothing."""
        ...


class Wearer:
    """A person who came to drive: waits for the arm to engage where it tells, then moves for good.

    With no feedback at all, or with `wait_engaged` off, moves once the first second is over. After
    the first ENGAGED nothing but a cue stops this hand: tests of stops need a hand that goes on.
    """

    def __init__(self, side: Side, motion: Motion, wait_engaged: bool = True) -> None:
        self.hand = Hand(side, motion)
        self._may_start = not wait_engaged
        self._wait_engaged = wait_engaged
        self._heard_s: float | None = None

    def on_feedback(self, packet: FeedbackPacket, now_s: float) -> None:
        """Remembers whether the arm follows; while standing on a cue an old clutch counts not."""
        if packet.side != self.hand.side:
            return
        self._heard_s = now_s
        if follows(packet) and not self.hand.standing_on_cue(now_s):
            self._may_start = True

    def reclutch(self, now_s: float) -> None:
        """Lets the arm go and waits for it to engage again."""
        self.hand.reclutch(now_s)
        self._may_start = not self._wait_engaged

    def sample(self, now_s: float) -> HandPacket | None:
        """The packet of this frame."""
        deaf = self._heard_s is None or now_s - self._heard_s > FEEDBACK_FRESH_S
        return self.hand.sample(now_s, self._may_start or deaf)


class Operator:
    """The background operator: moves only while its simulated arm follows, yields to anyone.

    Stands still while the arm is not ENGAGED or is in `approach`, or says nothing for 1 s. Falls
    silent for good if a live arm turns out not to be simulated.
    """

    def __init__(self, side: Side, motion: Motion | None = None) -> None:
        """Args: motion: a small slow circle if none is given."""
        self.hand = Hand(side, motion or Circle(OPERATOR_AMPLITUDE_M, OPERATOR_FREQ_HZ))
        self.real_arm = False  # heard of hardware: never sends again
        self._follows = False
        self._heard_s: float | None = None
        self._foreign: int | None = None
        self._other_seen_s: float | None = None

    @property
    def yielding(self) -> bool:
        """Silent because somebody else sends for this hand."""
        return self._other_seen_s is not None

    def on_feedback(self, packet: FeedbackPacket, now_s: float) -> None:
        """The arm's word. Real hardware with its drives on ends this operator."""
        if packet.side != self.hand.side:
            return
        self._heard_s = now_s
        self._follows = follows(packet) and packet.simulated
        if packet.state in LIVE_STATES and not packet.simulated:
            self.real_arm = True

    def on_foreign(self, count: int, now_s: float) -> None:
        """ingest's count of packets from others for this hand; a rise means: make room.

        The first count is only a start to compare with; a smaller one is that of a new ingest.
        """
        known = count if self._foreign is None else self._foreign
        self._foreign = count
        if count > known or 0 < count < known:
            self._other_seen_s = now_s
            self._follows = False

    def on_sender(self, now_s: float) -> None:
        """Somebody's packets were accepted for this hand at `now_s` (a hand_pose was published).

        While this operator is silent they are somebody else's, and it stays silent.
        """
        if self._other_seen_s is not None:
            self._other_seen_s = max(self._other_seen_s, now_s)

    def sample(self, now_s: float) -> HandPacket | None:
        """The packet of this frame; None while somebody else sends, or the arm is real."""
        if self._other_seen_s is not None and now_s - self._other_seen_s >= NO_SENDER_S:
            self._other_seen_s = None
        heard = self._heard_s is not None and now_s - self._heard_s <= FEEDBACK_FRESH_S
        packet = self.hand.sample(now_s, self._follows and heard and not self.yielding)
        return None if self.yielding or self.real_arm else packet


def follows(packet: FeedbackPacket) -> bool:
    """Whether the arm follows the hand: ENGAGED, and not still on its way to it."""
    return packet.state == "ENGAGED" and packet.reason != "approach"
