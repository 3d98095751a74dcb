"""Is a hand fit to be engaged: tracked for half a second and slow throughout?

Pure: every stamp comes with its sample. Never trusts the sender's clock alone; in doubt, no.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Literal

from runtime.se3 import Vec3, vnorm, vsub
from services.mapper.views import HandView

# Engage rule (docs/safety.md): tracked at least this long, slower than this all the while.
STEADY_S: Final = 0.5
MAX_SPEED_MPS: Final = 0.3
# Speed is taken over at least this long: 1 mm of tracking noise then counts as 0.025 m/s, while
# a single sample 12 mm off still shows.
SPEED_SPAN_S: Final = 0.04
# A hole in the stream longer than the pipe's age limit is not "throughout".
MAX_GAP_NS: Final = 100_000_000
# A step of the sender's clock counts at most this much more than the same step of ours, so a
# leaping clock cannot make a fast hand look slow.
CLOCK_SLACK_S: Final = 0.05
# Bounds memory if the sender's clock stands still; covers SPEED_SPAN_S up to 5 kHz.
_TRAIL_SAMPLES: Final = 200

Verdict = Literal["steady", "untracked", "moving", "settling"]


class Steadiness:
    """Watches every sample of one hand, in order."""

    def __init__(self) -> None:
        """Knows no hand yet."""
        self._last: HandView | None = None
        self._since_ns = 0  # our clock, at the start of the steady time
        self._since_s = 0.0  # the same in motion time
        self._motion_s = 0.0  # the sender's clock, step by step, each step bounded
        self._trail: deque[tuple[float, Vec3]] = deque(maxlen=_TRAIL_SAMPLES)

    def forget(self) -> None:
        """Start over at the next sample."""
        self._last = None

    def observe(self, hand: HandView) -> Verdict:
        """Take the next sample; "steady" once the hand has been fit for STEADY_S."""
        p_m = hand.p_vr_hand_m
        if p_m is None or not hand.tracking_valid:
            self.forget()
            return "untracked"
        last, self._last = self._last, hand
        if last is None or _breaks(last, hand):
            self._trail.clear()
            self._restart(hand)
        else:
            self._motion_s += _motion_step_s(last, hand)
        self._trail.append((self._motion_s, p_m))
        if self._too_fast(p_m):
            self._restart(hand)
            return "moving"
        elapsed_s = min((hand.t_recv_ns - self._since_ns) * 1e-9, self._motion_s - self._since_s)
        # A microsecond for the rounding of a sum of steps.
        return "steady" if elapsed_s >= STEADY_S - 1e-6 else "settling"

    def _restart(self, hand: HandView) -> None:
        self._since_ns, self._since_s = hand.t_recv_ns, self._motion_s

    def _too_fast(self, p_m: Vec3) -> bool:
        """Compare with the newest sample that is at least SPEED_SPAN_S old."""
        trail = self._trail
        while len(trail) > 1 and self._motion_s - trail[1][0] >= SPEED_SPAN_S:
            trail.popleft()
        then_s, then_m = trail[0]
        span_s = self._motion_s - then_s
        return span_s >= SPEED_SPAN_S and vnorm(vsub(p_m, then_m)) >= MAX_SPEED_MPS * span_s


def _breaks(last: HandView, hand: HandView) -> bool:
    gap_ns = hand.t_recv_ns - last.t_recv_ns
    return hand.jump or hand.session != last.session or gap_ns > MAX_GAP_NS


def _motion_step_s(last: HandView, hand: HandView) -> float:
    """How much later the hand was there, by the sender's clock as far as ours supports it."""
    ours_s = max((hand.t_recv_ns - last.t_recv_ns) * 1e-9, 0.0)
    if hand.t_send_s is None or last.t_send_s is None:
        return ours_s
    return min(max(hand.t_send_s - last.t_send_s, 0.0), ours_s + CLOCK_SLACK_S)
