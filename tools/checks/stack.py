"""The running stack: programs, services, arms, hands. Pure: judges what was observed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from proto.messages import ArmState
from proto.reasons import Side
from proto.registry import HEALTH_FAMILIES
from runtime.addresses import LOOPBACK
from runtime.exits import ProgramExits
from runtime.settings import Settings
from tools.advice import advice
from tools.checks.observe import ArmRecord, Observation
from tools.checks.row import Row, fail, graded, ok, warn
from tools.supervisor import Program

# Programs in these states are not running although nobody asked them to stop.
BROKEN_STATES: Final = ("FATAL", "BACKOFF", "EXITED", "UNKNOWN")
RATE_DOUBTFUL_RATIO: Final = 0.02
RATE_BAD_RATIO: Final = 0.10
MISSED_DOUBTFUL_RATIO: Final = 0.01
# The arm stops at the larger of 100 ms and 2.5 feedback periods, and faults at 500 ms or 5.
FEEDBACK_DOUBTFUL_MS: Final = 100.0
FEEDBACK_BAD_MS: Final = 500.0
QUIET_STATUS: Final = ("ok", "not_configured")


def program_rows(programs: Iterable[Program], exits: dict[str, ProgramExits]) -> list[Row]:
    """One row for each program in trouble, or one for all."""
    found = []
    count = 0
    for program in programs:
        count += 1
        trouble = exits[program.name]["reason"] if program.name in exits else None
        if program.state in BROKEN_STATES or trouble:
            says = f"{program.state}{f', {trouble}' if trouble else ''}: {program.about}"
            found.append(fail(program.name, says, f"see run/{program.name}.log"))
    return found or [ok("programs", f"{count}, none in trouble")]


def rows(seen: Observation, settings: Settings, listen: Sequence[str]) -> list[Row]:
    """Everything about a stack of which at least something was heard."""
    found = [service_row(seen, family) for family in HEALTH_FAMILIES]
    for side, arm in settings.arm.items():
        record = seen.arms.get(side)
        if record is None:
            why = f"supervisorctl -c deploy/supervisord.conf status arm-{side}"
            found.append(fail(f"arm {side}", "says nothing", f"{why}; see run/arm-{side}.log"))
        else:
            found += arm_rows(record, arm.control_hz)
    found += hand_rows(seen, settings)
    found.append(authenticated_row(seen, listen))
    return found


def service_row(seen: Observation, family: str) -> Row:
    """Alive, idle or silent."""
    health = seen.health.get(family)
    if health is None:
        fix = f"supervisorctl -c deploy/supervisord.conf status; see run/{family}.log"
        return fail(family, "silent", fix)
    says = f"{health.status}{f' ({health.reason})' if health.reason else ''}, process {health.pid}"
    if health.status in QUIET_STATUS:
        return ok(family, says)
    return warn(family, says, f"see run/{health.name}.log")


def arm_rows(record: ArmRecord, control_hz: float) -> list[Row]:
    """State, rate and feedback of one arm."""
    state = record.newest
    return [state_row(state), rate_row(record, control_hz), feedback_row(state)]


def state_row(state: ArmState) -> Row:
    """What it does and why, with the thing to do."""
    name = f"arm {state.side}"
    _, _, says = advice(state).partition(": ")
    if state.state in ("HOLD", "HOMING", "ENGAGED"):
        return ok(name, says)
    fix = f"python -m tools.arm status {state.side}"
    return graded(name, says, fix, bad=state.state == "FAULT", doubtful=True)


def rate_row(record: ArmRecord, control_hz: float) -> Row:
    """Commands a second against the configuration."""
    name = f"arm {record.newest.side} rate"
    rate_hz = record.rate_hz()
    if rate_hz is None:
        return fail(name, f"too few states to tell a rate; {control_hz:g} Hz wanted", _SLOW)
    missed = record.newest.missed_ticks - record.first.missed_ticks
    off_ratio = abs(rate_hz / control_hz - 1.0)
    says = f"{rate_hz:.1f} Hz of {control_hz:g}, {missed} ticks missed meanwhile"
    bad = off_ratio > RATE_BAD_RATIO
    doubtful = off_ratio > RATE_DOUBTFUL_RATIO or missed > MISSED_DOUBTFUL_RATIO * record.count
    return graded(name, says, _SLOW, bad=bad, doubtful=doubtful)


_SLOW: Final = (
    "close other programs, see the real-time row, or lower CONTROL_HZ (or the stack was started"
    " with another configuration than this shell's)"
)


def feedback_row(state: ArmState) -> Row:
    """How old the robot's own word is."""
    name = f"arm {state.side} feedback"
    age_ms = state.feedback_age_ms
    if age_ms is None:
        return warn(name, f"none from driver {state.driver}", "check power and cable of the robot")
    return graded(
        name,
        f"{age_ms:.0f} ms old",
        "check power and cable of the robot, and the load of its bus",
        bad=age_ms >= FEEDBACK_BAD_MS,
        doubtful=age_ms >= FEEDBACK_DOUBTFUL_MS,
    )


def hand_rows(seen: Observation, settings: Settings) -> list[Row]:
    """Which hands are seen, and whose packets were turned away."""
    found = [_hand_row(seen, side) for side in settings.arm]
    ingest = seen.health.get("ingest")
    counters = ingest.counters if ingest is not None else {}
    strangers = sum(count for name, count in counters.items() if name.startswith("not_allowed"))
    if strangers:
        fix = "add the sender's network to [network] allow in config/local.toml, restart ingest"
        found.append(warn("allow", f"{strangers} packets came from outside", fix))
    return found


def _hand_row(seen: Observation, side: Side) -> Row:
    name = f"hand {side}"
    hand = seen.hands.get(side)
    if hand is None:
        return warn(name, "no packets", "type the address of the headset row into the app")
    if not hand.tracking_valid:
        return warn(name, "packets, but the hand is not tracked", "bring it into view")
    return ok(name, "tracked")


def authenticated_row(seen: Observation, listen: Sequence[str]) -> Row:
    """Whether packets prove who sent them."""
    if seen.hands and all(hand.authenticated for hand in seen.hands.values()):
        return ok("authenticated", "authenticated: true")
    says = "authenticated: false (packets are not signed)"
    if all(address == LOOPBACK for address in listen):
        return ok("authenticated", f"{says}, and come from this machine only")
    fix = "keep the robot's network to yourself: whoever is inside `allow` can move the robot"
    return warn("authenticated", says, fix)
