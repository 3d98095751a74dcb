"""Where a tap's messages come from: telemetry's JSON port, or the ipc topics themselves.

Read-only. Whatever arrives that is no message of the tap is counted and dropped.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import zmq

from proto.json_view import json_fields, sent_at_s, slashed
from proto.registry import HEALTH_FAMILIES
from proto.topics import TOPICS, Topic, health_topic
from runtime.bus import Identity, Subscriber
from runtime.clock import Clock, wall_s
from runtime.errors import ConfigError

KNOWN: Final[tuple[Topic, ...]] = (*TOPICS, *map(health_topic, HEALTH_FAMILIES))
STATUS_COMMAND: Final = "supervisorctl -c deploy/supervisord.conf status"
# Messages handed on at once, so that a flood cannot keep a table from being drawn.
MAX_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class Item:
    """One message: its topic with slashes, and its fields."""

    topic: str
    shape: dict[str, Any]


class Source(Protocol):
    """What a tap reads."""

    where: str

    @property
    def counters(self) -> Counter[str]:
        """What was dropped, by reason."""

    def read(self, timeout_ms: int) -> list[Item]:
        """Waits for messages and returns those that are there; empty after `timeout_ms`."""

    def check(self) -> str:
        """What a person should look at if nothing comes."""


def topics_under(prefix: str) -> list[Topic]:
    """The topics whose name on the tap begins with `prefix`."""
    return [topic for topic in KNOWN if slashed(topic.name).startswith(prefix)]


class JsonSource:
    """Telemetry's tap over TCP."""

    def __init__(
        self, context: zmq.Context[zmq.Socket[bytes]], address: str, prefix: str = ""
    ) -> None:
        self.where = address
        self._counters: Counter[str] = Counter()
        self._prefix = prefix
        self._socket = context.socket(zmq.SUB)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.RECONNECT_IVL_MAX, 500)
        self._socket.subscribe(prefix.encode())
        try:
            self._socket.connect(address)
        except zmq.ZMQError as error:
            raise ConfigError(
                f"--address {address!r}: {error.strerror}; write tcp://HOST:PORT"
            ) from error

    @property
    def counters(self) -> Counter[str]:
        """See Source."""
        return self._counters

    def read(self, timeout_ms: int) -> list[Item]:
        """See Source."""
        items: list[Item] = []
        while len(items) < MAX_AT_ONCE and self._socket.poll(0 if items else timeout_ms):
            item = parse(self._socket.recv_multipart(zmq.NOBLOCK))
            if item is None:
                self._counters["bad_message"] += 1
                break  # of a stream of nothing else we would never come back
            items.append(item)
        return items

    def check(self) -> str:
        """See Source."""
        publishers = sorted({topic.endpoint for topic in topics_under(self._prefix)})
        who = f"telemetry and {', '.join(publishers)}" if self._prefix else "telemetry"
        return (
            f"nothing {_under(self._prefix)}on {self.where}: is {who} running ({STATUS_COMMAND})?"
            " Without telemetry: python -m tools.tap --direct"
        )


class DirectSource:
    """The ipc topics of a run directory, for when telemetry is down."""

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        run_dir: Path,
        who: Identity,
        clock: Clock,
        prefix: str = "",
    ) -> None:
        self.where = str(run_dir)
        self._clock = clock
        self._prefix = prefix
        self._bus = Subscriber(context, run_dir, topics_under(prefix), who, clock, max_age_ms=None)

    @property
    def counters(self) -> Counter[str]:
        """See Source."""
        return self._bus.counters

    def read(self, timeout_ms: int) -> list[Item]:
        """See Source."""
        self._bus.socket.poll(timeout_ms)
        now_ns, now_wall_s = self._clock.now_ns(), wall_s()
        return [
            Item(
                slashed(received.topic.name),
                {
                    "timestamp": sent_at_s(received.message.t_mono_ns, now_ns, now_wall_s),
                    **json_fields(received.message),
                },
            )
            for received in self._bus.drain()
        ]

    def check(self) -> str:
        """See Source."""
        return (
            f"nothing {_under(self._prefix)}in {self.where}: is the stack running"
            f" ({STATUS_COMMAND}), and with the same FARHAND_RUN_DIR as here?"
        )


def parse(frames: list[bytes]) -> Item | None:
    """A message of the tap; None for anything else."""
    if len(frames) != 2:
        return None
    try:
        shape = json.loads(frames[1])
        topic = frames[0].decode()
    except (ValueError, RecursionError):
        return None
    return Item(topic, shape) if isinstance(shape, dict) else None


def _under(prefix: str) -> str:
    return f"under {prefix!r} " if prefix else ""
