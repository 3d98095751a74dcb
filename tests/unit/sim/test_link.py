"""The impaired link by count over many packets, with fixed seeds and a fake clock."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.impair import PROFILES, Burst, Jitter, Settings, Stall
from sim.link import Counters, Link

FRAME_S = 1.0 / 72.0
N = 10_000  # rates below are checked to about three standard deviations
FOREVER_S = 1e9

Arrival = tuple[float, int]


def packet(index: int) -> bytes:
    return index.to_bytes(4, "little") + bytes(41)


def index_of(data: bytes) -> int:
    return int.from_bytes(data[:4], "little")


def run(
    link_settings: Settings, seed: int = 1, n: int = N, every_s: float = FRAME_S
) -> tuple[Link[int], list[Arrival]]:
    """Offers n packets at a steady rate, taking out what is due; arrivals as (due time, index)."""
    link: Link[int] = Link(link_settings, seed, "up", 0.0)
    arrivals: list[Arrival] = []
    for index in range(n):
        now_s = index * every_s
        drain(link, now_s, arrivals)
        link.offer(now_s, packet(index), index)
    drain(link, FOREVER_S, arrivals)
    return link, arrivals


def drain(link: Link[int], until_s: float, arrivals: list[Arrival]) -> None:
    while (due_s := link.next_due_s()) is not None and due_s <= until_s:
        arrivals.extend((due_s, tag) for _, tag in link.pop_due(due_s))


def test_a_clean_link_passes_all_at_once_in_order() -> None:
    link, arrivals = run(Settings(), n=100)
    assert arrivals == [(index * FRAME_S, index) for index in range(100)]
    assert link.counters == Counters(received=100, delivered=100)


def test_iid_loss_rate_and_independence() -> None:
    link, arrivals = run(Settings(loss_ratio=0.1))
    assert link.counters.lost == pytest.approx(1000, abs=95)
    assert len(arrivals) == N - link.counters.lost
    got = {tag for _, tag in arrivals}
    pairs = sum(i not in got and i + 1 not in got for i in range(N - 1))
    assert pairs == pytest.approx(100, abs=45)  # lost twice running: 1 % of the packets


def test_burst_loss_rate_and_run_length() -> None:
    link, arrivals = run(Settings(burst=Burst(0.01, 0.25)))
    # Bad state: 0.01 / (0.01 + 0.25) of the time, runs of 1 / 0.25.
    assert link.counters.lost_burst == pytest.approx(N * 0.01 / 0.26, rel=0.42)
    assert link.counters.lost == 0
    gaps = [b - a - 1 for (_, a), (_, b) in pairwise(arrivals) if b > a + 1]
    assert sum(gaps) / len(gaps) == pytest.approx(4.0, rel=0.3)


@pytest.mark.parametrize(("name", "loss"), [("wifi6", 0.001), ("wifi5", 0.003), ("wan", 0.02)])
def test_profile_loss(name: str, loss: float) -> None:
    link, _ = run(PROFILES[name])
    lost = link.counters.lost + link.counters.lost_burst
    expected = N * loss
    assert lost == pytest.approx(expected, abs=4.0 * expected**0.5)


def test_fixed_delay_is_exact() -> None:
    _, arrivals = run(Settings(delay_ms=30.0), n=50)
    assert [due_s - index * FRAME_S for due_s, index in arrivals] == pytest.approx([0.03] * 50)


def test_jitter_never_reorders_and_never_arrives_early() -> None:
    _, arrivals = run(Settings(delay_ms=2.0, jitter=Jitter("gamma", 1.5, 20.0)))
    assert [index for _, index in arrivals] == list(range(N))
    assert all(due_s >= index * FRAME_S + 0.002 for due_s, index in arrivals)
    late_ms = sorted(1e3 * (due_s - index * FRAME_S) for due_s, index in arrivals)
    assert late_ms[N // 2] > 20.0


def test_duplicates_by_count_and_close_to_the_first() -> None:
    link, arrivals = run(Settings(duplicate_ratio=0.2))
    assert link.counters.duplicated == pytest.approx(2000, abs=125)
    assert len(arrivals) == N + link.counters.duplicated
    assert all(0.0 <= due_s - index * FRAME_S <= 0.005 + 1e-9 for due_s, index in arrivals)


def test_reordered_packets_are_overtaken_and_only_they() -> None:
    link, arrivals = run(Settings(reorder_ratio=0.05, reorder_ms=30.0))
    assert link.counters.reordered == pytest.approx(500, abs=68)
    order = [index for _, index in arrivals]
    assert sorted(order) == list(range(N))
    overtaken = sum(a > b for a, b in pairwise(order))
    # Held ones side by side stay in order among themselves, so a few fewer than were held.
    assert 0.85 * link.counters.reordered < overtaken <= link.counters.reordered


def test_corruption_flips_one_to_three_bytes_and_keeps_the_length() -> None:
    link: Link[int] = Link(Settings(corrupt_ratio=0.5), 1, "up", 0.0)
    flipped = []
    for index in range(2000):
        link.offer(0.0, packet(index), index)
        ((data, _),) = link.pop_due(0.0)
        assert len(data) == 45
        flipped.append(sum(a != b for a, b in zip(data, packet(index), strict=True)))
    assert link.counters.corrupted == sum(count > 0 for count in flipped)
    assert link.counters.corrupted == pytest.approx(1000, abs=70)
    assert set(flipped) == {0, 1, 2, 3}


def test_an_empty_datagram_survives_corruption() -> None:
    link: Link[int] = Link(Settings(corrupt_ratio=1.0), 1, "up", 0.0)
    link.offer(0.0, b"", 7)
    assert link.pop_due(0.0) == [(b"", 7)]
    assert link.counters.corrupted == 0


def test_blackhole_on_cue_and_in_windows() -> None:
    link: Link[int] = Link(Settings(windows_s=((1.0, 2.0), (5.0, 5.5))), 1, "up", 100.0)
    for tenth in range(70):
        link.settings = replace(link.settings, blackhole=30 <= tenth < 33)
        link.offer(100.0 + tenth / 10, b"x", tenth)
    swallowed = set(range(70)) - {tag for _, tag in link.pop_due(FOREVER_S)}
    assert swallowed == {*range(10, 20), *range(30, 33), *range(50, 55)}
    assert link.counters.blackholed == len(swallowed)


def test_rate_limit_spaces_packets_and_loses_none_below_the_queue_limit() -> None:
    # 45 bytes at 36 kbit/s take 10 ms; offered 10 at once.
    link: Link[int] = Link(Settings(rate_kbps=36.0), 1, "up", 0.0)
    for index in range(10):
        link.offer(0.0, packet(index), index)
    arrivals: list[Arrival] = []
    drain(link, FOREVER_S, arrivals)
    assert [due_s for due_s, _ in arrivals] == pytest.approx([0.01 * k for k in range(1, 11)])


def test_the_queue_is_bounded_and_full_drops_the_newest() -> None:
    link: Link[int] = Link(
        Settings(rate_kbps=36.0, duplicate_ratio=1.0), 1, "up", 0.0, queue_limit=5
    )
    for index in range(100):
        link.offer(0.0, packet(index), index)
        assert len(link) <= 5
    assert link.counters.queue_full == 97  # 0, its copy, 1, its copy, 2
    # What was dropped took no line time: the line is free 30 ms later.
    link.pop_due(1.0)
    link.offer(1.0, packet(0), 0)
    assert link.next_due_s() == pytest.approx(1.01)


def test_stalls_hold_all_and_release_together() -> None:
    link, arrivals = run(Settings(stall=Stall((2.0, 8.0), (30.0, 90.0))))
    late = [due_s - index * FRAME_S for due_s, index in arrivals]
    assert max(late) <= 0.09
    stalls = len({due_s for (due_s, _), wait_s in zip(arrivals, late, strict=True) if wait_s > 0.0})
    assert stalls == pytest.approx(N * FRAME_S / 5.0, rel=0.25)
    assert link.counters.stalled == sum(wait_s > 0.0 for wait_s in late)


def test_hold_stalls_on_cue() -> None:
    link: Link[int] = Link(Settings(delay_ms=5.0), 1, "up", 0.0)
    link.hold(1.0, 300.0)
    for index, at_s in enumerate((1.0, 1.1, 1.29, 1.31)):
        link.offer(at_s, packet(index), index)
    arrivals: list[Arrival] = []
    drain(link, FOREVER_S, arrivals)
    assert [due_s for due_s, _ in arrivals] == pytest.approx([1.305, 1.305, 1.305, 1.315])


def test_same_seed_same_fate_other_seed_other_fate() -> None:
    everything = replace(PROFILES["bad"], duplicate_ratio=0.1, reorder_ratio=0.1, corrupt_ratio=0.1)
    first, again, other = (run(everything, seed, n=3000)[1] for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_changing_one_setting_leaves_the_draws_of_the_others() -> None:
    both = Settings(loss_ratio=0.1, duplicate_ratio=0.1, jitter=Jitter("lognormal", 1.0, 0.9))
    _, with_copies = run(both, n=3000)
    _, without = run(replace(both, duplicate_ratio=0.0), n=3000)
    kept = list(dict.fromkeys(sorted(with_copies, key=lambda arrival: (arrival[1], arrival[0]))))
    firsts = {index: due_s for due_s, index in reversed(kept)}
    assert firsts == {index: due_s for due_s, index in without}


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(sorted(PROFILES)),
    st.integers(0, 2**64),
    st.lists(st.floats(0.0, 0.2), min_size=1, max_size=80),
)
def test_every_packet_is_accounted_for(name: str, seed: int, gaps_s: list[float]) -> None:
    link: Link[int] = Link(
        replace(PROFILES[name], duplicate_ratio=0.3, reorder_ratio=0.3, rate_kbps=20.0),
        seed,
        "down",
        0.0,
        queue_limit=8,
    )
    now_s = 0.0
    for index, gap_s in enumerate(gaps_s):
        now_s += gap_s
        link.offer(now_s, packet(index), index)
        link.pop_due(now_s)
    link.pop_due(FOREVER_S)
    count = link.counters
    dropped = count.lost + count.lost_burst + count.blackholed + count.queue_full
    assert count.received == len(gaps_s)
    assert count.delivered == count.received - dropped + count.duplicated
    assert len(link) == 0
