"""The ingest process: python -m services.ingest."""

from __future__ import annotations

from functools import partial
from typing import Final

from proto.messages import ArmState, HandPose
from proto.reasons import SIDES, Side
from proto.topics import ARM_STATES, HAND_POSES
from proto.views import ArmFeedback
from runtime.addresses import allowed_networks, resolve_listen, unresolved
from runtime.clock import NS_PER_S
from runtime.histogram import Histogram
from runtime.service import Context, draw_u64, run_as_main
from runtime.tick import Tick
from runtime.udp import UdpReceiver
from services.ingest.allow import AllowList
from services.ingest.hand import Hand
from services.ingest.port import HandPort

FEEDBACK_TICK_NS: Final = 33_400_000  # ≤ 30 Hz, the feedback packet's rate
LEASE_TICK_NS: Final = 50_000_000
QUIET_NS: Final = 10 * NS_PER_S
STATE_TOPIC: Final = dict(zip(SIDES, ARM_STATES, strict=True))
POSE_TOPIC: Final = dict(zip(SIDES, HAND_POSES, strict=True))


class Ingest:
    """Both hands on one loop. Both ports are always bound: the second one at least for its stop."""

    def __init__(self, context: Context) -> None:
        self._context = context
        settings = context.settings
        self._addresses = resolve_listen(settings.network.listen)
        for missing in unresolved(settings.network.listen):
            context.log.warning("listen_address_absent", name=missing)
        networks = allowed_networks(settings.network.allow, self._addresses)
        self._allow = AllowList(str(network) for network in networks)
        numbers = {"right": settings.ingest.port_right, "left": settings.ingest.port_left}
        self._ports = {side: self._open(side, numbers[side]) for side in SIDES}
        self._states = context.latest(*ARM_STATES, views={ArmState: ArmFeedback})
        context.loop.every(Tick(FEEDBACK_TICK_NS, context.clock), self._on_feedback)
        context.loop.every(Tick(LEASE_TICK_NS, context.clock), self._on_tick)
        self._quiet_since_ns = context.clock.now_ns()
        self._quiet_told = False
        context.health.counters = self._counters
        context.health.jitter_ms = self._jitter_ms
        context.log.info("ingest_listening", **self._listening(), allow=networks)

    def _open(self, side: Side, number: int) -> HandPort:
        port = HandPort(
            side,
            Hand(self._allow, draw_u64),
            [UdpReceiver(address, number) for address in self._addresses],
            self._publish,
            self._context.clock,
            self._context.settings.ingest.owner_filter,
        )
        for receiver in port.receivers:
            self._context.loop.on_readable(receiver.fileno(), partial(port.drain, receiver))
        return port

    def _publish(self, pose: HandPose) -> None:
        self._context.publisher.publish(POSE_TOPIC[pose.side], pose)

    def _on_feedback(self, _: int) -> None:
        """The newest state of each arm goes to that hand's owner."""
        for side, port in self._ports.items():
            if port.hand.lease.owner is not None:
                state = self._states.take(STATE_TOPIC[side])
                if isinstance(state, ArmFeedback):
                    port.answer(state)

    def _on_tick(self, _: int) -> None:
        now_ns = self._context.clock.now_ns()
        for port in self._ports.values():
            port.expire(now_ns)
        self._tell_if_quiet(now_ns)

    def _tell_if_quiet(self, now_ns: int) -> None:
        """After 10 s without a packet: the line that a person with a headset needs."""
        if any(port.heard for port in self._ports.values()):
            self._quiet_since_ns, self._quiet_told = now_ns, False
            for port in self._ports.values():
                port.heard = False
        elif now_ns - self._quiet_since_ns > QUIET_NS and not self._quiet_told:
            self._quiet_told = True
            self._context.log.warning("no_packets", seconds=10, type_into_headset=self._listening())
        self._context.health.reason = "no_packets" if self._quiet_told else ""

    def _listening(self) -> dict[str, str]:
        """Every address:port by hand, right first."""
        return {
            side: ",".join("{}:{}".format(*receiver.address) for receiver in port.receivers)
            for side, port in self._ports.items()
        }

    def _counters(self) -> dict[str, int]:
        counts: dict[str, int] = dict(self._states.counters)
        for port in self._ports.values():
            counts.update(port.counters())
        return counts

    def _jitter_ms(self) -> tuple[float | None, float | None]:
        """Arrival jitter of both hands together since the last health message."""
        worst: Histogram = max(
            (port.jitter for port in self._ports.values()),
            key=lambda jitter: jitter.percentile_ms(99) or 0.0,
        )
        both = worst.percentile_ms(50), worst.percentile_ms(99)
        for port in self._ports.values():
            port.jitter.reset()
        return both


def body(context: Context) -> None:
    """Sets ingest up on the loop."""
    Ingest(context)


if __name__ == "__main__":
    run_as_main("ingest", body)
