"""A small HTTP server for people and scrapers on this machine, in threads of its own.

GET only, one answer a connection. Head size, time and number of connections are bounded, so a
caller that dawdles costs a slot for 10 s and nothing else.
"""

from __future__ import annotations

import io
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from runtime.errors import DeviceError
from services.telemetry.ports import LOOPBACK, not_bound

TIMEOUT_S: Final = 10.0
MAX_HEAD_BYTES: Final = 8192
MAX_PATH_CHARS: Final = 128
MAX_CONNECTIONS: Final = 16


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer."""

    code: int
    content_type: str
    body: bytes


Answer = Callable[[str], Reply]


def plain(code: int, text: str) -> Reply:
    """One line of text."""
    return Reply(code, "text/plain; charset=utf-8", f"{text}\n".encode())


class WebServer:
    """Listens on loopback and asks `answer` for each path, from its own threads.

    Args:
        port: TCP port.
        answer: given the path without query; must only read what nobody changes.

    Raises:
        DeviceError: the port cannot be had; the message names its holder.
    """

    def __init__(self, port: int, answer: Answer) -> None:
        try:
            self._server = _Server(port, answer)
        except OSError as error:
            raise _refused(port, error) from error
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            name="http",
            kwargs={"poll_interval": 0.2},
            daemon=True,
        )

    def start(self) -> None:
        """Begins to answer."""
        self._thread.start()

    def close(self) -> None:
        """Stops answering and frees the port."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _refused(port: int, error: OSError) -> DeviceError:
    return not_bound(port, "http_port", error.errno or 0)


class _Server(ThreadingHTTPServer):
    """At most MAX_CONNECTIONS at a time; one more is closed unanswered."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 4 * MAX_CONNECTIONS

    def __init__(self, port: int, answer: Answer) -> None:
        self.answer = answer
        self._slots = threading.BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__((LOOPBACK, port), _Handler)

    def server_bind(self) -> None:
        """Without the base class's look-up of our host name, which may ask a name server."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = LOOPBACK, self.socket.getsockname()[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._slots.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that went away in the middle is no news."""


class _Handler(BaseHTTPRequestHandler):
    """Reads one bounded head, writes one answer."""

    server_version = "farhand"
    sys_version = ""
    default_request_version = "HTTP/1.0"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(io.BytesIO(read_head(self.connection)))
        self.connection.settimeout(TIMEOUT_S)

    def handle_one_request(self) -> None:
        """One request; the base class looks for a method of its own for each verb instead."""
        self.raw_requestline = self.rfile.readline()
        self.close_connection = True
        if self.raw_requestline and self.parse_request():
            self._send(self._reply())

    def _reply(self) -> Reply:
        if self.command != "GET":
            return plain(405, "only GET")
        if len(self.path) > MAX_PATH_CHARS:
            return plain(414, "path too long")
        return self.server.answer(self.path.partition("?")[0])

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.code)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(reply.body)))
        self.send_header("Cache-Control", "no-store")
        if reply.code == 405:
            self.send_header("Allow", "GET")
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *args: Any, **kwargs: Any) -> None:
        """Scrapes every few seconds are no news."""


def read_head(connection: socket.socket) -> bytes:
    """A request up to its empty line; nothing if it is too long, too slow or broken off.

    The limit of time is for the whole head: a byte now and then does not extend it.
    """
    head = b""
    until_s = time.monotonic() + TIMEOUT_S
    while b"\r\n\r\n" not in head:
        left_s = until_s - time.monotonic()
        if left_s <= 0 or len(head) >= MAX_HEAD_BYTES:
            return b""
        connection.settimeout(left_s)
        try:
            more = connection.recv(MAX_HEAD_BYTES - len(head))
        except OSError:
            return b""
        if not more:
            return b""
        head += more
    return head
