"""Streams: order, age, gaps, garbage, other machines, readers that sleep."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from proto.messages import HandPose, Message
from proto.topics import HAND_POSE_LEFT, HAND_POSE_RIGHT
from runtime import bus
from runtime.bus import Identity, Received, ipc_endpoint, is_stop
from tests import samples
from tests.unit.runtime.bus_bench import (
    PATIENCE_MS,
    US,
    Bus,
    collect,
    counts,
    meet,
    private_bus,
    raw,
    until_sentinel,
)

THEM = Identity(boot=3, host=6)
GARBAGE: tuple[tuple[list[bytes], str], ...] = (
    ([b"hand_pose.right"], "bad_frames"),
    ([b"hand_pose.right", b"", b""], "bad_frames"),
    ([b"hand_pose.rightmost", b""], "unknown_topic"),
    ([b"hand_pose.right\xff", b""], "unknown_topic"),
    ([b"hand_pose.right", b""], "bad_msgpack"),
    ([b"hand_pose.right", b"\x80"], "missing_field"),
    ([b"hand_pose.right", b"\x01"], "not_a_map"),
    ([b"hand_pose.right", b"\x81\xa1v\xa1x"], "bad_field"),
    ([b"hand_pose.right", bytes(20_000)], "too_long"),
)


@pytest.fixture
def here() -> Iterator[Bus]:
    """A bus of one test alone."""
    with private_bus() as found:
        yield found


def test_messages_come_in_order_with_their_header(here: Bus) -> None:
    publisher, subscriber = here.joined()
    for number in range(50):
        side = ("right", "left")[number % 2]
        topic = (HAND_POSE_RIGHT, HAND_POSE_LEFT)[number % 2]
        publisher.publish(topic, samples.hand_pose(side=side, estop_count=number))
    found = until_sentinel(publisher, subscriber)
    assert [received.message for received in found] == [
        samples.hand_pose(
            side=("right", "left")[number % 2],
            estop_count=number,
            seq=found[number].message.seq,
            boot=US.boot,
            host=US.host,
            t_mono_ns=here.clock.now_ns(),
        )
        for number in range(50)
    ]
    assert [found[n].message.seq for n in range(1, 50, 2)] == list(range(1, 26))
    assert {received.topic for received in found} == {HAND_POSE_RIGHT, HAND_POSE_LEFT}
    assert counts(subscriber) == {"received": 51}


def test_one_wake_reads_no_more_than_its_limit_and_the_next_the_rest(
    here: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher, subscriber = here.joined()
    monkeypatch.setattr(bus, "DRAIN_LIMIT", 3)
    for _ in range(10):
        publisher.publish(HAND_POSE_RIGHT, samples.hand_pose())
    sizes: list[int] = []
    while sum(sizes) < 10:
        assert subscriber.socket.poll(PATIENCE_MS)
        sizes.append(len(subscriber.drain()))
    assert max(sizes) <= 3
    assert sum(sizes) == 10


def test_what_is_too_old_is_dropped_and_counted_and_a_stop_never_is(here: Bus) -> None:
    publisher, subscriber = here.joined()
    for number in range(4):
        stop = number == 1
        publisher.publish(HAND_POSE_RIGHT, samples.hand_pose(estop=stop, estop_count=number))
        here.clock.advance_ms(50)
    # now: ages 200, 150 (a stop), 100 (exactly the limit) and 50 ms
    found = collect(subscriber, lambda: subscriber.counters["received"] == 4)
    assert [estop_count(received) for received in found] == [1, 2, 3]
    assert counts(subscriber) == {"received": 4, "stale": 1}


def estop_count(received: Received) -> int:
    """Which of a test's hand samples this is."""
    assert isinstance(received.message, HandPose)
    return received.message.estop_count


def test_without_a_limit_nothing_is_too_old(here: Bus) -> None:
    publisher, subscriber = here.joined(max_age_ms=None)
    publisher.publish(HAND_POSE_RIGHT, samples.hand_pose())
    here.clock.advance_ms(60_000)
    found = collect(subscriber, lambda: subscriber.counters["received"] == 1)
    assert len(found) == 1


@pytest.mark.parametrize(
    ("seqs", "gaps"),
    [
        ((1, 2, 3), 0),
        ((1, 5, 6), 3),
        ((5, 1, 2), 0),
        ((1, 1, 2), 0),
        ((1, 2**64 - 1), bus.MAX_GAP),
        ((-(2**63), 2**63, 3, 2**64 - 1), 2 * bus.MAX_GAP),
    ],
)
def test_missing_numbers_are_gaps(here: Bus, seqs: tuple[int, ...], gaps: int) -> None:
    publisher, subscriber = here.joined()
    subscriber._last.clear()
    for seq in seqs:
        raw(publisher, seq=seq)
    collect(subscriber, lambda: subscriber.counters["received"] == len(seqs))
    assert subscriber.counters["gaps"] == gaps


def test_a_restarted_publisher_leaves_no_gap_and_is_heard(here: Bus) -> None:
    publisher, subscriber = here.joined()
    raw(publisher, seq=900)
    collect(subscriber, lambda: subscriber.counters["received"] == 1)
    gaps = subscriber.counters["gaps"]
    publisher.close()
    again = here.publisher("ingest", Identity(boot=77, host=US.host))
    meet(again, subscriber)
    assert subscriber.counters["gaps"] == gaps


def test_garbage_is_counted_by_reason_and_the_next_good_message_passes(here: Bus) -> None:
    publisher, subscriber = here.joined()
    for frames, _ in GARBAGE:
        publisher.socket.send_multipart(frames)
    assert until_sentinel(publisher, subscriber) == []
    expected = {"received": 1}
    for _, reason in GARBAGE:
        expected[reason] = expected.get(reason, 0) + 1
    assert counts(subscriber) == expected


@pytest.mark.parametrize("size_bytes", [16_385, 65_537, 5_000_000])
def test_a_message_of_any_size_deafens_nobody(here: Bus, size_bytes: int) -> None:
    publisher, subscriber = here.joined()
    publisher.socket.send_multipart((b"hand_pose.right", bytes(size_bytes)))
    assert until_sentinel(publisher, subscriber) == []
    assert counts(subscriber) == {"received": 1, "too_long": 1}


def test_what_another_machine_says_is_dropped_but_for_its_stops(here: Bus) -> None:
    _, subscriber = here.joined()
    publisher = here.publisher("elsewhere", THEM)
    subscriber.socket.connect(ipc_endpoint(here.folder, "elsewhere"))
    while not subscriber.counters["foreign_host"]:
        publisher.publish(HAND_POSE_RIGHT, samples.hand_pose())
        subscriber.socket.poll(5)
        assert subscriber.drain() == []
    assert subscriber.foreign_host_ns == here.clock.now_ns()
    publisher.publish(HAND_POSE_RIGHT, samples.hand_pose(estop=True))
    found = collect(subscriber, lambda: subscriber.counters["received"] == 1)
    assert [is_stop(received.message) for received in found] == [True]


def test_a_tap_hears_other_machines(here: Bus) -> None:
    publisher = here.publisher("ingest", THEM)
    subscriber = here.subscriber(HAND_POSE_RIGHT, max_age_ms=None)
    meet(publisher, subscriber)
    assert "foreign_host" not in counts(subscriber)


def test_a_reader_that_sleeps_never_holds_the_publisher(here: Bus) -> None:
    publisher, subscriber = here.joined()
    for _ in range(5000):
        publisher.publish(HAND_POSE_RIGHT, samples.hand_pose())
    subscriber.drain()
    assert subscriber.counters["received"] <= 5000


def test_topics_of_one_endpoint_are_told_apart(here: Bus) -> None:
    publisher, both = here.joined()
    right = here.subscriber(HAND_POSE_RIGHT)
    meet(publisher, right)
    publisher.publish(HAND_POSE_LEFT, samples.hand_pose(side="left"))
    assert until_sentinel(publisher, right) == []
    assert [r.topic for r in until_sentinel(publisher, both) if r.topic is HAND_POSE_LEFT] == [
        HAND_POSE_LEFT
    ]


def test_the_latest_reader_gives_the_newest_once(here: Bus) -> None:
    publisher, witness = here.joined()
    reader = here.latest(HAND_POSE_RIGHT)
    found: Message | None = None
    while found is None:
        publisher.publish(HAND_POSE_RIGHT, samples.hand_pose(estop_count=1))
        witness.socket.poll(5)
        found = reader.take(HAND_POSE_RIGHT)
    publisher.publish(HAND_POSE_RIGHT, samples.hand_pose(estop_count=2))
    while found is None or found.seq < publisher._seq[HAND_POSE_RIGHT.name]:
        found = reader.take(HAND_POSE_RIGHT) or found
    assert isinstance(found, HandPose)
    assert found.estop_count == 2
    assert reader.take(HAND_POSE_RIGHT) is None
    assert reader.take(HAND_POSE_LEFT) is None


def test_the_latest_reader_keeps_no_garbage_and_nothing_stale(here: Bus) -> None:
    publisher, witness = here.joined()
    reader = here.latest(HAND_POSE_RIGHT)
    while reader.take(HAND_POSE_RIGHT) is None:
        publisher.publish(HAND_POSE_RIGHT, samples.hand_pose())
        witness.socket.poll(5)
    for number in range(20):
        publisher.socket.send_multipart((b"hand_pose.right%d" % number, b""))
    publisher.publish(HAND_POSE_RIGHT, samples.hand_pose())
    here.clock.advance_ms(101)
    while not reader.counters["stale"]:
        assert reader.take(HAND_POSE_RIGHT) is None
    assert reader.counters["unknown_topic"] == 20
    assert reader._newest == {}


def test_stops_are_recognised_by_their_fields() -> None:
    assert is_stop(samples.hand_pose(estop=True))
    assert is_stop(samples.operator_command(verb="estop"))
    assert not is_stop(samples.hand_pose())
    assert not is_stop(samples.operator_command(verb="engage"))
    assert not is_stop(samples.arm_state(state="ESTOP_LATCHED", reason="estop"))
