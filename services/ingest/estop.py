"""What ingest says of the e-stop of one hand: a level and a count, never a latch.

The arm latches. Silence counts as clear here; what a silent hand means is the arm's decision.
"""

from __future__ import annotations

from typing import Final

# A sender repeats the bit in 15 packets after release, 300 ms at 50 Hz (docs/specs/rctp.md §4):
# the level outlives the loss of all but one of them.
LEVEL_NS: Final = 300_000_000


class EstopLevel:
    """Seen within 300 ms?

    Attributes:
        count: how often the level rose since this process started.
    """

    def __init__(self) -> None:
        self.count = 0
        self._seen_ns: int | None = None

    def seen(self, now_ns: int) -> None:
        """An e-stop bit arrived."""
        if not self.level(now_ns):
            self.count += 1
        self._seen_ns = now_ns

    def level(self, now_ns: int) -> bool:
        """Whether a bit was seen in the last 300 ms."""
        return self._seen_ns is not None and now_ns - self._seen_ns <= LEVEL_NS
