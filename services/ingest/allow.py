"""The fence: which addresses may send to this machine's hand ports at all.

Owns the allow-list and nothing else. It authenticates nobody.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final

from runtime.errors import ConfigError

# Loopback, and the range of which Tailscale gives addresses (100.64.0.0/10, RFC 6598).
ALWAYS_ALLOWED: Final = ("127.0.0.0/8", "100.64.0.0/10")


class AllowList:
    """A set of networks, as `10.1.2.0/24` or a single address.

    Raises:
        ConfigError: an entry is no network.
    """

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = tuple(map(_network, networks))
        self._last_ip = ""
        self._last_answer = False

    def contains(self, ip: str) -> bool:
        """Whether `ip` is inside; what is no address is outside."""
        if ip != self._last_ip:  # one sender's packets follow each other
            self._last_answer = self._matches(ip)
            self._last_ip = ip
        return self._last_answer

    def _matches(self, ip: str) -> bool:
        try:
            address = ip_address(ip)
        except ValueError:
            return False
        return any(address in network for network in self._networks)


def _network(text: str) -> IPv4Network | IPv6Network:
    """The network; bits of its base beyond the prefix are dropped."""
    try:
        return ip_network(text.strip(), strict=False)
    except ValueError as error:
        example = "write it as 192.168.1.0/24 or 192.168.1.20"
        raise ConfigError(f"[network] allow: {text!r} is no network; {example}") from error
