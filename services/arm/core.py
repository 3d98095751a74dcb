"""One arm, one moment at a time: inputs in, one command out. No sockets, no clock of its own.

Data flow of a step: conditions and follower → state machine → motion (limits, gate) → driver.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from proto.messages import ArmTarget, HandPose, OperatorCommand, Quat, Vec3
from proto.reasons import Reason, Side
from runtime.clock import NS_PER_S
from runtime.settings import ArmSettings, MapperSettings
from services.arm import approach
from services.arm.conditions import Conditions, Judge
from services.arm.desk import Desk, hold_ms_of, verb_of
from services.arm.driver import DriverInfo
from services.arm.driver_report import DriverReport
from services.arm.driver_thread import DriverThread
from services.arm.engagement import Engagement
from services.arm.estop import EstopLane
from services.arm.machine import MOVING, Machine, Rules, Situation
from services.arm.motion import Motion
from services.arm.offer import REFUSED, Offer

TICK_LATE_NS: Final = 100_000_000
FOREIGN_HOST_NS: Final = 1_000_000_000
# Longest time a step may count as motion: after a stall the arm does not catch up at once.
MAX_STEP_PERIODS: Final = 2


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
        self.estop = EstopLane()
        self.judge = Judge(info)
        self.motion = Motion(arm, info)
        self.engagement = Engagement(arm, mapper)
        self.report: DriverReport = driver.report()
        self.conditions = Conditions()
        self.target: ArmTarget | None = None
        self.t_target_ns = 0
        self.missed_ticks = 0
        self.latency_ms: float | None = None
        self.stopping = False
        self._period_ns = NS_PER_S / arm.control_hz
        self._taken: list[ArmTarget] = []
        self._estop_pending = False
        self._enable_rose = False
        self._enable_asked = False
        self._foreign_host_ns: int | None = None
        self._last_step_ns: int | None = None
        self._timed_tag = 0

    # --- inputs ----------------------------------------------------------------------------------

    def on_hand_pose(self, hand: HandPose, now_ns: int) -> bool:
        """The e-stop lane; True: step at once."""
        stop = self.estop.on_hand_pose(hand, now_ns)
        self._estop_pending |= stop
        return stop

    def on_command(self, command: OperatorCommand, now_ns: int) -> bool:
        """An operator's order; True: step at once (an e-stop)."""
        return self.desk.take_in(command, now_ns)

    def on_foreign_host(self, now_ns: int) -> None:
        """Targets come from another machine, whose stamps cannot be compared with ours."""
        self._foreign_host_ns = now_ns

    def on_target(self, target: ArmTarget, now_ns: int) -> None:
        """One message of the mapper, in order."""
        was_low = self.target is not None and self.target.enable is False
        self._enable_rose |= was_low and target.enable is True
        self.target = target
        self.t_target_ns = now_ns
        self.offer.on_enable(target.enable, now_ns)
        command = self.motion.command
        if self.engagement.active and command is not None:
            self.engagement.on_target(target, now_ns, command)
        elif self._taken or self._takes(target, now_ns):
            self._taken.append(target)

    def _takes(self, target: ArmTarget, now_ns: int) -> bool:
        held = self.motion.command
        if self.machine.state != "HOLD" or held is None or self.stopping:
            return False
        if not self.offer.taken_by(target, held[0], held[1], now_ns):
            return False
        refused = approach.refusal(target, held) if target.mode == "absolute" else ""
        if refused:
            self.desk.settle(f"refused: {refused}")
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
        order = self.desk.next()
        before = self.machine.state
        answer = self.machine.step(self._situation(now_ns, late_ns, order))
        if order is not None:
            self._answer(order, answer, now_ns)
        if self.machine.state != before:
            self._changed(now_ns)
        self._keep_offer(now_ns)
        self._keep_arming()
        self._move(now_ns, dt_s, wish)

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

    def _situation(self, now_ns: int, late_ns: int, order: OperatorCommand | None) -> Situation:
        conditions = self.conditions
        estop, self._estop_pending = self._estop_pending, False
        rose, self._enable_rose = self._enable_rose, False
        return Situation(
            now_ns=now_ns,
            estop=estop,
            estop_clear=self.estop.clear(now_ns),
            fault=self._fault(order),
            protect=conditions.protect,
            protect_motion=self._motion_cause(now_ns, late_ns),
            at_rest=self.motion.at_rest,
            drives_on=conditions.drives_on,
            feedback_ok=conditions.feedback_ok,
            verb=None if order is None else verb_of(order),
            verb_refused="" if order is None else self._verb_refused(order),
            taken=bool(self._taken),
            let_go=self._lets_go(now_ns),
            homed=self.motion.homed or self.stopping,
            enable_low=self.target is not None and self.target.enable is False,
            enable_rose=rose,
            cause_stands=self._cause_stands(now_ns),
        )

    def _fault(self, order: OperatorCommand | None) -> Reason:
        """A fault that the robot itself reports goes away by `clear`, so it must not refuse it."""
        conditions = self.conditions
        if conditions.fault:
            if conditions.fault == "fault" and order is not None and order.verb == "clear":
                return ""
            return conditions.fault
        powered = self.machine.state not in ("DISARMED", "ESTOP_LATCHED", "FAULT")
        return "fault" if powered and not conditions.drives_on else ""

    def _motion_cause(self, now_ns: int, late_ns: int) -> Reason:
        if late_ns > TICK_LATE_NS:
            return "tick_late"
        if self.clock_foreign(now_ns):
            return "clock_domain"
        return "not_following" if self.motion.not_following else self.engagement.cause

    def clock_foreign(self, now_ns: int) -> bool:
        """Whether targets of another machine were seen in the last second."""
        seen_ns = self._foreign_host_ns
        return seen_ns is not None and now_ns - seen_ns < FOREIGN_HOST_NS

    def _cause_stands(self, now_ns: int) -> bool:
        """Lost hands and links are back only when fresh tracked targets are."""
        cause = self.machine.cause
        if cause == "clock_domain":
            return self.clock_foreign(now_ns)
        if cause not in ("stale", "untracked", "no_packets"):
            return False
        return not self.hand_is_here(now_ns)

    def hand_is_here(self, now_ns: int) -> bool:
        """Whether a tracked sample younger than 200 ms is known."""
        target = self.target
        return (
            target is not None and target.tracking_valid and now_ns - target.t_recv_ns < 200_000_000
        )

    def _verb_refused(self, order: OperatorCommand) -> str:
        if self.stopping:
            return "the arm's process is stopping"
        drops = order.verb in self.info.drops_arm
        if drops and order.verb == "clear" and not order.args.get("confirm_drop"):
            return "clear lets the arm drop: support it, then add --confirm-drop"
        if order.verb == "home" and not self.motion.can_home():
            return "the home pose is outside the workspace"
        return ""

    def _lets_go(self, now_ns: int) -> bool:
        pedal_ns = self.offer.pedal_until_ns
        pedal_up = pedal_ns is not None and now_ns >= pedal_ns
        target = self.target
        released = (
            self.mapper.engage_on == "enable_bit" and target is not None and target.enable is False
        )
        return self.stopping or pedal_up or released or self.engagement.let_go

    @property
    def stopped(self) -> bool:
        """Whether a stopping arm stands still, with its last command handed over."""
        moving = self.machine.state in MOVING
        return not moving and self.motion.at_rest and self.report.in_flight_ns == 0

    # --- consequences ----------------------------------------------------------------------------

    def _answer(self, order: OperatorCommand, answer: str, now_ns: int) -> None:
        self.desk.answer(order.id, answer)
        if order.verb == "estop" and order.args.get("hard"):
            self.driver.submit_stop("ESTOP")
        if not answer.startswith("refused"):
            self._granted(order, now_ns)

    def _granted(self, order: OperatorCommand, now_ns: int) -> None:
        confirmed = bool(order.args.get("confirm_drop"))
        if order.verb == "engage":
            self.offer.on_engage_command(now_ns, hold_ms_of(order), self.engagement.active)
        elif order.verb == "clear":
            self.driver.submit_verb("clear", confirm_drop=confirmed)
        elif order.verb == "disarm" and confirmed:
            self.driver.submit_verb("disable", confirm_drop=True)

    def _changed(self, now_ns: int) -> None:
        after = self.machine.state
        taken, self._taken = self._taken, []
        if after == "ENGAGED":
            self._engaged(taken, now_ns)
            return
        self.engagement.end()
        if after == "HOLD":
            self._held()
        else:
            self.offer.leave()
            self.desk.settle(f"refused: {self.machine.cause or after}")
        if after == "ESTOP_LATCHED" and self.arm.estop_action == "damp":
            self.driver.submit_stop("ESTOP")
        silent = after == "FAULT" and not self.info.hold_stream_in_fault
        if after == "DISARMED" or silent:
            self.motion.unseat()

    def _held(self) -> None:
        self.offer.enter_hold()
        if self.motion.command is None and self.report.state is not None:
            self.motion.seat(self.report.state)

    def _engaged(self, taken: list[ArmTarget], now_ns: int) -> None:
        held = self.motion.command
        if held is None or not taken:
            return
        self.desk.settle("ok")
        self.offer.engaged()
        self.engagement.begin(taken[0], now_ns, held)
        for target in taken[1:]:
            self.engagement.on_target(target, now_ns, held)

    def _keep_offer(self, now_ns: int) -> None:
        self.clutch_offer = None
        self._taken = []
        if self.machine.state != "HOLD" or self.stopping:
            return
        needs_engage = self.machine.needs_engage
        self.clutch_offer = self.offer.in_hold(now_ns, self.motion.at_rest, needs_engage)
        if self.offer.window_ended(now_ns):
            self.desk.settle(REFUSED)

    def _keep_arming(self) -> None:
        if not self.machine.arming:
            self._enable_asked = False
        elif not self.conditions.drives_on and not self._enable_asked:
            self._enable_asked = self.driver.submit_verb("enable")

    def _move(self, now_ns: int, dt_s: float, wish: tuple[Vec3, Quat] | None) -> None:
        if self.motion.command is None:
            return
        state = self.machine.state
        if state == "ENGAGED" and wish is not None:
            self.engagement.on_limited(
                wish, self.motion.follow(wish, dt_s, slow=self.engagement.slow)
            )
        elif state == "HOMING":
            self.motion.home(dt_s)
        else:
            self.motion.brake(dt_s, hard=state == "ESTOP_LATCHED")
        ratio = self.engagement.gripper_ratio if state == "ENGAGED" else None
        self.motion.grip(ratio, dt_s)
        target = self.motion.gated(now_ns, state)
        if target is not None:
            self.driver.submit_pose(target, self.engagement.t_recv_ns or 0)
