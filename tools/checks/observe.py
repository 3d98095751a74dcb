"""Listens to the running stack for two seconds and keeps what the checks need."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import zmq

from proto.messages import ArmState, HandPose, Message, ServiceHealth
from proto.reasons import Side
from proto.registry import HEALTH_FAMILIES
from proto.topics import ARM_STATES, HAND_POSES, health_topic
from runtime.bus import Subscriber
from runtime.clock import NS_PER_MS, NS_PER_S, MonotonicClock
from runtime.service import identity

LISTEN_NS: Final = 2 * NS_PER_S + NS_PER_S // 5  # health comes once a second


@dataclass(slots=True)
class ArmRecord:
    """The first and the newest state of one arm, and how many there were."""

    first: ArmState
    newest: ArmState
    count: int = 1

    def rate_hz(self) -> float | None:
        """Ticks a second by the arm's own stamps; None if there are too few to tell."""
        span_ns = self.newest.t_tick_ns - self.first.t_tick_ns
        if self.count < 10 or span_ns <= 0:
            return None
        return (self.count - 1) * NS_PER_S / span_ns


@dataclass(slots=True)
class Observation:
    """Everything that was heard."""

    health: dict[str, ServiceHealth] = field(default_factory=dict)
    arms: dict[Side, ArmRecord] = field(default_factory=dict)
    hands: dict[Side, HandPose] = field(default_factory=dict)

    def take(self, family: str, message: Message) -> None:
        """Keeps one message; `family` is its topic's endpoint."""
        if isinstance(message, ServiceHealth):
            self.health[family] = message
        elif isinstance(message, HandPose):
            self.hands[message.side] = message
        elif isinstance(message, ArmState):
            self._take_arm(message)

    def _take_arm(self, state: ArmState) -> None:
        record = self.arms.get(state.side)
        if record is None or record.first.boot != state.boot:
            self.arms[state.side] = ArmRecord(state, state)
            return
        record.newest = state
        record.count += 1


def observe(run_dir: Path, span_ns: int = LISTEN_NS) -> Observation:
    """Listens for `span_ns`."""
    clock = MonotonicClock()
    seen = Observation()
    topics = [*ARM_STATES, *HAND_POSES, *map(health_topic, HEALTH_FAMILIES)]
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    try:
        reader = Subscriber(context, run_dir, topics, identity(), clock)
        until_ns = clock.now_ns() + span_ns
        while (left_ns := until_ns - clock.now_ns()) > 0:
            reader.socket.poll(max(1, left_ns // NS_PER_MS))
            for received in reader.drain():
                seen.take(received.topic.endpoint, received.message)
    finally:
        context.destroy(linger=0)
    return seen
