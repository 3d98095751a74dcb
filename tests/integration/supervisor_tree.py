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

from tools.gen_supervisord import render

PATIENCE_S = 15.0
BIN = Path(sys.executable).parent
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
while True:
    time.sleep(0.02 if name == "pulse" else 1.0)
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

    def ctl(self, *words: str, conf: Path | None = None) -> str:
        command = [str(BIN / "supervisorctl"), "-c", str(conf or self.conf), *words]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        ).stdout

    def states(self) -> dict[str, str]:
        """Program name to state, as `supervisorctl status` prints it."""
        rows = [line.split() for line in self.ctl("status").splitlines()]
        return {row[0]: row[1] for row in rows if len(row) > 1}

    def pid(self, program: str) -> int:
        return int(self.ctl("pid", program))

    def wait_for(self, program: str, state: str) -> None:
        give_up_s = time.monotonic() + PATIENCE_S
        while self.states().get(program) != state:
            assert time.monotonic() < give_up_s, f"{program} is not {state}: {self.states()}"
            time.sleep(0.05)

    def events(self) -> list[tuple[str, str]]:
        """What the stand-ins wrote: ("started" or "stopped", program), in order."""
        lines = (self.root / "run" / "events").read_text().splitlines()
        return [(line.split()[0], line.split()[1]) for line in lines]


@contextmanager
def supervised(tree: Tree) -> Iterator[subprocess.Popen[bytes]]:
    """Runs the real supervisord in the foreground; whatever happens, it ends with the block."""
    command = [str(BIN / "supervisord"), "-n", "-c", str(tree.conf)]
    with subprocess.Popen(
        command, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            give_up_s = time.monotonic() + PATIENCE_S
            while "pulse" not in tree.states() and process.poll() is None:
                assert time.monotonic() < give_up_s, "supervisord does not answer"
                time.sleep(0.05)
            yield process
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
