"""The receiving socket on loopback: stamps, drops, the kernel filter, and the refused bind."""

from __future__ import annotations

import errno
import os
import select
import socket
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from proto import rctp
from proto.rctp import HandPacket
from runtime import udp
from runtime.errors import DeviceError
from runtime.udp import UdpReceiver

pytestmark = pytest.mark.integration
linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux kernel feature")

POSE = HandPacket(1.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 0.5, True, False)
PLAIN = rctp.encode(POSE)
STOP = PLAIN[:44] + b"\x02"


@pytest.fixture
def receiver() -> Iterator[UdpReceiver]:
    """A receiver on a port of the system's choice."""
    receiver = UdpReceiver("127.0.0.1", 0)
    yield receiver
    receiver.close()


@pytest.fixture
def senders() -> Iterator[dict[str, socket.socket]]:
    """One sending socket on each of two addresses, and a second one on the first."""
    sockets = {}
    for name, ip in (("owner", "127.0.0.2"), ("sibling", "127.0.0.2"), ("other", "127.0.0.3")):
        sockets[name] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sockets[name].bind((ip, 0))
    yield sockets
    for sock in sockets.values():
        sock.close()


def received(receiver: UdpReceiver, wait_s: float = 0.0) -> list[bytes]:
    """All data that wait; loopback delivers before sendto returns."""
    select.select([receiver], [], [], wait_s)
    return [data for data, _, _ in receiver.drain()]


def test_datagrams_come_in_order_with_their_source(
    receiver: UdpReceiver, senders: dict[str, socket.socket]
) -> None:
    for number in range(5):
        senders["owner"].sendto(bytes([number]), receiver.address)
    datagrams = receiver.drain()
    assert [data for data, _, _ in datagrams] == [bytes([number]) for number in range(5)]
    assert {address for _, address, _ in datagrams} == {senders["owner"].getsockname()}
    assert receiver.drain() == []


@linux_only
def test_the_kernel_stamp_is_the_arrival_not_the_drain(
    receiver: UdpReceiver, senders: dict[str, socket.socket]
) -> None:
    assert receiver.kernel_stamps
    receiver.drain()
    before_ns = time.monotonic_ns()
    senders["owner"].sendto(PLAIN, receiver.address)
    after_ns = time.monotonic_ns()
    time.sleep(0.05)
    ((_, _, t_recv_ns),) = receiver.drain()
    slack_ns = 1_000_000  # the two clocks are read one after the other
    assert before_ns - slack_ns <= t_recv_ns <= after_ns + slack_ns


def test_without_kernel_stamps_the_drain_is_the_receive_time(
    senders: dict[str, socket.socket],
) -> None:
    receiver = UdpReceiver("127.0.0.1", 0, kernel_stamps=False)
    assert not receiver.kernel_stamps
    senders["owner"].sendto(PLAIN, receiver.address)
    before_ns = time.monotonic_ns()
    ((_, _, t_recv_ns),) = receiver.drain()
    assert before_ns <= t_recv_ns <= time.monotonic_ns()
    receiver.close()


@linux_only
@pytest.mark.parametrize("step_ns", [3_600_000_000_000, -3_600_000_000_000])
def test_a_wall_clock_step_between_two_drains_changes_nothing(
    senders: dict[str, socket.socket], step_ns: int
) -> None:
    wall_offset_ns = [0]

    def sample_ns() -> tuple[int, int]:
        now_ns, wall_ns = udp.sample_clocks_ns()
        return now_ns, wall_ns + wall_offset_ns[0]

    receiver = UdpReceiver("127.0.0.1", 0, sample_ns=sample_ns)
    before_ns = time.monotonic_ns()
    senders["owner"].sendto(PLAIN, receiver.address)  # stamped by the clock before its step
    after_ns = time.monotonic_ns()
    wall_offset_ns[0] = step_ns
    ((_, _, t_recv_ns),) = receiver.drain()
    assert before_ns - 1_000_000 <= t_recv_ns <= after_ns + 1_000_000
    receiver.close()


def test_a_drain_stops_at_its_limit(
    receiver: UdpReceiver, senders: dict[str, socket.socket]
) -> None:
    for number in range(10):
        senders["owner"].sendto(bytes([number]), receiver.address)
    assert [data[0] for data, _, _ in receiver.drain(limit=4)] == [0, 1, 2, 3]
    assert [data[0] for data, _, _ in receiver.drain()] == [4, 5, 6, 7, 8, 9]


def test_a_64_kb_datagram_is_cut_and_the_next_one_is_whole(
    receiver: UdpReceiver, senders: dict[str, socket.socket]
) -> None:
    senders["owner"].sendto(PLAIN + bytes(60_000), receiver.address)
    first = received(receiver)
    senders["owner"].sendto(PLAIN, receiver.address)
    assert rctp.decode(first[0]) == POSE
    assert len(first[0]) == udp.DATAGRAM_MAX_BYTES
    assert received(receiver) == [PLAIN]


@linux_only
def test_the_buffer_is_small_and_what_it_drops_is_counted(
    receiver: UdpReceiver, senders: dict[str, socket.socket]
) -> None:
    assert receiver.kernel_drops() == 0
    for _ in range(1000):
        senders["owner"].sendto(PLAIN, receiver.address)
    kept = len(receiver.drain(limit=2000))
    assert 45 <= kept <= 250
    assert receiver.kernel_drops() == 1000 - kept


@linux_only
def test_the_filter_lets_the_owner_and_stops_in(
    receiver: UdpReceiver, senders: dict[str, socket.socket]
) -> None:
    assert receiver.let_only_owner_in(senders["owner"].getsockname())
    senders["owner"].sendto(PLAIN, receiver.address)
    senders["owner"].sendto(b"x", receiver.address)
    assert received(receiver) == [PLAIN, b"x"]
    refused = (
        PLAIN,
        STOP[:44],
        b"RCTQ" + STOP[4:],
        PLAIN[:44] + b"\xfd",
        b"",
        b"RCTP",
        PLAIN + b"\xff" * 100,
    )
    for name in ("sibling", "other"):
        for data in refused:
            senders[name].sendto(data, receiver.address)
        assert received(receiver) == []
        for data in (STOP, PLAIN[:44] + b"\xff", STOP + bytes(500)):
            senders[name].sendto(data, receiver.address)
            assert received(receiver) == [data]
    assert receiver.kernel_drops() == 2 * len(refused)


@linux_only
def test_the_filter_follows_the_owner_and_is_lifted(
    receiver: UdpReceiver, senders: dict[str, socket.socket]
) -> None:
    assert receiver.let_only_owner_in(senders["owner"].getsockname())
    assert receiver.let_only_owner_in(senders["other"].getsockname())
    senders["owner"].sendto(PLAIN, receiver.address)
    senders["other"].sendto(PLAIN, receiver.address)
    assert [address for _, address, _ in receiver.drain()] == [senders["other"].getsockname()]
    assert receiver.let_everyone_in()
    assert not receiver.let_everyone_in()
    senders["owner"].sendto(PLAIN, receiver.address)
    assert received(receiver) == [PLAIN]


def test_elsewhere_there_are_no_stamps_no_filter_and_no_drop_count(
    monkeypatch: pytest.MonkeyPatch, senders: dict[str, socket.socket]
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    receiver = UdpReceiver("127.0.0.1", 0)
    owner = senders["owner"].getsockname()
    assert not receiver.kernel_stamps
    assert receiver.kernel_drops() is None
    assert not receiver.let_only_owner_in(owner)
    assert not receiver.let_everyone_in()
    senders["other"].sendto(PLAIN, receiver.address)
    assert received(receiver) == [PLAIN]
    receiver.close()


class OldKernelSocket(socket.socket):
    """A kernel without the options that are Linux's own."""

    def setsockopt(self, level: int, option: int, *value: object) -> None:
        """Knows SO_RCVBUF."""
        if option != socket.SO_RCVBUF:
            raise OSError(errno.ENOPROTOOPT, "Protocol not available")

    def getsockopt(self, *args: object) -> Any:
        """Knows nothing."""
        raise OSError(errno.ENOPROTOOPT, "Protocol not available")


@linux_only
def test_a_kernel_that_refuses_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", OldKernelSocket)
    receiver = UdpReceiver("127.0.0.1", 0)
    assert not receiver.kernel_stamps
    assert receiver.kernel_drops() is None
    assert not receiver.let_only_owner_in(("127.0.0.1", 1))
    assert not receiver.let_everyone_in()
    receiver.close()


def test_replies_leave_from_the_port_and_failures_are_counted(
    receiver: UdpReceiver, senders: dict[str, socket.socket]
) -> None:
    assert receiver.send(b"state", senders["owner"].getsockname())
    senders["owner"].settimeout(2.0)
    assert senders["owner"].recvfrom(100) == (b"state", receiver.address)
    assert not receiver.send(bytes(70_000), senders["owner"].getsockname())
    assert receiver.errors == 1


def test_a_second_receiver_is_refused_and_told_who_holds_the_port(receiver: UdpReceiver) -> None:
    port = receiver.address[1]
    with pytest.raises(DeviceError) as caught:
        UdpReceiver("127.0.0.1", port)
    message = str(caught.value)
    assert message.startswith(f"cannot listen on UDP 127.0.0.1:{port}: ")
    assert f"ss -ulpn 'sport = :{port}'" in message
    if sys.platform.startswith("linux"):
        assert f"held by process {os.getpid()} (" in message


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (errno.EADDRNOTAVAIL, "check [network] listen"),
        (errno.EACCES, "choose a higher one"),
        (errno.EADDRINUSE, "held by another process; stop it (find it: ss -ulpn 'sport = :88')"),
        (errno.ENETDOWN, "Network is down"),
    ],
)
def test_a_refused_bind_names_the_fix(
    monkeypatch: pytest.MonkeyPatch, code: int, advice: str
) -> None:
    class RefusingSocket(socket.socket):
        def bind(self, address: object) -> None:
            raise OSError(code, os.strerror(code))

    monkeypatch.setattr(socket, "socket", RefusingSocket)
    with pytest.raises(DeviceError) as caught:
        UdpReceiver("192.0.2.1", 88)
    assert str(caught.value).startswith("cannot listen on UDP 192.0.2.1:88: ")
    assert str(caught.value).endswith(advice)


def test_a_socket_that_fails_is_counted_and_gives_nothing(receiver: UdpReceiver) -> None:
    receiver.close()
    assert receiver.drain() == []
    assert receiver.errors == 1


def test_closing_twice_frees_the_port(receiver: UdpReceiver) -> None:
    receiver.close()
    receiver.close()
    UdpReceiver(*receiver.address).close()
