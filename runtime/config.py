"""Loads a configuration: default.toml, the robot's file, local.toml, then the environment.

Refuses (ConfigError, exit 78) unknown keys, wrong types and values out of bounds, naming the key,
where it came from and what would be valid. Holds no values: runtime/settings.py declares the keys.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, cast

from proto.reasons import SIDES, Side
from runtime.errors import ConfigError
from runtime.settings import (
    ALIASES,
    SECTIONS,
    ArmSettings,
    IngestSettings,
    Key,
    MapperSettings,
    NetworkSettings,
    Settings,
    SimOperatorSettings,
    TelemetrySettings,
)
from runtime.zone import zone_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPO_ROOT: Final = Path(__file__).resolve().parent.parent
ENV_PREFIX: Final = "FARHAND_"
# FARHAND_ names that are no configuration keys.
ENV_RESERVED: Final = frozenset({"FARHAND_RUN_DIR", "FARHAND_CONFIG_DIR"})
SIDED: Final = ("mapper", "arm")
# Whole numbers up to here are exact as floats; TOML has no limit, float() has.
MAX_WHOLE: Final = 2**53

Table = dict[str, Any]


def load(env: Mapping[str, str]) -> Settings:
    """The configuration that `env` asks for (ROBOT, FARHAND_…, published aliases).

    FARHAND_CONFIG_DIR replaces the config/ folder, local.toml included.

    Raises:
        ConfigError: one line that names the key and the valid choices.
    """
    config_dir = Path(env.get("FARHAND_CONFIG_DIR") or REPO_ROOT / "config")
    local = _read(config_dir / "local.toml") if (config_dir / "local.toml").exists() else {}
    robot = env.get("ROBOT") or local.pop("robot", None) or "sim"
    local.pop("robot", None)
    layers = [
        (_read(config_dir / "default.toml"), "config/default.toml"),
        (_read(_robot_file(str(robot), config_dir)), f"config of robot {robot}"),
        (local, "config/local.toml"),
        (_from_env(env), "the environment"),
    ]
    merged: Table = {}
    for layer, origin in layers:
        _overlay(merged, layer, origin)
    return _build(str(robot), merged)


def _read(path: Path) -> Table:
    try:
        with path.open("rb") as file:
            table: Table = tomllib.load(file)
    except OSError as error:
        raise ConfigError(f"cannot read {path.name}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path.name} is no valid TOML: {error}") from error
    return table


def _robot_file(robot: str, config_dir: Path) -> Path:
    """`ROBOT` names a file of config/, or is itself the path of a .toml file."""
    path = Path(robot) if robot.endswith(".toml") else config_dir / f"{robot}.toml"
    known = sorted(p.stem for p in config_dir.glob("*.toml") if p.stem not in ("default", "local"))
    if not path.is_file() or robot in ("default", "local"):
        why = ": there is no such file, or" if robot.endswith(".toml") else ":"
        raise ConfigError(f"no robot {robot!r}{why} set ROBOT to one of {', '.join(known)}")
    return path


def _from_env(env: Mapping[str, str]) -> Table:
    """Published names first, so that of two names for one key ours decides, whatever the order."""
    table: Table = {}
    for name, (section, key) in ALIASES.items():
        if name in env:
            table.setdefault(section, {})[key] = _parse(env[name], name)
    for name, text in env.items():
        if name.startswith(ENV_PREFIX) and name not in ENV_RESERVED:
            _put_env(table, name, text)
    return table


def _put_env(table: Table, name: str, text: str) -> None:
    section, separator, key = name[len(ENV_PREFIX) :].lower().partition("__")
    if not separator:
        raise ConfigError(f"{name}: write {ENV_PREFIX}<SECTION>__<KEY>, e.g. FARHAND_ARM__DRIVER")
    base, _, side = section.rpartition("_")
    if base in SIDED and side in SIDES:
        table.setdefault(base, {}).setdefault(side, {})[key] = _parse(text, name)
    elif section in SIDED and key in SIDES:
        raise ConfigError(f"{name}: write {ENV_PREFIX}{section.upper()}_{key.upper()}__<KEY>")
    else:
        table.setdefault(section, {})[key] = _parse(text, name)


def _parse(text: str, name: str) -> Any:
    """A TOML value, or the bare text where that is none (`sim` for `"sim"`)."""
    try:
        table = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        table = {}
    if table.keys() != {"value"}:
        if any(mark in text for mark in "[]{}\"'\n="):
            raise ConfigError(f"{name}: cannot read {text!r} as a TOML value")
        return text
    return table["value"]


def _overlay(merged: Table, layer: Table, origin: str) -> None:
    for section, table in layer.items():
        if section in ALIASES:
            target, key = ALIASES[section]
            _overlay_section(merged.setdefault(target, {}), target, {key: table}, origin)
            continue
        if section not in SECTIONS:
            valid = ", ".join((*SECTIONS, *ALIASES))
            raise ConfigError(f"{origin}: unknown section [{section}]; valid: {valid}")
        if not isinstance(table, dict):
            raise ConfigError(f"{origin}: [{section}] must be a table")
        _overlay_section(merged.setdefault(section, {}), section, table, origin)


def _overlay_section(into: Table, section: str, table: Table, origin: str) -> None:
    """A side's own value beats the shared one of its layer; a later layer beats both."""
    sides = SIDES if section in SIDED else ()
    own = {key: value for key, value in table.items() if key in sides and isinstance(value, dict)}
    for key, value in table.items():
        if key not in own:
            name = _set(into, section, key, value, origin)
            for side in sides:
                into.get(side, {}).pop(name, None)
    for side, side_table in own.items():
        side_into = into.setdefault(side, {})
        for key, value in side_table.items():
            _set(side_into, section, key, value, origin, f"{section}.{side}")


def _set(into: Table, section: str, key: str, value: Any, origin: str, shown: str = "") -> str:
    """Puts a checked value under its own name, which is returned: `key` may be an alias."""
    if key in ALIASES and ALIASES[key][0] == section:
        key = ALIASES[key][1]
    spec = _keys(section).get(key)
    where = f"{origin}: [{shown or section}] {key}"
    if spec is None:
        raise ConfigError(f"{where}: unknown key; valid: {', '.join(_keys(section))}")
    into[key] = _checked(spec, value, where)
    return key


def _keys(section: str) -> dict[str, Key]:
    return {f.name: f.metadata["key"] for f in fields(SECTIONS[section])}


def _checked(spec: Key, value: Any, where: str) -> Any:
    if spec.items is None:
        return _scalar(spec, value, where)
    if not isinstance(value, list):
        raise ConfigError(f"{where}: must be a list ({spec.doc})")
    if spec.items >= 0 and len(value) != spec.items:
        raise ConfigError(f"{where}: must have {spec.items} numbers, has {len(value)}")
    return tuple(_scalar(spec, item, where) for item in value)


def _scalar(spec: Key, value: Any, where: str) -> Any:
    if spec.kind is float and type(value) is int and abs(value) <= MAX_WHOLE:
        value = float(value)
    if not _is(spec.kind, value):
        names = {float: "a number", int: "a whole number", bool: "true or false", str: "text"}
        raise ConfigError(f"{where}: must be {names[spec.kind]}, is {value!r} ({spec.doc})")
    if spec.choices and value not in spec.choices:
        raise ConfigError(f"{where}: {value!r} is none of {', '.join(spec.choices)}")
    if spec.low is not None and spec.high is not None:
        _check_bounds(spec.low, spec.high, value, where)
    return value


def _is(kind: type, value: Any) -> bool:
    """Exactly that type: TOML's `true` is an int to isinstance."""
    return type(value) is kind


def _check_bounds(low: float, high: float, value: float, where: str) -> None:
    if not low <= value <= high:  # false for nan, too
        raise ConfigError(f"{where}: must lie in {low:g} … {high:g}, is {value}")


def _build(robot: str, merged: Table) -> Settings:
    for section in SECTIONS:
        missing = sorted(_keys(section).keys() - merged.get(section, {}).keys())
        if missing:
            raise ConfigError(f"config/default.toml: [{section}] lacks {', '.join(missing)}")
    sides = [side for side in SIDES if side in merged["arm"]]
    if not sides:
        raise ConfigError(f"robot {robot}: needs [arm.right] or [arm.left], else nothing moves")
    settings = Settings(
        robot=robot,
        network=NetworkSettings(**merged["network"]),
        ingest=IngestSettings(**merged["ingest"]),
        mapper={s: MapperSettings(**_for_side(merged["mapper"], s)) for s in sides},
        arm={s: ArmSettings(**_for_side(merged["arm"], s)) for s in sides},
        telemetry=TelemetrySettings(**merged["telemetry"]),
        sim_operator=SimOperatorSettings(**merged["sim_operator"]),
    )
    _check_whole(settings)
    return settings


def _for_side(table: Table, side: Side) -> Table:
    shared = {key: value for key, value in table.items() if key not in SIDES}
    return {**shared, **cast(Table, table.get(side, {}))}


def _check_workspace(side: Side, arm: ArmSettings) -> None:
    for axis in "xyz":
        low = getattr(arm, f"{axis}_min_mm")
        high = getattr(arm, f"{axis}_max_mm")
        if low >= high:
            raise ConfigError(
                f"[arm.{side}] {axis}_min_mm {low:g} must be below {axis}_max_mm {high:g}"
            )
    try:
        zone_of(arm)
    except ValueError as error:
        raise ConfigError(f"[arm.{side}] reach_max_mm {arm.reach_max_mm:g}: {error}") from error


def _check_whole(settings: Settings) -> None:
    """What no single key can tell."""
    for side, arm in settings.arm.items():
        _check_workspace(side, arm)
        if arm.auto_arm and not settings.simulated(side):
            raise ConfigError(
                f"[arm.{side}] auto_arm = true is for simulators, driver is {arm.driver!r}"
            )
        if settings.sim_operator.enabled and not settings.simulated(side):
            raise ConfigError(
                f"[sim_operator] enabled = true is for simulators, arm.{side} has {arm.driver!r}"
            )
    if settings.ingest.port_right == settings.ingest.port_left:
        raise ConfigError("[ingest] port_right and port_left must differ")
    if settings.telemetry.tap_port == settings.telemetry.http_port:
        raise ConfigError("[telemetry] tap_port and http_port must differ")


def warnings(settings: Settings) -> list[str]:
    """Things that are allowed and probably not meant; one line each."""
    found = []
    for side, mapper in settings.mapper.items():
        offset = any((*mapper.position_offset_m, *mapper.rotation_offset_deg))
        if mapper.mode == "relative" and offset:
            found.append(
                f"[mapper.{side}] offsets are set but mode is relative, which ignores them;"
                ' set mode = "absolute" to use them'
            )
    return found
