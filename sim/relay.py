"""Sockets of the network impairment: one listening address, one target, both ways through a Link.

Every client gets its own upstream socket, so the target sees as many senders as there are and its
answers find the way back. Bounded: clients, packets held, packets read per wake.
"""

from __future__ import annotations

import selectors
import socket
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from sim.endpoints import Address, format_address, udp_socket
from sim.link import Link

MAX_CLIENTS: Final = 64
CLIENT_IDLE_S: Final = 60.0  # an idle client may give its place to a new one after this
READ_BATCH: Final = 256  # packets per socket and wake, so that a flood cannot starve the other way
DATAGRAM_BYTES: Final = 65535


@dataclass(slots=True)
class _Client:
    address: Address
    upstream: socket.socket
    seen_s: float


class Relay:
    """One listening port. The owner calls `on_readable` and `flush`; both return at once."""

    def __init__(
        self, listen: Address, target: Address, up: Link[Address], down: Link[Address]
    ) -> None:
        """Raises OSError if `listen` cannot be bound. Port 0 takes a free one: see `address`."""
        self._target = target
        self.up, self.down = up, down
        self.clients_refused = 0
        self.target_refusals = 0  # the target's port was closed
        self.send_errors = 0
        self._clients: OrderedDict[Address, _Client] = OrderedDict()
        self._by_upstream: dict[socket.socket, _Client] = {}
        self._listener = udp_socket()
        try:
            self._listener.bind(listen)
        except OSError as error:
            self._listener.close()
            raise OSError(error.errno, f"{format_address(listen)}: {error.strerror}") from error
        self.address: Address = self._listener.getsockname()
        self._selector: selectors.BaseSelector | None = None

    def register(self, selector: selectors.BaseSelector) -> None:
        """Adds the sockets to `selector`, now and as clients come; the key's data is this relay."""
        self._selector = selector
        selector.register(self._listener, selectors.EVENT_READ, self)

    def close(self) -> None:
        """Closes every socket."""
        for client in list(self._clients.values()):
            self._drop(client)
        self._listener.close()

    def drain(self, now_s: float) -> None:
        """Takes in everything that waits on any socket."""
        for sock in (self._listener, *self._by_upstream):
            self.on_readable(sock, now_s)

    def on_readable(self, sock: socket.socket, now_s: float) -> None:
        """Takes in what waits on one of the registered sockets."""
        for _ in range(READ_BATCH):
            try:
                data, source = sock.recvfrom(DATAGRAM_BYTES)
            except BlockingIOError:
                return
            except ConnectionRefusedError:
                self.target_refusals += 1
                continue
            if sock is not self._listener:
                self.down.offer(now_s, data, self._by_upstream[sock].address)
            elif self._client(source, now_s) is not None:
                self.up.offer(now_s, data, source)

    def next_due_s(self) -> float | None:
        """When the next held packet leaves, either way; None if none is held."""
        due = [at_s for at_s in (self.up.next_due_s(), self.down.next_due_s()) if at_s is not None]
        return min(due, default=None)

    def flush(self, now_s: float) -> None:
        """Sends everything that is due."""
        for data, address in self.up.pop_due(now_s):
            client = self._clients.get(address)
            if client is not None:
                self._send(client.upstream, data, self._target)
        for data, address in self.down.pop_due(now_s):
            self._send(self._listener, data, address)

    def report(self) -> dict[str, object]:
        """Counters of this relay for the closing line."""
        return {
            "listen": format_address(self.address),
            "to": format_address(self._target),
            "clients": len(self._clients),
            "clients_refused": self.clients_refused,
            "target_refusals": self.target_refusals,
            "send_errors": self.send_errors,
            "up": self.up.counters.as_dict(),
            "down": self.down.counters.as_dict(),
        }

    def _client(self, address: Address, now_s: float) -> _Client | None:
        """The client at `address`, made if there is room."""
        client = self._clients.get(address)
        if client is None:
            if not self._has_room(now_s):
                self.clients_refused += 1
                return None
            client = self._clients[address] = _Client(address, udp_socket(), now_s)
            client.upstream.connect(self._target)
            self._by_upstream[client.upstream] = client
            if self._selector is not None:
                self._selector.register(client.upstream, selectors.EVENT_READ, self)
        client.seen_s = now_s
        self._clients.move_to_end(address)
        return client

    def _has_room(self, now_s: float) -> bool:
        if len(self._clients) < MAX_CLIENTS:
            return True
        oldest = next(iter(self._clients.values()))
        if now_s - oldest.seen_s < CLIENT_IDLE_S:
            return False
        self._drop(oldest)
        return True

    def _drop(self, client: _Client) -> None:
        del self._clients[client.address], self._by_upstream[client.upstream]
        if self._selector is not None:
            self._selector.unregister(client.upstream)
        client.upstream.close()

    def _send(self, sock: socket.socket, data: bytes, to: Address) -> None:
        try:
            if sock is self._listener:
                sock.sendto(data, to)
            else:
                sock.send(data)
        except ConnectionRefusedError:  # the answer to an earlier packet: this one was not sent
            self.target_refusals += 1
        except OSError:
            self.send_errors += 1
