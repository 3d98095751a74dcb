"""A copy of the deployment in a temporary folder, its programs replaced by a stand-in.

The conf, the supervisor and the paths are the real ones; what is under test is the conf.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.errors import DeviceError
from tools.gen_supervisord import render
from tools.supervisor import Program, Supervisor

PATIENCE_S = 15.0
# Writes its name and its end into run/events; speaks a listener's and the pulse's part.
STAND_IN = """\
import os, select, signal, sys, time
name = os.environ["SUPERVISOR_PROCESS_NAME"]
def tell(word):
    with open("run/events", "a") as file:
        file.write(f"{word} {name}\\n")
def stop(*_):
    tell("stopped")
    os._exit(0)
signal.signal(signal.SIGTERM, stop)
tell("started")
if os.path.exists("run/exit-78-" + name):
    sys.exit(78)
if name == "hangcheck":
    os.write(1, b"READY\\n")
parent = os.getppid()
while os.getppid() == parent:
    time.sleep(0.02 if name == "pulse" else 0.5)
    if name == "pulse":
        os.write(1, b".")
"""


class Tree:
    """One deployment; `ctl` talks to its supervisor."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.conf = root / "deploy" / "supervisord.conf"
        for folder in ("deploy", "run", ".venv/bin"):
            (root / folder).mkdir(parents=True)
        self.conf.write_text(render())
        (root / "stand_in.py").write_text(STAND_IN)
        python = root / ".venv" / "bin" / "python"
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S stand_in.py "$@"\n')
        python.chmod(0o755)

    def ctl(self, *words: str) -> str:
        """What the real supervisorctl prints."""
        with _Program("supervisorctl", "-c", str(self.conf), *words) as ctl:
            return ctl.communicate(timeout=PATIENCE_S)[0]

    def rpc(self) -> Supervisor:
        """The supervisor, without the start-up time of supervisorctl."""
        return Supervisor(self.conf.parent.parent / "run" / "supervisor.sock")

    def programs(self) -> dict[str, Program]:
        """All programs by name; none while the supervisor does not answer."""
        try:
            return {program.name: program for program in self.rpc().programs()}
        except DeviceError:
            return {}

    def wait_for(self, program: str, state: str, not_pid: int = 0) -> Program:
        """Until `program` is in `state` (as another process than `not_pid`)."""
        give_up_s = time.monotonic() + PATIENCE_S
        while True:
            now = self.programs().get(program)
            if now is not None and now.state == state and (not not_pid or now.pid != not_pid):
                return now
            assert time.monotonic() < give_up_s, f"{program} is not {state}: {now}"
            time.sleep(0.02)

    def events(self) -> list[tuple[str, str]]:
        """What the stand-ins wrote: ("started" or "stopped", program), in order."""
        lines = (self.root / "run" / "events").read_text().splitlines()
        return [(line.split()[0], line.split()[1]) for line in lines]


class _Program(subprocess.Popen[str]):
    """One of the supervisor's commands, run from elsewhere: paths must not depend on where."""

    def __init__(self, name: str, *args: str) -> None:
        super().__init__(
            [sys.executable, "-m", f"supervisor.{name}", *args],
            cwd="/",
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )


@contextmanager
def supervised(tree: Tree) -> Iterator[subprocess.Popen[str]]:
    """Runs the real supervisord in the foreground; whatever happens, it ends with the block."""
    with _Program("supervisord", "-n", "-c", str(tree.conf)) as process:
        try:
            tree.wait_for("pulse", "RUNNING")
            yield process
        finally:
            process.terminate()
            try:
                process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
