"""Every configuration key, declared once: name with unit, type, bounds, meaning.

Values live in config/*.toml (config/default.toml has every key); this file holds none. Loading,
layers and refusals: runtime/config.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from proto.reasons import Side


@dataclass(frozen=True, slots=True)
class Key:
    """What a value must be. Lists: `items` is their length, -1 for any; None: no list."""

    kind: type
    doc: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    items: int | None = None


def _key(kind: type, doc: str, low: float | None = None, high: float | None = None) -> Any:
    return field(metadata={"key": Key(kind, doc, low, high)})


def _choice(doc: str, *choices: str) -> Any:
    return field(metadata={"key": Key(str, doc, choices=choices)})


def _numbers(doc: str, low: float, high: float, items: int = 3) -> Any:
    return field(metadata={"key": Key(float, doc, low, high, items=items)})


def _texts(doc: str) -> Any:
    return field(metadata={"key": Key(str, doc, items=-1)})


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    """[network]: who may reach the ports that other machines use."""

    listen: tuple[str, ...] = _texts("addresses, interface names or default-route")
    allow: tuple[str, ...] = _texts("networks whose packets count; empty: see docs/specs/rctp.md")


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestSettings:
    """[ingest]"""

    port_right: int = _key(int, "UDP port of the right hand", 1, 65535)
    port_left: int = _key(int, "UDP port of the left hand", 1, 65535)
    owner_filter: bool = _key(bool, "kernel filter for the owner's packets where possible")


@dataclass(frozen=True, slots=True, kw_only=True)
class MapperSettings:
    """[mapper], [mapper.right], [mapper.left]: docs/frames.md."""

    mode: Literal["relative", "absolute"] = _choice(
        "relative: motion counts from the clutch; absolute: the published formula",
        "relative",
        "absolute",
    )
    scale: float = _key(float, "robot metres per hand metre", 0.01, 10.0)
    position_offset_m: tuple[float, float, float] = _numbers(
        "absolute mode: added to the mapped position", -5.0, 5.0
    )
    rotation_offset_deg: tuple[float, float, float] = _numbers(
        "absolute mode: roll, pitch, yaw", -360.0, 360.0
    )
    offset_frame: Literal["base", "vr"] = _choice(
        "frame in which position_offset_m is given", "base", "vr"
    )
    offsets_applied_by: Literal["mapper", "sender"] = _choice(
        "sender: the headset app already applied scale and offsets", "mapper", "sender"
    )
    vr_axes: Literal["openxr", "unity"] = _choice(
        "axes of the sender: openxr is right-handed, unity left-handed", "openxr", "unity"
    )
    vr_origin_m: tuple[float, float, float] = _numbers(
        "absolute mode: VR point that maps to the base", -10.0, 10.0
    )
    heading_deg: float = _key(float, "turns the operator's forward onto the robot's", -360.0, 360.0)
    torso_base_p_m: tuple[float, float, float] = _numbers(
        "position of this arm's base in the torso frame", -3.0, 3.0
    )
    torso_base_rpy_deg: tuple[float, float, float] = _numbers(
        "rotation of this arm's base in the torso", -360.0, 360.0
    )
    engage_on: Literal["command", "enable_bit", "tracking"] = _choice(
        "what engages the clutch", "command", "enable_bit", "tracking"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmSettings:
    """[arm], [arm.right], [arm.left]."""

    driver: str = _key(str, "robot driver: a file of services/arm/drivers")
    control_hz: float = _key(float, "commands a second (alias CONTROL_HZ)", 20.0, 200.0)
    response: str = _choice("how samples become commands", "quick", "legacy")
    queue_maxsize: int = _key(int, "queue of quick and legacy (alias QUEUE_MAXSIZE)", 1, 100)
    speed_percent: int = _key(int, "vendor speed setting (alias SPEED_PERCENT)", 1, 100)
    x_min_mm: float = _key(float, "workspace (alias X_MIN)", -3000.0, 3000.0)
    x_max_mm: float = _key(float, "workspace (alias X_MAX)", -3000.0, 3000.0)
    y_min_mm: float = _key(float, "workspace (alias Y_MIN)", -3000.0, 3000.0)
    y_max_mm: float = _key(float, "workspace (alias Y_MAX)", -3000.0, 3000.0)
    z_min_mm: float = _key(float, "workspace (alias Z_MIN)", -3000.0, 3000.0)
    z_max_mm: float = _key(float, "workspace (alias Z_MAX)", -3000.0, 3000.0)
    reach_max_mm: float = _key(float, "radius of the shell around the base; 0: none", 0.0, 3000.0)
    gripper_max_um: int = _key(int, "open gripper (alias GRIPPER_MAX_UM)", 1, 200_000)
    gripper_ratio_per_s: float = _key(float, "fastest gripper, strokes a second", 0.1, 20.0)
    tcp_max_mps: float = _key(float, "fastest tool", 0.01, 2.0)
    tcp_max_mps2: float = _key(float, "hardest acceleration of the tool", 0.1, 50.0)
    rotation_max_radps: float = _key(float, "fastest turn of the tool", 0.05, 10.0)
    rotation_max_radps2: float = _key(float, "hardest turn acceleration", 0.5, 500.0)
    brake_mps2: float = _key(float, "deceleration when data are lost", 0.5, 50.0)
    brake_radps2: float = _key(float, "turn deceleration when data are lost", 1.0, 500.0)
    estop_brake_mps2: float = _key(float, "deceleration of an e-stop", 0.5, 50.0)
    estop_brake_radps2: float = _key(float, "turn deceleration of an e-stop", 1.0, 500.0)
    estop_action: Literal["brake", "damp"] = _choice(
        "brake: decelerate and hold; damp: the vendor's stop, a loaded arm may sink",
        "brake",
        "damp",
    )
    resume_relative_ms: float = _key(float, "longest gap that resumes, relative", 100.0, 5000.0)
    resume_absolute_ms: float = _key(float, "longest gap that resumes, absolute", 100.0, 5000.0)
    home_p_m: tuple[float, float, float] = _numbers("home position", -3.0, 3.0)
    home_rpy_deg: tuple[float, float, float] = _numbers("home rotation", -360.0, 360.0)
    auto_arm: bool = _key(bool, "arm by itself; simulators only")
    legacy_buffer: int = _key(int, "legacy: samples buffered before the first is used", 1, 20)
    legacy_slice_ms: float = _key(float, "legacy: time slice of one sample", 1.0, 200.0)
    legacy_deadband_mm: float = _key(float, "legacy: per-axis deadband; 0: off", 0.0, 50.0)
    legacy_mean: int = _key(int, "legacy: sliding mean over so many samples; 1: off", 1, 50)
    sim_servo_lag_ms: float = _key(float, "plain simulator: servo lag", 0.0, 500.0)
    sim_feedback_period_ms: float = _key(float, "plain simulator: feedback period", 1.0, 500.0)
    sim_tcp_max_mps: float = _key(float, "plain simulator: fastest tool", 0.01, 10.0)
    sim_rotation_max_radps: float = _key(float, "plain simulator: fastest turn", 0.1, 50.0)
    sim_faults_file: str = _key(str, "plain simulator: JSON of faults; empty: none")


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetrySettings:
    """[telemetry]"""

    tap_port: int = _key(int, "TCP port of the JSON tap", 1, 65535)
    http_port: int = _key(int, "TCP port of /health and /metrics", 1, 65535)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimOperatorSettings:
    """[sim_operator]: the simulated headset of a simulator configuration."""

    enabled: bool = _key(bool, "drive the simulated arms")
    motion: Literal["circle", "reach", "still", "replay"] = _choice(
        "how the hand moves", "circle", "reach", "still", "replay"
    )
    rate_hz: float = _key(float, "packets a second and hand", 1.0, 200.0)


SideSection = Literal["mapper", "arm"]
SECTIONS: Final[dict[str, type]] = {
    "network": NetworkSettings,
    "ingest": IngestSettings,
    "mapper": MapperSettings,
    "arm": ArmSettings,
    "telemetry": TelemetrySettings,
    "sim_operator": SimOperatorSettings,
}

# Published tunables of the systems users come from, as keys and environment variables.
ALIASES: Final[dict[str, tuple[str, str]]] = {
    "CONTROL_HZ": ("arm", "control_hz"),
    "QUEUE_MAXSIZE": ("arm", "queue_maxsize"),
    "SPEED_PERCENT": ("arm", "speed_percent"),
    "X_MIN": ("arm", "x_min_mm"),
    "X_MAX": ("arm", "x_max_mm"),
    "Y_MIN": ("arm", "y_min_mm"),
    "Y_MAX": ("arm", "y_max_mm"),
    "Z_MIN": ("arm", "z_min_mm"),
    "Z_MAX": ("arm", "z_max_mm"),
    "GRIPPER_MAX_UM": ("arm", "gripper_max_um"),
    "positionOffset": ("mapper", "position_offset_m"),
    "rotationOffset": ("mapper", "rotation_offset_deg"),
    "scaleFactor": ("mapper", "scale"),
}

# Drivers that move no matter. `auto_arm` and the simulated operator are refused with any other.
SIMULATED_DRIVERS: Final = ("sim",)
# Files of services/arm/drivers (a test compares): what `make run` may start.
BUILT_DRIVERS: Final = ("sim",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A whole, checked configuration."""

    robot: str
    network: NetworkSettings
    ingest: IngestSettings
    mapper: dict[Side, MapperSettings]
    arm: dict[Side, ArmSettings]
    telemetry: TelemetrySettings
    sim_operator: SimOperatorSettings

    def simulated(self, side: Side) -> bool:
        """Whether `side` is configured and moves no matter."""
        return side in self.arm and self.arm[side].driver in SIMULATED_DRIVERS
