"""The plain simulated arm: a tool that flies where it is told, with a servo lag and bad days.

It has no joints and no SDK. Robots whose wire can be emulated have better simulators; this one
makes the pipe testable without any robot, and misbehaves on demand (sim_faults).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from runtime.clock import NS_PER_S, Clock, MonotonicClock
from runtime.se3 import quat_from_rpy_deg, quat_normalize, vnorm
from services.arm.driver import (
    Ack,
    Driver,
    DriverBusError,
    DriverInfo,
    DriverMissingError,
    DriverOrderError,
    DriverRefusedError,
    DriverState,
    StopKind,
    Target,
    clamp_gripper,
    require_drop_confirmed,
    target_problem,
)
from services.arm.drivers.sim_faults import NO_FAULTS, FaultsFile, SimFaults
from services.arm.drivers.sim_motion import SimMotion, SimPose
from services.arm.drivers.sim_options import SimOptions, parse


def create(options: Mapping[str, object]) -> Driver:
    """The driver as the registry loads it; ConfigError on a bad option."""
    return SimDriver(parse(options))


class SimDriver(Driver):
    """See SimOptions for what it can do and SimFaults for what can go wrong."""

    def __init__(
        self,
        options: SimOptions | None = None,
        clock: Clock | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._options = options or SimOptions()
        self._clock = clock or MonotonicClock()
        self._sleep = sleep
        path = self._options.faults_file
        self._faults_file = FaultsFile(Path(path)) if path else None
        self._faults = NO_FAULTS
        self._hang_s = 0.0
        self._motion: SimMotion | None = None
        self._opened_ns = 0
        self._feedback_cut_ns = 0
        self._enabled = False
        self._locked = False  # by stop("ESTOP"), until clear()

    @property
    def info(self) -> DriverInfo:
        """Works unconnected."""
        options = self._options
        return DriverInfo(
            name="sim",
            command_space="pose_latest",
            rate_max_hz=options.rate_max_hz,
            servo_lag_s=options.servo_lag_s,
            feedback_period_s=options.feedback_period_s,
            lead_s=0.0,
            simulated=True,
            drops_arm=options.drops_arm,
            clear_needed_after_estop=options.clear_after_estop,
        )

    def set_faults(self, faults: SimFaults) -> None:
        """What goes wrong from now on."""
        now_ns = self._clock.now_ns()
        if self._faults.feedback == "live":
            self._feedback_cut_ns = now_ns
        self._faults = faults
        self._hang_s = faults.hang_s
        if faults.drives_off:
            self._drives_off(now_ns)
        if self._motion is not None:
            self._motion.freeze(faults.freeze_motion, now_ns)

    def open(self) -> None:
        """Starts at home, drives off."""
        self._read_faults_file()
        if "open" in self._faults.raise_in:
            raise DriverMissingError("simulated arm: device absent on demand")
        if self._motion is not None:
            raise DriverOrderError("the simulated arm is open")
        now_ns, options = self._clock.now_ns(), self._options
        home = SimPose(
            options.home_p_base_tool_m,
            quat_from_rpy_deg(options.home_rpy_base_tool_deg),
            options.home_gripper_ratio,
        )
        self._motion = SimMotion(home, options.motion(), now_ns)
        self._motion.freeze(self._faults.freeze_motion, now_ns)
        self._opened_ns = now_ns
        self._enabled = self._locked = False

    def close(self) -> None:
        """Idempotent."""
        self._motion = None

    def enable(self) -> None:
        """Drives on, at once."""
        self._begin("enable")
        if self._faults.refuse_enable or self._faults.drives_off:
            raise DriverRefusedError("simulated arm: enable refused on demand")
        self._enabled = True

    def disable(self, *, confirm_drop: bool = False) -> None:
        """Drives off; the simulated arm brakes and stays where it is."""
        self._begin("disable")
        require_drop_confirmed(self.info, "disable", confirm_drop)
        self._drives_off(self._clock.now_ns())

    def command(self, target: Target) -> Ack:
        """Newest target wins."""
        motion = self._begin("command")
        problem = target_problem(target) or self._problem(target)
        if problem:
            return Ack("REJECTED", problem)
        sent = clamp_gripper(target)
        goal = SimPose(
            sent.p_base_tool_m, quat_normalize(sent.q_base_tool_xyzw), sent.gripper_ratio
        )
        motion.pursue(goal, self._clock.now_ns())
        return Ack("SENT", "", sent) if sent is target else Ack("CLAMPED", "gripper", sent)

    def state(self) -> DriverState | None:
        """The newest measured pose; stamps are whole periods since open()."""
        motion = self._begin("state")
        now_ns = self._clock.now_ns()
        stamp_ns = self._stamp_ns(self._feedback_cut_ns if self._silent else now_ns)
        if stamp_ns < self._opened_ns:
            return None
        frozen = self._faults.feedback == "frozen"
        pose = motion.pose_at(self._stamp_ns(self._feedback_cut_ns) if frozen else stamp_ns)
        return DriverState(
            stamp_ns,
            pose.p_base_tool_m,
            pose.q_base_tool_xyzw,
            pose.gripper_ratio,
            None,
            self._enabled,
            self._faults.faults,
        )

    def stop(self, kind: StopKind) -> None:
        """Brakes and holds; ESTOP locks the arm until clear() where the options say so."""
        motion = self._begin("stop")
        motion.stop(self._clock.now_ns())
        if kind == "ESTOP":
            self._locked = self._options.clear_after_estop

    def clear(self, *, confirm_drop: bool = False) -> None:
        """Ends the lock of stop("ESTOP"); refused while a fault on demand stands."""
        self._begin("clear")
        require_drop_confirmed(self.info, "clear", confirm_drop)
        if self._faults.faults:
            raise DriverRefusedError(f"fault still stands: {', '.join(self._faults.faults)}")
        self._locked = False

    @property
    def _silent(self) -> bool:
        return self._faults.feedback == "silent"

    def _begin(self, call: str) -> SimMotion:
        """What every call but open and close starts with: faults, then order."""
        self._read_faults_file()
        if self._hang_s and call != "state":
            hang_s, self._hang_s = self._hang_s, 0.0
            self._sleep(hang_s)
        if call in self._faults.raise_in:
            raise DriverBusError(f"simulated arm: {call} failed on demand")
        if self._motion is None:
            raise DriverOrderError(f"{call} while the simulated arm is closed")
        return self._motion

    def _problem(self, target: Target) -> str:
        if not self._enabled:
            return "drives are off: enable first"
        if self._locked:
            return "stopped by e-stop: clear first"
        reach_m = vnorm(target.p_base_tool_m)
        limit_m = self._options.reach_max_m
        return f"out of reach: {reach_m:.3f} m of {limit_m:.3f}" if reach_m > limit_m else ""

    def _stamp_ns(self, now_ns: int) -> int:
        """When the newest measurement that has arrived by now_ns was taken."""
        period_ns = round(self._options.feedback_period_s * NS_PER_S)
        age_ns = round(self._options.feedback_age_s * NS_PER_S)
        return self._opened_ns + (now_ns - age_ns - self._opened_ns) // period_ns * period_ns

    def _drives_off(self, now_ns: int) -> None:
        self._enabled = False
        if self._motion is not None:
            self._motion.stop(now_ns)

    def _read_faults_file(self) -> None:
        changed = self._faults_file.changed() if self._faults_file else None
        if changed is not None:
            self.set_faults(changed)
