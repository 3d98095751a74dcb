"""The telemetry process: what a tap, a scraper and a stalled or hostile peer get."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq

from proto.json_view import slashed
from proto.messages import ArmState, ArmTarget, HandPose, Message, ServiceHealth
from proto.registry import HEALTH_FAMILIES
from proto.topics import (
    ARM_STATE_RIGHT,
    HAND_POSE_LEFT,
    HAND_POSE_RIGHT,
    TOPICS,
    Topic,
    health_topic,
)
from runtime.clock import wall_s
from tests import samples
from tests.integration.telemetry_process import Socket, Station, station

pytestmark = pytest.mark.integration

EXAMPLES: dict[type[Message], Message] = {
    HandPose: samples.hand_pose(),
    ArmTarget: samples.arm_target(),
    ArmState: samples.arm_state(),
    ServiceHealth: samples.service_health(),
}
OTHERS = tuple(family for family in HEALTH_FAMILIES if family != "telemetry")


@pytest.fixture(scope="module")
def live() -> Iterator[Station]:
    """One telemetry process for the tests that leave it as it was."""
    with station() as found:
        yield found


@pytest.fixture
def own() -> Iterator[Station]:
    """A telemetry process for one test alone."""
    with station() as found:
        yield found


def read(tap: Socket, timeout_ms: int = 5000) -> tuple[str, dict[str, Any]]:
    """The next message of a tap."""
    assert tap.poll(timeout_ms), "nothing arrived on the tap"
    topic, payload = tap.recv_multipart()
    shape = json.loads(payload)
    assert isinstance(shape, dict)
    return topic.decode(), shape


@pytest.mark.parametrize(
    "topic", [*TOPICS, *map(health_topic, OTHERS)], ids=lambda topic: topic.name
)
def test_every_topic_comes_out_as_two_frames_of_name_and_json(live: Station, topic: Topic) -> None:
    example = EXAMPLES[topic.message]
    with live.tap(slashed(topic.name)) as tap:
        frames = live.joined(tap, topic, example)
    assert len(frames) == 2
    assert frames[0].decode() == topic.name.replace(".", "/")
    shape = json.loads(frames[1], parse_constant=lambda word: pytest.fail(word))
    assert abs(shape["timestamp"] - wall_s()) < 30
    assert shape["boot"] == live.who.boot
    for name in ("side", "session", "latency_ms", "clutch_id", "counters"):
        if hasattr(example, name):
            assert shape[name] == getattr(example, name)
    assert None not in shape.values()


def test_telemetry_tells_of_itself(live: Station) -> None:
    with live.tap("service_health/telemetry") as tap:
        _, shape = read(tap)
    assert (shape["name"], shape["status"]) == ("telemetry", "ok")
    assert shape["counters"]["tap_sent"] >= 0


def test_stale_messages_are_shown_too(live: Station) -> None:
    """A tap must see what the arm refuses to act on."""
    publisher = live.publisher("ingest")
    clock = publisher._clock
    try:
        publisher._clock = _Late(clock.now_ns() - 3_000_000_000)
        with live.tap("hand_pose/left") as tap:
            frames = live.joined(tap, HAND_POSE_LEFT, samples.hand_pose(side="left"))
    finally:
        publisher._clock = clock
    assert 2.9 < wall_s() - json.loads(frames[1])["timestamp"] < 30


class _Late:
    """A clock that stands."""

    def __init__(self, t_ns: int) -> None:
        self._t_ns = t_ns

    def now_ns(self) -> int:
        return self._t_ns


def test_garbage_on_the_bus_is_counted_and_the_next_good_message_passes(live: Station) -> None:
    publisher = live.publisher("arm-right")
    name = ARM_STATE_RIGHT.name.encode()
    with live.tap("arm_state/right") as tap:
        live.joined(tap, ARM_STATE_RIGHT, samples.arm_state())
        for frames in ([name], [name, b"\xc1"], [name, b""], [name + b"x", b"1"], [name, b"", b""]):
            publisher.socket.send_multipart(frames)
        publisher.socket.send_multipart([name, os.urandom(20_000)])
        publisher.publish(ARM_STATE_RIGHT, samples.arm_state(reason_detail="still here"))
        while read(tap)[1].get("reason_detail") != "still here":
            pass
    with live.tap("service_health/telemetry") as tap:
        while (counters := read(tap)[1]["counters"]).get("too_long") is None:
            pass
    assert counters["bad_frames"] == 2
    assert counters["bad_msgpack"] == 2
    assert counters["unknown_topic"] == 1
    assert counters["too_long"] == 1


@pytest.mark.parametrize(
    ("env", "port"),
    [("FARHAND_TELEMETRY__TAP_PORT", "tap"), ("FARHAND_TELEMETRY__HTTP_PORT", "http")],
)
def test_a_taken_port_is_one_line_that_names_it_and_its_holder(env: str, port: str) -> None:
    with station(started=False) as found, socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        taken = holder.getsockname()[1]
        ended = found.run("-m", "services.telemetry", **{env: str(taken)})
    assert ended.code == 75
    lines = ended.out.splitlines()
    assert len(lines) == 1
    assert f"cannot listen on TCP 127.0.0.1:{taken}" in lines[0]
    assert f"FARHAND_TELEMETRY__{port.upper()}_PORT" in lines[0]
    if Path("/proc/net/tcp").exists():
        assert f"process {os.getpid()} " in lines[0]


LONG = tuple(f"fault {number}: {'x' * 80}" for number in range(30))


def flow_through(found: Station, tap: Socket, count: int, first: int) -> None:
    """Publishes `count` states, a burst at a time, each awaited on `tap`, which misses none."""
    for start in range(first, first + count, 50):
        for number in range(start, start + 50):
            found.publish(ARM_STATE_RIGHT, samples.arm_state(missed_ticks=number, faults=LONG))
        for number in range(start, start + 50):
            assert read(tap)[1]["missed_ticks"] == number


needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")


@needs_proc
def test_a_stalled_tap_costs_little_memory_and_nobody_else_a_message(own: Station) -> None:
    """3 000 messages of 4 kB: a queue without bound would hold all 12 MB of them."""
    with own.tap("arm_state") as tap:
        own.joined(tap, ARM_STATE_RIGHT, samples.arm_state())
        while tap.poll(100):
            tap.recv_multipart()
        flow_through(own, tap, 500, 0)
        before = own.rss_bytes()
        with own.tap("arm_state", RCVHWM=1, RCVBUF=4096) as stalled:
            flow_through(own, tap, 3000, 1000)
            grown = own.rss_bytes() - before
            last = 0
            while stalled.poll(300):
                last = json.loads(stalled.recv_multipart()[1])["missed_ticks"]
        assert 0 < last < 3999, "the tap was not stalled at all"
        assert grown < 5_000_000


@needs_proc
def test_a_subscription_bomb_is_bounded_and_taps_come_back(own: Station) -> None:
    with own.tap("arm_state") as tap:
        own.joined(tap, ARM_STATE_RIGHT, samples.arm_state())
        before = own.rss_bytes()
        with own.tap("nothing") as bomb:
            bomb.setsockopt(zmq.SNDHWM, 0)
            for _ in range(20_000):
                bomb.subscribe(os.urandom(30))
            with own.tap("service_health/telemetry") as witness:
                while read(witness, 15_000)[1]["counters"]["tap_resets"] < 1:
                    pass
            assert own.rss_bytes() - before < 20_000_000
        while tap.poll(0):
            tap.recv_multipart()
        own.joined(tap, ARM_STATE_RIGHT, samples.arm_state())


def test_a_peer_that_sends_instead_of_subscribing_harms_nobody(live: Station) -> None:
    with live.context.socket(zmq.XSUB) as rude, live.tap("arm_state/right") as tap:
        rude.connect(f"tcp://127.0.0.1:{live.tap_port}")
        live.joined(tap, ARM_STATE_RIGHT, samples.arm_state())
        rude.send(b"hello")
        rude.send(b"\x01" + b"x" * 5000)
        with live.tap("service_health/telemetry") as witness:
            while read(witness)[1]["counters"]["tap_bad_subscription"] < 1:
                pass
        live.joined(tap, ARM_STATE_RIGHT, samples.arm_state())


def test_it_ends_at_once_when_told(own: Station) -> None:
    assert own.process is not None
    asked_s = time.monotonic()
    own.process.terminate()
    output, _ = own.process.communicate(timeout=5)
    assert own.process.returncode == 0
    assert time.monotonic() - asked_s < 5
    assert "service_stopped" in output.splitlines()[-1]


def test_a_restarted_publisher_is_heard_again(live: Station) -> None:
    with live.tap("hand_pose/right") as tap:
        live.joined(tap, HAND_POSE_RIGHT, samples.hand_pose())
        live.publisher("ingest").close()
        del live._publishers["ingest"]
        live.joined(tap, HAND_POSE_RIGHT, samples.hand_pose())
