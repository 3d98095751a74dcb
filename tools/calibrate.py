"""`tools.arm calibrate`: learns the operator's origin or heading from the hand, and keeps it.

Writes one key of config/local.toml and restarts the mapper. Never moves an arm, and refuses while
any arm is ENGAGED, because the restart would stop it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from proto.messages import HandPose, Vec3
from proto.reasons import SIDES, Side
from runtime import config
from runtime.clock import NS_PER_S, MonotonicClock
from runtime.errors import ConfigError, FarhandError
from runtime.settings import MapperSettings
from tools import deployment, toml_edit
from tools.calibration import ForwardHand, StillHand, solve_heading_deg, solve_origin_m
from tools.hand_link import HandLink
from tools.link import ArmLink
from tools.supervisor import Supervisor, listener_pid
from tools.toml_edit import Value, written

CALIBRATIONS: Final = ("origin", "heading")
LOOK_MS: Final = 500
HAND_WAIT_NS: Final = 10 * NS_PER_S
STILL_WAIT_NS: Final = 30 * NS_PER_S
FORWARD_WAIT_NS: Final = 5 * NS_PER_S


class CalibrationError(FarhandError):
    """The calibration cannot be done now; the message says what to change."""

    exit_code = 1


class Finding(NamedTuple):
    """What was learned: one key of the side's mapper table."""

    key: str
    value: Value


def calibrate(what: str, side: Side) -> int:
    """Runs one calibration in front of a person; returns the exit code."""
    try:
        mapper = _mapper_of(side)
        refuse_engaged()
        with HandLink(side) as hands:
            finding = _origin(hands, side, mapper) if what == "origin" else _heading(hands, mapper)
        refuse_engaged()
        path = keep(side, finding)
        print(f"{side}: {finding.key} = {written(finding.value)}, kept in {path}")
        for note in notes(what, side, mapper, finding):
            print(f"note: {note}")
        print(restart_mapper())
    except CalibrationError as error:
        refusal = str(error)
    else:
        return 0
    print(f"{side}: calibrate {what}: {refusal}", file=sys.stderr)
    return 1


def _mapper_of(side: Side) -> MapperSettings:
    settings = config.load(os.environ)
    if side not in settings.mapper:
        raise CalibrationError(f"robot {settings.robot} has no {side} arm")
    return settings.mapper[side]


def refuse_engaged() -> None:
    """Raises CalibrationError while an arm follows a hand."""
    for side in SIDES:
        with ArmLink(side) as link:
            state = link.state(LOOK_MS)
        if state is not None and state.state == "ENGAGED":
            raise CalibrationError(f"the {side} arm is ENGAGED: python -m tools.arm release {side}")


def _origin(hands: HandLink, side: Side, mapper: MapperSettings) -> Finding:
    print("hold your hand where the robot's tool is now, and keep it still for a second")
    still = StillHand()
    p_vr_hand_m = _wait(hands, still.observe, STILL_WAIT_NS)
    if p_vr_hand_m is None:
        raise CalibrationError("the hand was never still for a second within 1 cm")
    with ArmLink(side) as link:
        state = link.state()
    if state is None or state.meas_p_base_tool_m is None:
        raise CalibrationError(
            "the arm does not tell where its tool is: python -m tools.arm status"
        )
    return Finding("vr_origin_m", solve_origin_m(p_vr_hand_m, state.meas_p_base_tool_m, mapper))


def _heading(hands: HandLink, mapper: MapperSettings) -> Finding:
    print("move your hand straight forward, at least 20 cm, within 5 s")
    forward = ForwardHand()
    way_vr_m = _wait(hands, forward.observe, FORWARD_WAIT_NS)
    if way_vr_m is None:
        bowed = "the way was not straight" if forward.bowed else "the hand moved less than 20 cm"
        raise CalibrationError(f"{bowed}: try again")
    return Finding("heading_deg", solve_heading_deg(way_vr_m, mapper))


def _wait(hands: HandLink, observe: Callable[[HandPose], Vec3 | None], span_ns: int) -> Vec3 | None:
    """Shows every sample to `observe`, for so long from the first one on."""
    clock = MonotonicClock()
    first = hands.poses(HAND_WAIT_NS // 1_000_000)
    if not first:
        raise CalibrationError("no hand to be seen: start the headset app; python -m tools.doctor")
    until_ns = clock.now_ns() + span_ns
    waiting = first
    while True:
        for hand in waiting:
            found = observe(hand)
            if found is not None:
                return found
        left_ms = (until_ns - clock.now_ns()) // 1_000_000
        if left_ms <= 0:
            return None
        waiting = hands.poses(min(left_ms, LOOK_MS))


def keep(side: Side, finding: Finding) -> Path:
    """Writes the finding into local.toml, whole or not at all; returns the file.

    Raises:
        CalibrationError: the file cannot be read, edited or written, or the value is out of bounds.
    """
    folder = Path(os.environ.get("FARHAND_CONFIG_DIR") or config.REPO_ROOT / "config")
    path = (folder / "local.toml").resolve()
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        before = path.read_bytes().decode() if path.exists() else ""
        edited = toml_edit.set_key(before, f"mapper.{side}", finding.key, finding.value)
        config.load({**os.environ, _env_name(side, finding.key): written(finding.value)})
        draft.write_bytes(edited.encode())
        if path.exists():
            shutil.copymode(path, draft)
        draft.replace(path)
    except (OSError, UnicodeDecodeError, ConfigError) as error:
        draft.unlink(missing_ok=True)
        raise CalibrationError(f"{path.name} is left as it was: {error}") from error
    return path


def _env_name(side: Side, key: str) -> str:
    return f"FARHAND_MAPPER_{side.upper()}__{key.upper()}"


def notes(what: str, side: Side, mapper: MapperSettings, finding: Finding) -> list[str]:
    """What the person should know about the new value."""
    found = []
    now = getattr(config.load(os.environ).mapper[side], finding.key)
    if now != finding.value:
        found.append(f"the environment overrides it: unset FARHAND_… or it stays {now}")
    if what == "origin" and mapper.mode != "absolute":
        found.append('vr_origin_m counts in mode = "absolute" only; this arm is relative')
    if what == "heading" and mapper.mode == "absolute":
        found.append(f"the origin depends on it: python -m tools.arm calibrate origin {side}")
    return found


def restart_mapper() -> str:
    """Restarts the mapper if a supervisor runs; returns what was done, or what to do."""
    deployed = deployment.find()
    if listener_pid(deployed.socket) is None:
        return "restart the mapper to use it"
    try:
        Supervisor(deployed.socket).restart("mapper")
    except FarhandError as error:
        return f"the mapper was not restarted ({error}): {deployed.ctl()} restart mapper"
    return "mapper restarted"
