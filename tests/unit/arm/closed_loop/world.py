"""Ingest's hand, the mapper's side, the arm's core and the simulated robot, one after another."""

from __future__ import annotations

from typing import Any, TypeVar

from proto.messages import ArmState, ArmTarget, HandPose, Message
from proto.views import ArmClutch
from runtime.settings import ArmSettings, MapperSettings
from services.arm.core import ArmCore
from services.arm.driver import StopKind, Target
from services.arm.driver_thread import DriverThread
from services.arm.drivers.sim import SimDriver
from services.arm.drivers.sim_options import SimOptions
from services.arm.mailbox import DriverVerb
from services.arm.status import arm_state
from services.ingest.allow import AllowList
from services.ingest.hand import Hand, Sample, Stop
from services.mapper.side import SideMapper
from tests.unit.arm.closed_loop.dice import Dice
from tests.unit.arm.closed_loop.headset import Headset
from tests.unit.arm.fakes import FakeClock
from tests.unit.arm.make import order
from tests.unit.arm.settings import arm_settings, mapper_settings

TICK_NS = 10_000_000
ADDRESS = ("127.0.0.1", 40_000)
M = TypeVar("M", bound=Message)


class Pumped(DriverThread):
    """The real thing without its thread: does what waits, at once and when asked."""

    waits = False

    def submit_pose(self, target: Target, tag: int) -> bool:
        taken = super().submit_pose(target, tag)
        self.waits |= taken
        return taken

    def submit_stop(self, kind: StopKind) -> bool:
        taken = super().submit_stop(kind)
        self.waits |= taken
        return taken

    def submit_verb(self, verb: DriverVerb, confirm_drop: bool = False) -> bool:
        taken = super().submit_verb(verb, confirm_drop)
        self.waits |= taken
        return taken

    def pump(self) -> None:
        if self.waits or self.next_wake_s() <= 0.0:
            self.waits = False
            self.step()


class World:
    """`states` grows by one message a step of the arm. Everything is of one side."""

    def __init__(self, seed: int, mode: str, engage_on: str, replays: bool) -> None:
        self.rng = Dice(seed)
        self._draws = Dice(seed, "numbers of sessions and offers")
        self._replay_rng = Dice(seed, "replays") if replays else None
        self.clock = FakeClock()
        self.arm: ArmSettings = arm_settings()
        # Absolute: a hand in the middle points at the home pose.
        self.mapper: MapperSettings = mapper_settings(
            mode=mode,
            engage_on=engage_on,
            position_offset_m=(0.25, 0.0, 0.25),
            rotation_offset_deg=(0.0, 85.0, 0.0),
        )
        self.headset = Headset(self.rng, self.clock.ns)
        self.boots = {"ingest": 1, "mapper": 2, "arm": 3}
        self.paused_until_ns = 0  # of the driver's thread
        self.states: list[ArmState] = []
        self.newest_hand_ns = 0  # receive stamp of the newest tracked sample that the arm was given
        self.asked: dict[int, str] = {}
        self._given: list[ArmTarget] = []
        self._ids = 0
        self.restart_ingest()
        self.restart_mapper()
        self.restart_arm()

    # --- processes -----------------------------------------------------------------------------

    def restart_ingest(self) -> None:
        self.boots["ingest"] += 10
        self.hand = Hand(AllowList(["127.0.0.0/8"]), self._draws.next_u64)

    def restart_mapper(self) -> None:
        self.boots["mapper"] += 10
        self.side = SideMapper(self.mapper, self.arm)

    def restart_arm(self) -> None:
        """The robot loses its program with it: it stands at its home again."""
        self.boots["arm"] += 10
        self.robot = SimDriver(SimOptions(feedback_period_s=0.005), self.clock)
        self.thread = Pumped(self.robot, self.clock)
        self.core = ArmCore(
            "right",
            self.arm,
            self.mapper,
            self.robot.info,
            self.thread,
            self.boots["arm"],
            self._draws.next_u64,
        )

    def ask(self, verb: str, **args: Any) -> None:
        """An operator's order to the arm as it runs now."""
        self._ids += 1
        self.asked[self._ids] = verb
        command = order(
            verb,
            id=self._ids,
            to_boot=self.boots["arm"],
            t_mono_ns=self.clock.ns,
            args=args,
        )
        if self.core.on_command(command, self.clock.ns):
            self._step(0)

    # --- time ----------------------------------------------------------------------------------

    def tick(self, late_ns: int = 0) -> None:
        """One period and what arrives in it; the tick comes so much after its deadline."""
        until_ns = self.clock.ns + TICK_NS + late_ns
        self.headset.frames_until(until_ns)
        arrived = self.headset.network.arrived(until_ns)
        for arrival_ns, data in arrived:
            # A stalled process reads it all when it wakes; stamps are the kernel's.
            self.clock.ns = until_ns if late_ns else max(self.clock.ns, arrival_ns)
            self._receive(data, arrival_ns)
        self.clock.ns = until_ns
        self._step(late_ns)
        if self.clock.ns >= self.paused_until_ns:
            self.thread.pump()

    def _step(self, late_ns: int) -> None:
        self.core.step(self.clock.ns, late_ns)
        state = arm_state(self.core, self.clock.ns)
        self.states.append(_sent_by(state, self.boots["arm"]))
        clutch = ArmClutch(
            boot=state.boot,
            side=state.side,
            state=state.state,
            clutch_id=state.clutch_id,
            clutch_offer=state.clutch_offer,
            slip_p_m=state.slip_p_m,
            cmd_p_base_tool_m=state.cmd_p_base_tool_m,
            cmd_q_base_tool_xyzw=state.cmd_q_base_tool_xyzw,
        )
        self.side.on_arm_state(clutch, self.clock.ns)

    def _receive(self, data: bytes, t_recv_ns: int) -> None:
        result = self.hand.receive(data, ADDRESS, t_recv_ns, self.clock.ns)
        if result is None:
            return
        pose = self._pose(result)
        if self.core.on_hand_pose(pose, self.clock.ns):
            self._step(0)
        target = self.side.on_hand_pose(pose, self.clock.ns)
        self._give(_sent_by(target, self.boots["mapper"]))

    def _pose(self, result: Sample | Stop) -> HandPose:
        packet = result.packet if isinstance(result, Sample) else None
        return HandPose(
            boot=self.boots["ingest"],
            side="right",
            session=self.hand.lease.session,
            t_send_s=None if packet is None else packet.t_send_s,
            t_recv_ns=result.t_recv_ns,
            p_vr_hand_m=None if packet is None else packet.p_vr_hand_m,
            q_vr_hand_xyzw=None if packet is None else packet.q_vr_hand_xyzw,
            gripper_ratio=None if packet is None else packet.gripper_ratio,
            tracking_valid=packet is not None and packet.tracking_valid,
            enable=None,
            estop=packet is None or self.hand.estop.level(self.clock.ns),
            estop_count=self.hand.estop.count,
            authenticated=False,
            jump=isinstance(result, Sample) and result.jump,
        )

    def _give(self, target: ArmTarget) -> None:
        if target.tracking_valid:
            self.newest_hand_ns = max(self.newest_hand_ns, target.t_recv_ns)
        self.core.on_target(target, self.clock.ns)
        if self._replay_rng is None:
            return
        if self._given and self._source(self._given[-1]) != self._source(target):
            self._given.clear()
        self._given = [*self._given[-20:], target]
        for _ in range(self._replay_rng.below(3)):
            self.core.on_target(self._replay_rng.pick(self._given), self.clock.ns)

    @staticmethod
    def _source(target: ArmTarget) -> tuple[int, int, int]:
        return target.boot, target.ingest_boot, target.session


def _sent_by(message: M, boot: int) -> M:
    """With the header a publisher would put on; dataclasses.replace takes ten times longer."""
    object.__setattr__(message, "boot", boot)
    return message
