"""Every message on the bus, each declared once. Never rename, re-type or re-use a field.

New fields are optional with a default. `None` means "not known": null in msgpack, absent in JSON.
Frames, mapping formulas and signs: docs/frames.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from proto.reasons import Reason, Side, State
from proto.units import Unit

Vec3 = tuple[float, float, float]
Quat = tuple[float, float, float, float]

Metres = Annotated[Vec3, Unit("m")]
Rotation = Annotated[Quat, Unit("quaternion")]
Ratio = Annotated[float, Unit("ratio")]
Ms = Annotated[float, Unit("ms")]
Ns = Annotated[int, Unit("ns")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """Header of every message; the publisher fills it in.

    `boot` is drawn anew at each start of the sending process, `host` tells whether monotonic
    stamps may be compared (a hash of the kernel's boot id), `seq` counts per topic from 1.
    """

    v: int = 1
    seq: int = 0
    boot: int = 0
    host: int = 0
    t_mono_ns: Ns = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HandPose(Message):
    """One hand sample after validation, or a bare stop: `estop` true and a null pose."""

    side: Side
    session: int
    t_send_s: Annotated[float | None, Unit("s")]
    t_recv_ns: Ns
    p_vr_hand_m: Annotated[Vec3 | None, Unit("m")]
    q_vr_hand_xyzw: Annotated[Quat | None, Unit("quaternion")]
    gripper_ratio: Annotated[float | None, Unit("ratio")]
    tracking_valid: bool
    enable: bool | None
    estop: bool
    estop_count: int
    authenticated: bool
    jump: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmTarget(Message):
    """What the operator wishes for one arm, in that arm's base frame.

    The target is null whenever the sample has none (untracked, stop, not engaged in relative
    mode). `unclamped_outside_mm` of the absolute engage rule is `outside_mm`.
    """

    side: Side
    mode: str
    clutch_id: int | None
    engaged: bool
    jump: bool
    session: int
    ingest_boot: int
    enable: bool | None
    authenticated: bool
    t_send_s: Annotated[float | None, Unit("s")]
    t_recv_ns: Ns
    t_map_ns: Ns
    target_p_base_tool_m: Annotated[Vec3 | None, Unit("m")]
    target_q_base_tool_xyzw: Annotated[Quat | None, Unit("quaternion")]
    target_rpy_base_tool_deg: Annotated[Vec3 | None, Unit("deg")]
    gripper_ratio: Annotated[float | None, Unit("ratio")]
    tracking_valid: bool
    clamped: tuple[bool, bool, bool]
    outside_mm: Annotated[float, Unit("mm")]
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmState(Message):
    """Everything about one arm, once per control period and at once after a stop."""

    side: Side
    driver: str
    simulated: bool
    mode: str = "relative"
    engage_on: str = "command"
    state: State
    reason: Reason
    reason_detail: str = ""
    predicting: bool = False
    braking: bool = False
    clutch_id: int | None = None
    clutch_offer: int | None = None
    slip_p_m: Metres = (0.0, 0.0, 0.0)
    slip_q_xyzw: Rotation = (0.0, 0.0, 0.0, 1.0)
    gripper_follows: bool = False
    rest_mm: Annotated[float | None, Unit("mm")] = None
    last_command_id: int | None = None
    last_command_result: str = ""
    t_tick_ns: Ns
    t_send_s: Annotated[float | None, Unit("s")] = None
    t_recv_ns: Annotated[int | None, Unit("ns")] = None
    t_map_ns: Annotated[int | None, Unit("ns")] = None
    t_target_ns: Annotated[int | None, Unit("ns")] = None
    limited_p_base_tool_m: Annotated[Vec3 | None, Unit("m")] = None
    limited_q_base_tool_xyzw: Annotated[Quat | None, Unit("quaternion")] = None
    limited_gripper_ratio: Annotated[float | None, Unit("ratio")] = None
    cmd_p_base_tool_m: Annotated[Vec3 | None, Unit("m")] = None
    cmd_q_base_tool_xyzw: Annotated[Quat | None, Unit("quaternion")] = None
    cmd_gripper_ratio: Annotated[float | None, Unit("ratio")] = None
    meas_p_base_tool_m: Annotated[Vec3 | None, Unit("m")] = None
    meas_q_base_tool_xyzw: Annotated[Quat | None, Unit("quaternion")] = None
    meas_gripper_ratio: Annotated[float | None, Unit("ratio")] = None
    meas_q_rad: Annotated[tuple[float, ...] | None, Unit("rad")] = None
    latency_ms: Annotated[float | None, Unit("ms")] = None
    data_age_ms: Annotated[float | None, Unit("ms")] = None
    playout_delay_ms: Ms = 0.0
    missed_ticks: int = 0
    starvations: int = 0
    glitches_rejected: int = 0
    gate_blocks: int = 0
    driver_overruns: int = 0
    feedback_age_ms: Annotated[float | None, Unit("ms")] = None
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorCommand(Message):
    """A tool's order to one arm or the base; answered in the state topic by `last_command_*`.

    `to_boot` null and `max_age_ms` null are accepted for the verb `estop` alone.
    """

    id: int
    to_boot: int | None
    verb: str
    args: dict[str, Any] = field(default_factory=dict)
    max_age_ms: Annotated[float | None, Unit("ms")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceHealth(Message):
    """One process's own account of itself, once a second."""

    name: str
    version: str
    pid: int
    uptime_s: Annotated[float, Unit("s")]
    status: str
    reason: str
    counters: dict[str, int]
    rates: dict[str, float]
    jitter_p50_ms: Annotated[float | None, Unit("ms")] = None
    jitter_p99_ms: Annotated[float | None, Unit("ms")] = None
    details: dict[str, Any] = field(default_factory=dict)
