"""The body of one simulated hand: where it is, what its tracker and its e-stop button say.

Pure: told the time, gives packets. Whether it should move is decided in sim/performers.py.
"""

from __future__ import annotations

from typing import Final

from proto.rctp import HandPacket, Quat, Vec3
from proto.reasons import Side
from runtime.se3 import quat_from_rotvec, vadd
from sim.motion import Motion, mirrored, rest_m
from sim.phase import PhaseClock

START_STILL_S: Final = 1.0  # a mapper engages a hand that was tracked and slow for 0.5 s
# Longer than the 1 s in which lost tracking still resumes, so the clutch is really let go.
RECLUTCH_UNTRACKED_S: Final = 1.2
RECLUTCH_STILL_S: Final = 1.0
# A released e-stop button stays pressed on the wire: at 30 % loss 15 packets miss 1 in 7e7 times.
ESTOP_TAIL_PACKETS: Final = 15
ESTOP_TAIL_S: Final = 0.3


class Hand:
    """One hand. Cues are methods; `sample` is called once a frame with rising times."""

    def __init__(self, side: Side, motion: Motion) -> None:
        """The first sample starts its clocks."""
        self.side: Side = side
        self._motion = motion
        self._phase = PhaseClock()
        self._started_s: float | None = None  # t_send_s counts from here
        self._last_s = 0.0
        self._leap_s = 0.0
        self._held = False
        self._still_until_s = 0.0
        self._untracked_until_s = 0.0
        self._silent_until_s = 0.0
        self._recentred: Vec3 = (0.0, 0.0, 0.0)
        self._seen: tuple[Vec3, Quat] | None = None  # what the tracker last saw
        self._estop_pressed = False
        self._estop_tail_packets = 0
        self._estop_tail_until_s = 0.0

    def t_send_s(self, now_s: float) -> float:
        """The headset's own clock at `now_s`."""
        started_s = now_s if self._started_s is None else self._started_s
        return now_s - started_s + self._leap_s

    def standing_on_cue(self, now_s: float) -> bool:
        """Whether a cue, or the first second, keeps the hand still."""
        return self._held or now_s < self._still_until_s or self._started_s is None

    def sample(self, now_s: float, move: bool) -> HandPacket | None:
        """The packet of the frame at `now_s`; None while silent. `move`: wants to move on."""
        if self._started_s is None:
            self._started_s = self._last_s = now_s
            self._still_until_s = max(self._still_until_s, now_s + START_STILL_S)
        dt_s, self._last_s = now_s - self._last_s, now_s
        phase_s = self._phase.advance(dt_s, move and not self.standing_on_cue(now_s))
        pose = mirrored(self._motion.at(phase_s), self.side)
        tracked = now_s >= self._untracked_until_s
        if tracked or self._seen is None:
            p_m = vadd(vadd(rest_m(self.side), pose.p_m), self._recentred)
            self._seen = (p_m, quat_from_rotvec(pose.rotvec_rad))
        if now_s < self._silent_until_s:
            return None
        return HandPacket(
            t_send_s=self.t_send_s(now_s),
            p_vr_hand_m=self._seen[0],
            q_vr_hand_xyzw=self._seen[1],
            gripper_ratio=pose.gripper_ratio,
            tracking_valid=tracked,
            estop=self._estop(now_s),
        )

    def lose_tracking(self, now_s: float, length_s: float) -> None:
        """Untracked for `length_s`: the last pose is repeated, the hand moves on unseen."""
        self._untracked_until_s = now_s + length_s

    def fall_silent(self, now_s: float, length_s: float) -> None:
        """Sends nothing for `length_s`; the hand moves on."""
        self._silent_until_s = now_s + length_s

    def reclutch(self, now_s: float) -> None:
        """Out of sight, then in sight and still: lets go and asks to be taken again."""
        self.lose_tracking(now_s, RECLUTCH_UNTRACKED_S)
        self.stand_until(now_s + RECLUTCH_UNTRACKED_S + RECLUTCH_STILL_S)

    def stand_until(self, until_s: float) -> None:
        """Stands still until then, at least."""
        self._still_until_s = max(self._still_until_s, until_s)

    def hold(self, held: bool) -> None:
        """Stands still until told otherwise (True), or may move again (False)."""
        self._held = held

    def recentre(self, by_m: float) -> None:
        """The tracking origin jumps to the right by this; called again, it jumps back."""
        self._recentred = (0.0, 0.0, 0.0) if any(self._recentred) else (by_m, 0.0, 0.0)

    def restart_app(self, now_s: float) -> None:
        """The headset's clock starts again at zero."""
        self._started_s, self._leap_s = now_s, 0.0

    def leap_clock(self, by_s: float) -> None:
        """The headset's clock leaps."""
        self._leap_s += by_s

    def press_estop(self) -> None:
        """In every packet from now on."""
        self._estop_pressed = True

    def release_estop(self, now_s: float) -> None:
        """Lets the button go; the bit stays for ESTOP_TAIL_PACKETS packets and ESTOP_TAIL_S."""
        if self._estop_pressed:
            self._estop_pressed = False
            self._estop_tail_packets = ESTOP_TAIL_PACKETS
            self._estop_tail_until_s = now_s + ESTOP_TAIL_S

    def _estop(self, now_s: float) -> bool:
        """The bit for the packet that is about to be sent."""
        if self._estop_pressed:
            return True
        if self._estop_tail_packets > 0:
            self._estop_tail_packets -= 1
            return True
        return now_s < self._estop_tail_until_s
