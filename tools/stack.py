"""A private stack of real processes for benchmarks: own run directory, own ports, all ended after.

Supervisord is left out on purpose: a benchmark starts and ends single processes by itself.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Final

from proto.registry import service
from runtime.config import REPO_ROOT

STOP_WAIT_S: Final = 4.0


def free_udp_ports(count: int) -> list[int]:
    """Ports that were free a moment ago on loopback."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports


class PrivateStack:
    """Starts programs of the process table in a throw-away run directory.

    Attributes:
        ports: UDP ports of right and left hand.
        run_dir: the run directory.
    """

    def __init__(self, programs: tuple[str, ...], env: dict[str, str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="farhand-bench-")
        self.run_dir = Path(self._folder.name)
        self.ports = free_udp_ports(2)
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("FARHAND_")}
        self.env = {
            **inherited,
            "ROBOT": "sim",
            "FARHAND_RUN_DIR": str(self.run_dir),
            "FARHAND_INGEST__PORT_RIGHT": str(self.ports[0]),
            "FARHAND_INGEST__PORT_LEFT": str(self.ports[1]),
            "PYTHONDONTWRITEBYTECODE": "",
            **env,
        }
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._programs = programs

    def __enter__(self) -> PrivateStack:
        for program in self._programs:
            self.start(program)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self.processes.values():
            process.terminate()
        deadline_s = time.monotonic() + STOP_WAIT_S
        for process in self.processes.values():
            try:
                process.wait(max(0.1, deadline_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._folder.cleanup()

    def start(self, program: str) -> None:
        """Starts one program of the process table; its output goes to the run directory."""
        declared = service(program)
        with (self.run_dir / f"{program}.log").open("ab") as log:
            self.processes[program] = subprocess.Popen(
                [sys.executable, "-m", declared.module, *declared.args],
                cwd=REPO_ROOT,
                env=self.env,
                stdout=log,
                stderr=log,
            )

    def log(self, program: str) -> str:
        """What `program` has written so far."""
        return (self.run_dir / f"{program}.log").read_text(errors="replace")
