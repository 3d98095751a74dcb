"""Keeps every message of a running stack, in order of arrival. Only listens."""

from __future__ import annotations

from pathlib import Path

import zmq

from proto.messages import ArmState, ArmTarget, HandPose, ServiceHealth
from proto.reasons import SIDES, Side
from proto.registry import HEALTH_FAMILIES
from proto.topics import TOPICS, health_topic
from runtime.bus import Subscriber
from runtime.clock import Clock
from runtime.service import identity


class Watch:
    """The recordings: one list a topic and side, and the newest health of each program."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], run_dir: Path, clock: Clock):
        topics = (*TOPICS, *map(health_topic, HEALTH_FAMILIES))
        self._bus = Subscriber(context, run_dir, topics, identity(), clock, max_age_ms=None)
        self.states: dict[Side, list[ArmState]] = {side: [] for side in SIDES}
        self.targets: dict[Side, list[ArmTarget]] = {side: [] for side in SIDES}
        self.hands: dict[Side, list[HandPose]] = {side: [] for side in SIDES}
        self.health: dict[str, ServiceHealth] = {}
        self.slowest_ns = 0  # from a packet's arrival to its target

    def wait(self, seconds: float) -> None:
        """Until something arrives, at most so long."""
        self._bus.socket.poll(max(0, int(seconds * 1000)))

    def drain(self) -> None:
        """Takes in what has arrived."""
        for received in self._bus.drain():
            message = received.message
            if isinstance(message, ArmState):
                self.states[message.side].append(message)
            elif isinstance(message, ArmTarget):
                self.targets[message.side].append(message)
                self.slowest_ns = max(self.slowest_ns, message.t_mono_ns - message.t_recv_ns)
            elif isinstance(message, HandPose):
                self.hands[message.side].append(message)
            elif isinstance(message, ServiceHealth):
                self.health[message.name] = message
