"""HOST:PORT texts and UDP sockets (IPv4, non-blocking). Owns no socket it makes."""

from __future__ import annotations

import socket

Address = tuple[str, int]


def parse_address(text: str) -> Address:
    """`HOST:PORT` as a pair.

    Raises:
        ValueError: no port, or a port outside 0...65535.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{text!r} is not HOST:PORT")
    return host, int(port)


def udp_socket() -> socket.socket:
    """A non-blocking UDP socket, not bound."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setblocking(False)
    return sock


def format_address(address: Address) -> str:
    """The pair as `HOST:PORT`."""
    return f"{address[0]}:{address[1]}"
