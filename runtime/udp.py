"""The receiving UDP socket: alone on its port, drained whole, each datagram stamped on arrival.

Owns socket options and the turning of kernel stamps (wall clock) into monotonic time, such that a
step of the wall clock changes nothing. Must never block, and never share a port.
"""

from __future__ import annotations

import errno
import socket
import struct
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from runtime import port_holder, udp_filter
from runtime.errors import DeviceError

# Kernel buffer: about 150 packets of 45 bytes with their bookkeeping (measured). Small on purpose:
# it bounds how much old motion can wait for a process that was stopped.
RECEIVE_BUFFER_BYTES: Final = 65_536
# Longer datagrams are cut here: nothing of interest is behind the 77 bytes of a signed packet.
DATAGRAM_MAX_BYTES: Final = 2048

# Linux, asm-generic/socket.h (x86-64, aarch64): Python's socket module does not name these.
_SO_TIMESTAMPNS: Final = 35
_SO_MEMINFO: Final = 55
_MEMINFO: Final = struct.Struct("@9I")
_MEMINFO_DROPS: Final = 8
_TIMESPEC: Final = struct.Struct("@ll")
_CONTROL_BYTES: Final = 64  # one cmsg header of 16 bytes and a timespec of 16, with room
_NS_PER_S: Final = 1_000_000_000

Address = tuple[str, int]
Datagram = tuple[bytes, Address, int]


class UdpReceiver:
    """A bound, non-blocking UDP socket.

    Args:
        ip: IPv4 address to listen on.
        port: UDP port; 0 lets the system choose (`address` tells).
        kernel_stamps: False forces the fallback of systems without SO_TIMESTAMPNS: the receive
            time is then the moment of the drain.
        sample_ns: reads (monotonic, wall) clocks together.

    Raises:
        DeviceError: the address cannot be bound; the message names port, holder and fix.
    """

    def __init__(
        self,
        ip: str,
        port: int,
        *,
        kernel_stamps: bool = True,
        sample_ns: Callable[[], tuple[int, int]] | None = None,
    ) -> None:
        self._sample_ns = sample_ns or sample_clocks_ns
        self._socket = _bound_socket(ip, port)
        self.address: Address = self._socket.getsockname()
        self.kernel_stamps = kernel_stamps and _ask_for_stamps(self._socket)
        now_ns, wall_ns = self._sample_ns()
        self._stamps = StampConverter(now_ns, now_ns - wall_ns)
        self.errors = 0

    def fileno(self) -> int:
        """For the poller."""
        return self._socket.fileno()

    def close(self) -> None:
        """Frees the port; may be called again."""
        self._socket.close()

    def drain(self, limit: int = 256) -> list[Datagram]:
        """Up to `limit` waiting datagrams as (data, address, t_recv_ns), oldest first.

        A result of `limit` means that more may wait. t_recv_ns is monotonic and lies between the
        last drain that found the socket empty and now.
        """
        started_ns = self._sample_ns()[0]
        received: list[tuple[bytes, list[tuple[int, int, bytes]], Address]] = []
        emptied = False
        while not emptied and len(received) < limit:
            try:
                data, control, _, address = self._socket.recvmsg(DATAGRAM_MAX_BYTES, _CONTROL_BYTES)
                received.append((data, control, address))
            except BlockingIOError:
                emptied = True
            except OSError:  # an ICMP error of an earlier send (macOS), or the interface went down
                self.errors += 1
                break
        now_ns, wall_ns = self._sample_ns()
        self._stamps.sampled(now_ns, now_ns - wall_ns)
        result = [
            (data, address, self._stamps.monotonic_ns(_stamp_ns(control)))
            for data, control, address in received
        ]
        if emptied:
            self._stamps.emptied(started_ns)
        return result

    def send(self, data: bytes, address: Address) -> bool:
        """Sends without waiting; False (and counted in `errors`) if the system refuses."""
        try:
            self._socket.sendto(data, address)
        except OSError:
            self.errors += 1
            return False
        return True

    def kernel_drops(self) -> int | None:
        """Datagrams the kernel dropped on this socket: buffer full, or filtered out.

        Counts modulo 2**32. None where the system does not tell (not Linux).
        """
        if not sys.platform.startswith("linux"):
            return None
        try:
            raw = self._socket.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMINFO.size)
        except OSError:  # before Linux 4.12
            return None
        drops: int = _MEMINFO.unpack(raw)[_MEMINFO_DROPS] if len(raw) == _MEMINFO.size else 0
        return drops

    def let_only_owner_in(self, owner: Address) -> bool:
        """Makes the kernel drop all but the owner's packets and e-stops; False if it cannot."""
        return udp_filter.attach(self._socket, owner)

    def let_everyone_in(self) -> bool:
        """Lifts the filter; False if there was none."""
        return udp_filter.detach(self._socket)


class StampConverter:
    """Turns the kernel's wall-clock stamps into monotonic instants.

    A stamp was taken between two samples of the offset (monotonic - wall). If the wall clock
    stepped between them, only one of the two offsets puts the stamp between its drains: that one
    is right. If both do, they differ by less than that span, and the earlier instant is taken: a
    sample may look older than it is, never fresher.
    """

    def __init__(self, now_ns: int, offset_ns: int) -> None:
        self._floor_ns = now_ns
        self._now_ns = now_ns
        self._offset_ns = offset_ns
        self._offset_before_ns = offset_ns

    def sampled(self, now_ns: int, offset_ns: int) -> None:
        """The clocks as read after the datagrams."""
        self._now_ns = now_ns
        self._offset_before_ns = self._offset_ns
        self._offset_ns = offset_ns

    def emptied(self, at_ns: int) -> None:
        """Whatever is read from now on arrived after `at_ns`."""
        self._floor_ns = at_ns

    def monotonic_ns(self, stamp_ns: int | None) -> int:
        """The arrival; the moment of the drain if there is no stamp."""
        if stamp_ns is None:
            return self._now_ns
        candidates_ns = (stamp_ns + self._offset_before_ns, stamp_ns + self._offset_ns)
        inside_ns = [t_ns for t_ns in candidates_ns if self._floor_ns <= t_ns <= self._now_ns]
        return min(inside_ns) if inside_ns else self._clamped_ns(candidates_ns[1])

    def _clamped_ns(self, t_ns: int) -> int:
        return min(max(t_ns, self._floor_ns), self._now_ns)


def sample_clocks_ns() -> tuple[int, int]:
    """(CLOCK_MONOTONIC, CLOCK_REALTIME) of one moment, to within the time of two reads."""
    before_ns = time.monotonic_ns()
    wall_ns = time.clock_gettime_ns(time.CLOCK_REALTIME)
    return (before_ns + time.monotonic_ns()) // 2, wall_ns


def _bound_socket(ip: str, port: int) -> socket.socket:
    # No SO_REUSEADDR: with it a second process binds the same port and silently takes every packet.
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        sock.bind((ip, port))
    except OSError as error:
        sock.close()
        raise DeviceError(_why_not_bound(ip, port, error)) from error
    return sock


def _why_not_bound(ip: str, port: int, error: OSError) -> str:
    what = f"cannot listen on UDP {ip}:{port}: {error.strerror or error}"
    if error.errno == errno.EADDRINUSE:
        holder = port_holder.describe(port) or "another process"
        return f"{what}; held by {holder}; stop it (find it: ss -ulpn 'sport = :{port}')"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{what}; no interface of this machine has that address: check [network] listen"
    if error.errno == errno.EACCES:
        return f"{what}; ports below 1024 need rights: choose a higher one"
    return what


def _ask_for_stamps(sock: socket.socket) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    except OSError:
        return False
    return True


def _stamp_ns(control: list[Any]) -> int | None:
    """The kernel's receive stamp among the control messages, on the wall clock."""
    for level, kind, payload in control:
        if (
            level == socket.SOL_SOCKET
            and kind == _SO_TIMESTAMPNS
            and len(payload) == _TIMESPEC.size
        ):
            seconds, nanoseconds = _TIMESPEC.unpack(payload)
            stamp_ns: int = seconds * _NS_PER_S + nanoseconds
            return stamp_ns
    return None
