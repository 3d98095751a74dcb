"""One hand port: each datagram through all checks in their order."""

from __future__ import annotations

import struct
from dataclasses import replace
from itertools import count, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proto import rctp
from proto.rctp import HandPacket, Trailer
from services.ingest.allow import AllowList
from services.ingest.hand import Hand, Sample, Stop
from services.ingest.ownership import Address

A: Address = ("192.168.1.20", 40_000)
B: Address = ("192.168.1.21", 40_000)
OUTSIDER: Address = ("10.9.9.9", 40_000)
MS = 1_000_000
START = 5_000_000 * MS
POSE = HandPacket(100.0, (0.1, 0.2, 0.3), (0.0, 0.0, 0.0, 1.0), 0.5, True, False)
NAN = float("nan")


def packet(t_ms: float = 0.0, *, estop: bool = False, x_m: float = 0.1) -> bytes:
    """A good packet `t_ms` into the stream."""
    t_send_s = POSE.t_send_s + t_ms / 1000
    return rctp.encode(replace(POSE, t_send_s=t_send_s, estop=estop, p_vr_hand_m=(x_m, 0.2, 0.3)))


def broken(offset: int, value: float, *, estop: bool = False) -> bytes:
    """A packet with one f32 field overwritten."""
    data = bytearray(packet(estop=estop))
    struct.pack_into("<f", data, offset, value)
    return bytes(data)


class Port:
    """A hand and its clock; sessions are 1, 2, 3..."""

    def __init__(self) -> None:
        numbers = count(1)
        self.hand = Hand(AllowList(["192.168.1.0/24"]), lambda: next(numbers))
        self.now_ns = START

    def send(self, data: bytes, address: Address = A, wait_ms: float = 0.0) -> Sample | Stop | None:
        """A datagram that arrives `wait_ms` after the one before and is handled at once."""
        self.now_ns += round(wait_ms * MS)
        return self.hand.receive(data, address, self.now_ns, self.now_ns)

    def rejected(self) -> dict[str, int]:
        """The counters that are not 0."""
        return {reason: n for reason, n in self.hand.rejected.items() if n}


@pytest.fixture
def port() -> Port:
    """A port that nobody owns."""
    return Port()


def session_of(taken: Sample | Stop | None) -> int:
    """The session of an accepted sample."""
    assert isinstance(taken, Sample)
    return taken.session


def test_a_good_packet_is_a_sample(port: Port) -> None:
    trailer = Trailer(1, True, True, False, 5, 6, bytes(16))
    sent = replace(POSE, p_vr_hand_m=(0.5, 0.25, -0.125), trailer=trailer)
    taken = port.hand.receive(rctp.encode(sent), A, START - 5, START)
    assert taken == Sample(sent, session=1, t_recv_ns=START - 5, jump=False)
    assert (port.hand.accepted, port.hand.newest_t_send_s) == (1, 100.0)
    assert port.rejected() == {}


def test_every_reason_has_a_counter_from_the_start(port: Port) -> None:
    assert tuple(port.hand.rejected) == rctp.REJECT_REASONS
    assert set(port.hand.rejected.values()) == {0}


@pytest.mark.parametrize(
    ("data", "address", "reason"),
    [
        (b"", A, "short"),
        (packet()[:44], A, "short"),
        (b"X" + packet()[1:], A, "bad_magic"),
        (b"X" + packet()[1:], OUTSIDER, "bad_magic"),
        (packet(), OUTSIDER, "not_allowed"),
        (broken(12, NAN), OUTSIDER, "not_allowed"),
        (broken(12, NAN), A, "not_finite"),
        (broken(36, 0.0), A, "bad_quat"),
        (broken(12, 1e38), A, "out_of_range"),
        (broken(12, 1e38), B, "out_of_range"),
        (packet(20), B, "foreign_source"),
        (packet(0), B, "foreign_source"),
        (packet(0), A, "duplicate"),
        (packet(-500), A, "old"),
    ],
)
def test_one_counter_per_drop_and_the_next_good_packet_works(
    port: Port, data: bytes, address: Address, reason: str
) -> None:
    port.send(packet(0))
    assert port.send(data, address, wait_ms=10) is None
    assert port.rejected() == {reason: 1}
    assert port.hand.lease.expires_ns() == START + 1000 * MS  # nothing was refreshed
    assert session_of(port.send(packet(20), wait_ms=10)) == 1
    assert port.hand.accepted == 2


@pytest.mark.parametrize(
    ("data", "address", "reason"),
    [
        (packet(20, estop=True), A, None),
        (packet(20, estop=True), B, "foreign_source"),
        (packet(0, estop=True), A, "duplicate"),
        (packet(-500, estop=True), A, "old"),
        (broken(12, NAN, estop=True), A, "not_finite"),
        (broken(36, 0.0, estop=True), B, "bad_quat"),
        (broken(12, 1e38, estop=True), A, "out_of_range"),
    ],
)
def test_a_stop_counts_whatever_else_is_wrong(
    port: Port, data: bytes, address: Address, reason: str | None
) -> None:
    port.send(packet(0))
    assert port.send(data, address, wait_ms=10) == Stop(port.now_ns)
    assert port.rejected() == ({} if reason is None else {reason: 1})
    assert (port.hand.stops, port.hand.estop.count, port.hand.accepted) == (1, 1, 1)
    assert port.hand.estop.level(port.now_ns)


@pytest.mark.parametrize(
    ("data", "address", "reason"),
    [
        (packet(20, estop=True), OUTSIDER, "not_allowed"),
        (packet(20, estop=True)[:44], A, "short"),
        (b"r" + packet(20, estop=True)[1:], A, "bad_magic"),
    ],
)
def test_what_is_no_stop(port: Port, data: bytes, address: Address, reason: str) -> None:
    assert port.send(data, address) is None
    assert port.rejected() == {reason: 1}
    assert (port.hand.stops, port.hand.estop.count) == (0, 0)


def test_a_late_stop_is_a_stop_now(port: Port) -> None:
    taken = port.hand.receive(packet(estop=True), A, START - 5000 * MS, START)
    assert taken == Stop(START - 5000 * MS)
    assert port.hand.estop.level(START)


def test_a_stop_never_takes_a_free_hand(port: Port) -> None:
    port.send(packet(0, estop=True), B)
    assert port.hand.lease.owner is None
    assert session_of(port.send(packet(0), A)) == 1


def test_the_owners_stops_keep_lease_and_session(port: Port) -> None:
    port.send(packet(0))
    for index in range(1, 201):  # pressed for 4 s
        port.send(packet(20 * index, estop=True), wait_ms=20)
    assert port.hand.lease.owner == A
    assert port.hand.newest_t_send_s == pytest.approx(104.0)
    assert port.send(packet(4000), wait_ms=20) is None  # as old as the last stop: a duplicate
    assert session_of(port.send(packet(4020), wait_ms=20)) == 1


def test_broken_stops_keep_nothing(port: Port) -> None:
    port.send(packet(0))
    port.send(broken(12, NAN, estop=True), wait_ms=900)
    assert session_of(port.send(packet(0), B, wait_ms=100)) == 2


def test_a_stop_is_no_motion(port: Port) -> None:
    port.send(packet(0))
    assert isinstance(port.send(packet(20, estop=True, x_m=5.0), wait_ms=20), Stop)
    taken = port.send(packet(40), wait_ms=20)
    assert isinstance(taken, Sample)
    assert taken.jump is False


def test_an_app_restart_is_a_new_session_of_the_same_owner(port: Port) -> None:
    port.send(packet(60_000))
    assert session_of(port.send(packet(0), wait_ms=20)) == 2
    assert session_of(port.send(packet(20), wait_ms=20)) == 2
    assert port.hand.lease.owner == A


def test_a_restart_into_a_stop_is_a_new_session_too(port: Port) -> None:
    port.send(packet(60_000))
    port.send(packet(0, estop=True), wait_ms=20)
    assert session_of(port.send(packet(20), wait_ms=20)) == 2
    assert port.rejected() == {}


def test_a_forward_leap_of_the_senders_clock_is_no_session(port: Port) -> None:
    port.send(packet(0))
    assert session_of(port.send(packet(3_600_000), wait_ms=20)) == 1


def test_silence_shorter_than_3_s_goes_on_in_order(port: Port) -> None:
    port.send(packet(0))
    assert port.send(packet(0), wait_ms=2000) is None
    assert port.rejected() == {"duplicate": 1}
    assert session_of(port.send(packet(2000), wait_ms=10)) == 1


def test_after_3_s_the_same_sender_begins_anew(port: Port) -> None:
    port.send(packet(0))
    assert session_of(port.send(packet(0), wait_ms=3000)) == 2


def test_a_second_sender_takes_over_after_1_s_of_silence(port: Port) -> None:
    port.send(packet(0))
    assert port.send(packet(7), B, wait_ms=999) is None
    assert session_of(port.send(packet(7), B, wait_ms=1)) == 2
    assert port.send(packet(1000), A, wait_ms=1) is None
    assert port.rejected() == {"foreign_source": 2}


def test_a_stalled_process_judges_leases_by_arrival(port: Port) -> None:
    """Packets of 3 s drained at once: the other sender was foreign when its packet came in."""
    now_ns = START + 3000 * MS
    for index in range(150):
        t_recv_ns = START + 20 * index * MS
        assert port.hand.receive(packet(20 * index), A, t_recv_ns, now_ns) is not None
        assert port.hand.receive(packet(20 * index), B, t_recv_ns + 1, now_ns) is None
    assert port.hand.lease.session == 1
    assert port.rejected() == {"foreign_source": 150}


def test_jumps_are_flagged_and_counted(port: Port) -> None:
    port.send(packet(0))
    taken = port.send(packet(20, x_m=1.1), wait_ms=20)
    assert isinstance(taken, Sample)
    assert taken.jump
    assert port.hand.jumps == 1


def test_a_new_owner_starts_without_a_jump(port: Port) -> None:
    port.send(packet(0))
    taken = port.send(packet(20, x_m=5.0), B, wait_ms=1000)
    assert isinstance(taken, Sample)
    assert not taken.jump


DATAGRAMS = st.tuples(
    st.sampled_from([A, B, OUTSIDER]),
    st.integers(0, 1200),  # ms since the last
    st.integers(-2000, 100_000),  # t_s, ms
    st.one_of(st.none(), st.tuples(st.integers(0, 44), st.integers(1, 255))),  # a changed byte
    st.sampled_from([45, 45, 45, 44, 0, 77, 200]),
    st.booleans(),
)


@settings(max_examples=100)
@given(st.lists(DATAGRAMS, max_size=30))
def test_each_datagram_is_a_sample_a_stop_or_counted_once(
    datagrams: list[tuple[Address, int, int, tuple[int, int] | None, int, bool]],
) -> None:
    port = Port()
    sessions: list[tuple[int, float]] = []
    for address, wait_ms, t_ms, change, length, estop in datagrams:
        data = bytearray(packet(t_ms, estop=estop).ljust(200, b"\xa5"))
        if change is not None:
            data[change[0]] ^= change[1]
        drops = sum(port.hand.rejected.values())
        taken = port.send(bytes(data[:length]), address, wait_ms)
        dropped = sum(port.hand.rejected.values()) - drops
        if isinstance(taken, Sample):
            assert dropped == 0
            assert not taken.packet.estop
            assert address == port.hand.lease.owner != OUTSIDER
            sessions.append((taken.session, taken.packet.t_send_s))
        elif isinstance(taken, Stop):
            assert dropped <= 1
            assert address != OUTSIDER
        else:
            assert dropped == 1
    assert port.hand.accepted == len(sessions)
    for (session, t_s), (next_session, next_t_s) in pairwise(sessions):
        assert session <= next_session
        assert session != next_session or t_s < next_t_s
