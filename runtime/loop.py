"""One thread, one poller: sockets are drained before any timer is judged.

Owns the waiting of a process. Must never sleep-poll.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import zmq

from runtime.tick import Tick

IDLE_WAIT_MS: Final = 1000

Handler = Callable[[], None]
TickHandler = Callable[[int], None]


class Loop:
    """Calls a handler for each readable socket, then one for each due tick."""

    def __init__(self) -> None:
        self._poller = zmq.Poller()
        self._handlers: dict[Any, Handler] = {}
        self._ticks: list[tuple[Tick, TickHandler]] = []
        self._running = False

    def on_readable(self, source: zmq.Socket[bytes] | int, handler: Handler) -> None:
        """Calls `handler`, which must drain `source`, whenever there is something to read.

        Earlier registrations are served first.
        """
        self._poller.register(source, zmq.POLLIN)
        self._handlers[source] = handler

    def forget(self, source: zmq.Socket[bytes] | int) -> None:
        """Stops serving `source`."""
        self._poller.unregister(source)
        del self._handlers[source]

    def every(self, tick: Tick, handler: TickHandler) -> None:
        """Calls `handler(n)` at each deadline of `tick`; n > 1 means n - 1 were missed."""
        self._ticks.append((tick, handler))
        fd = tick.fileno()
        if fd is not None:
            self._poller.register(fd, zmq.POLLIN)

    def stop(self) -> None:
        """Makes `run` return after the handlers of this wake."""
        self._running = False

    def run(self) -> None:
        """Serves until `stop`."""
        self._running = True
        while self._running:
            self.wait_once()

    def wait_once(self) -> None:
        """One wake: ready sockets, then due ticks, each after another look at the sockets."""
        ready = {source for source, _ in self._poller.poll(self._timeout_ms())}
        for source, handler in list(self._handlers.items()):
            if source in ready:
                handler()
        for tick, tick_handler in self._ticks:
            fd = tick.fileno()
            if fd is not None and fd not in ready:  # spares a read that would find nothing
                continue
            expired = tick.expirations()
            if expired:
                self._drain_all()
                tick_handler(expired)

    def _drain_all(self) -> None:
        """What arrived meanwhile may be newer than what a timer is about to judge."""
        for source, _ in self._poller.poll(0):
            handler = self._handlers.get(source)
            if handler is not None:
                handler()

    def _timeout_ms(self) -> int:
        """Ticks without a file descriptor (no timerfd) bound the wait."""
        waits = (tick.timeout_ms() for tick, _ in self._ticks)
        return min([IDLE_WAIT_MS, *(int(wait) for wait in waits if wait is not None)])
