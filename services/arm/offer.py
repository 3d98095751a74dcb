"""The arm's half of the clutch: when an engage is offered, and whether a target takes it.

An offer is a random number that the mapper must send back, anchored on the held pose. A restarted
mapper, an old stream or a swapped arm cannot know it, so none of them can move anything. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from proto.messages import ArmTarget, Quat, Vec3
from runtime.se3 import quat_angle_rad, vnorm, vsub
from services.arm.machine import EngageOn

WINDOW_NS: Final = 2_000_000_000  # `command`: an engage command stands so long
ENABLE_LOW_NS: Final = 200_000_000  # `enable_bit`: seen released at least so long
REST_TICKS: Final = 2
# Relative mode: the first target is the held pose, but for rounding and a stale copy of it.
FIRST_TARGET_M: Final = 0.001
FIRST_TARGET_RAD: Final = math.radians(0.2)
REFUSED: Final = "refused: the hand must be tracked and slower than 0.3 m/s for 0.5 s"


class Offer:
    """One offer per stay in HOLD; published only while engaging is allowed."""

    def __init__(self, engage_on: EngageOn, draw_u64: Callable[[], int]) -> None:
        self._engage_on = engage_on
        self._draw_u64 = draw_u64
        self._id = 0
        self._published = False
        self._rest_ticks = 0
        self._window_until_ns = 0
        self._hold_until_ns: int | None = None
        self._enable_low_since_ns: int | None = None
        self._enable_was_low = False

    @property
    def pedal_until_ns(self) -> int | None:
        """Hold-to-run: ENGAGED lasts no longer than this; None without a pedal."""
        return self._hold_until_ns

    def on_engage_command(self, now_ns: int, hold_ms: float | None, engaged: bool) -> None:
        """An accepted `engage`; a pedal repeats it every 50 ms with its `hold_ms`.

        While engaged it only extends hold-to-run, and a plain one turns hold-to-run off.
        """
        self._hold_until_ns = None if hold_ms is None else now_ns + int(hold_ms * 1e6)
        if not engaged:
            self._window_until_ns = now_ns + WINDOW_NS

    def on_enable(self, enable: bool | None, now_ns: int) -> None:
        """The enable bit of a fresh sample; None: the sender has none, which is never low."""
        if enable is False:
            if self._enable_low_since_ns is None:
                self._enable_low_since_ns = now_ns
            self._enable_was_low |= now_ns - self._enable_low_since_ns >= ENABLE_LOW_NS
        else:
            self._enable_low_since_ns = None

    def enter_hold(self) -> None:
        """A new stay in HOLD: a new number, nothing published yet."""
        self._id = self._draw_u64()
        self._published = False
        self._rest_ticks = 0
        self._enable_was_low = False

    def engaged(self) -> None:
        """The offer was taken, and with it the engage command: it counts once."""
        self._window_until_ns = 0

    def leave(self) -> None:
        """The arm left HOLD for anything but ENGAGED, or left ENGAGED: the number is dead."""
        self._id = 0
        self._published = False
        self._window_until_ns = 0
        self._hold_until_ns = None

    def in_hold(self, now_ns: int, at_rest: bool, needs_engage: bool) -> int | None:
        """Once a tick in HOLD: the number to publish, or None."""
        self._rest_ticks = self._rest_ticks + 1 if at_rest else 0
        allowed = self._allowed(now_ns, needs_engage)
        if self._rest_ticks < REST_TICKS or not allowed:
            return None
        self._published = True
        return self._id

    def _allowed(self, now_ns: int, needs_engage: bool) -> bool:
        if self._pedal_up(now_ns):
            return False
        if needs_engage:
            return False
        if self._engage_on == "enable_bit":
            return self._enable_was_low
        return self._engage_on == "tracking" or now_ns < self._window_until_ns

    def _pedal_up(self, now_ns: int) -> bool:
        return self._hold_until_ns is not None and now_ns >= self._hold_until_ns

    def window_ended(self, now_ns: int) -> bool:
        """True once, when an engage command's time passed without the offer being taken."""
        ended = 0 < self._window_until_ns <= now_ns
        if ended:
            self._window_until_ns = 0
            self._published = False  # "refused" has been said: nothing late may engage
        return ended

    def taken_by(self, target: ArmTarget, held_p_m: Vec3, held_q_xyzw: Quat, now_ns: int) -> bool:
        """Whether `target` takes the offer that stands."""
        if not (self._published and target.engaged and target.clutch_id == self._id):
            return False
        if self._pedal_up(now_ns) or not target.tracking_valid or target.jump:
            return False
        p_m, q_xyzw = target.target_p_base_tool_m, target.target_q_base_tool_xyzw
        if p_m is None or q_xyzw is None:
            return False
        if target.mode != "relative":
            return True
        near = vnorm(vsub(p_m, held_p_m)) <= FIRST_TARGET_M
        return near and quat_angle_rad(q_xyzw, held_q_xyzw) <= FIRST_TARGET_RAD

    @property
    def id(self) -> int:
        """The number of this stay, also the clutch id once taken."""
        return self._id
