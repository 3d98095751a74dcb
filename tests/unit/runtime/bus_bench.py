"""Publishers and readers on real ipc sockets in a private folder, on a clock turned by hand."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import zmq

from proto.envelope import encode
from proto.topics import HAND_POSE_LEFT, HAND_POSE_RIGHT, Topic
from runtime.bus import (
    CommandClient,
    CommandServer,
    Identity,
    LatestReader,
    Publisher,
    Received,
    Subscriber,
    ipc_endpoint,
)
from tests import samples
from tests.unit.runtime.fake_clock import FakeClock

US = Identity(boot=2**64 - 1, host=5)
PATIENCE_MS = 5000

T = TypeVar("T")


class Bus:
    """A run directory, a zmq context and a clock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.clock = FakeClock()
        self._kept: list[object] = []

    def keep(self, opened: T) -> T:
        """Until the end of the test: a socket that is collected unclosed is a warning."""
        self._kept.append(opened)
        return opened

    def publisher(self, endpoint: str, who: Identity = US) -> Publisher:
        where = ipc_endpoint(self.folder, endpoint)
        return self.keep(Publisher(self.context, where, who, self.clock))

    def subscriber(self, *topics: Topic, max_age_ms: float | None = 100.0) -> Subscriber:
        return self.keep(Subscriber(self.context, self.folder, topics, US, self.clock, max_age_ms))

    def latest(self, *topics: Topic) -> LatestReader:
        return self.keep(LatestReader(self.context, self.folder, topics, US, self.clock))

    def server(self) -> CommandServer:
        return self.keep(CommandServer(self.context, self.folder, "right"))

    def client(self) -> CommandClient:
        return self.keep(CommandClient(self.context, self.folder, "right", US, self.clock))

    def joined(self, max_age_ms: float | None = 100.0) -> tuple[Publisher, Subscriber]:
        """A publisher of hands and a subscriber that hears it, counters at zero."""
        publisher = self.publisher("ingest")
        subscriber = self.subscriber(HAND_POSE_RIGHT, HAND_POSE_LEFT, max_age_ms=max_age_ms)
        meet(publisher, subscriber)
        subscriber.counters.clear()
        return publisher, subscriber


@contextmanager
def private_bus() -> Iterator[Bus]:
    """In a folder whose path is short enough for sockets."""
    folder = Path(tempfile.mkdtemp(prefix="fh-"))
    found = Bus(folder)
    try:
        yield found
    finally:
        found.context.destroy(linger=0)
        shutil.rmtree(folder)


def meet(publisher: Publisher, subscriber: Subscriber) -> None:
    """Publishes until the subscription is there: PUB drops what nobody asked for yet."""
    for _ in range(PATIENCE_MS // 5):
        publisher.publish(HAND_POSE_RIGHT, samples.hand_pose())
        if subscriber.socket.poll(5):
            break
    until_sentinel(publisher, subscriber)


def collect(subscriber: Subscriber, done: Callable[[], bool]) -> list[Received]:
    """All that drains return until `done()`."""
    found: list[Received] = []
    while not done():
        assert subscriber.socket.poll(PATIENCE_MS), f"nothing more came: {subscriber.counters}"
        found += subscriber.drain()
    return found


def until_sentinel(publisher: Publisher, subscriber: Subscriber) -> list[Received]:
    """Publishes one last message and drains until it is there; it is not among what is returned."""
    publisher.publish(HAND_POSE_RIGHT, samples.hand_pose())
    last = publisher._seq[HAND_POSE_RIGHT.name]
    found: list[Received] = []
    while not any(r.topic is HAND_POSE_RIGHT and r.message.seq == last for r in found):
        assert subscriber.socket.poll(PATIENCE_MS), f"the last never came: {subscriber.counters}"
        found += subscriber.drain()
    return found[:-1]


def raw(publisher: Publisher, **header: int) -> None:
    """Sends a hand_pose with a header of our choice."""
    fields = {"boot": US.boot, "host": US.host, "t_mono_ns": publisher._clock.now_ns(), **header}
    payload = encode(samples.hand_pose(**fields))
    publisher.socket.send_multipart((b"hand_pose.right", payload))


def counts(subscriber: Subscriber) -> dict[str, int]:
    """Counters that are not zero."""
    return {name: count for name, count in subscriber.counters.items() if count}
