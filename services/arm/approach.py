"""Absolute mode's way from the held pose to where the hand points: refused, slow, or done. Pure.

In absolute mode the first target may be far from the tool. The arm alone knows both, so the arm
decides; the mapper only says how far outside the workspace the hand points.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Final, Literal

from proto.messages import ArmTarget, Vec3
from runtime.se3 import Pose, quat_angle_rad, vnorm, vsub

OUTSIDE_MAX_MM: Final = 50.0
START_MAX_M: Final = 0.300
START_MAX_RAD: Final = math.radians(45.0)
APPROACH_MPS: Final = 0.050
APPROACH_RADPS: Final = 0.3
NEAR_M: Final = 0.020
NEAR_RAD: Final = math.radians(3.0)
TIMEOUT_NS: Final = 10_000_000_000
HAND_MAX_MPS: Final = 0.3
AWAY_M: Final = 0.100  # further than the smallest distance so far: the hand walks off
FAR_REST_M: Final = 0.150  # while following: further behind than this is an approach again
SPEED_SPAN_NS: Final = 100_000_000

Verdict = Literal["approach", "follow", "abort"]


def refusal(target: ArmTarget, held: Pose) -> str:
    """Why an absolute engage on `target` is refused, "" if it is not."""
    p_m, q_xyzw = target.target_p_base_tool_m, target.target_q_base_tool_xyzw
    if p_m is None or q_xyzw is None:
        return "untracked"
    if target.outside_mm > OUTSIDE_MAX_MM:
        return f"outside_box (the hand points {target.outside_mm:.0f} mm outside)"
    far_m = vnorm(vsub(p_m, held[0]))
    if far_m > START_MAX_M:
        return f"approach (the hand points {far_m * 1000:.0f} mm away, 300 mm at most)"
    far_rad = quat_angle_rad(q_xyzw, held[1])
    if far_rad > START_MAX_RAD:
        return f"approach (the hand is turned {math.degrees(far_rad):.0f}°, 45° at most)"
    return ""


class Approach:
    """One approach, from engage (or from falling far behind) until it follows or is given up."""

    def __init__(self, now_ns: int, scale: float) -> None:
        self._started_ns = now_ns
        self._scale = scale
        self._smallest_m = math.inf
        self._recent: deque[tuple[int, Vec3]] = deque()
        self._too_fast = False

    def on_sample(self, t_recv_ns: int, target_p_m: Vec3) -> None:
        """A fresh sample's target; watches the hand's own speed over 100 ms."""
        self._recent.append((t_recv_ns, target_p_m))
        while t_recv_ns - self._recent[0][0] > SPEED_SPAN_NS:
            self._recent.popleft()
        t_first_ns, first_m = self._recent[0]
        span_s = (t_recv_ns - t_first_ns) * 1e-9
        if span_s >= 0.5 * SPEED_SPAN_NS * 1e-9:
            speed_mps = vnorm(vsub(target_p_m, first_m)) / span_s / self._scale
            self._too_fast |= speed_mps > HAND_MAX_MPS

    def judge(self, now_ns: int, wish: Pose, command: Pose) -> tuple[Verdict, float]:
        """What to do this tick, and the rest of the way in mm."""
        rest_m = vnorm(vsub(wish[0], command[0]))
        if rest_m <= NEAR_M and quat_angle_rad(wish[1], command[1]) <= NEAR_RAD:
            return "follow", rest_m * 1000
        self._smallest_m = min(self._smallest_m, rest_m)
        late = now_ns - self._started_ns > TIMEOUT_NS
        if late or self._too_fast or rest_m > self._smallest_m + AWAY_M:
            return "abort", rest_m * 1000
        return "approach", rest_m * 1000
