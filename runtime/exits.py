"""The file in which the hang check tells telemetry about programs that exit again and again.

A supervisor restarts in silence; this is how a crash loop becomes a health reason.
"""

import json
from pathlib import Path
from typing import Literal, TypedDict, cast

# fatal: the supervisor gave up. cannot_start: it could not even run the command. not_restarted: it
# ended with a code that means "do not restart" (0, or 78 for bad configuration). hung: it was
# killed by the hang check. repeated_exits: three or more unexpected exits within a minute.
ExitReason = Literal["fatal", "cannot_start", "not_restarted", "hung", "repeated_exits"]
REASONS: tuple[ExitReason, ...] = (
    "fatal",
    "cannot_start",
    "not_restarted",
    "hung",
    "repeated_exits",
)


class ProgramExits(TypedDict):
    """One program. Instants are this boot's monotonic nanoseconds."""

    exits_60s: int
    hang_kills: int
    last_exit: str
    t_last_exit_ns: int
    reason: ExitReason | None


def exits_path(run_dir: Path) -> Path:
    """Where the file is."""
    return run_dir / "exits.json"


def write_exits(run_dir: Path, programs: dict[str, ProgramExits]) -> None:
    """Replaces the file in one step, so that a reader sees the old or the new one whole.

    Raises:
        OSError: the run directory cannot be written.
    """
    path = exits_path(run_dir)
    fresh = path.with_suffix(".json.new")
    fresh.write_text(json.dumps(programs, indent=1) + "\n", encoding="utf-8")
    fresh.replace(path)


def read_exits(run_dir: Path) -> dict[str, ProgramExits]:
    """What the hang check last wrote; empty if there is nothing or nothing that can be used."""
    try:
        found: object = json.loads(exits_path(run_dir).read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {str(name): entry for name, entry in found.items() if _is_entry(entry)}


_FIELD_TYPES: dict[str, tuple[type, ...]] = {
    "exits_60s": (int,),
    "hang_kills": (int,),
    "last_exit": (str,),
    "t_last_exit_ns": (int,),
    "reason": (str, type(None)),
}


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    fields = cast("dict[str, object]", entry)
    return all(isinstance(fields.get(key), types) for key, types in _FIELD_TYPES.items())
