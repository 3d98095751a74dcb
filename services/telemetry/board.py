"""The newest message of every topic, and an immutable picture of it all for other threads.

Pure: instants are passed in. Judges nothing; /health and /metrics do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from proto.messages import ArmState, ArmTarget, HandPose, Message, ServiceHealth
from proto.reasons import Side
from proto.topics import Topic
from runtime.exits import ProgramExits
from runtime.flow import Figures, Flow

M = TypeVar("M", bound=Message)


@dataclass(frozen=True, slots=True)
class Heard:
    """A message and the instant it was sent (monotonic, this host; never in the future)."""

    message: Message
    t_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """All that telemetry knows at `t_ns`. Nobody changes it, so threads may share it."""

    t_ns: int
    uptime_ns: int
    robot: str
    sides: tuple[Side, ...]
    services: tuple[str, ...]
    heard: Mapping[str, Heard] = field(default_factory=dict)
    flows: Mapping[str, Figures] = field(default_factory=dict)
    exits: Mapping[str, ProgramExits] = field(default_factory=dict)
    tap_subscriptions: int = 0

    def newest(self, topic: str, kind: type[M], max_age_ns: int | None = None) -> M | None:
        """The newest message of `topic` if it is a `kind` and not too old."""
        heard = self.heard.get(topic)
        if heard is None or not isinstance(heard.message, kind):
            return None
        if max_age_ns is not None and self.t_ns - heard.t_ns > max_age_ns:
            return None
        return heard.message

    def age_ns(self, topic: str) -> int | None:
        """How long ago `topic` was last sent; None if never."""
        heard = self.heard.get(topic)
        return None if heard is None else max(0, self.t_ns - heard.t_ns)

    def arm(self, side: Side, max_age_ns: int | None = None) -> ArmState | None:
        """The newest arm_state of `side`."""
        return self.newest(f"arm_state.{side}", ArmState, max_age_ns)

    def service(self, family: str) -> ServiceHealth | None:
        """The newest service_health of `family`, however old."""
        return self.newest(f"service_health.{family}", ServiceHealth)

    def authenticated(self, side: Side, max_age_ns: int) -> bool:
        """Whether the hand that is heard now signs its packets; nobody heard: no."""
        hand = self.newest(f"hand_pose.{side}", HandPose, max_age_ns)
        if hand is not None:
            return hand.authenticated
        target = self.newest(f"arm_target.{side}", ArmTarget, max_age_ns)
        return target is not None and target.authenticated


class Board:
    """What the loop writes to; `picture` copies it out.

    Args:
        robot: name of the configuration.
        sides: arms that the configuration has.
        services: families that the configuration uses.
        now_ns: start of this process.
    """

    def __init__(
        self, robot: str, sides: tuple[Side, ...], services: tuple[str, ...], now_ns: int
    ) -> None:
        self._robot = robot
        self._sides = sides
        self._services = services
        self._started_ns = now_ns
        self._heard: dict[str, Heard] = {}
        self._flows: dict[str, Flow] = {}

    def take(self, topic: Topic, message: Message, t_ns: int) -> None:
        """Notes a message sent at `t_ns`."""
        self._heard[topic.name] = Heard(message, t_ns)
        flow = self._flows.get(topic.name)
        if flow is None:
            flow = self._flows[topic.name] = Flow()
        latency_ms = message.latency_ms if isinstance(message, ArmState) else None
        flow.add(t_ns, message.boot, message.seq, latency_ms)

    def picture(
        self, now_ns: int, exits: Mapping[str, ProgramExits], tap_subscriptions: int
    ) -> Picture:
        """A copy for other threads."""
        return Picture(
            t_ns=now_ns,
            uptime_ns=now_ns - self._started_ns,
            robot=self._robot,
            sides=self._sides,
            services=self._services,
            heard=dict(self._heard),
            flows={name: flow.figures(now_ns) for name, flow in self._flows.items()},
            exits=dict(exits),
            tap_subscriptions=tap_subscriptions,
        )
