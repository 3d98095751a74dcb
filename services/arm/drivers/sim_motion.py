"""How the simulated arm moves: a target is pursued at limited speed through a servo lag.

Pure and analytic: the pose at any instant follows from the list of past segments, so the arm moves
by its own time and not only when it is asked. It has no idea of joints, loads or feedback.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import exp
from typing import Final, Literal, NamedTuple, TypeAlias

from runtime.clock import NS_PER_S
from runtime.se3 import (
    Quat,
    Vec3,
    quat_angle_rad,
    quat_conj,
    quat_from_rotvec,
    quat_mul,
    quat_normalize,
    quat_slerp,
    quat_to_rotvec,
    vadd,
    vlerp,
    vnorm,
    vscale,
    vsub,
)

Servo = Literal["first_order", "delay"]

# Speed at a stop is the mean over this span: targets come in steps, the arm must not brake from the
# speed it had inside one of them.
_STOP_SPEED_SPAN_NS: Final = 20_000_000
# The exponential tail of a first-order servo ends here (0.1 um, 0.1 urad): it would never arrive.
_ARRIVED: Final = 1e-7
# 5 s of commands at 200 Hz; feedback older than that is not simulated.
_SEGMENTS: Final = 1024


@dataclass(frozen=True, slots=True)
class SimPose:
    """Tool pose and gripper at one instant."""

    p_base_tool_m: Vec3
    q_base_tool_xyzw: Quat
    gripper_ratio: float


@dataclass(frozen=True, slots=True)
class SimServo:
    """What limits the arm. lag_s: `delay`, commands act that much later; `first_order`, its tau."""

    v_max_mps: float = 2.0
    w_max_radps: float = 6.0
    gripper_max_per_s: float = 4.0
    a_stop_mps2: float = 5.0
    alpha_stop_radps2: float = 20.0
    servo: Servo = "first_order"
    lag_s: float = 0.02

    @property
    def tau_s(self) -> float:
        """Time constant of the pursuit; 0 in `delay`."""
        return self.lag_s if self.servo == "first_order" else 0.0


class _Pursuit(NamedTuple):
    """Towards a standing goal, each of position, rotation and gripper on its straight line."""

    t0_ns: int
    start: SimPose
    goal: SimPose
    servo: SimServo

    def at(self, dt_s: float) -> SimPose:
        start, goal, servo, tau_s = self.start, self.goal, self.servo, self.servo.tau_s
        p0, p1 = start.p_base_tool_m, goal.p_base_tool_m
        q0, q1 = start.q_base_tool_xyzw, goal.q_base_tool_xyzw
        g0, g1 = start.gripper_ratio, goal.gripper_ratio
        return SimPose(
            vlerp(p0, p1, _share(vnorm(vsub(p1, p0)), servo.v_max_mps, tau_s, dt_s)),
            quat_slerp(q0, q1, _share(quat_angle_rad(q0, q1), servo.w_max_radps, tau_s, dt_s)),
            g0 + (g1 - g0) * _share(abs(g1 - g0), servo.gripper_max_per_s, tau_s, dt_s),
        )


class _Brake(NamedTuple):
    """From the speed at t0 to rest along the present direction; the gripper stays."""

    t0_ns: int
    start: SimPose
    v_mps: Vec3
    w_radps: Vec3
    servo: SimServo

    def at(self, dt_s: float) -> SimPose:
        start, servo = self.start, self.servo
        turn_s = _braked_s(vnorm(self.w_radps), servo.alpha_stop_radps2, dt_s)
        slide_s = _braked_s(vnorm(self.v_mps), servo.a_stop_mps2, dt_s)
        turn = quat_from_rotvec(vscale(self.w_radps, turn_s))
        return SimPose(
            vadd(start.p_base_tool_m, vscale(self.v_mps, slide_s)),
            quat_normalize(quat_mul(turn, start.q_base_tool_xyzw)),
            start.gripper_ratio,
        )


_Segment: TypeAlias = _Pursuit | _Brake


def _share(distance: float, speed: float, tau_s: float, dt_s: float) -> float:
    """Part of `distance` covered after dt_s at min(speed, remaining / tau_s)."""
    if distance < _ARRIVED:
        return 1.0
    if tau_s == 0.0:
        return min(1.0, speed * dt_s / distance)
    tail = min(distance, speed * tau_s)  # what is left when the speed limit no longer rules
    t_tail_s = (distance - tail) / speed
    if dt_s <= t_tail_s:
        return speed * dt_s / distance
    rest = tail * exp((t_tail_s - dt_s) / tau_s)
    return 1.0 if rest < _ARRIVED else 1.0 - rest / distance


def _braked_s(speed: float, deceleration: float, dt_s: float) -> float:
    """Seconds at the initial speed that cover the same way as braking for dt_s."""
    if speed == 0.0:
        return 0.0
    t_s = min(dt_s, speed / deceleration)
    return t_s * (1.0 - 0.5 * deceleration * t_s / speed)


class SimMotion:
    """The arm's path so far. All instants are now_ns of one clock and never go back."""

    def __init__(self, start: SimPose, servo: SimServo, now_ns: int) -> None:
        self._servo = servo
        self._goal = start
        self._frozen = False
        self._segments: deque[_Segment] = deque(maxlen=_SEGMENTS)
        self._segments.append(_Pursuit(now_ns, start, start, servo))

    def pose_at(self, t_ns: int) -> SimPose:
        """Where the arm was, is, or will be if nobody commands it any more."""
        for segment in reversed(self._segments):
            if segment.t0_ns <= t_ns:
                return segment.at((t_ns - segment.t0_ns) / NS_PER_S)
        return self._segments[0].at(0.0)

    def pursue(self, goal: SimPose, now_ns: int) -> None:
        """A new target; it replaces the one before, wherever the arm is."""
        self._goal = goal
        if not self._frozen:
            t0_ns = self._acts_at(now_ns)
            self._segments.append(_Pursuit(t0_ns, self.pose_at(t0_ns), goal, self._servo))

    def stop(self, now_ns: int) -> None:
        """Decelerates to rest; the place where that ends is the new target."""
        if self._frozen:
            self._goal = self.pose_at(now_ns)
            return
        t0_ns = self._acts_at(now_ns)
        here, before = self.pose_at(t0_ns), self.pose_at(t0_ns - _STOP_SPEED_SPAN_NS)
        per_s = NS_PER_S / _STOP_SPEED_SPAN_NS
        slide = vsub(here.p_base_tool_m, before.p_base_tool_m)
        turn = quat_mul(here.q_base_tool_xyzw, quat_conj(before.q_base_tool_xyzw))
        w_radps = vscale(quat_to_rotvec(turn), per_s)
        self._segments.append(_Brake(t0_ns, here, vscale(slide, per_s), w_radps, self._servo))

    def freeze(self, frozen: bool, now_ns: int) -> None:
        """A blocked arm takes targets and does not move; unblocked it goes on to the last one."""
        if frozen == self._frozen:
            return
        self._frozen = frozen
        here = self.pose_at(now_ns)
        while self._segments and self._segments[-1].t0_ns > now_ns:
            self._segments.pop()
        goal = here if frozen else self._goal
        self._segments.append(_Pursuit(now_ns, here, goal, self._servo))

    def _acts_at(self, now_ns: int) -> int:
        delay_s = self._servo.lag_s if self._servo.servo == "delay" else 0.0
        return now_ns + round(delay_s * NS_PER_S)
