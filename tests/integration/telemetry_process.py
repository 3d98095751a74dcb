"""A real telemetry process on ephemeral ports, and publishers that play the rest of the stack."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import zmq

from proto.messages import Message
from proto.topics import Topic
from runtime.bus import Identity, Publisher, ipc_endpoint
from runtime.clock import MonotonicClock
from runtime.service import identity
from tests.config_copy import copy_config

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 15.0

Socket = zmq.Socket[bytes]


def free_port() -> int:
    """A TCP port that nobody has right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def short_dir() -> Iterator[Path]:
    """A private directory whose path is short enough for ipc sockets."""
    path = Path(tempfile.mkdtemp(prefix="fh-"))
    try:
        yield path
    finally:
        shutil.rmtree(path)


class Program(subprocess.Popen[str]):
    """`python ARGS` from the repository root, its output in pipes."""

    def __init__(
        self, args: tuple[str, ...], env: dict[str, str], stdout: int = subprocess.PIPE
    ) -> None:
        super().__init__(
            [sys.executable, *args],
            cwd=ROOT,
            env=env,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self) -> None:
        """Asks it to stop, then makes it."""
        if self.poll() is None:
            self.terminate()
        try:
            self.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            self.kill()
            self.communicate()


class Ended(NamedTuple):
    """How a program ended."""

    code: int
    out: str
    err: str


class Station:
    """One run directory with a telemetry process (or none yet) and whatever publishes to it."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.tap_port = free_port()
        self.http_port = free_port()
        self.context: zmq.Context[Socket] = zmq.Context()
        self.who: Identity = identity()
        self.process: Program | None = None
        self._publishers: dict[str, Publisher] = {}
        self._config = copy_config(run_dir)

    def env(self, **changes: str) -> dict[str, str]:
        """The environment of a program of this station."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("FARHAND_", "ROBOT"))}
        return {
            **inherited,
            "PYTHONUNBUFFERED": "1",
            "FARHAND_RUN_DIR": str(self.run_dir),
            "FARHAND_CONFIG_DIR": str(self._config),
            "FARHAND_TELEMETRY__TAP_PORT": str(self.tap_port),
            "FARHAND_TELEMETRY__HTTP_PORT": str(self.http_port),
            "FARHAND_SIM_OPERATOR__ENABLED": "false",
            **changes,
        }

    def start(self) -> None:
        """Starts telemetry and waits until it answers."""
        self.process = self.program("-m", "services.telemetry")
        self.until(self._answers, "telemetry to answer")

    def program(self, *args: str, stdout: int = subprocess.PIPE) -> Program:
        """Starts `python ARGS` in this station; the caller ends it."""
        return Program(args, self.env(), stdout)

    def run(self, *args: str, **env: str) -> Ended:
        """Runs `python ARGS` to its end."""
        program = Program(args, self.env(**env))
        try:
            out, err = program.communicate(timeout=PATIENCE_S)
        finally:
            program.end()
        return Ended(program.returncode, out, err)

    def _answers(self) -> bool:
        try:
            self.get("/health")
        except OSError:
            return False
        return True

    def get(self, path: str, method: str = "GET") -> tuple[int, bytes]:
        """Status and body of an HTTP request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=5)
        try:
            connection.request(method, path)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def health(self) -> tuple[int, dict[str, Any]]:
        """Status and JSON of /health."""
        code, body = self.get("/health")
        return code, json.loads(body)

    def publish(self, topic: Topic, message: Message) -> None:
        """Publishes as the topic's owner would."""
        self.publisher(topic.endpoint).publish(topic, message)

    def publisher(self, endpoint: str) -> Publisher:
        """The publisher that owns `endpoint`."""
        if endpoint not in self._publishers:
            where = ipc_endpoint(self.run_dir, endpoint)
            self._publishers[endpoint] = Publisher(self.context, where, self.who, MonotonicClock())
        return self._publishers[endpoint]

    def tap(self, prefix: str = "", **options: int) -> Socket:
        """A SUB socket on the JSON tap; `options` by their zmq names."""
        tap = self.context.socket(zmq.SUB)
        for name, value in options.items():
            tap.setsockopt(getattr(zmq, name), value)
        tap.connect(f"tcp://127.0.0.1:{self.tap_port}")
        tap.subscribe(prefix.encode())
        return tap

    def joined(self, tap: Socket, topic: Topic, message: Message) -> list[bytes]:
        """Publishes until `tap` hears of it: the first frames that arrive."""
        until_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < until_s:
            self.publish(topic, message)
            if tap.poll(20):
                return tap.recv_multipart()
        raise AssertionError(f"{topic.name} never reached the tap")

    def until(self, check: Any, what: str) -> None:
        """Waits for `check()` to hold."""
        until_s = time.monotonic() + PATIENCE_S
        while not check():
            assert self.process is None or self.process.poll() is None, "telemetry ended"
            assert time.monotonic() < until_s, f"waited in vain for {what}"
            time.sleep(0.02)

    def rss_bytes(self) -> int:
        """Resident memory of the telemetry process."""
        assert self.process is not None
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGESIZE")

    def close(self) -> None:
        """Ends the process and lets go of the sockets."""
        if self.process is not None:
            self.process.end()
        self.context.destroy(linger=0)


@contextmanager
def station(*, started: bool = True) -> Iterator[Station]:
    """A station of its own, cleaned up at the end."""
    with short_dir() as path:
        found = Station(path)
        try:
            if started:
                found.start()
            yield found
        finally:
            found.close()
