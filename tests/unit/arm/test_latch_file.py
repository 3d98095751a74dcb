"""The file by which an e-stop outlives the arm's process."""

from __future__ import annotations

import threading
from pathlib import Path

from services.arm.latch_file import LatchFile


def settled(latch: LatchFile, path: Path, *, latched: bool) -> bool:
    """After every writer has ended: whether the file says so."""
    for thread in threading.enumerate():
        if thread.name == "latch-file":
            thread.join(10.0)
    return path.exists() is latched


def test_it_follows_the_state_and_is_read_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "arm-right.estop"
    latch = LatchFile(path)
    assert not latch.latched
    latch.keep(latched=True)
    assert settled(latch, path, latched=True)
    assert LatchFile(path).latched
    latch.keep(latched=False)
    assert settled(latch, path, latched=False)
    assert not LatchFile(path).latched


def test_the_newest_wish_wins_and_nothing_is_written_without_a_change(tmp_path: Path) -> None:
    path = tmp_path / "arm-right.estop"
    latch = LatchFile(path)
    latch.keep(latched=False)
    assert settled(latch, path, latched=False)
    for latched in (True, False) * 20:
        latch.keep(latched=latched)
    latch.keep(latched=True)
    assert settled(latch, path, latched=True)
