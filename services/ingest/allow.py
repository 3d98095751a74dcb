"""The fence: which addresses may send to this machine's hand ports at all.

Owns the allow-list and nothing else. It authenticates nobody.
"""

from __future__ import annotations

from collections.abc import Iterable

from runtime.addresses import is_allowed, parse_network


class AllowList:
    """A set of networks, as `10.1.2.0/24` or a single address.

    Raises:
        ConfigError: an entry is no network.
    """

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = tuple(map(parse_network, networks))
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
            return is_allowed(ip, self._networks)
        except OSError:  # no IPv4 address
            return False
