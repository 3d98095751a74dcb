"""Starts a simulator program for a test and never leaves it running."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 30.0  # far above what any step takes, a cold start on a busy disk included


class Python(subprocess.Popen[str]):
    """`python ARGS` with pipes on all three streams; leaving the block kills it."""

    def __init__(self, *args: str) -> None:
        super().__init__(
            [sys.executable, *args],
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def __exit__(self, *exc_info: object) -> None:
        if self.poll() is None:
            self.kill()
        self.communicate(timeout=PATIENCE_S)

    def tell(self, line: str) -> None:
        """Writes one line to its standard input."""
        assert self.stdin is not None
        self.stdin.write(line + "\n")
        self.stdin.flush()

    def out_line(self) -> str:
        """The next line of its standard output."""
        assert self.stdout is not None
        return self.stdout.readline().strip()

    def log_line(self) -> str:
        """The next line of its standard error."""
        assert self.stderr is not None
        return self.stderr.readline().strip()

    def stopped(self) -> tuple[str, str]:
        """The rest of its stdout and stderr, once it has ended by itself."""
        return self.communicate(timeout=PATIENCE_S)

    def terminated(self) -> tuple[str, str]:
        """SIGTERM, then the rest of its stdout and stderr; it must end with code 0."""
        self.send_signal(signal.SIGTERM)
        out, err = self.stopped()
        assert self.returncode == 0, err
        return out, err


class Program(Python):
    """`python -m MODULE ARGS`."""

    def __init__(self, module: str, *args: str) -> None:
        super().__init__("-m", module, *args)


@contextlib.contextmanager
def udp() -> Iterator[socket.socket]:
    """A bound loopback UDP socket on a free port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.settimeout(PATIENCE_S)
        yield sock


def port_of(sock: socket.socket) -> int:
    """The port a socket is bound to."""
    port: int = sock.getsockname()[1]
    return port
