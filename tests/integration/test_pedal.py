"""tools.arm pedal in a real terminal (a pty), its arm on the real bus."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proto.messages import OperatorCommand
from runtime.config import REPO_ROOT
from tests.integration.fake_arm import FakeArm

pytestmark = pytest.mark.integration
PATIENCE_S = 10.0


class Person:
    """A terminal with `tools.arm pedal right` in it."""

    def __init__(self, run_dir: Path) -> None:
        self.keyboard, self.terminal = pty.openpty()
        self.before = termios.tcgetattr(self.terminal)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tools.arm", "pedal", "right"],
            cwd=REPO_ROOT,
            env={**os.environ, "FARHAND_RUN_DIR": str(run_dir)},
            stdin=self.terminal,
            stdout=self.terminal,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def wait_for_keys(self) -> None:
        """Until the terminal has been switched to single keys."""
        give_up_s = time.monotonic() + PATIENCE_S
        while termios.tcgetattr(self.terminal)[3] & termios.ICANON:
            assert time.monotonic() < give_up_s
            time.sleep(0.01)

    def type(self, data: bytes) -> None:
        os.write(self.keyboard, data)

    def hold(self, span_s: float) -> None:
        end_s = time.monotonic() + span_s
        while time.monotonic() < end_s:
            self.type(b" ")
            time.sleep(0.03)

    def hang_up(self) -> None:
        os.close(self.keyboard)
        self.keyboard = -1

    def ends(self) -> int:
        return self.process.wait(PATIENCE_S)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for fd in (self.keyboard, self.terminal):
            if fd >= 0:
                os.close(fd)


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    directory = tmp_path / "run"
    directory.mkdir(mode=0o700)
    return directory


@pytest.fixture
def fake(run_dir: Path) -> Iterator[FakeArm]:
    with FakeArm(run_dir) as arm:
        yield arm


@pytest.fixture
def person(run_dir: Path, fake: FakeArm) -> Iterator[Person]:
    someone = Person(run_dir)
    try:
        someone.wait_for_keys()
        yield someone
    finally:
        someone.close()


def engages(fake: FakeArm) -> list[OperatorCommand]:
    return [command for _, command in fake.commands if command.verb == "engage"]


def test_held_is_engage_again_and_again_let_go_is_release(person: Person, fake: FakeArm) -> None:
    person.hold(1.0)
    held = engages(fake)
    assert len(held) >= 5
    assert {command.to_boot for command in held} == {fake.boot}
    assert all(command.args == {"hold_ms": 200.0} for command in held)
    assert len({command.id for command in held}) == len(held)
    fake.wait_for(lambda: fake.verbs()[-1] == "release")
    assert person.process.poll() is None
    person.type(b" ")
    fake.wait_for(lambda: fake.verbs()[-1] == "engage")


ENDINGS: dict[str, Callable[[Person], None]] = {
    "another key": lambda person: person.type(b"q"),
    "ctrl-c": lambda person: person.type(b"\x03"),
    "ctrl-z": lambda person: person.type(b"\x1a"),
    "ctrl-d": lambda person: person.type(b"\x04"),
    "hang-up": lambda person: person.process.send_signal(signal.SIGHUP),
    "terminate": lambda person: person.process.send_signal(signal.SIGTERM),
    "interrupt": lambda person: person.process.send_signal(signal.SIGINT),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_ending_releases_and_restores_the_terminal(
    person: Person, fake: FakeArm, ending: str
) -> None:
    person.type(b" ")
    fake.wait_for(lambda: len(engages(fake)) >= 2)
    ENDINGS[ending](person)
    assert person.ends() == 0
    fake.wait_for(lambda: fake.verbs()[-1] == "release")
    assert termios.tcgetattr(person.terminal) == person.before


def test_a_terminal_that_is_gone_releases(person: Person, fake: FakeArm) -> None:
    person.type(b" ")
    fake.wait_for(lambda: len(engages(fake)) >= 2)
    person.hang_up()
    person.ends()
    fake.wait_for(lambda: fake.verbs()[-1] == "release")


def test_without_a_terminal_it_says_so(run_dir: Path, fake: FakeArm) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tools.arm", "pedal", "right"],
        cwd=REPO_ROOT,
        env={**os.environ, "FARHAND_RUN_DIR": str(run_dir)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ended.returncode == 2
    assert "needs a terminal" in ended.stderr
    assert "engage" not in fake.verbs()


def test_without_an_arm_it_says_so(run_dir: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tools.arm", "pedal", "right"],
        cwd=REPO_ROOT,
        env={**os.environ, "FARHAND_RUN_DIR": str(run_dir)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ended.returncode == 1
    assert "arm-right is not running" in ended.stderr
