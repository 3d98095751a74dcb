"""Makes this moment's Situation from what the core knows. Reads, and consumes what came once.

Here stands what counts as a fault, as a cause to stop, as let go; what follows is the machine's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from proto.messages import OperatorCommand
from proto.reasons import Reason
from services.arm.desk import confirmed, verb_of
from services.arm.machine import LOST_HAND, POWERED
from services.arm.situation import Situation

if TYPE_CHECKING:
    from services.arm.core import ArmCore

TICK_LATE_NS: Final = 100_000_000


def situation(core: ArmCore, order: OperatorCommand | None, now_ns: int, late_ns: int) -> Situation:
    """All that the machine may know. `order` is served in this step, which came `late_ns` late."""
    conditions = core.conditions
    return Situation(
        now_ns=now_ns,
        estop=core.estop.take_stop(),
        estop_clear=core.estop.clear(now_ns),
        fault=_fault(core, order),
        protect=conditions.protect,
        protect_motion=_motion_cause(core, now_ns, late_ns),
        at_rest=core.motion.at_rest,
        drives_on=conditions.drives_on,
        feedback_ok=conditions.feedback_ok,
        verb=None if order is None else verb_of(order),
        verb_refused="" if order is None else _verb_refused(core, order),
        taken=bool(core.taken),
        let_go=_lets_go(core, now_ns),
        homed=core.motion.homed or core.stopping,
        enable_low=core.stream.enable_low,
        enable_rose=core.stream.take_enable_rise(),
        cause_stands=_cause_stands(core, now_ns),
    )


def _fault(core: ArmCore, order: OperatorCommand | None) -> Reason:
    """A fault that the robot itself reports goes away by `clear`, so it must not refuse it."""
    conditions, state = core.conditions, core.machine.state
    if conditions.fault:
        clears = order is not None and order.verb == "clear" and conditions.fault == "fault"
        return "" if clears and state == "FAULT" else conditions.fault
    return "fault" if state in POWERED and not conditions.drives_on else ""


def _motion_cause(core: ArmCore, now_ns: int, late_ns: int) -> Reason:
    if late_ns > TICK_LATE_NS:
        return "tick_late"
    if core.stream.clock_foreign(now_ns):
        return "clock_domain"
    return "not_following" if core.motion.not_following else core.engagement.cause


def _cause_stands(core: ArmCore, now_ns: int) -> bool:
    """Whether what the arm stopped for is still so, where that can be seen."""
    cause = core.machine.cause
    if cause == "clock_domain":
        return core.stream.clock_foreign(now_ns)
    if cause == "not_following":
        return core.motion.astray
    return cause in LOST_HAND and not core.stream.is_here(now_ns)


def _verb_refused(core: ArmCore, order: OperatorCommand) -> str:
    if core.stopping:
        return "the arm's process is stopping"
    drops = order.verb in core.info.drops_arm
    if drops and order.verb == "clear" and not confirmed(order):
        return "clear lets the arm drop: support it, then add --confirm-drop"
    if order.verb == "home" and not core.motion.can_home():
        return "the home pose is outside the workspace"
    return ""


def _lets_go(core: ArmCore, now_ns: int) -> bool:
    by_operator = core.offer.pedal_up(now_ns) or core.stream.enable_let_go
    return core.stopping or by_operator or core.engagement.let_go
