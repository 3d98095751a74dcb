"""The exits file: whole or absent for its reader, whatever is in it."""

import json
from pathlib import Path

import pytest

from runtime.exits import ProgramExits, exits_path, read_exits, write_exits

ENTRY = ProgramExits(
    exits_60s=3, hang_kills=1, last_exit="unexpected", t_last_exit_ns=5, reason="repeated_exits"
)


def test_what_was_written_is_read_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    write_exits(tmp_path, {"arm-right": ENTRY})
    write_exits(tmp_path, {"arm-right": {**ENTRY, "reason": None}})
    assert read_exits(tmp_path) == {"arm-right": {**ENTRY, "reason": None}}
    assert [path.name for path in tmp_path.iterdir()] == ["exits.json"]


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", "\udcff"])
def test_a_broken_file_reads_as_empty(tmp_path: Path, text: str) -> None:
    exits_path(tmp_path).write_bytes(text.encode("utf-8", "surrogateescape"))
    assert read_exits(tmp_path) == {}


def test_no_file_reads_as_empty(tmp_path: Path) -> None:
    assert read_exits(tmp_path) == {}


def test_entries_of_another_shape_are_left_out(tmp_path: Path) -> None:
    broken: dict[str, object] = {
        "a": ENTRY,
        "b": {**ENTRY, "exits_60s": "3"},
        "c": 5,
        "d": {key: value for key, value in ENTRY.items() if key != "last_exit"},
    }
    exits_path(tmp_path).write_text(json.dumps(broken), encoding="utf-8")
    assert list(read_exits(tmp_path)) == ["a"]
