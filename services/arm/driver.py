"""What the arm loop needs of a robot and nothing more: one ABC, SI and quaternions at the boundary.

A driver owns one SDK object and is called from one thread. It never paces, limits or decides: those
live above it. It must never move a robot by itself and never do on its own what lets an arm drop.

    DriverError             (FarhandError)  exit 75 when nobody handles it
    ├── DriverMissingError  (DeviceError)   SDK not installed, cable out, robot off: wait and retry
    ├── DriverBusError      (OSError)       a send or a read failed on a bus that was there
    ├── DriverTimeoutError  (TimeoutError)  no answer within the driver's own bound
    ├── DriverRefusedError                  the robot said no: enable refused, a fault still stands
    ├── DriverOrderError    (RuntimeError)  called out of order: opened twice, used while closed
    └── ConfirmDropError    (RuntimeError)  this verb lets the arm drop; needs confirm_drop=True
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import hypot, isfinite
from typing import ClassVar, Final, Literal

from proto.reasons import Reason
from runtime.errors import DeviceError, FarhandError
from runtime.se3 import Quat, Vec3

AckStatus = Literal["SENT", "CLAMPED", "REJECTED"]
CommandSpace = Literal["pose_latest", "pose_slice", "joint_latest"]
StopKind = Literal["HOLD", "ESTOP"]

# A quaternion further from length 1 than this is somebody's mistake, not rounding: float32 on a
# wire is good to 1e-7 and our own algebra to 1e-15.
UNIT_QUAT_TOLERANCE: Final = 1e-3


class DriverError(FarhandError):
    """A driver could not do what it was asked; `kind` is for code, the message for a person."""

    kind: ClassVar[str] = "driver"
    reason: ClassVar[Reason] = "fault"


class DriverMissingError(DriverError, DeviceError):
    """There is nothing to talk to: package not installed, no such port, robot switched off."""

    kind = "missing"
    reason = "driver_missing"


class DriverBusError(DriverError, OSError):
    """The bus was there and a send or read failed: ENOBUFS, bus-off, connection reset."""

    kind = "bus"
    reason = "can_tx"


class DriverTimeoutError(DriverError, TimeoutError):
    """The robot did not answer: firmware query, enable acknowledgement."""

    kind = "timeout"


class DriverRefusedError(DriverError):
    """The robot answered no: a joint in fault, teach mode, its own e-stop pressed."""

    kind = "refused"


class DriverOrderError(DriverError, RuntimeError):
    """Called out of order: open() twice, anything but close() while closed."""

    kind = "order"


class ConfirmDropError(DriverError, RuntimeError):
    """The verb lets this arm drop, and nobody confirmed that it may."""

    kind = "confirm"


@dataclass(frozen=True, slots=True)
class Target:
    """Where the tool shall be. gripper_ratio: 0 closed, 1 open."""

    p_base_tool_m: Vec3
    q_base_tool_xyzw: Quat
    gripper_ratio: float


@dataclass(frozen=True, slots=True)
class Ack:
    """What became of a target.

    `sent` is what was really handed to the robot: the target itself (SENT), the nearest one within
    the robot's own limits (CLAMPED), None (REJECTED: nothing was sent). `why` is for a person.
    """

    status: AckStatus
    why: str = ""
    sent: Target | None = None


@dataclass(frozen=True, slots=True)
class DriverInfo:
    """What the loop must know of this robot; true before open(). docs/adding-a-robot.md.

    Attributes:
        name: registry name.
        command_space: `pose_latest` (newest pose wins), `pose_slice` (each pose is reached in a
            time slice, the robot halts when none follows), `joint_latest` (our IK).
        rate_max_hz: commands faster than this do harm.
        servo_lag_s: a steadily moving tool is where the command was this long ago.
        feedback_period_s: time between two measured poses.
        lead_s: commands must be handed over this much before they are due (`pose_slice`).
        simulated: derived from the transport, never from a wish.
        drops_arm: verbs that let the arm drop ("disable", "clear", "estop").
        hold_stream_in_fault: silence would let the arm drop, so FAULT goes on sending the pose.
        clear_needed_after_estop: after stop("ESTOP") nothing is accepted before clear().
    """

    name: str
    command_space: CommandSpace
    rate_max_hz: float
    servo_lag_s: float
    feedback_period_s: float
    lead_s: float
    simulated: bool
    drops_arm: tuple[str, ...] = ()
    hold_stream_in_fault: bool = False
    clear_needed_after_estop: bool = False


@dataclass(frozen=True, slots=True)
class DriverState:
    """What the robot measured. t_feedback_ns: this host's monotonic clock, when it was true."""

    t_feedback_ns: int
    p_base_tool_m: Vec3
    q_base_tool_xyzw: Quat
    gripper_ratio: float
    q_rad: tuple[float, ...] | None
    enabled: bool
    faults: tuple[str, ...] = ()


class Driver(ABC):
    """One robot arm. Every method raises only DriverError; the cause is kept (`raise … from`).

    Order of life: info at any time, open, [enable, command…, stop, disable, clear]…, close.
    Calls may block for as long as the SDK does; the loop above lives in another thread.
    """

    @property
    @abstractmethod
    def info(self) -> DriverInfo:
        """Facts about the robot; works unconnected."""

    @abstractmethod
    def open(self) -> None:
        """Connects, without enabling or moving anything.

        Raises:
            DriverMissingError: SDK or device absent; the caller tries again later.
            DriverOrderError: it is open.
        """

    @abstractmethod
    def close(self) -> None:
        """Lets go of the bus. Idempotent; leaves the drives as they are, sends no motion."""

    @abstractmethod
    def enable(self) -> None:
        """Drives on, holding the present pose; no motion. Idempotent.

        Raises:
            DriverRefusedError, DriverTimeoutError: the drives are not all on.
        """

    @abstractmethod
    def disable(self, *, confirm_drop: bool = False) -> None:
        """Drives off.

        Raises:
            ConfirmDropError: "disable" is in info.drops_arm and confirm_drop is False.
        """

    @abstractmethod
    def command(self, target: Target) -> Ack:
        """Hands one target to the robot. REJECTED, never an exception, for a target it cannot take
        (not finite, not a rotation, out of reach, drives off); an exception for a failing bus."""

    @abstractmethod
    def state(self) -> DriverState | None:
        """The newest feedback, without waiting for one; None if there was none since open()."""

    @abstractmethod
    def stop(self, kind: StopKind) -> None:
        """Decelerate and hold; drives stay on. ESTOP sends the vendor's own stop (info says what
        follows from it). Accepted in every state of the robot; nothing moves it afterwards but a
        later command."""

    @abstractmethod
    def clear(self, *, confirm_drop: bool = False) -> None:
        """Clears faults and what stop("ESTOP") left; never moves or enables anything.

        Raises:
            ConfirmDropError: "clear" is in info.drops_arm and confirm_drop is False.
            DriverRefusedError: a fault still stands.
        """


def target_problem(target: Target) -> str:
    """Why no robot could take this target, or "": the check every command() begins with."""
    if not all(map(isfinite, (*target.p_base_tool_m, *target.q_base_tool_xyzw))):
        return "pose is not finite"
    if not isfinite(target.gripper_ratio):
        return "gripper is not finite"
    if abs(hypot(*target.q_base_tool_xyzw) - 1.0) > UNIT_QUAT_TOLERANCE:
        return "quaternion is not of length 1"
    return ""


def clamp_gripper(target: Target) -> Target:
    """The target with its gripper in 0..1; the same object where it is."""
    ratio = min(max(target.gripper_ratio, 0.0), 1.0)
    return target if ratio == target.gripper_ratio else replace(target, gripper_ratio=ratio)


def require_drop_confirmed(info: DriverInfo, verb: str, confirm_drop: bool) -> None:
    """Refuses a verb that lets this arm drop unless it was confirmed.

    Raises:
        ConfirmDropError: it was not.
    """
    if verb in info.drops_arm and not confirm_drop:
        raise ConfirmDropError(
            f"{verb} lets the arm of {info.name} drop: support it, then confirm with --confirm-drop"
        )
