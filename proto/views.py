"""Parts of messages, for readers on the hot path: only what they act on is decoded and checked.

A view has fields of one message under the same names; it is never sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from proto.messages import Message, Metres, Quat, Vec3
from proto.reasons import Reason, Side, State
from proto.units import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class HandStop(Message):
    """Of hand_pose: what the e-stop lane reads. A stop counts whatever else is wrong with it."""

    side: Side
    estop: bool
    estop_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmClutch(Message):
    """Of arm_state: what the mapper's clutch and wall test read."""

    side: Side
    state: State
    clutch_id: int | None
    clutch_offer: int | None
    slip_p_m: Metres
    cmd_p_base_tool_m: Annotated[Vec3 | None, Unit("m")]
    cmd_q_base_tool_xyzw: Annotated[Quat | None, Unit("quaternion")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmFeedback(Message):
    """Of arm_state: what the headset is told of its arm."""

    side: Side
    simulated: bool
    state: State
    reason: Reason
    predicting: bool = False
    braking: bool = False
    gripper_follows: bool = False
    meas_p_base_tool_m: Annotated[Vec3 | None, Unit("m")] = None
    meas_q_base_tool_xyzw: Annotated[Quat | None, Unit("quaternion")] = None
    meas_gripper_ratio: Annotated[float | None, Unit("ratio")] = None
    meas_q_rad: Annotated[tuple[float, ...] | None, Unit("rad")] = None
    latency_ms: Annotated[float | None, Unit("ms")] = None
