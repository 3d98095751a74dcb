"""Talks to the running supervisor over its unix socket: who it is, its programs, a restart."""

from __future__ import annotations

import http.client
import socket
import struct
import sys
import xmlrpc.client
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from runtime.errors import DeviceError

TIMEOUT_S: Final = 5.0
_PEER: Final = struct.Struct("3i")  # struct ucred: pid, uid, gid
PID_UNKNOWN: Final = 0
# Faults.NOT_RUNNING of supervisor/xmlrpc.py: a stop of what is already stopped.
_NOT_RUNNING: Final = 70


class Program(NamedTuple):
    """One program as the supervisor sees it."""

    name: str
    state: str
    pid: int
    about: str


def listener_pid(path: Path) -> int | None:
    """The process that listens on `path`; None if none does, PID_UNKNOWN if it cannot be told."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(TIMEOUT_S)
        try:
            probe.connect(str(path))
        except OSError:
            return None
        if not sys.platform.startswith("linux"):
            return PID_UNKNOWN
        raw = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
        return int(_PEER.unpack(raw)[0])


class Supervisor:
    """A client of one supervisor; every call raises DeviceError if nobody answers."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def programs(self) -> list[Program]:
        """Every program of the configuration, running or not."""
        told = cast("Iterable[dict[str, Any]]", self._call("getAllProcessInfo"))
        return [
            Program(p["name"], p["statename"], int(p["pid"]), p["description"] or p["spawnerr"])
            for p in told
        ]

    def restart(self, program: str) -> None:
        """Stops and starts `program`, waiting for both."""
        try:
            self._call("stopProcess", program)
        except xmlrpc.client.Fault as fault:
            if fault.faultCode != _NOT_RUNNING:
                raise DeviceError(f"{program}: {fault.faultString}") from fault
        try:
            self._call("startProcess", program)
        except xmlrpc.client.Fault as fault:
            raise DeviceError(f"{program}: {fault.faultString}") from fault

    def _call(self, method: str, *args: str) -> object:
        transport = _UnixTransport(self._path)
        try:
            with xmlrpc.client.ServerProxy("http://localhost", transport=transport) as proxy:
                answer: object = getattr(proxy.supervisor, method)(*args)
        except (OSError, http.client.HTTPException) as error:
            raise DeviceError(f"the supervisor does not answer: {error}") from error
        return answer


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


class _UnixTransport(xmlrpc.client.Transport):
    """What ServerProxy sends its calls through."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def make_connection(self, host: object) -> http.client.HTTPConnection:
        del host  # a unix socket has none
        connection = _UnixConnection(self._path)
        self._connection = None, connection  # what `close` closes
        return connection
