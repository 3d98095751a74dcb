"""Where the tool is commanded: walls, limits, gripper and gate around one pose. Pure.

Knows no reason to move; the core says follow, home or brake, once a step.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

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
from services.arm.limits import Limits, PoseLimiter

Pose = tuple[Vec3, Quat]

HOMED_M: Final = 1e-5
HOMED_RAD: Final = 1e-4
# Where feedback is rarer than this, the lead must still hold between two of its samples.
RARE_FEEDBACK_S: Final = 0.040
RARE_FEEDBACK_PERIODS: Final = 2.5


class Motion:
    """Holds the command; None while nothing is sent.

    Attributes:
        limited: the pose after the limits, of the last step.
        command: the pose handed to the driver last: `limited`, unless the gate cut.
        gate_blocks: poses the gate cut. cut_reason, cut_by: of the last step, "" if it passed.
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
        self._limiter: PoseLimiter | None = None
        self._measured: DriverState | None = None
        self._braking = False
        self.limited: Pose | None = None
        self.command: Pose | None = None
        self.gate_blocks = 0
        self.cut_reason: Reason = ""
        self.cut_by = ""
        self.not_following = False

    # --- what it stands on -----------------------------------------------------------------------

    def learn(self, measured: DriverState | None) -> None:
        """Takes the newest feedback."""
        self._measured = measured

    def seat(self, measured: DriverState) -> None:
        """Starts commanding: the first command is the measured pose."""
        pose = (measured.p_base_tool_m, measured.q_base_tool_xyzw)
        self._limiter = PoseLimiter(*pose)
        self._gate.reset()
        self._gripper.seat(measured.gripper_ratio)
        self._workspace.admit(pose[0])
        self.command = self.limited = pose

    def unseat(self) -> None:
        """Nothing more is sent."""
        self._limiter = self.command = self.limited = None
        self._gate.reset()
        self.not_following = False

    @property
    def at_rest(self) -> bool:
        """Whether the command stands still (or nothing is sent)."""
        return self._limiter is None or self._limiter.at_rest

    # --- one step ------------------------------------------------------------------------------

    def follow(self, wish: Pose, dt_s: float, *, slow: bool) -> Pose:
        """Towards `wish`, slid along the walls and under the limits (slow: of an approach)."""
        goal = (self._workspace.clamp(wish[0]).p_m, wish[1])
        return self._step(goal, dt_s, self._slow if slow else self._fast)

    def home(self, dt_s: float) -> None:
        """On the straight line to the home pose."""
        self._step(self._home, dt_s, self._slow)

    def _step(self, goal: Pose, dt_s: float, limits: Limits) -> Pose:
        self._braking = False
        limiter = self._limiter
        if limiter is None or dt_s <= 0.0:
            return self.limited or goal
        made = limiter.step(goal[0], goal[1], dt_s, limits, self._workspace.allowed)
        self._workspace.ratchet(made.p_m)
        self.limited = (made.p_m, made.q_xyzw)
        return self.limited

    def brake(self, dt_s: float, *, hard: bool) -> None:
        """Decelerating to rest; then the pose stands."""
        self._braking = True
        limiter, arm = self._limiter, self._arm
        if limiter is None or limiter.at_rest or dt_s <= 0.0:
            return
        made = limiter.brake(
            dt_s,
            arm.estop_brake_mps2 if hard else arm.brake_mps2,
            arm.estop_brake_radps2 if hard else arm.brake_radps2,
            self._fast,
            self._workspace.allowed,
        )
        self._workspace.ratchet(made.p_m)
        self.limited = (made.p_m, made.q_xyzw)

    def grip(self, hand_ratio: float | None, dt_s: float) -> None:
        """The gripper follows the hand once it has taken it over; None: frozen."""
        self._gripper.step(hand_ratio, dt_s)

    def gated(self, now_ns: int, state: State) -> Target | None:
        """What may be sent now: this step's pose, or the last that passed; None before any."""
        if self.limited is None:
            return None
        wanted = self._target(self.limited)
        verdict = self._gate.check(now_ns, wanted, state, self._measured, braking=self._braking)
        self.not_following = verdict.not_following
        self.cut_reason, self.cut_by = verdict.reason, verdict.which
        if verdict.ok:
            self.command = self.limited
            return wanted
        self.gate_blocks += 1
        return self._held_back()

    def _held_back(self) -> Target | None:
        """After a cut the limits go on from the pose that the robot was really given."""
        if self.command is None or self._limiter is None:
            return None
        self._limiter.reset(*self.command)
        self.limited = self.command
        return self._target(self.command)

    def _target(self, pose: Pose) -> Target:
        return Target(*pose, self._gripper.ratio or 0.0)

    # --- home, gripper -------------------------------------------------------------------------

    def can_home(self) -> bool:
        """Whether a straight line to the home pose stays in the workspace (it is convex)."""
        return outside_m(self._home[0], self._workspace.zone) == 0.0

    @property
    def homed(self) -> bool:
        """Whether the command stands on the home pose."""
        if self.command is None or not self.at_rest:
            return False
        near = vnorm(vsub(self.command[0], self._home[0])) <= HOMED_M
        return near and quat_angle_rad(self.command[1], self._home[1]) <= HOMED_RAD

    @property
    def gripper_ratio(self) -> float | None:
        """The gripper's command; None while nothing is sent."""
        return None if self.command is None else self._gripper.ratio

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
