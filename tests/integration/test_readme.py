"""The README's commands, as they stand, in a copy of the checkout."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PATIENCE_S = 60.0
LEFTOVERS = (".git", ".venv", ".*_cache", ".hypothesis", "__pycache__", "run", "local.toml")
HEALTH = "http://127.0.0.1:8010/health"

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]


def shell_lines() -> list[str]:
    """Every command of the README's sh blocks, comments cut."""
    blocks = re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
    lines = [line.split(" #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line]


def health() -> tuple[int, dict[str, Any]]:
    try:
        with urllib.request.urlopen(HEALTH, timeout=5) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)
    except OSError:
        return 0, {}


def wait_for_health(log: Path) -> dict[str, Any]:
    give_up_s = time.monotonic() + PATIENCE_S
    while True:
        code, body = health()
        if code == 200 and all(side["state"] == "ENGAGED" for side in body["sides"].values()):
            return body
        assert time.monotonic() < give_up_s, f"health {code}: {body}\n{log.read_text()}"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout without what set-up, runs and tools have left in it."""
    copy = tmp_path_factory.mktemp("clone") / "farhand"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFTOVERS))
    (copy / "run").mkdir()
    shutil.copy2(ROOT / "run" / ".gitignore", copy / "run")
    (copy / ".venv").symlink_to(ROOT / ".venv")
    return copy


@pytest.fixture
def running(stack: Path) -> Path:
    """The stack with both arms following the simulated operator (again)."""
    wait_for_health(stack / "make-run.log")
    return stack


@pytest.fixture(scope="module")
def stack(checkout: Path) -> Iterator[Path]:
    """`make run` in the foreground of its own process group, until Ctrl-C."""
    log = checkout / "make-run.log"
    with (
        log.open("w") as out,
        subprocess.Popen(
            ["make", "run"],
            cwd=checkout,
            stdout=out,
            stderr=out,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
            start_new_session=True,
        ) as run,
    ):
        try:
            wait_for_health(log)
            yield checkout
        finally:
            os.killpg(run.pid, signal.SIGINT)
            run.wait(PATIENCE_S)
    assert health()[0] == 0, "something of the stack outlived Ctrl-C"


@contextmanager
def until_interrupted(checkout: Path, command: str) -> Iterator[list[str]]:
    """Runs a command that goes on until Ctrl-C; the list holds its whole output afterwards."""
    output: list[str] = []
    with subprocess.Popen(
        command.split(),
        cwd=checkout,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield output
        finally:
            process.send_signal(signal.SIGINT)
            output.append(process.communicate(timeout=PATIENCE_S)[0])


def sessions(checkout: Path) -> dict[str, str]:
    """Session of each hand, from a direct look at the tap."""
    out = subprocess.run(
        [".venv/bin/python", "-m", "tools.tap", "--json", "--topic", "arm_target", "--count", "8"],
        cwd=checkout,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    ).stdout
    found: dict[str, str] = {}
    for line in out.splitlines():
        message = json.loads(line)
        found[message["side"]] = str(message["session"])
    return found


def test_every_command_of_the_readme_is_run_here() -> None:
    assert shell_lines() == [
        "make run",
        ".venv/bin/python -m tools.tap",
        ".venv/bin/python -m tools.arm status",
        ".venv/bin/python -m sim.headset --motion replay sim/data/arm_motion.csv",
        "make test",  # what runs this test
    ]


def test_the_tap_shows_the_arms(running: Path) -> None:
    with until_interrupted(running, shell_lines()[1]) as output:
        time.sleep(4.0)
    assert "arm_state/right" in output[0]
    assert "ENGAGED" in output[0]


def test_arm_status_says_it_in_words(running: Path) -> None:
    done = subprocess.run(
        shell_lines()[2].split(), cwd=running, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("right: ENGAGED ok: follows the hand")


def test_the_replay_takes_over_and_gives_back(running: Path) -> None:
    before = sessions(running)
    give_up_s = time.monotonic() + PATIENCE_S
    with until_interrupted(running, shell_lines()[3]) as output:
        while (during := sessions(running)).get("right") in (None, before["right"]):
            assert time.monotonic() < give_up_s, "the replay never got the hand"
        assert during["left"] == before["left"], "it took a hand that it does not send for"
        wait_for_health(running / "make-run.log")
        time.sleep(3.0)
    assert "ENGAGED" in output[0]
    give_up_s = time.monotonic() + PATIENCE_S
    while sessions(running).get("right") in (None, during["right"]):
        assert time.monotonic() < give_up_s, "the simulated operator never came back"


def test_the_six_line_tap(running: Path) -> None:
    code = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)[0]
    with subprocess.Popen(
        [".venv/bin/python", "-u", "-c", code], cwd=running, stdout=subprocess.PIPE, text=True
    ) as tap:
        assert tap.stdout is not None
        position = json.loads(tap.stdout.readline())
        tap.terminate()
    assert len(position) == 3
    assert len(list(filter(None, code.splitlines()))) == 6


@pytest.mark.parametrize(
    "row", [".venv/bin/supervisorctl -c deploy/supervisord.conf status", "-m tools.bench pipeline"]
)
def test_daily_use_names_real_commands(row: str) -> None:
    assert row in README


def test_supervisorctl_sees_every_program(running: Path) -> None:
    done = subprocess.run(
        [".venv/bin/supervisorctl", "-c", "deploy/supervisord.conf", "status"],
        cwd=running,
        capture_output=True,
        text=True,
        check=False,
    )
    states = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines()}
    assert states.pop("sim-arm-right") == states.pop("sim-arm-left") == "STOPPED"
    assert set(states.values()) == {"RUNNING"}
