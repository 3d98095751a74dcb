"""Which of this machine's IPv4 addresses to listen on, and whose packets count.

`[network] listen` holds addresses, interface names and `default-route`; `[network] allow` holds
networks. Binds nothing and sends nothing; plain integers, because the ipaddress module costs 8 ms
of a service's start.
"""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from runtime.errors import ConfigError

LOOPBACK: Final = "127.0.0.1"
EVERY_ADDRESS: Final = socket.inet_ntoa(bytes(4))  # the operator's explicit choice, never ours
DEFAULT_ROUTE: Final = "default-route"
# Never routed (TEST-NET-3, RFC 5737). Connecting a UDP socket asks for the route, sends nothing.
_ELSEWHERE: Final = ("203.0.113.1", 9)
_SIOCGIFADDR: Final = 0x8915  # <linux/sockios.h>
_SIOCGIFNETMASK: Final = 0x891B
_FULL_MASK: Final = 0xFFFFFFFF
# This machine, and the addresses Tailscale gives out (RFC 6598).
DEFAULT_ALLOW: Final = ("127.0.0.0/8", "100.64.0.0/10")
# Where the system does not tell a mask (macOS): the common size of a home or lab network.
_USUAL_PREFIX: Final = 24


class Interface(NamedTuple):
    """One interface that has an IPv4 address."""

    name: str
    address: str
    prefix: int


class Network(NamedTuple):
    """An IPv4 network as integers in host order."""

    base: int
    mask: int

    def __str__(self) -> str:
        """In the form `192.168.1.0/24`."""
        return f"{_to_text(self.base)}/{self.mask.bit_count()}"

    def __repr__(self) -> str:
        """The same, so that a list of them on a log line can be read."""
        return str(self)


Interfaces = Callable[[], Sequence[Interface]]
RouteAddress = Callable[[], "str | None"]


def interfaces() -> list[Interface]:
    """Every interface with its first IPv4 address; empty where the system is not Linux."""
    if not sys.platform.startswith("linux"):
        return []
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            address = _ask(probe, _SIOCGIFADDR, name)
            mask = _ask(probe, _SIOCGIFNETMASK, name)
            if address is not None and mask is not None:
                found.append(Interface(name, _to_text(address), mask.bit_count()))
    return found


def _ask(probe: socket.socket, request: int, name: str) -> int | None:
    """One ioctl of netdevice(7); None if the interface has no such thing."""
    import fcntl  # here, because only this needs it

    try:
        answer = fcntl.ioctl(probe.fileno(), request, struct.pack("256s", name.encode()[:15]))
    except OSError:
        return None
    return int(struct.unpack("!I", answer[20:24])[0])


def default_route_address() -> str | None:
    """The address that packets to other networks leave from; None without such a route."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
        except OSError:
            return None
        return str(probe.getsockname()[0])


def resolve_listen(
    listen: Iterable[str],
    *,
    present: Interfaces = interfaces,
    route: RouteAddress = default_route_address,
) -> list[str]:
    """The IPv4 addresses to bind, loopback first.

    Loopback is always among them: the machine's own tools and simulated headset use it, and
    nobody else can. What names nothing at present (a tunnel that is down) is left out; see
    `unresolved`. `0.0.0.0` stands for itself and makes the others needless.

    Args:
        listen: the configuration's list.
        present: the machine's interfaces.
        route: the machine's address towards other networks.

    Raises:
        ConfigError: an entry is no IPv4 address and cannot be a name either.
    """
    addresses = [LOOPBACK]
    for entry in listen:
        address = _resolve(entry, present, route)
        if address is not None and address not in addresses:
            addresses.append(address)
    return [EVERY_ADDRESS] if EVERY_ADDRESS in addresses else addresses


def unresolved(
    listen: Iterable[str],
    *,
    present: Interfaces = interfaces,
    route: RouteAddress = default_route_address,
) -> list[str]:
    """The entries that name nothing at present: an absent interface, no default route."""
    return [entry for entry in listen if _resolve(entry, present, route) is None]


def _resolve(entry: str, present: Interfaces, route: RouteAddress) -> str | None:
    if entry == DEFAULT_ROUTE:
        return route()
    if _looks_like_address(entry):
        return _to_text(_to_int(entry, "listen"))
    if not entry or len(entry) > 15 or ":" in entry or "/" in entry:  # IFNAMSIZ
        raise ConfigError(
            f"[network] listen: {entry!r} is no IPv4 address, interface name or {DEFAULT_ROUTE}"
        )
    return next((known.address for known in present() if known.name == entry), None)


def _looks_like_address(entry: str) -> bool:
    return bool(entry) and all(char in "0123456789." for char in entry)


def subnets_of(addresses: Iterable[str], *, present: Interfaces = interfaces) -> list[Network]:
    """The networks that `addresses` of this machine lie in, each once."""
    known = list(present())
    prefixes = {interface.address: interface.prefix for interface in known}
    listed = list(addresses)
    wanted = list(prefixes) if EVERY_ADDRESS in listed else listed
    networks = [
        parse_network(f"{address}/{prefixes.get(address, _USUAL_PREFIX)}") for address in wanted
    ]
    return list(dict.fromkeys(networks))


def allowed_networks(
    allow: Iterable[str], addresses: Iterable[str], *, present: Interfaces = interfaces
) -> tuple[Network, ...]:
    """Whose packets count: `allow`, or by default ourselves, Tailscale and our own networks.

    Raises:
        ConfigError: an entry is no IPv4 network.
    """
    chosen = [parse_network(entry) for entry in allow]
    if not chosen:
        chosen = [parse_network(entry) for entry in DEFAULT_ALLOW]
        chosen += subnets_of(addresses, present=present)
    return tuple(dict.fromkeys(chosen))


def is_allowed(address: str, networks: Iterable[Network]) -> bool:
    """Whether `address`, as a socket gives it, lies in one of `networks`."""
    number = int.from_bytes(socket.inet_aton(address), "big")
    return any(number & network.mask == network.base for network in networks)


def parse_network(text: str) -> Network:
    """`192.168.1.0/24`, or one address.

    Raises:
        ConfigError: it is no IPv4 network.
    """
    address, slash, size = text.partition("/")
    prefix = int(size) if size.isdecimal() else (-1 if slash else 32)
    if not 0 <= prefix <= 32:
        raise ConfigError(f"[network] allow: {text!r} is no IPv4 network such as 192.168.1.0/24")
    mask = _FULL_MASK << (32 - prefix) & _FULL_MASK
    return Network(_to_int(address, "allow") & mask, mask)


def _to_int(text: str, key: str) -> int:
    """Four decimal numbers; inet_aton alone would take `192.168` and octal too.

    Raises:
        ConfigError: anything else.
    """
    parts = text.split(".")
    if len(parts) == 4 and all(p.isdecimal() and p == str(int(p)) for p in parts):
        values = [int(part) for part in parts]
        if max(values) <= 255:
            return int.from_bytes(bytes(values), "big")
    raise ConfigError(f"[network] {key}: {text!r} is no IPv4 address such as 192.168.1.5")


def _to_text(number: int) -> str:
    return socket.inet_ntoa(number.to_bytes(4, "big"))
