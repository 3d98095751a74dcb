"""The bus: two-frame messages over ipc, PUB/SUB for streams, PUSH/PULL for operator commands.

Producers bind, consumers connect. Readers drain everything on each wake, then judge ages: a
process that was stopped for seconds must not act on what it missed. A stop is never too old.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import zmq

from proto.envelope import EnvelopeError, decode, encode_stamped
from proto.messages import Message, OperatorCommand
from proto.topics import COMMAND_ENDPOINTS, MAX_AGE_MS, Topic
from runtime.clock import Clock

MAX_COMMAND_BYTES: Final = 65_536
# Per subscriber. PUB drops beyond it, so a stalled reader costs at most 200 kB here.
PUBLISH_QUEUE: Final = 200
# Messages read on one wake: more than the queues of two publishers hold, and an end, because a
# sender in a tight loop must not keep us here.
DRAIN_LIMIT: Final = 4096
COMMAND_DRAIN_LIMIT: Final = 64
# A larger step of `seq` is no loss but garbage; sums of it would not fit a message any more.
MAX_GAP: Final = 1_000_000


Views = Mapping[type[Message], type[Message]]


@dataclass(frozen=True, slots=True)
class Identity:
    """Who sends: drawn anew at each start; `host` is equal on one running machine."""

    boot: int
    host: int


def _header(seq: int, who: Identity, clock: Clock) -> dict[str, int]:
    return {"seq": seq, "boot": who.boot, "host": who.host, "t_mono_ns": clock.now_ns()}


def ipc_endpoint(run_dir: Path, name: str) -> str:
    """Address of endpoint `name` in the run directory."""
    return f"ipc://{run_dir / name}.ipc"


class Publisher:
    """Binds one PUB socket and stamps every message with its header."""

    def __init__(
        self, context: zmq.Context[zmq.Socket[bytes]], endpoint: str, who: Identity, clock: Clock
    ) -> None:
        self._who = who
        self._clock = clock
        self._seq: Counter[str] = Counter()
        self.socket = context.socket(zmq.PUB)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.setsockopt(zmq.SNDHWM, PUBLISH_QUEUE)
        self.socket.bind(endpoint)

    def publish(self, topic: Topic, message: Message) -> None:
        """Sends `message`; header fields of the given one are overwritten. Never blocks."""
        self._seq[topic.name] += 1
        header = _header(self._seq[topic.name], self._who, self._clock)
        self.socket.send(topic.name.encode(), zmq.SNDMORE)
        self.socket.send(encode_stamped(message, header))

    def close(self) -> None:
        """Closes the socket at once."""
        self.socket.close(0)


class Received(NamedTuple):
    """One message and its topic."""

    topic: Topic
    message: Message


class Subscriber:
    """Connects one SUB socket to the endpoints of `topics`.

    `counters` has: received, gaps (messages missed), stale, and one per EnvelopeError reason,
    bad_frames and unknown_topic. `foreign_host_ns` is when a message of another machine was seen
    last: its stamps cannot be compared with ours, so it is dropped unless it is a stop.
    `views` names the part of a message type that is to be decoded instead of all of it.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        run_dir: Path,
        topics: Iterable[Topic],
        who: Identity,
        clock: Clock,
        max_age_ms: float | None = MAX_AGE_MS,
        views: Views | None = None,
    ) -> None:
        self._topics = {topic.name.encode(): topic for topic in topics}
        self._views = views or {}
        self._who = who
        self._clock = clock
        self._max_age_ns = None if max_age_ms is None else int(max_age_ms * 1e6)
        self._last: dict[str, tuple[int, int]] = {}
        self.counters: Counter[str] = Counter()
        self.foreign_host_ns: int | None = None
        # No MAXMSGSIZE: to a connecting socket an oversized message is a protocol error, after
        # which libzmq never connects again (measured, 4.3.5). `decode` has the limit of size.
        self.socket = context.socket(zmq.SUB)
        self.socket.setsockopt(zmq.LINGER, 0)
        # A restarted publisher must be heard at once; the default wait is 100 ms and grows.
        self.socket.setsockopt(zmq.RECONNECT_IVL, 10)
        self.socket.setsockopt(zmq.RECONNECT_IVL_MAX, 50)
        for name in self._topics:
            self.socket.subscribe(name)
        for endpoint in sorted({topic.endpoint for topic in self._topics.values()}):
            self.socket.connect(ipc_endpoint(run_dir, endpoint))

    def drain(self) -> list[Received]:
        """All that has arrived and is fresh, in order; stops are never dropped for age."""
        read = [self._read(frames) for frames in self.frames()]
        arrived = [received for received in read if received is not None]
        if self._max_age_ns is None or not arrived:
            return arrived
        oldest_ns = self._clock.now_ns() - self._max_age_ns
        fresh = [r for r in arrived if r.message.t_mono_ns >= oldest_ns or is_stop(r.message)]
        self.counters["stale"] += len(arrived) - len(fresh)
        return fresh

    def frames(self) -> list[list[bytes]]:
        """What waits on the socket, undecoded."""
        return _waiting(self.socket, DRAIN_LIMIT)

    def fresh(self, frames: list[bytes]) -> Message | None:
        """The message in `frames`, None if it is bad or older than the age limit."""
        received = self._read(frames)
        if received is None:
            return None
        age_ns = self._clock.now_ns() - received.message.t_mono_ns
        if self._max_age_ns is not None and age_ns > self._max_age_ns:
            self.counters["stale"] += 1
            return None
        return received.message

    def _read(self, frames: list[bytes]) -> Received | None:
        if len(frames) != 2:
            self.counters["bad_frames"] += 1
            return None
        topic = self._topics.get(frames[0])
        if topic is None:  # subscriptions are prefixes
            self.counters["unknown_topic"] += 1
            return None
        try:
            message = decode(self._views.get(topic.message, topic.message), frames[1])
        except EnvelopeError as error:
            self.counters[error.reason] += 1
            return None
        return self._admit(topic, message)

    def _admit(self, topic: Topic, message: Message) -> Received | None:
        if self._max_age_ns is not None and message.host != self._who.host:
            self.counters["foreign_host"] += 1
            self.foreign_host_ns = self._clock.now_ns()
            if not is_stop(message):
                return None
        boot, seq = self._last.get(topic.name, (message.boot, message.seq - 1))
        if boot == message.boot:
            self.counters["gaps"] += min(max(0, message.seq - seq - 1), MAX_GAP)
        self._last[topic.name] = (message.boot, message.seq)
        self.counters["received"] += 1
        return Received(topic, message)

    def close(self) -> None:
        """Closes the socket at once."""
        self.socket.close(0)


class LatestReader:
    """Keeps the newest message of each topic and decodes it only when asked for.

    A reader of 100 Hz states that needs them at 30 Hz spends a third, and wakes for none of them.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        run_dir: Path,
        topics: Iterable[Topic],
        who: Identity,
        clock: Clock,
        views: Views | None = None,
    ) -> None:
        wanted = tuple(topics)
        self._wanted = frozenset(topic.name.encode() for topic in wanted)
        self._reader = Subscriber(context, run_dir, wanted, who, clock, views=views)
        self._newest: dict[bytes, list[bytes]] = {}

    @property
    def counters(self) -> Counter[str]:
        """As of Subscriber; what was passed over unread is neither received nor a gap."""
        return self._reader.counters

    def take(self, topic: Topic) -> Message | None:
        """The newest message of `topic` that was not taken yet, if it is fresh."""
        for frames in self._reader.frames():
            if frames[0] not in self._wanted:  # subscriptions are prefixes
                self.counters["unknown_topic"] += 1
                continue
            self._newest[frames[0]] = frames
        frames = self._newest.pop(topic.name.encode(), [])
        return self._reader.fresh(frames) if frames else None

    def close(self) -> None:
        """Closes the socket at once."""
        self._reader.close()


def is_stop(message: Message) -> bool:
    """Whether `message` asks for an e-stop, which is acted on however late it comes."""
    return getattr(message, "estop", False) is True or getattr(message, "verb", "") == "estop"


def _waiting(socket: zmq.Socket[bytes], limit: int) -> list[list[bytes]]:
    """At most `limit` of the messages that have arrived; the poller comes back for the rest."""
    waiting: list[list[bytes]] = []
    while len(waiting) < limit and _readable(socket):
        waiting.append(socket.recv_multipart(zmq.NOBLOCK))
    return waiting


def _readable(socket: zmq.Socket[bytes]) -> bool:
    """Cheaper than receiving until it raises: an exception costs ten times this look."""
    return bool(int(socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN)


class CommandServer:
    """Binds PULL for operator commands to one arm or the base."""

    def __init__(
        self, context: zmq.Context[zmq.Socket[bytes]], run_dir: Path, addressee: str
    ) -> None:
        self.counters: Counter[str] = Counter()
        self.socket = context.socket(zmq.PULL)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.setsockopt(zmq.MAXMSGSIZE, MAX_COMMAND_BYTES)
        self.socket.bind(ipc_endpoint(run_dir, COMMAND_ENDPOINTS[addressee]))

    def drain(self) -> list[OperatorCommand]:
        """The commands that have arrived, stops first; their age is the caller's to judge."""
        commands = []
        for frames in _waiting(self.socket, COMMAND_DRAIN_LIMIT):
            if len(frames) != 2:
                self.counters["bad_frames"] += 1
                continue
            try:
                commands.append(decode(OperatorCommand, frames[1]))
            except EnvelopeError as error:
                self.counters[error.reason] += 1
        return sorted(commands, key=lambda command: not is_stop(command))

    def close(self) -> None:
        """Closes the socket at once."""
        self.socket.close(0)


class CommandClient:
    """Connects PUSH to one arm or the base. A command to nobody is refused, never stored."""

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        run_dir: Path,
        addressee: str,
        who: Identity,
        clock: Clock,
    ) -> None:
        self._who = who
        self._clock = clock
        self._name = f"operator_command.{addressee}".encode()
        self.socket = context.socket(zmq.PUSH)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.setsockopt(zmq.IMMEDIATE, 1)
        self.socket.connect(ipc_endpoint(run_dir, COMMAND_ENDPOINTS[addressee]))

    def send(self, command: OperatorCommand, timeout_ms: int = 500) -> bool:
        """Sends, waiting at most `timeout_ms` for somebody to listen. False: nobody does."""
        if not self.socket.poll(timeout_ms, zmq.POLLOUT):
            return False
        header = _header(1, self._who, self._clock)
        frames = (self._name, encode_stamped(command, header))
        try:
            self.socket.send_multipart(frames, zmq.NOBLOCK)
        except zmq.Again:  # it went away since the look
            return False
        return True

    def close(self) -> None:
        """Closes the socket at once; an unsent command is dropped."""
        self.socket.close(0)
