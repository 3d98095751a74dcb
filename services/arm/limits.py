"""Velocity and acceleration limits of one tool pose, aware of targets and walls ahead. Pure.

Never decides whether to move; follows a target exactly whenever that keeps the limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from runtime.se3 import (
    ZERO,
    Pose,
    Quat,
    Vec3,
    quat_conj,
    quat_from_rotvec,
    quat_mul,
    quat_normalize,
    quat_to_rotvec,
    vadd,
    vscale,
    vsub,
)
from runtime.workspace import Zone
from services.arm.room import Room
from services.arm.slew import Bounds, Slew


@dataclass(frozen=True, slots=True)
class Limits:
    """Of the tool. Each number's reason stands beside it in the robot's configuration.

    j_mps3, j_radps3 limit how fast an acceleration may build up, never a deceleration: a brake
    that first has to build up would need room that braking at full strength was promised.
    """

    v_mps: float
    a_mps2: float
    w_radps: float
    alpha_radps2: float
    j_mps3: float = inf
    j_radps3: float = inf


class LimitedPose(NamedTuple):
    """The pose for this tick; exact: it is the target itself, to the last bit."""

    p_m: Vec3
    q_xyzw: Quat
    exact: bool


class PoseLimiter:
    """Position, rotation and their velocities; one step() or brake() each tick."""

    def __init__(self, p_m: Vec3, q_xyzw: Quat) -> None:
        self._linear, self._angular = Slew(), Slew()
        self._target: Pose | None = None
        self.p_m: Vec3 = p_m
        self.q_xyzw: Quat = q_xyzw

    @property
    def v_mps(self) -> Vec3:
        """Mean velocity of the last tick, base frame."""
        return self._linear.v

    @property
    def w_radps(self) -> Vec3:
        """Mean angular velocity of the last tick, base frame."""
        return self._angular.v

    @property
    def at_rest(self) -> bool:
        """Whether the last tick did not move at all."""
        return self._linear.v == ZERO and self._angular.v == ZERO

    def reset(self, p_m: Vec3, q_xyzw: Quat) -> None:
        """Stand at this pose, whatever was before."""
        self._linear, self._angular = Slew(), Slew()
        self._target = None
        self.p_m, self.q_xyzw = p_m, q_xyzw

    def step(
        self, p_m: Vec3, q_xyzw: Quat, dt_s: float, limits: Limits, zone: Zone | None = None
    ) -> LimitedPose:
        """One tick towards a target.

        Args:
            p_m, q_xyzw: the target, inside `zone` (the caller slides it along the walls).
            dt_s: time since the last tick, above 0.
            limits: of this tick.
            zone: what the tool must not leave and could not leave if it braked at full strength;
                must hold the present pose, and not shrink but towards it.

        Returns:
            The new pose; the target itself where that keeps every limit and the tool could stop
            on it if it stood still from now on.
        """
        before, self._target = self._target, (p_m, q_xyzw)
        target_v, target_w = _velocity(before, self._target, dt_s)
        bounds = Bounds(limits.v_mps, limits.a_mps2, limits.j_mps3)
        room = None if zone is None else Room(zone, self.p_m, dt_s, limits.a_mps2)
        moved = self._linear.choose(vsub(p_m, self.p_m), target_v, dt_s, bounds, room)
        bounds = Bounds(limits.w_radps, limits.alpha_radps2, limits.j_radps3)
        turned = self._angular.choose(_turn(self.q_xyzw, q_xyzw), target_w, dt_s, bounds, None)
        self.p_m = p_m if moved.exact else vadd(self.p_m, vscale(moved.v, dt_s))
        self.q_xyzw = q_xyzw if turned.exact else _turned(self.q_xyzw, turned.v, dt_s)
        return LimitedPose(self.p_m, self.q_xyzw, moved.exact and turned.exact)

    def brake(
        self,
        dt_s: float,
        a_mps2: float,
        alpha_radps2: float,
        limits: Limits | None = None,
        zone: Zone | None = None,
    ) -> LimitedPose:
        """One tick of decelerating to rest along the present motion.

        Args:
            dt_s: time since the last tick, above 0.
            a_mps2, alpha_radps2: how hard.
            limits, zone: if given, as hard as limits allow once the softer brake would not end
                before a wall.
        """
        self._target = None
        if limits is not None and zone is not None and limits.a_mps2 > a_mps2:
            room = Room(zone, self.p_m, dt_s, limits.a_mps2)
            if not room.has(self._linear.braked(dt_s, a_mps2)):
                a_mps2 = limits.a_mps2
        v_mps = self._linear.brake(dt_s, a_mps2)
        w_radps = self._angular.brake(dt_s, alpha_radps2)
        self.p_m = vadd(self.p_m, vscale(v_mps, dt_s))
        self.q_xyzw = _turned(self.q_xyzw, w_radps, dt_s)
        return LimitedPose(self.p_m, self.q_xyzw, False)


def _velocity(before: Pose | None, now: Pose, dt_s: float) -> tuple[Vec3, Vec3]:
    if before is None:
        return ZERO, ZERO
    v_mps = vscale(vsub(now[0], before[0]), 1.0 / dt_s)
    return v_mps, vscale(_turn(before[1], now[1]), 1.0 / dt_s)


def _turn(a: Quat, b: Quat) -> Vec3:
    """Rotation vector from a to b in the base frame, rad; exactly 0 for the same quaternion."""
    return ZERO if a == b else quat_to_rotvec(quat_mul(b, quat_conj(a)))


def _turned(q_xyzw: Quat, w_radps: Vec3, dt_s: float) -> Quat:
    if w_radps == ZERO:
        return q_xyzw
    return quat_normalize(quat_mul(quat_from_rotvec(vscale(w_radps, dt_s)), q_xyzw))
