"""Where the tool is commanded: walls, limits, gripper and gate around one pose. Pure.

Knows no reason to move; the core says follow, home or brake, once a step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from proto.messages import Quat, Vec3
from proto.reasons import Reason, State
from runtime.se3 import quat_angle_rad, quat_from_rpy_deg, vnorm, vsub
from runtime.settings import ArmSettings
from runtime.workspace import Workspace, outside_m
from runtime.zone import zone_of
from services.arm.approach import APPROACH_MPS, APPROACH_RADPS
from services.arm.conditions import feedback_stop_s
from services.arm.driver import DriverInfo, DriverState, Target
from services.arm.gate import LEAD_M, LEAD_RAD, Gate, GateLimits
from services.arm.gripper import GripperTakeover
from services.arm.limits import LimitedPose, Limits, PoseLimiter

Pose = tuple[Vec3, Quat]

HOMED_M: Final = 1e-5
HOMED_RAD: Final = 1e-4
# Where feedback is rarer than this, the lead must still hold between two of its samples.
RARE_FEEDBACK_S: Final = 0.040
RARE_FEEDBACK_PERIODS: Final = 2.5


class Followed(NamedTuple):
    """What became of a wish: `inside` after the walls, `limited` after the limits too."""

    inside: Pose
    limited: Pose


@dataclass(slots=True)
class _Standing:
    """All there is while something is sent."""

    limiter: PoseLimiter
    limited: Pose
    command: Pose
    passed: Target | None = None


class Motion:
    """Holds the command; None while nothing is sent.

    Attributes:
        gate_blocks: poses the gate cut. cut_reason, cut_by: of the last step, "" if it passed.
        not_following: the gate's word on the robot.
    """

    def __init__(self, arm: ArmSettings, info: DriverInfo) -> None:
        self._arm = arm
        self._fast = limits_of(arm, info)
        self._slow = replace(
            self._fast,
            v_mps=min(APPROACH_MPS, self._fast.v_mps),
            w_radps=min(APPROACH_RADPS, self._fast.w_radps),
        )
        zone = zone_of(arm)
        self._workspace = Workspace(zone)
        self._gate = Gate(
            GateLimits(
                v_mps=self._fast.v_mps,
                w_radps=self._fast.w_radps,
                zone=zone,
                servo_lag_s=info.servo_lag_s,
                feedback_age_s=feedback_stop_s(info),
            )
        )
        self._home: Pose = (arm.home_p_m, quat_from_rpy_deg(arm.home_rpy_deg))
        self._gripper = GripperTakeover(arm.gripper_ratio_per_s)
        self._on: _Standing | None = None
        self._measured: DriverState | None = None
        self._braking = False
        self.gate_blocks = 0
        self.cut_reason: Reason = ""
        self.cut_by = ""
        self.not_following = False

    # --- what it stands on -----------------------------------------------------------------------

    def learn(self, measured: DriverState | None) -> None:
        """Takes the newest feedback."""
        self._measured = measured

    def start(self) -> None:
        """Starts commanding where it does not yet: the first command is the measured pose."""
        measured = self._measured
        if self._on is not None or measured is None:
            return
        pose = (measured.p_base_tool_m, measured.q_base_tool_xyzw)
        self._on = _Standing(PoseLimiter(*pose), limited=pose, command=pose)
        self._gate.reset()
        self._gripper.seat(measured.gripper_ratio)
        self._workspace.admit(pose[0])

    def end(self) -> None:
        """Nothing more is sent."""
        self._on = None
        self._gate.reset()
        self.cut_reason = self.cut_by = ""
        self.not_following = False

    @property
    def limited(self) -> Pose | None:
        """The pose after the limits, of the last step."""
        return None if self._on is None else self._on.limited

    @property
    def command(self) -> Pose | None:
        """The pose handed to the driver last: `limited`, unless the gate cut."""
        return None if self._on is None else self._on.command

    @property
    def at_rest(self) -> bool:
        """Whether the command stands still (or nothing is sent)."""
        return self._on is None or self._on.limiter.at_rest

    @property
    def astray(self) -> bool:
        """Whether the robot stands further from its command than the lead allows."""
        if self._measured is None or self._on is None:
            return False
        p_m, q_xyzw = self._on.command
        far_m = vnorm(vsub(self._measured.p_base_tool_m, p_m))
        far_rad = quat_angle_rad(self._measured.q_base_tool_xyzw, q_xyzw)
        return far_m > LEAD_M or far_rad > LEAD_RAD

    # --- one step ------------------------------------------------------------------------------

    def follow(self, wish: Pose, dt_s: float, *, slow: bool) -> Followed:
        """Towards `wish`, slid along the walls and under the limits (slow: of an approach)."""
        inside = (self._workspace.clamp(wish[0]).p_m, wish[1])
        return Followed(inside, self._step(inside, dt_s, self._slow if slow else self._fast))

    def home(self, dt_s: float) -> None:
        """On the straight line to the home pose."""
        self._step(self._home, dt_s, self._slow)

    def _step(self, goal: Pose, dt_s: float, limits: Limits) -> Pose:
        self._braking = False
        if self._on is None:
            return goal
        if dt_s > 0.0:
            made = self._on.limiter.step(*goal, dt_s, limits, self._workspace.allowed)
            self._made(self._on, made)
        return self._on.limited

    def brake(self, dt_s: float, *, hard: bool) -> None:
        """Decelerating to rest; then the pose stands."""
        self._braking = True
        on, arm = self._on, self._arm
        if on is None or on.limiter.at_rest or dt_s <= 0.0:
            return
        made = on.limiter.brake(
            dt_s,
            arm.estop_brake_mps2 if hard else arm.brake_mps2,
            arm.estop_brake_radps2 if hard else arm.brake_radps2,
            self._fast,
            self._workspace.allowed,
        )
        self._made(on, made)

    def _made(self, on: _Standing, made: LimitedPose) -> None:
        self._workspace.ratchet(made.p_m)
        on.limited = (made.p_m, made.q_xyzw)

    def grip(self, hand_ratio: float | None, dt_s: float) -> None:
        """The gripper follows the hand once it has taken it over; None: frozen."""
        self._gripper.step(hand_ratio, dt_s)

    def gated(self, now_ns: int, state: State) -> Target | None:
        """What may be sent now: this step's pose, or the last that passed; None before any."""
        on = self._on
        if on is None:
            return None
        wanted = Target(*on.limited, self._gripper.ratio or 0.0)
        verdict = self._gate.check(now_ns, wanted, state, self._measured, braking=self._braking)
        self.not_following = verdict.not_following
        self.cut_reason, self.cut_by = verdict.reason, verdict.which
        if verdict.ok:
            on.command, on.passed = on.limited, wanted
        else:
            self.gate_blocks += 1
            # The limits go on from the pose that the robot was really given.
            on.limiter.reset(*on.command)
            on.limited = on.command
        return on.passed

    # --- home, gripper -------------------------------------------------------------------------

    def can_home(self) -> bool:
        """Whether a straight line to the home pose stays in the workspace (it is convex)."""
        return outside_m(self._home[0], self._workspace.zone) == 0.0

    @property
    def homed(self) -> bool:
        """Whether the command stands on the home pose."""
        if self._on is None or not self.at_rest:
            return False
        p_m, q_xyzw = self._on.command
        near = vnorm(vsub(p_m, self._home[0])) <= HOMED_M
        return near and quat_angle_rad(q_xyzw, self._home[1]) <= HOMED_RAD

    @property
    def gripper_ratio(self) -> float | None:
        """The gripper's command; None while nothing is sent."""
        return None if self._on is None else self._gripper.ratio

    @property
    def gripper_follows(self) -> bool:
        """Whether the hand has taken the gripper over."""
        return self._gripper.follows


def limits_of(arm: ArmSettings, info: DriverInfo) -> Limits:
    """The configured limits; slower where feedback is too rare to keep the lead."""
    v_mps, w_radps = arm.tcp_max_mps, arm.rotation_max_radps
    if info.feedback_period_s > RARE_FEEDBACK_S:
        blind_s = info.servo_lag_s + RARE_FEEDBACK_PERIODS * info.feedback_period_s
        v_mps = min(v_mps, LEAD_M / blind_s)
        w_radps = min(w_radps, LEAD_RAD / blind_s)
    return Limits(v_mps, arm.tcp_max_mps2, w_radps, arm.rotation_max_radps2)
