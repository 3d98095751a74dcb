"""Process ids told apart by parent and start."""

import os
import sys
import time
from pathlib import Path

import pytest

from tools.process_info import ProcessInfo, parse_stat, read_process

# Field numbers of proc(5): 3 state, 4 parent, 22 start in ticks.
TAIL = "S 4242 7 7 0 -1 4194560 1 0 0 0 5 6 0 0 20 0 1 0 123456 1000 200"


@pytest.mark.parametrize("name", ["python", "a) S 1 (b", "with space", "", "x)"])
def test_a_name_cannot_shift_the_fields(name: str) -> None:
    assert parse_stat(f"99 ({name}) {TAIL}\n", 100, 0) == ProcessInfo(
        parent_pid=4242, state="S", t_start_ns=1_234_560_000_000
    )


def test_sleep_of_the_machine_is_taken_off_the_start() -> None:
    info = parse_stat(f"99 (x) {TAIL}", 100, 1_000_000_000_000)
    assert info is not None
    assert info.t_start_ns == 234_560_000_000


@pytest.mark.parametrize("text", ["", "99 (x) S", "99 (x) " + TAIL.replace("123456", "soon")])
def test_a_broken_line_is_nobody(text: str) -> None:
    assert parse_stat(text, 100, 0) is None


def test_a_process_that_is_gone_is_nobody(tmp_path: Path) -> None:
    assert read_process(7, proc=tmp_path) is None


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_we_find_ourselves() -> None:
    info = read_process(os.getpid())
    assert info is not None
    assert info.parent_pid == os.getppid()
    assert info.state in "RS"
    assert 0 < info.t_start_ns <= time.monotonic_ns() + 20_000_000
