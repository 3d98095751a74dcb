"""The last check before the driver: trusts nobody, starts silent, fails closed. Pure.

Sees only commands, the state they are sent in, and what the robot measured; remembers its own past.
Never makes a command better: what it cuts is not sent, and the caller sends the last passed one
again. In normal use it never cuts: limits, walls and braking keep well inside its tolerances.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import hypot, isfinite, sqrt
from typing import Final, NamedTuple

from proto.reasons import Reason, State
from runtime.clock import NS_PER_S
from runtime.se3 import Quat, Vec3, quat_angle_rad, vnorm, vsub
from runtime.workspace import Zone
from services.arm.driver import UNIT_QUAT_TOLERANCE, DriverState, Target

MOVING: Final[tuple[State, ...]] = ("ENGAGED", "HOMING")

# Speed counts over any 250 ms, the window of the opendbc safety tests, and from one command to the
# next. Tolerance: 5 % for rounding and uneven ticks, and 10 ms for a tick that came that much late.
WINDOW_NS: Final = 250_000_000
SPEED_TOLERANCE: Final = 1.05
LATE_S: Final = 0.010
# A window may begin with a command that was sent long ago: it counts as no older than this.
WINDOW_MAX_NS: Final = 350_000_000
# Never commanded further outside than this: rounding, and float32 on a robot's wire.
WALL_TOLERANCE_M: Final = 0.001
# Robots drive to the last target after our death: it is never far from where they are.
LEAD_M: Final = 0.030
LEAD_RAD: Final = 0.10
NOT_FOLLOWING_NS: Final = 200_000_000
# A brake loses at least this much speed: the softest that a configuration may ask for, less 10 %.
BRAKE_MPS2: Final = 0.45
BRAKE_RADPS2: Final = 0.9
# Rounding, in all.
BRAKE_SLACK_M: Final = 1e-6
BRAKE_SLACK_RAD: Final = 1e-5
# Commands are remembered this long plus the robot's lag: feedback older than 0.5 s is a fault.
KEEP_NS: Final = 700_000_000


@dataclass(frozen=True, slots=True)
class GateLimits:
    """What the gate holds commands to; independent of the limits that made them.

    Attributes:
        v_mps, w_radps: fastest tool, ever.
        zone: where the tool may be; outside, it may only come nearer to each wall.
        servo_lag_s: DriverInfo.servo_lag_s.
        feedback_age_s: no motion on feedback older than this.
    """

    v_mps: float
    w_radps: float
    zone: Zone
    servo_lag_s: float
    feedback_age_s: float


class GateVerdict(NamedTuple):
    """ok: send it. Else `reason` is the wire code, `which` names the check for a person.

    not_following: the lead has been too large for 200 ms on end, whatever was cut.
    """

    ok: bool
    reason: Reason = ""
    which: str = ""
    not_following: bool = False


class _Passed(NamedTuple):
    """A command in force from t_ns on, the way up to it, and how fast it was got to."""

    t_ns: int
    p_m: Vec3
    q_xyzw: Quat
    path_m: float
    path_rad: float
    v_mps: float
    w_radps: float


class _Cut(NamedTuple):
    reason: Reason
    which: str


class Gate:
    """One arm's gate. now_ns never goes back; the ticks behind it may be uneven."""

    def __init__(self, limits: GateLimits) -> None:
        self._limits = limits
        self._lag_ns = round(limits.servo_lag_s * NS_PER_S)
        self._history: deque[_Passed] = deque()
        self._window: deque[_Passed] = deque()
        self._brake: _Passed | None = None  # the fastest of the last ticks before braking
        self._astray_ns: int | None = None

    def reset(self) -> None:
        """Forgets all commands: nothing is being sent. The next one must be where the arm is."""
        self._history.clear()
        self._window.clear()
        self._brake = self._astray_ns = None

    def check(
        self,
        now_ns: int,
        command: Target,
        state: State,
        measured: DriverState | None,
        *,
        braking: bool = False,
    ) -> GateVerdict:
        """Judges one command.

        Args:
            now_ns: this tick, of the clock that the limits took their dt from.
            command: what would be sent.
            state: of the state machine, this tick.
            measured: newest feedback.
            braking: this is a tick of a brake; needed only where state alone allows no motion.
        """
        not_following = self._judge_following(now_ns, state, measured)
        cut = _bad_numbers(command)
        if cut is None:
            made = self._made(now_ns, command)
            cut = self._judge(made, state, measured, braking)
            if cut is None:
                self._remember(made)
                return GateVerdict(True, not_following=not_following)
        self._hold(now_ns)
        return GateVerdict(False, cut.reason, cut.which, not_following)

    # --- the past ------------------------------------------------------------------------------

    def _made(self, now_ns: int, command: Target) -> _Passed:
        p_m, q_xyzw = command.p_base_tool_m, command.q_base_tool_xyzw
        if not self._history:
            return _Passed(now_ns, p_m, q_xyzw, 0.0, 0.0, 0.0, 0.0)
        last = self._history[-1]
        step_m, step_rad = vnorm(vsub(p_m, last.p_m)), quat_angle_rad(last.q_xyzw, q_xyzw)
        dt_s = max(now_ns - last.t_ns, 1) / NS_PER_S
        return _Passed(
            now_ns,
            p_m,
            q_xyzw,
            last.path_m + step_m,
            last.path_rad + step_rad,
            step_m / dt_s,
            step_rad / dt_s,
        )

    def _hold(self, now_ns: int) -> None:
        """After a cut the last command stays in force, and its speed is 0 from now on."""
        if self._history:
            self._remember(self._history[-1]._replace(t_ns=now_ns, v_mps=0.0, w_radps=0.0))

    def _remember(self, made: _Passed) -> None:
        for past, keep_ns in ((self._history, KEEP_NS + self._lag_ns), (self._window, WINDOW_NS)):
            past.append(made)
            while len(past) > 1 and past[1].t_ns <= made.t_ns - keep_ns:
                past.popleft()

    # --- the checks ----------------------------------------------------------------------------

    def _judge(
        self, made: _Passed, state: State, measured: DriverState | None, braking: bool
    ) -> _Cut | None:
        if not self._history:
            return self._judge_first(made, measured)
        last = self._history[-1]
        if made.p_m == last.p_m and made.q_xyzw == last.q_xyzw:
            return None
        if state in MOVING:
            self._brake = None
            cut = self._judge_feedback(made.t_ns, measured)
        else:
            cut = self._judge_brake(made) if braking else _Cut("not_engaged", "state")
        return cut or self._judge_walls(made, last) or self._judge_speed(made, last)

    def _judge_first(self, made: _Passed, measured: DriverState | None) -> _Cut | None:
        """Nothing was sent yet: only where the arm is, and only on fresh feedback."""
        if self._too_old(made.t_ns, measured) or measured is None:
            return _Cut("can_silent", "feedback age")
        return _Cut("not_following", "first command") if _astray(made, measured) else None

    def _judge_feedback(self, now_ns: int, measured: DriverState | None) -> _Cut | None:
        if self._too_old(now_ns, measured):
            return _Cut("can_silent", "feedback age")
        return None if self._astray_ns is None else _Cut("not_following", "lead")

    def _too_old(self, now_ns: int, measured: DriverState | None) -> bool:
        if measured is None:
            return True
        return now_ns - measured.t_feedback_ns > self._limits.feedback_age_s * NS_PER_S

    def _judge_brake(self, made: _Passed) -> _Cut | None:
        """Without a state that allows motion only ever slower, and soon not at all."""
        if self._brake is None:
            recent = [self._history[k] for k in range(-min(3, len(self._history)), 0)]
            self._brake = recent[-1]._replace(
                v_mps=max(past.v_mps for past in recent),
                w_radps=max(past.w_radps for past in recent),
            )
        start = self._brake
        way_m, way_rad = made.path_m - start.path_m, made.path_rad - start.path_rad
        slides = _brakes(made.v_mps, start.v_mps, way_m, BRAKE_MPS2, BRAKE_SLACK_M)
        turns = _brakes(made.w_radps, start.w_radps, way_rad, BRAKE_RADPS2, BRAKE_SLACK_RAD)
        return None if slides and turns else _Cut("not_engaged", "brake")

    def _judge_walls(self, made: _Passed, last: _Passed) -> _Cut | None:
        before_m = _beyond_m(last.p_m, self._limits.zone)
        now_m = _beyond_m(made.p_m, self._limits.zone)
        for was_m, is_m in zip(before_m, now_m, strict=True):
            if is_m > max(was_m, WALL_TOLERANCE_M):
                return _Cut("outside_box", "workspace")
        return None

    def _judge_speed(self, made: _Passed, last: _Passed) -> _Cut | None:
        for since in (last, self._window[0]):
            span_ns = min(made.t_ns - since.t_ns, WINDOW_MAX_NS)
            span_s = span_ns / NS_PER_S * SPEED_TOLERANCE + LATE_S
            if made.path_m - since.path_m > self._limits.v_mps * span_s:
                return _Cut("speed_limited", "speed")
            if made.path_rad - since.path_rad > self._limits.w_radps * span_s:
                return _Cut("speed_limited", "turn rate")
        return None

    # --- is the robot where it was sent? -------------------------------------------------------

    def _judge_following(self, now_ns: int, state: State, measured: DriverState | None) -> bool:
        if measured is None or state not in MOVING or not self._history:
            self._astray_ns = None
        elif all(_astray(past, measured) for past in self._in_force(measured.t_feedback_ns)):
            self._astray_ns = now_ns if self._astray_ns is None else self._astray_ns
        else:
            self._astray_ns = None
        return self._astray_ns is not None and now_ns - self._astray_ns >= NOT_FOLLOWING_NS

    def _in_force(self, t_feedback_ns: int) -> list[_Passed]:
        """The command the robot should have been at when it measured, and its two neighbours:
        the robot interpolates between commands, and its stamp is good to a tick."""
        t_ns = t_feedback_ns - self._lag_ns
        k = len(self._history) - 1
        while k > 0 and self._history[k].t_ns > t_ns:
            k -= 1
        return [self._history[i] for i in range(max(0, k - 1), min(k + 2, len(self._history)))]


def _bad_numbers(command: Target) -> _Cut | None:
    q_xyzw = command.q_base_tool_xyzw
    if not all(map(isfinite, (*command.p_base_tool_m, *q_xyzw, command.gripper_ratio))):
        return _Cut("fault", "not finite")
    if abs(hypot(*q_xyzw) - 1.0) > UNIT_QUAT_TOLERANCE:
        return _Cut("fault", "quaternion")
    return None if 0.0 <= command.gripper_ratio <= 1.0 else _Cut("fault", "gripper")


def _brakes(speed: float, start: float, way: float, deceleration: float, slack: float) -> bool:
    """Whether `speed`, on the tick that ends `way` after a brake from `start`, fits a brake."""
    left = start * start - 2.0 * deceleration * (way - slack)
    return left >= 0.0 and speed <= sqrt(left) * SPEED_TOLERANCE


def _astray(past: _Passed, measured: DriverState) -> bool:
    far_m = vnorm(vsub(past.p_m, measured.p_base_tool_m))
    # "not <=": feedback that is not a number is nowhere near.
    near = far_m <= LEAD_M
    return not (near and quat_angle_rad(past.q_xyzw, measured.q_base_tool_xyzw) <= LEAD_RAD)


def _beyond_m(p_m: Vec3, zone: Zone) -> tuple[float, ...]:
    """How far beyond each pair of walls, and beyond the shell; 0 or below inside."""
    sides = zip(p_m, zone.box_min_m, zone.box_max_m, strict=True)
    box = tuple(max(low_m - x_m, x_m - high_m) for x_m, low_m, high_m in sides)
    return box if zone.reach_max_m is None else (*box, vnorm(p_m) - zone.reach_max_m)
