"""Telemetry's wiring: bus in, JSON tap out, pictures for /health and /metrics.

Reads everything and commands nothing: no other process may notice whether it runs.
"""

from __future__ import annotations

import json
from typing import Final

from proto.json_view import encode_json, sent_at_s, slashed
from proto.registry import HEALTH_FAMILIES
from proto.topics import TOPICS, Topic, health_topic
from runtime.bus import Received, Subscriber
from runtime.clock import NS_PER_S, wall_s
from runtime.exits import ProgramExits, read_exits
from runtime.service import Context
from runtime.settings import Settings
from runtime.tick import Tick
from services.telemetry.board import Board, Picture
from services.telemetry.health import judge
from services.telemetry.metrics import CONTENT_TYPE, render
from services.telemetry.tap_socket import TapSocket
from services.telemetry.web import Reply, WebServer, plain

PICTURE_PERIOD_NS: Final = NS_PER_S // 4
EXITS_EVERY: Final = 4  # pictures: once a second

READS: Final[tuple[Topic, ...]] = (*TOPICS, *map(health_topic, HEALTH_FAMILIES))


def configured_services(settings: Settings) -> tuple[str, ...]:
    """The families that this configuration puts to use."""
    arms = tuple(f"arm-{side}" for side in settings.arm)
    operator = ("sim-operator",) if settings.sim_operator.enabled else ()
    return ("telemetry", "ingest", "mapper", *arms, *operator)


class Telemetry:
    """One process's worth of it.

    Raises:
        DeviceError: a port cannot be had.
    """

    def __init__(self, context: Context) -> None:
        settings = context.settings
        self._context = context
        self._clock = context.clock
        self._exits: dict[str, ProgramExits] = {}
        self._pictures = 0
        self._names = {topic.name: slashed(topic.name).encode() for topic in READS}
        self._board = Board(
            settings.robot,
            tuple(settings.arm),
            configured_services(settings),
            self._clock.now_ns(),
        )
        self._bus = Subscriber(
            context.zmq, context.run_dir, READS, context.who, self._clock, max_age_ms=None
        )
        self._tap = TapSocket(
            context.zmq,
            settings.telemetry.tap_port,
            context.log,
            context.loop.on_readable,
            context.loop.forget,
        )
        self._picture = self._draw()
        self._web = WebServer(settings.telemetry.http_port, self.answer)

    def start(self) -> None:
        """Registers with the loop and begins to answer."""
        self._context.loop.on_readable(self._bus.socket, self._on_bus)
        self._context.loop.every(Tick(PICTURE_PERIOD_NS, self._clock), self._on_tick)
        self._context.health.counters = self._counters
        self._web.start()

    def answer(self, path: str) -> Reply:
        """Called by the web server's threads: reads one picture, changes nothing."""
        picture = self._picture
        now_ns = self._clock.now_ns()
        if path == "/health":
            verdict = judge(picture, now_ns)
            body = {"timestamp": wall_s(), **verdict.body}
            return Reply(verdict.code, "application/json", json.dumps(body, indent=1).encode())
        if path == "/metrics":
            return Reply(200, CONTENT_TYPE, render(picture, now_ns))
        return plain(404, "there are /health and /metrics")

    def _on_bus(self) -> None:
        for received in self._bus.drain():
            self._pass_on(received)

    def _pass_on(self, received: Received) -> None:
        message = received.message
        now_ns = self._clock.now_ns()
        ours = message.host == self._context.who.host
        t_ns = min(message.t_mono_ns, now_ns) if ours else now_ns
        name = self._names[received.topic.name]
        if self._tap.wanted(name):
            self._tap.send(name, encode_json(message, sent_at_s(t_ns, now_ns, wall_s())))
        self._board.take(received.topic, message, t_ns)

    def _on_tick(self, _: int) -> None:
        self._tap.maintain()
        self._picture = self._draw()

    def _draw(self) -> Picture:
        if self._pictures % EXITS_EVERY == 0:
            self._exits = read_exits(self._context.run_dir)
        self._pictures += 1
        return self._board.picture(self._clock.now_ns(), self._exits, len(self._tap.subscriptions))

    def _counters(self) -> dict[str, int]:
        tap = {f"tap_{name}": count for name, count in self._tap.counters.items()}
        return {**self._bus.counters, **tap}


def body(context: Context) -> None:
    """What runtime.service.main runs."""
    Telemetry(context).start()
    ports = context.settings.telemetry
    context.log.info(
        "telemetry_ready",
        tap=f"tcp://127.0.0.1:{ports.tap_port}",
        health=f"http://127.0.0.1:{ports.http_port}/health",
    )
