"""The hang check kills only the sibling that wrote the beat, and says what it sees."""

import os
import signal
from pathlib import Path

import pytest

from runtime.exits import read_exits
from runtime.heartbeat import Beat, encode_beat, heartbeat_path
from runtime.log import Logger
from tools import hangcheck
from tools.hang_judge import Hang
from tools.hangcheck import HangCheck, is_ours, kill_hard
from tools.process_info import ProcessInfo

MS = 1_000_000
T0 = 900_000 * MS
SUPERVISOR = 50
ARM = ProcessInfo(parent_pid=SUPERVISOR, state="S", t_start_ns=T0 - 5_000 * MS)
HANG = Hang("arm-right", Beat(7, T0))


@pytest.mark.parametrize(
    ("info", "ours"),
    [
        (ARM, True),
        (ARM._replace(state="T"), True),
        (ARM._replace(t_start_ns=T0 + 50 * MS), True),
        (None, False),
        (ARM._replace(state="Z"), False),
        (ARM._replace(parent_pid=1), False),
        (ARM._replace(t_start_ns=T0 + 51 * MS), False),
    ],
)
def test_only_a_living_sibling_older_than_its_beat_is_ours(
    info: ProcessInfo | None, ours: bool
) -> None:
    assert is_ours(info, HANG, SUPERVISOR) is ours


class Bench:
    """A hang check over fake processes."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.processes: dict[int, ProcessInfo] = {7: ARM}
        self.killed: list[int] = []
        self.lines: list[str] = []
        self.t_ns = T0
        self.check = HangCheck(
            run_dir,
            {"arm-right": 2.0, "mapper": 2.0},
            Logger(self._write),
            SUPERVISOR,
            self.processes.get,
            self._kill,
        )

    def _write(self, line: bytes) -> bool:
        self.lines.append(line.decode().split(" - ")[1].strip())
        return True

    def _kill(self, pid: int) -> bool:
        self.killed.append(pid)
        return pid in self.processes

    def beat(self, program: str, pid: int) -> None:
        data = encode_beat(Beat(pid, self.t_ns))
        heartbeat_path(self.run_dir, program).write_bytes(data)

    def run_s(self, seconds_s: float) -> None:
        for _ in range(round(seconds_s * 2)):
            self.t_ns += 500 * MS
            self.check.check(self.t_ns)

    def crash(self, program: str) -> None:
        fields = {"processname": program, "expected": "0"}
        self.check.book.take("PROCESS_STATE_EXITED", fields, self.t_ns)


def test_a_hanging_sibling_is_killed_once_counted_and_named(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.beat("arm-right", 7)
    bench.run_s(2.5)
    assert bench.killed == [7]
    assert bench.lines == [
        "program_hung_killed of=arm-right pid=7 silent_ms=2500",
        "program_in_trouble of=arm-right reason=hung exits_60s=0 see=arm-right.log",
    ]
    assert read_exits(tmp_path)["arm-right"]["hang_kills"] == 1
    del bench.processes[7]
    bench.run_s(10)
    assert bench.killed == [7]


def test_a_stranger_with_the_pid_of_a_dead_program_is_left_alone(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.beat("arm-right", 7)
    bench.processes[7] = ARM._replace(t_start_ns=T0 + 60 * MS)
    bench.run_s(10)
    assert bench.killed == []
    assert bench.lines == []


def test_a_kill_that_did_not_go_out_is_not_counted(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.beat("arm-right", 7)
    bench.check._kill = lambda pid: False
    bench.run_s(5)
    assert bench.lines == []
    assert read_exits(tmp_path) == {}


def test_a_crash_loop_is_said_once_and_its_end_too(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for _ in range(5):
        bench.crash("mapper")
        bench.run_s(1)
    bench.run_s(61)
    assert bench.lines == [
        "program_in_trouble of=mapper reason=repeated_exits exits_60s=3 see=mapper.log",
        "program_recovered of=mapper was=repeated_exits",
    ]
    assert read_exits(tmp_path) == {}


def test_the_report_of_an_earlier_stack_is_replaced_at_once(tmp_path: Path) -> None:
    (tmp_path / "exits.json").write_text('{"old": {}}', encoding="utf-8")
    bench = Bench(tmp_path)
    bench.run_s(0.5)
    assert (tmp_path / "exits.json").read_text(encoding="utf-8") == "{}\n"


def test_a_run_directory_that_is_gone_is_said_not_raised(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "gone")
    bench.crash("mapper")
    bench.run_s(2)
    assert len(bench.lines) == 1
    assert bench.lines[0].startswith("exits_not_written path=")
    assert "No such file" in bench.lines[0]


@pytest.mark.parametrize(
    ("group", "call"), [(7, ("killpg", 7, signal.SIGKILL)), (3, ("kill", 7, signal.SIGKILL))]
)
def test_helpers_of_a_group_leader_die_with_it(
    monkeypatch: pytest.MonkeyPatch, group: int, call: tuple[str, int, int]
) -> None:
    calls: list[tuple[str, int, int]] = []
    monkeypatch.setattr(os, "getpgid", lambda pid: group)
    monkeypatch.setattr(os, "killpg", lambda pid, number: calls.append(("killpg", pid, number)))
    monkeypatch.setattr(os, "kill", lambda pid, number: calls.append(("kill", pid, number)))
    assert kill_hard(7)
    assert calls == [call]


def test_killing_what_is_gone_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(pid: int) -> int:
        raise ProcessLookupError(3, "No such process")

    monkeypatch.setattr(os, "getpgid", gone)
    assert kill_hard(7) is False


def test_the_events_asked_for_are_those_the_book_understands() -> None:
    assert hangcheck.EVENTS == (
        "TICK_5",
        "PROCESS_STATE_EXITED",
        "PROCESS_STATE_BACKOFF",
        "PROCESS_STATE_FATAL",
        "PROCESS_STATE_RUNNING",
    )
