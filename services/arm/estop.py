"""The e-stop lane: hand_pose of both hands, straight from ingest, past the mapper. Pure.

Level and count together: a stop whose packet was dropped on the way still shows in the next count.
"""

from __future__ import annotations

from typing import Final

from proto.messages import HandPose
from proto.views import HandStop

CLEAR_NS: Final = 1_000_000_000  # reset needs the bit unseen for so long; silence counts as clear


class EstopLane:
    """Remembers each hand's count; tells new stops once, and whether the bit is clear."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[int, int]] = {}
        self._level_ns: int | None = None
        self._stop = False

    def on_hand_pose(self, hand: HandPose | HandStop, now_ns: int) -> bool:
        """Whether this message is a stop: the bit is set, or a stop was missed."""
        stop = self._is_stop(hand, now_ns)
        self._stop |= stop
        return stop

    def take_stop(self) -> bool:
        """Whether a stop came since the last call."""
        stop, self._stop = self._stop, False
        return stop

    def _is_stop(self, hand: HandPose | HandStop, now_ns: int) -> bool:
        boot, count = self._counts.get(hand.side, (None, 0))
        self._counts[hand.side] = (hand.boot, hand.estop_count)
        if hand.estop:
            self._level_ns = now_ns
            return True
        if boot is None:  # our own start: stops from before it were told to our predecessor
            return False
        if boot != hand.boot:
            count = 0
        return hand.estop_count > count

    def clear(self, now_ns: int) -> bool:
        """Whether no hand has said `estop` for a second."""
        return self._level_ns is None or now_ns - self._level_ns > CLEAR_NS
