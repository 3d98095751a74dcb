"""The JSON tap: two frames out, subscriptions in. A tap that stops reading loses messages.

Must never wait for a reader, and must never hold more for one than SEND_QUEUE messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

import zmq

from runtime.errors import DeviceError
from runtime.log import Logger
from services.telemetry.ports import LOOPBACK, not_bound

# Per tap: over half a second of everything, and a stalled one costs under 1 MB (measured).
SEND_QUEUE: Final = 400
SEND_BUFFER_BYTES: Final = 65_536
# A subscription is a topic prefix; ours are shorter than 40 bytes.
MAX_SUBSCRIPTION_BYTES: Final = 64
RECEIVE_QUEUE: Final = 100
# Twenty taps with ten prefixes each. Each one is kept for as long as its tap is connected, so
# without a bound 20 000 of them cost 33 MB (measured); then the socket is made anew.
MAX_SUBSCRIPTIONS: Final = 200


class TapSocket:
    """Binds an XPUB socket on loopback, which tells us of subscriptions as PUB does not.

    `counters`: sent, bad_subscription (no subscription at all), resets.

    Args:
        context: of the process.
        port: TCP port on loopback.
        log: for the one line when too many subscriptions came.
        watch: called with a new socket and the handler that must be called when it is readable.
        forget: called with a socket that is about to be closed.

    Raises:
        DeviceError: the port cannot be had; the message names its holder.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        port: int,
        log: Logger,
        watch: Callable[[zmq.Socket[bytes], Callable[[], None]], None],
        forget: Callable[[zmq.Socket[bytes]], None],
    ) -> None:
        self._context = context
        self._port = port
        self._log = log
        self._watch = watch
        self._forget = forget
        self._socket: zmq.Socket[bytes] | None = None
        self.counters: Counter[str] = Counter(sent=0, bad_subscription=0, resets=0)
        self.subscriptions: set[bytes] = set()
        self._wanted: dict[bytes, bool] = {}
        self._open()

    def wanted(self, topic: bytes) -> bool:
        """Whether any tap asked for `topic`: if not, its JSON need not be made."""
        if topic not in self._wanted:
            self._wanted[topic] = any(map(topic.startswith, self.subscriptions))
        return self._wanted[topic]

    def send(self, topic: bytes, payload: bytes) -> None:
        """Gives both frames to every tap that asked for them and has room."""
        if self._socket is not None:
            self._socket.send_multipart((topic, payload))
            self.counters["sent"] += 1

    def on_readable(self) -> None:
        """Reads the subscriptions that came, and starts anew if there are too many."""
        socket = self._socket
        while socket is not None and int(socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN:
            self._note(socket.recv(zmq.NOBLOCK))
            if len(self.subscriptions) > MAX_SUBSCRIPTIONS:
                self._log.warning("tap_reset", why="too many subscriptions", of=MAX_SUBSCRIPTIONS)
                self.counters["resets"] += 1
                self.close()
                return

    def maintain(self) -> None:
        """Opens the socket again after a reset, once the port is free; call it now and then."""
        if self._socket is not None:
            return
        try:
            self._open()
        except DeviceError as error:
            self._log.debug("tap_waits", why=error)

    def close(self) -> None:
        """Lets go of the port and of all that taps asked for; they connect again by themselves."""
        if self._socket is not None:
            self._forget(self._socket)
            self._socket.close(0)
        self._socket = None
        self.subscriptions.clear()
        self._wanted.clear()

    def _open(self) -> None:
        socket = self._context.socket(zmq.XPUB)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.SNDHWM, SEND_QUEUE)
        socket.setsockopt(zmq.SNDBUF, SEND_BUFFER_BYTES)
        socket.setsockopt(zmq.RCVHWM, RECEIVE_QUEUE)
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_SUBSCRIPTION_BYTES)
        try:
            socket.bind(f"tcp://{LOOPBACK}:{self._port}")
        except zmq.ZMQError as error:
            socket.close(0)
            raise not_bound(self._port, "tap_port", error.errno or 0) from error
        self._socket = socket
        self._watch(socket, self.on_readable)

    def _note(self, request: bytes) -> None:
        """XPUB hands up 1 or 0 and the prefix; anything else is what a peer sent by itself."""
        self._wanted.clear()
        if request[:1] == b"\x01":
            self.subscriptions.add(request[1:])
        elif request[:1] == b"\x00":
            self.subscriptions.discard(request[1:])
        else:
            self.counters["bad_subscription"] += 1
