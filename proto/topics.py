"""Topic table: every name on the bus, its message, its rate and who publishes it.

A topic's endpoint is named after its publisher's family (`ingest`, `mapper`, `arm-right` …), so a
swapped program (`sim-arm-right` for `arm-right`) keeps its endpoint and nobody reconnects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from proto.messages import ArmState, ArmTarget, HandPose, Message, OperatorCommand, ServiceHealth

MAX_AGE_MS: Final = 100.0  # readers drop what is older; facts: stale commands after a stall


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic. `rate_hz` is the nominal rate, None for events."""

    name: str
    endpoint: str
    message: type[Message]
    rate_hz: float | None
    about: str


HAND_POSE_RIGHT: Final = Topic("hand_pose.right", "ingest", HandPose, 50.0, "validated hand sample")
HAND_POSE_LEFT: Final = Topic("hand_pose.left", "ingest", HandPose, 50.0, "validated hand sample")
ARM_TARGET_RIGHT: Final = Topic("arm_target.right", "mapper", ArmTarget, 50.0, "operator's wish")
ARM_TARGET_LEFT: Final = Topic("arm_target.left", "mapper", ArmTarget, 50.0, "operator's wish")
ARM_STATE_RIGHT: Final = Topic("arm_state.right", "arm-right", ArmState, 100.0, "one arm, whole")
ARM_STATE_LEFT: Final = Topic("arm_state.left", "arm-left", ArmState, 100.0, "one arm, whole")

HAND_POSES: Final = (HAND_POSE_RIGHT, HAND_POSE_LEFT)
ARM_TARGETS: Final = (ARM_TARGET_RIGHT, ARM_TARGET_LEFT)
ARM_STATES: Final = (ARM_STATE_RIGHT, ARM_STATE_LEFT)

TOPICS: Final[tuple[Topic, ...]] = (*HAND_POSES, *ARM_TARGETS, *ARM_STATES)

# Tools bind nothing: the arm binds PULL on `<endpoint>.command`, tools connect PUSH.
COMMAND_ENDPOINTS: Final[dict[str, str]] = {
    "right": "arm-right.command",
    "left": "arm-left.command",
}
COMMAND_MESSAGE: Final = OperatorCommand


def health_topic(family: str) -> Topic:
    """`service_health.<family>`, published by each service beside its own topics."""
    return Topic(f"service_health.{family}", family, ServiceHealth, 1.0, "a process on itself")
