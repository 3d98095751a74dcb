"""One hand port: what each datagram means, by the checks of docs/specs/rctp.md §5 in their order.

Owns the counters of one hand and ties allow-list, e-stop, codec, lease and order together. Pure:
data, addresses and instants are handed in. No datagram ever raises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from proto import rctp
from proto.rctp import HandPacket, RctpError, RejectReason
from services.ingest.allow import AllowList
from services.ingest.estop import EstopLevel
from services.ingest.ownership import Address, Lease
from services.ingest.validate import SampleOrder


@dataclass(frozen=True, slots=True)
class Sample:
    """An accepted sample of the hand's owner.

    Attributes:
        jump: it lies further from the sample before than a hand moves.
    """

    packet: HandPacket
    session: int
    t_recv_ns: int
    jump: bool


@dataclass(frozen=True, slots=True)
class Stop:
    """An e-stop bit, from anyone inside the allow-list. It has no pose."""

    t_recv_ns: int


class Hand:
    """State of one hand port.

    Attributes:
        rejected: packets dropped, by reason; every reason is there from the start.
        accepted: samples passed on.
        jumps: samples passed on with the jump flag.
        stops: packets with the e-stop bit.
        newest_t_send_s: t_s of the owner's newest accepted packet, for the feedback's echo.
    """

    def __init__(self, allow: AllowList, draw_session: Callable[[], int]) -> None:
        self._allow = allow
        self._order = SampleOrder()
        self.lease = Lease(draw_session)
        self.estop = EstopLevel()
        self.rejected: dict[RejectReason, int] = dict.fromkeys(rctp.REJECT_REASONS, 0)
        self.accepted = 0
        self.jumps = 0
        self.stops = 0
        self.newest_t_send_s: float | None = None

    def receive(
        self, data: bytes, address: Address, t_recv_ns: int, now_ns: int
    ) -> Sample | Stop | None:
        """What `data` means; None if it is dropped (and counted).

        Args:
            t_recv_ns: when it reached this machine; ages, lease and dt count from here.
            now_ns: when it is handled; the e-stop level counts from here, as a stop that was
                held up is still a stop.
        """
        reason = self._outside_reason(data, address)
        if reason is not None:
            self.rejected[reason] += 1
            return None
        if rctp.estop_bit(data):
            self.stops += 1
            self.estop.seen(now_ns)
            self._heed(data, address, t_recv_ns)
            return Stop(t_recv_ns)
        packet = self._valid(data, address, t_recv_ns)
        return None if packet is None else self._take(packet, address, t_recv_ns)

    def _heed(self, data: bytes, address: Address, t_recv_ns: int) -> None:
        """A valid stop of the owner keeps the lease, else feedback would end with it.

        It never takes a free hand: a stop button on the network is no hand.
        """
        packet = self._valid(data, address, t_recv_ns)
        if packet is not None and self.lease.holds(address, t_recv_ns):
            self._renew(packet, address, t_recv_ns)
            self._order.advance(packet.t_send_s)

    def _outside_reason(self, data: bytes, address: Address) -> RejectReason | None:
        """Why not even an e-stop in `data` counts; None if it would."""
        reason = rctp.header_reason(data)
        if reason == "":
            return None if self._allow.contains(address[0]) else "not_allowed"
        return reason

    def _valid(self, data: bytes, address: Address, t_recv_ns: int) -> HandPacket | None:
        """The packet, if every check of its own and of its stream passes; else counted."""
        try:
            packet = rctp.decode(data)
        except RctpError as error:
            self.rejected[error.reason] += 1
            return None
        reason = self._stream_reason(packet, address, t_recv_ns)
        if reason is not None:
            self.rejected[reason] += 1
            return None
        return packet

    def _stream_reason(
        self, packet: HandPacket, address: Address, t_recv_ns: int
    ) -> RejectReason | None:
        if not self.lease.admits(address, t_recv_ns):
            return "foreign_source"
        if not self.lease.continues(address, t_recv_ns):
            return None
        order = self._order.judge(packet.t_send_s)
        return order if order in ("duplicate", "old") else None

    def _take(self, packet: HandPacket, address: Address, t_recv_ns: int) -> Sample:
        self._renew(packet, address, t_recv_ns)
        jump = self._order.accept(packet, t_recv_ns)
        self.accepted += 1
        self.jumps += jump
        return Sample(packet, self.lease.session, t_recv_ns, jump)

    def _renew(self, packet: HandPacket, address: Address, t_recv_ns: int) -> None:
        """Lease, session and order for an accepted packet."""
        restarted = self._order.judge(packet.t_send_s) == "restart"
        if self.lease.claim(address, t_recv_ns, restarted=restarted):
            self._order.reset()
        self.newest_t_send_s = packet.t_send_s
