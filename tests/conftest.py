"""For every test: none of the developer's own settings, and nothing left running."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples on every machine: a red run must be red again for whoever looks into it.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

PRIVATE = ("ROBOT", "LISTEN", "PYTHONDONTWRITEBYTECODE")


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's robot, overrides or bytecode switch change no test."""
    for name in list(os.environ):
        if name.startswith("FARHAND_") or name in PRIVATE:
            monkeypatch.delenv(name)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A short one: pytest's own can be too long for the sockets of a run directory."""
    with tempfile.TemporaryDirectory(prefix="fh-") as folder:
        yield Path(folder)


def _children() -> set[int]:
    found = set()
    for task in Path("/proc/self/task").glob("*/children"):
        found |= {int(pid) for pid in task.read_text().split()}
    return found


@pytest.fixture(autouse=True)
def _nothing_left_running() -> Iterator[None]:
    """A test that leaves a process or a thread behind fails."""
    threads = set(threading.enumerate())
    children = _children()
    yield
    left = [t.name for t in threading.enumerate() if t not in threads and not t.daemon]
    assert not left, f"threads left running: {left}"
    orphans = _children() - children
    assert not orphans, f"child processes left running: {orphans}"
