"""What a reason code means for the person who reads it, and what to do. Pure."""

from __future__ import annotations

from typing import Final

from proto.messages import ArmState
from proto.reasons import Reason

# {side} is filled in. One sentence each, ending in the thing to do.
ADVICE: Final[dict[Reason, str]] = {
    "": "follows the hand",
    "estop": "e-stop latched: release the button, wait 1 s, then: python -m tools.arm reset",
    "fault": "the robot reports a fault: mend it, then: python -m tools.arm clear {side}",
    "sdk_hung": "the robot's SDK does not return; it may not have received the stop: use the"
    " button on the table, then restart: supervisorctl -c deploy/supervisord.conf restart"
    " arm-{side}",
    "driver_missing": "the robot or its SDK is not there: plug it in or install it; it is tried"
    " again by itself",
    "can_tx": "commands do not reach the robot: check the cable and python -m tools.doctor",
    "can_silent": "the robot sends no feedback: check power and cable, then:"
    " python -m tools.arm clear {side}",
    "not_following": "the robot does not follow its commands: look for an obstacle, then:"
    " python -m tools.arm engage {side}",
    "jump": "the hand's position jumped: hold still, then: python -m tools.arm engage {side}",
    "session_changed": "another headset or a restarted app: python -m tools.arm engage {side}",
    "upstream_restarted": "ingest or mapper restarted: python -m tools.arm engage {side}",
    "tick_late": "this computer was too slow: close other programs, then:"
    " python -m tools.arm engage {side}",
    "clock_domain": "messages come from another computer: run ingest, mapper and arm on one",
    "tracking_unstable": "tracking was lost more than five times in 10 s: better light or Wi-Fi,"
    " then: python -m tools.arm engage {side}",
    "not_configured": "this configuration has no {side} arm: add [arm.{side}] to it",
    "not_armed": "disarmed: python -m tools.arm arm {side}, then home {side}, then engage {side}",
    "not_engaged": "holding: python -m tools.arm engage {side}",
    "homing": "moving to its home pose; any other command ends it",
    "approach": "closing in on the hand slowly: hold still",
    "no_packets": "no packets from the headset: check its address and port, python -m tools.doctor",
    "not_allowed": "packets come from an address outside [network] allow: python -m tools.doctor",
    "stale": "no fresh packets from the headset: braking; check the Wi-Fi",
    "untracked": "the headset does not see the hand: braking; bring it back into view",
    "outside_box": "the hand points outside the workspace: move it back in",
    "clamped": "at the wall of the workspace: move back in",
    "speed_limited": "the hand is faster than the limit: slow down",
    "unreachable": "the robot cannot reach this pose: move another way",
}

# The hand was away for longer than a pause: the arm stands, and the hand must come back first.
LOST_AND_STOPPED: Final = (
    "stopped, since the hand was lost: bring it back, then: python -m tools.arm engage {side}"
)


def advice(state: ArmState) -> str:
    """One line: what the arm does, why, and what to do."""
    text = ADVICE[state.reason]
    if state.state == "PROTECTIVE_STOP" and state.reason in ("stale", "untracked", "no_packets"):
        text = LOST_AND_STOPPED
    text = text.format(side=state.side)
    detail = f" ({state.reason_detail})" if state.reason_detail else ""
    return f"{state.side}: {state.state} {state.reason or 'ok'}{detail}: {text}"
