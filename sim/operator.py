"""The background operator of a simulator configuration, as a service: python -m sim.operator.

Sends RCTP like any headset, to the loopback ports of ingest, for each side whose arm is simulated.
"""

from __future__ import annotations

from proto.messages import HandPose, ServiceHealth
from proto.reasons import SIDES, Side
from proto.topics import HAND_POSES, health_topic
from runtime.bus import Subscriber
from runtime.clock import NS_PER_S
from runtime.service import Context, run_as_main, stay_idle
from runtime.tick import Tick, period_from_hz
from sim.hand_port import HandPort
from sim.motion import Circle, Motion, Reach, Replay, Still
from sim.performers import OPERATOR_AMPLITUDE_M, OPERATOR_FREQ_HZ, Operator
from sim.recordings import ARM_MOTION, load_track

REACH_AMPLITUDE_M = 0.10
REACH_FREQ_HZ = 0.5
# A predecessor that was killed owns its hands for one more second (docs/specs/rctp.md §6): packets
# sent meanwhile would be counted as foreign, and taken for another sender's by ourselves.
LISTEN_S = 1.0


class OperatorService:
    """One Operator per simulated side, on the service's loop."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._sends_from_s = self._now_s() + LISTEN_S
        settings = context.settings
        motion = _motion(settings.sim_operator.motion)
        numbers = {"right": settings.ingest.port_right, "left": settings.ingest.port_left}
        self._operators = {
            side: Operator(side, motion) for side in SIDES if settings.simulated(side)
        }
        self._ports = [
            HandPort(side, operator, ("127.0.0.1", numbers[side]))
            for side, operator in self._operators.items()
        ]
        self._bus = Subscriber(
            context.zmq,
            context.run_dir,
            (*HAND_POSES, health_topic("ingest")),
            context.who,
            context.clock,
        )
        context.loop.on_readable(self._bus.socket, self._on_bus)
        for port in self._ports:
            context.loop.on_readable(port.sock.fileno(), self._read_feedback)
        rate_hz = settings.sim_operator.rate_hz
        context.loop.every(Tick(period_from_hz(rate_hz), context.clock), self._send)
        context.health.counters = self._counters

    def _now_s(self) -> float:
        return self._context.clock.now_ns() / NS_PER_S

    def _on_bus(self) -> None:
        now_s = self._now_s()
        for received in self._bus.drain():
            message = received.message
            if isinstance(message, HandPose) and message.side in self._operators:
                self._operators[message.side].on_sender(now_s)
            elif isinstance(message, ServiceHealth):
                self._on_ingest(message, now_s)

    def _on_ingest(self, health: ServiceHealth, now_s: float) -> None:
        for side, operator in self._operators.items():
            count = health.counters.get(f"foreign_source_{side}", 0)
            operator.on_foreign(count, now_s)

    def _read_feedback(self) -> None:
        for port in self._ports:
            port.read_feedback(self._now_s())

    def _send(self, _: int) -> None:
        if self._now_s() < self._sends_from_s:
            return
        for port in self._ports:
            port.send_frame(self._now_s())
        self._context.health.reason = self._yielding()

    def _yielding(self) -> str:
        silent: list[Side] = [side for side, op in self._operators.items() if op.yielding]
        return f"silent: another sender has {' and '.join(silent)}" if silent else ""

    def _counters(self) -> dict[str, int]:
        return {f"sent_{port.side}": port.sent for port in self._ports}


def _motion(name: str) -> Motion:
    if name == "still":
        return Still()
    if name == "replay":
        return Replay(load_track(ARM_MOTION, None))
    if name == "reach":
        return Reach(REACH_AMPLITUDE_M, REACH_FREQ_HZ, seed=1)
    return Circle(OPERATOR_AMPLITUDE_M, OPERATOR_FREQ_HZ)


def body(context: Context) -> None:
    """Sets the operator up, or stays idle where the configuration has none."""
    if not context.settings.sim_operator.enabled:
        stay_idle(context, "[sim_operator] enabled = false")
        return
    OperatorService(context)


if __name__ == "__main__":
    run_as_main("sim-operator", body)
