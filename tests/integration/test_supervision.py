"""Pulse and hang check as real processes, under a real supervisord."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runtime.exits import ProgramExits, read_exits
from runtime.heartbeat import heartbeat_path, read_heartbeat
from tools.hangcheck import EVENTS

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(sys.platform != "linux", reason="the hang check reads /proc"),
]

REPO_ROOT = Path(__file__).parents[2]
PATIENCE_S = 30.0


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Looks every 20 ms; generous, because a loaded machine is no failure."""
    give_up_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < give_up_s, f"not within {PATIENCE_S} s: {what}"
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Whether there is such a process (one that is dead but not reaped does not count)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_pulse_ends_when_its_reader_is_gone() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tools.pulse"], cwd=REPO_ROOT, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.read(5) == b"....."
    process.stdout.close()
    assert process.wait(PATIENCE_S) == 0


def test_pulse_ends_with_its_parent() -> None:
    parent = subprocess.run(
        [
            sys.executable,
            "-c",
            "import subprocess, sys\n"
            "child = subprocess.Popen([sys.executable, '-m', 'tools.pulse'],\n"
            "    stdout=subprocess.PIPE)\n"
            "child.stdout.read(2)\n"
            "print(child.pid, flush=True)\n"
            "import os; os._exit(0)",
        ],
        cwd=REPO_ROOT,
        capture_output=True,
        check=True,
        timeout=PATIENCE_S,
    )
    pid = int(parent.stdout)
    wait_for(lambda: not is_running(pid), "pulse gone")


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A supervisord with one healthy program, one that crashes and one that refuses its config."""
    directory = tmp_path_factory.mktemp("r")
    directory.chmod(0o700)
    (directory / "supervisord.conf").write_text(_configuration(directory), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "supervisor.supervisord", "-n", "-c", "supervisord.conf"],
        cwd=directory,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    yield directory
    process.terminate()
    try:
        process.wait(PATIENCE_S)
    finally:
        process.kill()


def _configuration(directory: Path) -> str:
    stub = f"{sys.executable} -m tests.integration.stub_program"
    common = f"directory={REPO_ROOT}\nstartsecs=0\nexitcodes=0,78\nstopwaitsecs=3"
    programs = {"mapper": "beat mapper", "ingest": "crash", "telemetry": "refuse"}
    stubs = "\n".join(
        f"[program:{name}]\ncommand={stub} {how}\n{common}\nautorestart=unexpected\n"
        f"stdout_logfile=NONE\nstderr_logfile={directory}/{name}.err\n"
        for name, how in programs.items()
    )
    head = textwrap.dedent(f"""\
        [supervisord]
        logfile={directory}/supervisord.log
        pidfile={directory}/supervisord.pid
        childlogdir={directory}
        environment=FARHAND_RUN_DIR="{directory}"
        [program:pulse]
        command={sys.executable} -m tools.pulse
        stdout_logfile=NONE
        stderr_logfile={directory}/pulse.err
        directory={REPO_ROOT}
        [eventlistener:hangcheck]
        command={sys.executable} -m tools.hangcheck
        directory={REPO_ROOT}
        stderr_logfile={directory}/hangcheck.err
        events={",".join(EVENTS)}
        """)
    return head + stubs


def entry(run_dir: Path, program: str) -> ProgramExits | None:
    return read_exits(run_dir).get(program)


def reason_is(run_dir: Path, program: str, reason: str) -> bool:
    found = entry(run_dir, program)
    return found is not None and found["reason"] == reason


def said(run_dir: Path, *words: str) -> bool:
    lines = (run_dir / "hangcheck.err").read_text(encoding="utf-8").splitlines()
    return any(all(word in line for word in words) for line in lines)


def mapper_pid(run_dir: Path) -> int | None:
    beat = read_heartbeat(heartbeat_path(run_dir, "mapper"))
    return beat.pid if beat is not None and is_running(beat.pid) else None


def test_a_stopped_program_is_killed_and_comes_back(run_dir: Path) -> None:
    wait_for(lambda: mapper_pid(run_dir) is not None, "mapper beats")
    stuck = mapper_pid(run_dir)
    assert stuck is not None
    before = entry(run_dir, "mapper")
    kills = before["hang_kills"] if before else 0
    os.kill(stuck, signal.SIGSTOP)
    wait_for(lambda: mapper_pid(run_dir) not in (None, stuck), "another mapper beats")
    wait_for(lambda: reason_is(run_dir, "mapper", "hung"), "the reason is in exits.json")
    after = entry(run_dir, "mapper")
    assert after is not None
    assert after["hang_kills"] == kills + 1
    assert said(run_dir, "program_hung_killed of=mapper", f"pid={stuck}")


def test_a_program_that_beats_is_left_alone(run_dir: Path) -> None:
    wait_for(lambda: mapper_pid(run_dir) is not None, "mapper beats")
    pid = mapper_pid(run_dir)
    time.sleep(4)
    assert mapper_pid(run_dir) == pid


def test_a_crash_loop_becomes_a_loud_reason(run_dir: Path) -> None:
    wait_for(lambda: reason_is(run_dir, "ingest", "repeated_exits"), "ingest in trouble")
    assert said(run_dir, "error hangcheck program_in_trouble of=ingest reason=repeated_exits")


def test_a_refused_configuration_is_not_restarted_and_says_so(run_dir: Path) -> None:
    wait_for(lambda: reason_is(run_dir, "telemetry", "not_restarted"), "telemetry in trouble")
    found = entry(run_dir, "telemetry")
    assert found is not None
    assert (found["exits_60s"], found["last_exit"]) == (0, "expected")
