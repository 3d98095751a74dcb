"""Where the tool is commanded: walls, limits, gripper and gate around one pose. Pure.

Knows no reason to move; the core says follow, home or brake, once a step.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from proto.messages import Quat, Vec3
from proto.reasons import State
from runtime.se3 import quat_angle_rad, quat_from_rpy_deg, vnorm, vsub
from runtime.settings import ArmSettings
from runtime.workspace import Workspace, outside_m
from runtime.zone import zone_of
from services.arm.approach import APPROACH_MPS, APPROACH_RADPS
from services.arm.driver import DriverInfo, DriverState, Target
from services.arm.gate import Gate
from services.arm.gripper import GripperTakeover
from services.arm.limits import Limits, PoseLimiter

Pose = tuple[Vec3, Quat]

HOMED_M: Final = 1e-5
HOMED_RAD: Final = 1e-4
LEAD_M: Final = 0.030
LEAD_RAD: Final = 0.10
# Where feedback is this rare, the lead must still hold between two of its samples.
RARE_FEEDBACK_S: Final = 0.040
RARE_FEEDBACK_PERIODS: Final = 2.5


class Motion:
    """Holds the command; None while nothing is sent."""

    def __init__(self, arm: ArmSettings, info: DriverInfo) -> None:
        self._arm = arm
        self._fast = limits_of(arm, info)
        self._slow = replace(
            self._fast,
            v_mps=min(APPROACH_MPS, self._fast.v_mps),
            w_radps=min(APPROACH_RADPS, self._fast.w_radps),
        )
        self._workspace = Workspace(zone_of(arm))
        self._home: Pose = (arm.home_p_m, quat_from_rpy_deg(arm.home_rpy_deg))
        self._limiter: PoseLimiter | None = None
        self.command: Pose | None = None
        self.limited: Pose | None = None

    @property
    def at_rest(self) -> bool:
        """Whether the command stands still (or nothing is sent)."""
        return self._limiter is None or self._limiter.at_rest

    def seat(self, measured: DriverState) -> None:
        """Starts commanding: the first command is the measured pose."""
        pose = (measured.p_base_tool_m, measured.q_base_tool_xyzw)
        self._limiter = PoseLimiter(*pose)
        self._workspace.admit(pose[0])
        self.command = self.limited = pose

    def unseat(self) -> None:
        """Nothing more is sent."""
        self._limiter = self.command = self.limited = None
