"""One arm, one moment at a time: inputs in, one command out. No sockets, no clock of its own.

Data flow of a step: conditions and follower → state machine → motion (limits, gate) → driver.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from proto.messages import ArmTarget, HandPose, OperatorCommand
from proto.reasons import Side
from proto.views import HandStop
from runtime.clock import NS_PER_S
from runtime.se3 import Pose
from runtime.settings import ArmSettings, MapperSettings
from services.arm import approach
from services.arm.assess import situation
from services.arm.conditions import Conditions, Judge
from services.arm.desk import Desk, confirmed, hold_ms_of, is_hard
from services.arm.driver import DriverInfo
from services.arm.driver_report import DriverReport
from services.arm.driver_thread import DriverThread
from services.arm.engagement import Engagement
from services.arm.errands import Errands, Ordered
from services.arm.estop import EstopLane
from services.arm.machine import MOVING, Machine
from services.arm.motion import Motion
from services.arm.offer import Offer
from services.arm.situation import Rules
from services.arm.stream import Stream

# Longest time a step may count as motion: after a stall the arm does not catch up at once.
MAX_STEP_PERIODS: Final = 2
# A stopping arm is done after so many steps at rest: the last command was taken by then.
STOPPED_STEPS: Final = 2
# A person who reads the status must see why.
REFUSAL_SHOWN_NS: Final = 2_000_000_000
UNFIT: Final = "the hand must be tracked and slower than 0.3 m/s for 0.5 s"


class ArmCore:
    """State, clutch, motion and answers of one arm."""

    def __init__(
        self,
        side: Side,
        arm: ArmSettings,
        mapper: MapperSettings,
        info: DriverInfo,
        driver: DriverThread,
        boot: int,
        draw_u64: Callable[[], int],
    ) -> None:
        self.side: Side = side
        self.arm = arm
        self.mapper = mapper
        self.info = info
        self.driver = driver
        self.machine = Machine(
            Rules(
                engage_on=mapper.engage_on,
                auto_arm=arm.auto_arm,
                simulated=info.simulated,
                clear_needed_after_estop=info.clear_needed_after_estop,
            )
        )
        self.offer = Offer(mapper.engage_on, draw_u64)
        self.clutch_offer: int | None = None
        self.desk = Desk(boot)
        self.errands = Errands(driver)
        self.estop = EstopLane()
        self.judge = Judge(info)
        self.stream = Stream(mapper)
        self.motion = Motion(arm, info)
        self.engagement = Engagement(arm, mapper)
        self.report: DriverReport = driver.report()
        self.conditions = Conditions()
        self.missed_ticks = 0
        self.latency_ms: float | None = None
        self.stopping = False
        self._refused = ("", 0)  # why the newest engage came to nothing, and when
        self._period_ns = NS_PER_S / arm.control_hz
        self.taken: list[ArmTarget] = []  # targets that took the offer, since the last step
        self._last_step_ns: int | None = None
        self._timed_tag = 0
        self._rest_steps = 0

    # --- inputs ----------------------------------------------------------------------------------

    def on_hand_pose(self, hand: HandPose | HandStop, now_ns: int) -> bool:
        """The e-stop lane; True: step at once."""
        return self.estop.on_hand_pose(hand, now_ns)

    def on_command(self, command: OperatorCommand, now_ns: int) -> bool:
        """An operator's order; True: step at once (an e-stop)."""
        return self.desk.take_in(command, now_ns)

    def on_foreign_host(self, now_ns: int) -> None:
        """Targets come from another machine, whose stamps cannot be compared with ours."""
        self.stream.on_foreign_host(now_ns)

    def on_target(self, target: ArmTarget, now_ns: int) -> None:
        """One message of the mapper, in order."""
        if not self.stream.take(target):
            return
        self.offer.on_enable(target.enable, now_ns)
        command = self.motion.command
        if self.engagement.active and command is not None:
            self.engagement.on_target(target, now_ns, command)
        elif self.taken or self._takes(target, now_ns):
            self.taken.append(target)

    def _takes(self, target: ArmTarget, now_ns: int) -> bool:
        held = self.motion.command
        if self.machine.state != "HOLD" or held is None or self.stopping:
            return False
        if target.mode != self.mapper.mode or not self.offer.taken_by(target, *held, now_ns):
            return False
        refused = approach.refusal(target, held) if target.mode == "absolute" else ""
        if refused:
            self._refuse_engage(refused, now_ns)
        return not refused

    # --- one moment ------------------------------------------------------------------------------

    def step(self, now_ns: int, late_ns: int = 0, missed: int = 0) -> None:
        """Reads the driver, decides, moves, commands. `late_ns`: this tick after its deadline."""
        dt_s = self._dt_s(now_ns)
        self.missed_ticks += missed
        self.report = self.driver.report()
        self.conditions = self.judge.judge(self.report, now_ns, late_ns)
        self.motion.learn(self.report.state)
        self._note_latency()
        wish = self.engagement.wish(now_ns, self.motion.command)
        order = self.desk.next(now_ns)
        before, was_arming = self.machine.state, self.machine.arming
        moment = situation(self, order, now_ns, late_ns)
        answer = self.machine.step(moment)
        if moment.estop or moment.verb == "estop":
            self.desk.flush("estop")
        if order is not None:
            self._answer(order, answer, now_ns)
        if self.machine.state != before:
            self._changed(now_ns)
        if was_arming and not self.machine.arming:
            self._tell_arming()
        self._run_errands(now_ns)
        self._keep_offer(now_ns)
        self._move(now_ns, dt_s, wish)
        self._rest_steps = self._rest_steps + 1 if self.motion.at_rest else 0

    def _note_latency(self) -> None:
        """Of each sample's first command; that a pose is sent again adds no latency."""
        tag = self.report.tag
        if tag and tag != self._timed_tag:
            self._timed_tag = tag
            self.latency_ms = (self.report.t_return_ns - tag) * 1e-6

    def _dt_s(self, now_ns: int) -> float:
        since_ns = 0 if self._last_step_ns is None else now_ns - self._last_step_ns
        self._last_step_ns = now_ns
        return min(since_ns, MAX_STEP_PERIODS * self._period_ns) * 1e-9

    @property
    def stopped(self) -> bool:
        """Whether a stopping arm stands still, with its last command handed over."""
        still = self.machine.state not in MOVING and self._rest_steps >= STOPPED_STEPS
        return still and self.report.in_flight_ns == 0

    # --- consequences ----------------------------------------------------------------------------

    def _answer(self, order: OperatorCommand, answer: str, now_ns: int) -> None:
        self.desk.answer(order, answer)
        if order.verb == "estop":
            if is_hard(order):
                self._vendor_stop()
        elif not answer.startswith("refused"):
            self._granted(order, now_ns)

    def _granted(self, order: OperatorCommand, now_ns: int) -> None:
        if order.verb == "engage":
            self.offer.on_engage_command(now_ns, hold_ms_of(order), self.engagement.active)
        elif order.verb == "release":
            self.offer.withdraw()
        elif order.verb == "arm":
            self.errands.drop("disable")
        elif order.verb == "clear":
            self._run(order, "clear", now_ns)
        elif order.verb == "disarm" and confirmed(order):
            self._run(order, "disable", now_ns)

    def _run(self, order: OperatorCommand, verb: Ordered, now_ns: int) -> None:
        self.errands.order(verb, confirmed(order), now_ns)
        self.desk.answer(order, "pending")

    def _vendor_stop(self) -> None:
        """A pose after it would drive a robot on that was told to let go."""
        self.driver.submit_stop("ESTOP")
        self.machine.vendor_stopped = True
        self.motion.end()

    def _changed(self, now_ns: int) -> None:
        after, held = self.machine.state, self.motion.command
        if after == "ENGAGED" and held is not None:
            self._engaged(held, now_ns)
            return
        self.engagement.end()
        if after == "HOLD":
            self.offer.enter_hold()
            self.motion.start()
            return
        self.offer.leave()
        self.desk.settle("engage", f"refused: {self.machine.cause or after}")
        if after != "DISARMED" and self.errands.drop():
            self._tell_errand(f"refused: {self.machine.cause or after}")
        if after == "ESTOP_LATCHED" and self.arm.estop_action == "damp":
            self._vendor_stop()
        silent = after == "FAULT" and not self.info.hold_stream_in_fault
        if after == "DISARMED" or silent:
            self.motion.end()

    def _engaged(self, held: Pose, now_ns: int) -> None:
        self.offer.engaged()
        self.desk.settle("engage", "ok")
        self.engagement.begin(self.taken[0], now_ns, held)
        for target in self.taken[1:]:
            self.engagement.on_target(target, now_ns, held)

    def refusal(self, now_ns: int) -> str:
        """Why an engage came to nothing a moment ago, "" if none did."""
        why, then_ns = self._refused
        return why if now_ns - then_ns < REFUSAL_SHOWN_NS else ""

    def _refuse_engage(self, why: str, now_ns: int) -> None:
        """What was told to come to nothing does: an offer on its way is withdrawn."""
        self._refused = (why, now_ns)
        self.desk.settle("engage", f"refused: {why}")
        self.machine.engage_refused()
        self.offer.withdraw()

    def _keep_offer(self, now_ns: int) -> None:
        self.clutch_offer = None
        self.taken = []
        if self.machine.state != "HOLD" or self.stopping:
            return
        if self.offer.window_ended(now_ns):
            up = self.offer.pedal_up(now_ns)
            why = "the pedal came up" if up else self.stream.lacks(now_ns) or "moving or settling"
            self._refuse_engage(f"{UNFIT} ({why})", now_ns)
        needs_engage = self.machine.needs_engage
        self.clutch_offer = self.offer.in_hold(now_ns, self.motion.at_rest, needs_engage)

    def _tell_arming(self) -> None:
        conditions, machine = self.conditions, self.machine
        if machine.state == "HOLD":
            self.desk.settle("arm", "ok")
            return
        why = machine.cause or conditions.detail or conditions.fault or conditions.protect
        self.desk.settle("arm", f"refused: {why or 'the drives do not switch on'}")

    def _run_errands(self, now_ns: int) -> None:
        enable = self.machine.arming and not self.conditions.drives_on and not self.stopping
        ended = self.errands.step(self.report, now_ns, enable=enable)
        if ended:
            self._tell_errand(ended)

    def _tell_errand(self, result: str) -> None:
        self.desk.settle("clear", result)
        self.desk.settle("disarm", result)

    def _move(self, now_ns: int, dt_s: float, wish: Pose | None) -> None:
        state = self.machine.state
        if state == "ENGAGED" and wish is not None:
            made = self.motion.follow(wish, dt_s, slow=self.engagement.slow)
            self.engagement.on_limited(wish, made.inside, made.limited)
        elif state == "HOMING":
            self.motion.home(dt_s)
        else:
            self.motion.brake(dt_s, hard=state == "ESTOP_LATCHED")
        self.motion.grip(self.engagement.gripper_ratio if state == "ENGAGED" else None, dt_s)
        target = self.motion.gated(now_ns, state)
        if target is not None:
            self.driver.submit_pose(target, self.engagement.t_recv_ns or 0)
