"""Lock files: one holder, a bounded wait, an error that names the holder."""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from runtime.errors import LockHeldError, RunDirError
from runtime.lockfile import acquire
from tests.unit.runtime.fake_clock import FakeClock


def test_lock_writes_our_pid_over_an_old_one(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    path.write_text("1234567890123\n", encoding="ascii")
    lock = acquire(path)
    assert path.read_text(encoding="ascii") == f"{os.getpid()}\n"
    lock.release()


def test_lock_file_is_ours_alone_and_stays_after_release(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    lock = acquire(path)
    assert path.stat().st_mode & 0o777 == 0o600
    lock.release()
    lock.release()
    assert path.exists()
    acquire(path, wait_s=0).release()


def test_a_held_lock_is_waited_for_then_refused_with_the_holder(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    lock = acquire(path)
    clock = FakeClock(overshoot_ns=1_000_000)
    with pytest.raises(LockHeldError) as caught:
        acquire(path, clock=clock, sleep=clock.sleep)
    assert caught.value.holder_pid == os.getpid()
    assert caught.value.path == path
    assert 2_000_000_000 <= clock.t_ns - 5_000_000_000 < 2_050_000_000
    assert path.read_text(encoding="ascii") == f"{os.getpid()}\n"
    lock.release()


def test_a_lock_that_frees_during_the_wait_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    first = acquire(path)
    clock = FakeClock()

    def sleep(seconds_s: float) -> None:
        clock.sleep(seconds_s)
        if len(clock.sleeps_s) == 3:
            first.release()

    second = acquire(path, clock=clock, sleep=sleep)
    assert len(clock.sleeps_s) == 3
    second.release()


def test_a_refusal_leaves_no_descriptor_that_could_hold_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    lock = acquire(path)
    clock = FakeClock()
    with pytest.raises(LockHeldError):
        acquire(path, wait_s=0, clock=clock, sleep=clock.sleep)
    assert clock.sleeps_s == []
    lock.release()
    acquire(path, wait_s=0).release()


@pytest.mark.parametrize("content", ["", "soon\n"])
def test_a_holder_that_has_not_written_its_pid_is_unknown(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.lock"
    lock = acquire(path)
    path.write_text(content, encoding="ascii")
    with pytest.raises(LockHeldError) as caught:
        acquire(path, wait_s=0)
    assert caught.value.holder_pid is None
    lock.release()


def test_a_missing_directory_or_a_planted_link_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(RunDirError, match=r"cannot open lock file .*missing/a\.lock .*No such"):
        acquire(tmp_path / "missing" / "a.lock")
    (tmp_path / "link.lock").symlink_to(tmp_path / "target")
    with pytest.raises(RunDirError, match="FARHAND_RUN_DIR"):
        acquire(tmp_path / "link.lock")
    assert not (tmp_path / "target").exists()


def test_a_file_system_without_locks_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(fd: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(RunDirError, match=r"No locks available.*local file system"):
        acquire(tmp_path / "a.lock")
