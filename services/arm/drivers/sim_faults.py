"""Faults of the simulated arm, on demand: set by a test in the same process or by a file.

A whole-process test names a JSON file in the driver option `faults_file` and replaces that file
(write a neighbour, then rename) whenever the robot shall misbehave; deleting it heals everything.
The file holds one object with any of the fields of SimFaults, e.g. {"hang_s": 5}.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal, get_args

from runtime.errors import ConfigError
from runtime.log import log

Feedback = Literal["live", "frozen", "silent"]
CALLS: Final = ("open", "enable", "disable", "command", "state", "stop", "clear")


@dataclass(frozen=True, slots=True)
class SimFaults:
    """What is wrong with the robot now.

    Attributes:
        hang_s: the next enable, disable, command, stop or clear blocks this long, once.
        raise_in: these calls (CALLS) fail with a bus error; "open" finds no device.
        feedback: `frozen` (stamps advance, the pose does not), `silent` (nothing new arrives).
        freeze_motion: targets are taken, the arm does not follow.
        refuse_enable: enable() is refused.
        drives_off: the drives dropped out; on again only by enable() once this is over.
        faults: what state() reports as faults.
    """

    hang_s: float = 0.0
    raise_in: tuple[str, ...] = ()
    feedback: Feedback = "live"
    freeze_motion: bool = False
    refuse_enable: bool = False
    drives_off: bool = False
    faults: tuple[str, ...] = ()


NO_FAULTS: Final = SimFaults()


def parse(text: str) -> SimFaults:
    """SimFaults of a JSON object.

    Raises:
        ConfigError: not a JSON object, or a field that SimFaults does not have or take.
    """
    try:
        raw = json.loads(text)
    except ValueError as err:
        raise ConfigError(f"simulated faults are not JSON: {err}") from err
    names = [field.name for field in fields(SimFaults)]
    if not isinstance(raw, dict) or not set(raw) <= set(names):
        raise ConfigError(f"simulated faults must be an object with any of: {', '.join(names)}")
    given: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in raw.items()}
    faults = SimFaults(**given)
    problem = _problem(faults)
    if problem:
        raise ConfigError(f"simulated faults: {problem}")
    return faults


def _problem(faults: SimFaults) -> str:
    flags = (faults.freeze_motion, faults.refuse_enable, faults.drives_off)
    if not isinstance(faults.hang_s, int | float) or not 0.0 <= faults.hang_s < 3600.0:
        return "hang_s must be seconds, 0 to 3600"
    if faults.feedback not in get_args(Feedback):
        return f"feedback must be one of {', '.join(get_args(Feedback))}"
    if not isinstance(faults.raise_in, tuple) or any(call not in CALLS for call in faults.raise_in):
        return f"raise_in must be a list of {', '.join(CALLS)}"
    if not isinstance(faults.faults, tuple) or not all(isinstance(f, str) for f in faults.faults):
        return "faults must be a list of texts"
    return "" if all(isinstance(flag, bool) for flag in flags) else "flags must be true or false"


class FaultsFile:
    """Re-reads a file when it changes; a broken one keeps what held before and says so once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None

    def changed(self) -> SimFaults | None:
        """The faults if the file changed since the last call, else None. One stat() a call."""
        seen = self._stamp()
        if seen == self._seen:
            return None
        self._seen = seen
        if seen is None:
            return NO_FAULTS
        try:
            return parse(self._path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, ConfigError) as err:
            log.warning("sim_faults_unreadable", path=self._path, why=str(err))
            return None

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            stat = self._path.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino
