"""Who owns a hand: the first valid sender, until it has been silent for 1 s.

Owns lease and session of one hand; pure, every instant is handed in. Which packets are valid is
decided elsewhere, and an e-stop never asks who owns anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

Address = tuple[str, int]

# docs/specs/rctp.md §6 and §7.
LEASE_NS: Final = 1_000_000_000
SAME_SESSION_NS: Final = 3_000_000_000


class Lease:
    """Lease and session of one hand.

    Args:
        draw_session: gives a fresh, random 64-bit session.

    Attributes:
        owner: the sender whose poses count; None while nobody holds the lease.
        session: of the present or last owner; 0 before the first.
    """

    def __init__(self, draw_session: Callable[[], int]) -> None:
        self._draw_session = draw_session
        self.owner: Address | None = None
        self.session = 0
        self._last_owner: Address | None = None
        self._heard_ns = 0

    def admits(self, address: Address, t_recv_ns: int) -> bool:
        """Whether a packet of `address`, received then, may count as motion."""
        return self.owner in (None, address) or self._over(t_recv_ns)

    def holds(self, address: Address, t_recv_ns: int) -> bool:
        """Whether `address` has the lease at that moment."""
        return self.owner == address and not self._over(t_recv_ns)

    def continues(self, address: Address, t_recv_ns: int) -> bool:
        """Whether a packet of `address`, received then, belongs to the present session."""
        return self._last_owner == address and t_recv_ns - self._heard_ns < SAME_SESSION_NS

    def claim(self, address: Address, t_recv_ns: int, *, restarted: bool = False) -> bool:
        """An admitted packet was accepted: takes or renews the lease.

        Args:
            restarted: the sender's clock says that its app was started anew.

        Returns:
            Whether this began a session.
        """
        fresh = restarted or not self.continues(address, t_recv_ns)
        if fresh:
            self.session = self._draw_session()
        self.owner = self._last_owner = address
        self._heard_ns = max(self._heard_ns, t_recv_ns)
        return fresh

    def expire(self, now_ns: int) -> bool:
        """To be called by a timer, after draining; True if the lease ended just now."""
        if self.owner is None or not self._over(now_ns):
            return False
        self.owner = None
        return True

    def expires_ns(self) -> int | None:
        """When `expire` will have something to do; None while nobody owns the hand."""
        return None if self.owner is None else self._heard_ns + LEASE_NS

    def filter_owner(self) -> Address | None:
        """The owner whose packets alone the kernel should let in; None for no filter.

        A loopback owner may be the simulated operator, which yields to others: it has to see that
        there are others, so they are counted and not filtered.
        """
        if self.owner is None or self.owner[0].startswith("127."):
            return None
        return self.owner

    def _over(self, at_ns: int) -> bool:
        return at_ns - self._heard_ns >= LEASE_NS
