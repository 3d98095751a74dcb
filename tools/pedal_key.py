"""A key of a terminal as a hold-to-run pedal: held, or let go. Pure, time is passed in.

A terminal only tells presses and auto-repeats, never a release, so a key counts as let go when the
repeats stop. In doubt it is let go: a hold that ends too early costs a new press.
"""

from __future__ import annotations

from typing import Final, Literal

from runtime.clock import NS_PER_MS

SPACE: Final = 0x20
# Auto-repeat begins up to 660 ms after the press (X11; consoles 250, macOS 500), then comes every
# 30 to 40 ms; three missed repeats are a release.
FIRST_HOLD_NS: Final = 700 * NS_PER_MS
REPEAT_HOLD_NS: Final = 150 * NS_PER_MS
SEND_PERIOD_NS: Final = 50 * NS_PER_MS
# The arm lets go by itself this long after the last engage.
HOLD_MS: Final = 200.0
# States from before the press may still be on their way; they say nothing about this hold.
SETTLE_NS: Final = 100 * NS_PER_MS

Order = Literal["engage", "release"]


class PedalKey:
    """Decides what to send.

    Attributes:
        finished: the person wants out: another key, or the end of the input.
    """

    def __init__(self) -> None:
        self.finished = False
        self._pressed_ns = 0
        self._down_until_ns: int | None = None
        # Stopped while held: nothing more is sent until the key has been let go.
        self._spent = False
        self._seen_engaged = False
        self._boot: int | None = None
        self._send_ns = 0
        self._must_release = False

    @property
    def held(self) -> bool:
        """Whether motion is asked for."""
        return self._down_until_ns is not None and not self._spent

    def on_input(self, data: bytes, now_ns: int) -> None:
        """What one read of the terminal gave; empty means that the terminal is gone."""
        if not data or any(byte != SPACE for byte in data):
            self.finished = True
            self._let_go()
            return
        self.on_time(now_ns)
        if self._down_until_ns is None:
            self._press(len(data), now_ns)
        else:
            self._down_until_ns = now_ns + REPEAT_HOLD_NS

    def _press(self, count: int, now_ns: int) -> None:
        """More than one at once is no press but repeats that a stalled link kept back."""
        stale = count > 1
        self._pressed_ns = self._send_ns = now_ns
        self._down_until_ns = now_ns + (REPEAT_HOLD_NS if stale else FIRST_HOLD_NS)
        self._spent = stale
        self._seen_engaged = False

    def on_arm(self, state: str, boot: int, now_ns: int) -> None:
        """What the arm says: a hold that it ended, or that it did not see begin, stays ended."""
        if self._boot not in (None, boot):
            self._spend()
        self._boot = boot
        if not self.held or now_ns - self._pressed_ns < SETTLE_NS:
            return
        if state == "ENGAGED":
            self._seen_engaged = True
        elif self._seen_engaged:
            self._spend()

    def on_time(self, now_ns: int) -> None:
        """Notices that the repeats have stopped."""
        if self._down_until_ns is not None and now_ns >= self._down_until_ns:
            self._let_go()

    def _let_go(self) -> None:
        self._spend()
        self._down_until_ns = None
        self._spent = False

    def _spend(self) -> None:
        if self.held:
            self._must_release = True
            self._spent = True

    def order(self, now_ns: int) -> Order | None:
        """What to send now; ask again after each event and at `next_ns`."""
        self.on_time(now_ns)
        if self._must_release:
            self._must_release = False
            return "release"
        if not self.held or now_ns < self._send_ns:
            return None
        self._send_ns += SEND_PERIOD_NS
        if self._send_ns <= now_ns:  # late: never a volley
            self._send_ns = now_ns + SEND_PERIOD_NS
        return "engage"

    def next_ns(self) -> int | None:
        """When something is due without any event; None while the key is up."""
        if self._down_until_ns is None:
            return None
        return min(self._down_until_ns, self._send_ns) if self.held else self._down_until_ns
