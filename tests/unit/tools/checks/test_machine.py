"""What the doctor says about this computer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools.checks import machine
from tools.checks.row import Row, graded


def status(row: Row) -> str:
    """The status; a row that is not ok must name a fix, an ok one must not."""
    assert bool(row.fix) == (row.status != "ok")
    return row.status


@pytest.mark.parametrize(
    ("bad", "doubtful", "want"),
    [(True, True, "fail"), (True, False, "fail"), (False, True, "warn"), (False, False, "ok")],
)
def test_the_worst_grade_wins(bad: bool, doubtful: bool, want: str) -> None:
    assert status(graded("x", "says", "fix", bad=bad, doubtful=doubtful)) == want


@pytest.mark.parametrize(
    ("version", "want"),
    [((3, 9), "fail"), ((3, 10), "ok"), ((3, 13), "ok"), ((3, 14), "warn"), ((4, 0), "warn")],
)
def test_python(version: tuple[int, int], want: str) -> None:
    assert status(machine.python_row(version)) == want


@pytest.mark.parametrize(
    ("version", "want"), [((4, 3, 4), "fail"), ((4, 3, 5), "ok"), ((4, 4, 0), "ok")]
)
def test_libzmq(version: tuple[int, ...], want: str) -> None:
    assert status(machine.zmq_row(version)) == want


@pytest.mark.parametrize(("source", "want"), [("tsc", "ok"), ("", "ok"), ("hpet", "warn")])
def test_monotonic_clock(source: str, want: str) -> None:
    assert status(machine.monotonic_row(source)) == want


@pytest.mark.parametrize(("in_step", "want"), [(True, "ok"), (False, "warn"), (None, "ok")])
def test_wall_clock(in_step: bool | None, want: str) -> None:
    assert status(machine.wall_clock_row(in_step)) == want


def test_refused_real_time_rights_come_with_two_ways_to_get_them() -> None:
    assert status(machine.fifo_row(True, 99)) == "ok"
    row = machine.fifo_row(False, 0)
    assert status(row) == "warn"
    assert "LimitRTPRIO=30" in row.fix
    assert "rtprio 30" in row.fix


def test_trying_for_real_time_rights_leaves_this_process_as_it_was() -> None:
    if not hasattr(os, "sched_getscheduler"):
        assert not machine.may_use_fifo()
        return
    before = os.sched_getscheduler(0)
    machine.may_use_fifo()
    assert os.sched_getscheduler(0) == before


@pytest.mark.parametrize(("took", "want"), [(True, "ok"), (False, "warn")])
def test_timer_slack(took: bool, want: str) -> None:
    assert status(machine.slack_row(took)) == want


@pytest.mark.parametrize(
    ("free_mb", "want"), [(10, "fail"), (49, "fail"), (100, "warn"), (501, "ok")]
)
def test_disk(free_mb: int, want: str) -> None:
    row = machine.disk_row(free_mb * 1_000_000, Path("/run/here"))
    assert status(row) == want
    assert f"{free_mb} MB free in /run/here" in row.says


@pytest.mark.parametrize(("policy", "want"), [(1, "ok"), (0, "warn")])
def test_how_a_running_arm_is_scheduled(
    monkeypatch: pytest.MonkeyPatch, policy: int, want: str
) -> None:
    monkeypatch.setattr(os, "SCHED_FIFO", 1, raising=False)
    monkeypatch.setattr(os, "sched_getscheduler", lambda _: policy, raising=False)
    assert status(machine.scheduling_row("arm-right", 5)) == want


def test_an_arm_that_has_ended_is_not_judged() -> None:
    row = machine.scheduling_row("arm-right", 2**22 + 1)  # beyond the kernel's largest
    assert (row.status, row.says) == ("ok", "not told")


def test_set_up(tmp_path: Path) -> None:
    assert status(machine.venv_row(tmp_path)) == "ok"
    assert machine.venv_row(tmp_path / "no").fix == "make setup"


def test_every_row_can_be_had_on_this_machine(tmp_path: Path) -> None:
    names = [row.name for row in machine.rows(tmp_path)]
    assert names == [
        "python",
        "libzmq",
        "clock",
        "wall clock",
        "real-time",
        "timer slack",
        "disk",
    ]
    assert [row.name for row in machine.rows(None)] == names[:-1]


def test_off_linux_what_the_kernel_does_not_tell_is_no_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.delattr("os.sched_setscheduler", raising=False)
    monkeypatch.delattr("resource.RLIMIT_RTPRIO", raising=False)
    assert machine.synchronised() is None
    assert not machine.may_use_fifo()
    assert machine.rtprio_limit() is None
    assert not any(row.status == "fail" for row in machine.rows(None))
