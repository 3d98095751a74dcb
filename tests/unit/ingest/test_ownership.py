"""Lease and session of a hand, in time."""

from __future__ import annotations

from itertools import count, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.ingest.ownership import LEASE_NS, Address, Lease

A: Address = ("192.168.1.20", 40_000)
B: Address = ("192.168.1.21", 40_000)
A_AGAIN: Address = ("192.168.1.20", 40_001)  # the app opened another socket
MS = 1_000_000
START = 5_000_000 * MS


@pytest.fixture
def lease() -> Lease:
    """Sessions are 1, 2, 3..."""
    numbers = count(1)
    return Lease(lambda: next(numbers))


def test_nobody_owns_a_hand_at_first(lease: Lease) -> None:
    assert (lease.owner, lease.session, lease.expires_ns()) == (None, 0, None)
    assert lease.admits(A, START)
    assert not lease.holds(A, START)
    assert not lease.expire(START)


def test_the_first_sender_owns_and_others_are_kept_out(lease: Lease) -> None:
    assert lease.claim(A, START)
    assert lease.owner == A
    for other in (B, A_AGAIN):
        assert not lease.admits(other, START + 999 * MS)
        assert not lease.holds(other, START + 999 * MS)
    assert lease.admits(A, START + 999 * MS)
    assert not lease.claim(A, START + 999 * MS)
    assert lease.session == 1


def test_the_lease_ends_after_1_s_by_the_timer(lease: Lease) -> None:
    lease.claim(A, START)
    lease.claim(A, START + 500 * MS)
    assert lease.expires_ns() == START + 1500 * MS
    assert not lease.expire(START + 1499 * MS)
    assert lease.expire(START + 1500 * MS)
    assert not lease.expire(START + 1501 * MS)
    assert (lease.owner, lease.expires_ns()) == (None, None)


def test_an_ended_lease_admits_others_even_before_the_timer(lease: Lease) -> None:
    lease.claim(A, START)
    assert lease.admits(B, START + 1000 * MS)
    assert not lease.holds(A, START + 1000 * MS)
    assert lease.claim(B, START + 1000 * MS)
    assert (lease.owner, lease.session) == (B, 2)


@pytest.mark.parametrize(("silence_ms", "session"), [(999, 1), (1000, 1), (2999, 1), (3000, 2)])
def test_the_same_address_keeps_its_session_within_3_s(
    lease: Lease, silence_ms: int, session: int
) -> None:
    lease.claim(A, START)
    back_ns = START + silence_ms * MS
    lease.expire(back_ns)
    assert lease.continues(A, back_ns) is (session == 1)
    assert lease.claim(A, back_ns) is (session == 2)
    assert (lease.owner, lease.session) == (A, session)


def test_a_session_ends_when_another_has_owned_the_hand(lease: Lease) -> None:
    lease.claim(A, START)
    lease.claim(B, START + 1000 * MS)
    assert lease.claim(A, START + 2000 * MS)
    assert lease.session == 3


def test_a_restarted_app_gets_one_new_session(lease: Lease) -> None:
    lease.claim(A, START)
    assert lease.claim(A, START + 20 * MS, restarted=True)
    assert lease.session == 2
    assert lease.claim(B, START + 2000 * MS, restarted=True)
    assert lease.session == 3


def test_a_receive_time_that_falls_back_shortens_no_lease(lease: Lease) -> None:
    lease.claim(A, START + 100 * MS)
    lease.claim(A, START)
    assert lease.expires_ns() == START + 1100 * MS


@pytest.mark.parametrize("ip", ["127.0.0.1", "127.3.2.1"])
def test_no_filter_for_a_loopback_owner(lease: Lease, ip: str) -> None:
    lease.claim((ip, 1), START)
    assert lease.filter_owner() is None


def test_the_filter_comes_and_goes_with_the_lease(lease: Lease) -> None:
    assert lease.filter_owner() is None
    lease.claim(A, START)
    assert lease.filter_owner() == A
    lease.expire(START + 1000 * MS)
    assert lease.filter_owner() is None


@settings(max_examples=100)
@given(st.lists(st.tuples(st.sampled_from([A, B, A_AGAIN]), st.integers(0, 1500)), max_size=40))
def test_no_two_senders_within_a_lease(events: list[tuple[Address, int]]) -> None:
    numbers = count(1)
    lease = Lease(lambda: next(numbers))
    now_ns, accepted = START, []
    for address, wait_ms in events:
        now_ns += wait_ms * MS
        lease.expire(now_ns)
        if lease.admits(address, now_ns):
            lease.claim(address, now_ns)
            accepted.append((now_ns, address, lease.session))
    for (before_ns, before, session), (after_ns, after, next_session) in pairwise(accepted):
        silence_ns = after_ns - before_ns
        assert before == after or silence_ns >= LEASE_NS
        assert (session == next_session) is (before == after and silence_ns < 3 * LEASE_NS)
