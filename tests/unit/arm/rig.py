"""A whole ArmCore on a clock that moves only when told, with a scripted hand and robot.

The arm ticks at 100 Hz; while `sending` a sample comes before every second tick, 5 ms old.
"""

from __future__ import annotations

from itertools import count
from typing import Any, cast

from proto.messages import ArmState, ArmTarget
from proto.reasons import Reason
from runtime.se3 import Pose, Quat, Vec3, vadd
from services.arm.core import ArmCore
from services.arm.driver import DriverInfo, Target
from services.arm.driver_thread import DriverThread
from services.arm.status import arm_state
from tests.unit.arm.fakes import FakeClock
from tests.unit.arm.make import HELD, hand, order, target
from tests.unit.arm.settings import arm_settings, driver_info, mapper_settings
from tests.unit.arm.stand_in import StandIn

MS = 1_000_000
TICK_NS = 10 * MS
AGE_NS = 5 * MS
FIRST_OFFER = 11


class Rig:
    """Starts DISARMED, drives off, nobody at the headset, like an arm on hardware."""

    def __init__(
        self,
        mode: str = "relative",
        engage_on: str = "command",
        arm: dict[str, Any] | None = None,
        **info: Any,
    ) -> None:
        self.clock = FakeClock()
        self.info: DriverInfo = driver_info(**info)
        self.robot = StandIn(self.clock, self.info)
        numbers = count(FIRST_OFFER)
        self.core = ArmCore(
            "right",
            arm_settings(**{"auto_arm": False, **(arm or {})}),
            mapper_settings(mode=mode, engage_on=engage_on, scale=1.0),
            self.info,
            cast(DriverThread, self.robot),
            1,
            lambda: next(numbers),
        )
        self.mode = mode
        self.sending = False
        self.tracked = True
        self.enable: bool | None = None
        self.clutch: int | None = None
        self.anchor_m: Vec3 = HELD[0]
        self.p_m: Vec3 = (0.0, 0.0, 0.0)  # the hand's way since the anchor
        self.q_xyzw: Quat = HELD[1]
        self.source: dict[str, int] = {}  # boot, ingest_boot, session
        self._ids = count(1)
        self._ticks = 0

    # --- time ----------------------------------------------------------------------------------

    @property
    def now_ns(self) -> int:
        return self.clock.ns

    def tick(self, ticks: int = 1, late_ms: float = 0.0) -> ArmState:
        for _ in range(ticks):
            self.clock.ns += TICK_NS
            self._ticks += 1
            if self.sending and self._ticks % 2 == 0:
                self.send()
            self.core.step(self.now_ns, round(late_ms * MS))
        return self.state()

    def state(self) -> ArmState:
        return arm_state(self.core, self.now_ns)

    def told(self) -> tuple[str, Reason]:
        state = self.state()
        return state.state, state.reason

    def reaches(self, state: str, ticks: int = 300) -> int:
        """Ticks until that state."""
        for tick in range(ticks):
            if self.core.machine.state == state:
                return tick
            self.tick()
        raise AssertionError(f"not {state} but {self.told()} after {ticks} ticks")

    # --- the hand ------------------------------------------------------------------------------

    def sample(self, **changes: Any) -> ArmTarget:
        """Of now, 5 ms old. Relative targets exist only while engaged."""
        posed = self.tracked and (self.clutch is not None or self.mode == "absolute")
        t_recv_ns = self.now_ns - AGE_NS
        facts: dict[str, Any] = {
            "mode": self.mode,
            "clutch_id": self.clutch,
            "engaged": self.clutch is not None,
            "t_recv_ns": t_recv_ns,
            "t_map_ns": t_recv_ns + MS,
            "t_send_s": t_recv_ns * 1e-9,
            "tracking_valid": self.tracked,
            "enable": self.enable,
            "target_p_base_tool_m": vadd(self.anchor_m, self.p_m) if posed else None,
            "target_q_base_tool_xyzw": self.q_xyzw if posed else None,
            **self.source,
        }
        return target(**{**facts, **changes})

    def send(self, **changes: Any) -> ArmTarget:
        message = self.sample(**changes)
        self.core.on_target(message, self.now_ns)
        return message

    def stream(self, ticks: int, v_mps: Vec3 = (0.0, 0.0, 0.0)) -> ArmState:
        """The hand moves and its samples come."""
        self.sending = True
        step = (v_mps[0] * 0.01, v_mps[1] * 0.01, v_mps[2] * 0.01)
        for _ in range(ticks):
            self.p_m = vadd(self.p_m, step)
            self.tick()
        return self.state()

    def press_stop(self, **changes: Any) -> None:
        """An e-stop bit, and the step that it brings about."""
        facts = {"estop": True, "tracking_valid": False, "p_vr_hand_m": None, "estop_count": 1}
        if self.core.on_hand_pose(hand(**{**facts, **changes}), self.now_ns):
            self.core.step(self.now_ns)

    # --- the operator --------------------------------------------------------------------------

    def post(self, verb: str, **args: Any) -> int:
        number = next(self._ids)
        command = order(verb, id=number, t_mono_ns=self.now_ns, args=args)
        if self.core.on_command(command, self.now_ns):
            self.core.step(self.now_ns)
        return number

    def ask(self, verb: str, ticks: int = 1, **args: Any) -> str:
        """The answer after so many ticks."""
        number = self.post(verb, **args)
        state = self.tick(ticks)
        assert state.last_command_id == number
        return state.last_command_result

    # --- where it should be --------------------------------------------------------------------

    def hold(self) -> Rig:
        """In HOLD, at rest, with no offer: nobody asked for one."""
        self.robot.drives_on = True
        self.tick()
        assert self.ask("arm", 3) == "ok"
        assert self.told() == ("HOLD", "not_engaged")
        return self

    def take_offer(self) -> None:
        """As the mapper would: anchored on the held pose, at the next tick."""
        state = self.state()
        assert state.clutch_offer is not None
        assert state.cmd_p_base_tool_m is not None
        self.clutch = state.clutch_offer
        if self.mode == "relative":
            self.anchor_m, self.p_m = state.cmd_p_base_tool_m, (0.0, 0.0, 0.0)
        self.send()
        self.tick()

    def engage(self) -> Rig:
        """From HOLD to ENGAGED by a command, then streaming."""
        self.post("engage")
        self.tick()
        self.take_offer()
        assert self.core.machine.state == "ENGAGED"
        self.sending = True
        return self

    # --- what the robot was given ----------------------------------------------------------------

    @property
    def command(self) -> Pose:
        assert self.core.motion.command is not None
        return self.core.motion.command

    def sent(self) -> list[Target]:
        return [pose[1] for pose in self.robot.poses]

    def stands(self, ticks: int) -> bool:
        """Whether nothing moves for so long."""
        first = len(self.robot.poses)
        self.tick(ticks)
        return len(set(self.sent()[max(0, first - 1) :])) <= 1

    def until_still(self, ticks: int = 200) -> Pose:
        for _ in range(ticks):
            if self.core.motion.at_rest:
                return self.command
            self.tick()
        raise AssertionError("it does not come to rest")
