"""The frame every process runs in: settings, lock, identity, signals, heartbeat, health, exit code.

Whatever a service raises becomes one line and an exit code; nothing is swallowed.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import zmq

from proto.messages import ServiceHealth
from proto.registry import Service, service
from proto.topics import Topic, health_topic
from runtime import config, lockfile
from runtime.bus import (
    Identity,
    LatestReader,
    Publisher,
    Subscriber,
    Views,
    ipc_endpoint,
)
from runtime.clock import NS_PER_S, Clock, MonotonicClock, boot_id
from runtime.errors import EXIT_OK, ConfigError, FarhandError
from runtime.heartbeat import Heartbeat, StartStamp
from runtime.log import Logger, setup
from runtime.loop import Loop
from runtime.realtime import set_timer_slack_1ns, try_fifo
from runtime.rundir import run_dir
from runtime.settings import Settings
from runtime.tick import Tick

VERSION: Final = "0.1.0"
HOUSEKEEPING_PERIOD_NS: Final = 200_000_000
# ZeroMQ's threads and a driver's inherit it: they are started after.
FIFO_PRIORITY: Final = 30
HEALTH_EVERY: Final = 5  # housekeeping ticks: 1 Hz
# A second request to stop, or this long after the first, ends the process at once.
STOP_PATIENCE_NS: Final = 1_500_000_000


def draw_u64() -> int:
    """A random number that no one can guess: boots, sessions, clutch offers. Never 0."""
    return int.from_bytes(os.urandom(8), "little") | 1


def identity() -> Identity:
    """Who this process is on the bus."""
    host = boot_id() or os.uname().nodename
    return Identity(boot=draw_u64(), host=zlib.crc32(host.encode()))


@dataclass(slots=True)
class Health:
    """What the service says of itself; `counters` and `rates` are asked for once a second."""

    status: str = "ok"
    reason: str = ""
    counters: Callable[[], dict[str, int]] = dict
    rates: Callable[[], dict[str, float]] = dict
    details: Callable[[], dict[str, Any]] = dict
    jitter_ms: Callable[[], tuple[float | None, float | None]] = lambda: (None, None)


@dataclass(slots=True)
class Context:
    """What a service is given.

    `on_stop` may replace the immediate end by a controlled one; `at_end` is called after the loop.
    """

    declared: Service
    args: tuple[str, ...]
    settings: Settings
    clock: Clock
    run_dir: Path
    zmq: zmq.Context[zmq.Socket[bytes]]
    who: Identity
    log: Logger
    loop: Loop
    publisher: Publisher
    health: Health = field(default_factory=Health)
    on_stop: Callable[[], None] | None = None
    at_end: Callable[[], object] | None = None

    def subscriber(self, *topics: Topic, views: Views | None = None) -> Subscriber:
        """A SUB socket for `topics`; by default all that the process table gives this service."""
        wanted = topics or self.declared.subscribes
        return Subscriber(self.zmq, self.run_dir, wanted, self.who, self.clock, views=views)

    def latest(self, *topics: Topic, views: Views | None = None) -> LatestReader:
        """The newest of each of `topics`, when asked."""
        return LatestReader(self.zmq, self.run_dir, topics, self.who, self.clock, views)


Body = Callable[[Context], None]


def main(program: str, body: Body, args: tuple[str, ...] = ()) -> int:
    """Runs `body`, which sets up handlers on `context.loop`, then serves until told to stop.

    Returns:
        The process's exit code: 0 asked to stop, 75 device or lock lost, 78 bad configuration.
    """
    log = setup(program)
    sys.excepthook = _one_line_hook(log)
    try:
        return _run(service(program), body, args, log)
    except FarhandError as error:
        refusal = error
    log.error("service_refused", why=str(refusal))
    return refusal.exit_code


def _one_line_hook(
    log: Logger,
) -> Callable[[type[BaseException], BaseException, TracebackType | None], None]:
    """A programming error ends the process (exit 1, restarted) with one line, not a stack."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        at = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
        log.error("service_crashed", error=kind.__name__, why=str(error), at=at)

    return hook


def _run(declared: Service, body: Body, args: tuple[str, ...], log: Logger) -> int:
    settings = config.load(os.environ)
    clock = MonotonicClock()
    directory = run_dir(config.REPO_ROOT, os.environ, Path(tempfile.gettempdir()))
    lock = lockfile.acquire(directory / f"{declared.family}.lock", clock=clock)
    stamp = StartStamp(directory, declared.program, boot_id())
    delay_s = stamp.backoff_s(clock.now_ns())
    if delay_s:
        log.warning("start_delayed", delay_s=delay_s, short_runs=stamp.short_runs)
        time.sleep(delay_s)
    stamp.mark(clock.now_ns())
    set_timer_slack_1ns()
    heart = Heartbeat(directory, declared.program, os.getpid())
    heart.start()  # before try_fifo: its thread may wait for the disk
    if declared.realtime and not try_fifo(FIFO_PRIORITY):
        log.warning("fifo_refused", why="no right to SCHED_FIFO: late under load; see doctor")
    who = identity()
    zmq_context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    publisher = Publisher(zmq_context, ipc_endpoint(directory, declared.family), who, clock)
    context = Context(
        declared, args, settings, clock, directory, zmq_context, who, log, Loop(), publisher
    )
    house = _Housekeeping(context, heart)
    try:
        body(context)
        gc.collect()
        gc.freeze()  # what start-up made stays; no later collection walks it again
        log.info("service_started", pid=os.getpid(), robot=settings.robot)
        context.loop.run()
        if context.at_end is not None:
            context.at_end()
    finally:
        heart.close()
        zmq_context.destroy(linger=0)
        lock.release()
    stamp.clear()
    log.info("service_stopped", uptime_s=house.uptime_s())
    return EXIT_OK


class _Housekeeping:
    """Signals, heartbeat and the health message: five times a second, whatever the service does."""

    def __init__(self, context: Context, heart: Heartbeat) -> None:
        self._context = context
        self._heart = heart
        self._started_ns = context.clock.now_ns()
        self._ticks = 0
        self._asked_ns: int | None = None
        self._topic = health_topic(context.declared.family)
        self._watch_signals()
        context.loop.every(Tick(HOUSEKEEPING_PERIOD_NS, context.clock), self._tick)

    def _watch_signals(self) -> None:
        """A signal writes its number into a socket of the poller: it is handled between wakes."""
        self._inbox, outbox = socket.socketpair()
        self._inbox.setblocking(False)
        outbox.setblocking(False)
        self._outbox = outbox
        signal.set_wakeup_fd(outbox.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        self._context.loop.on_readable(self._inbox.fileno(), self._on_signal)

    def _on_signal(self) -> None:
        self._inbox.recv(64)
        if self._asked_ns is not None or self._context.on_stop is None:
            self._context.loop.stop()
            return
        self._asked_ns = self._context.clock.now_ns()
        self._context.on_stop()

    def _tick(self, _: int) -> None:
        now_ns = self._context.clock.now_ns()
        self._heart.beat(now_ns)
        if self._asked_ns is not None and now_ns - self._asked_ns > STOP_PATIENCE_NS:
            self._context.loop.stop()
        if self._ticks % HEALTH_EVERY == 0:
            self._context.publisher.publish(self._topic, self._message())
        self._ticks += 1

    def uptime_s(self) -> float:
        return (self._context.clock.now_ns() - self._started_ns) / NS_PER_S

    def _message(self) -> ServiceHealth:
        health = self._context.health
        p50_ms, p99_ms = health.jitter_ms()
        return ServiceHealth(
            name=self._context.declared.program,
            version=VERSION,
            pid=os.getpid(),
            uptime_s=self.uptime_s(),
            status=health.status,
            reason=health.reason,
            counters=health.counters(),
            rates=health.rates(),
            jitter_p50_ms=p50_ms,
            jitter_p99_ms=p99_ms,
            details=health.details(),
        )


def stay_idle(context: Context, why: str) -> None:
    """For a program that this configuration does not use: alive, at no CPU, and saying so."""
    context.health.status = "not_configured"
    context.health.reason = why
    context.log.info("service_idle", why=why)


def flag_value(args: tuple[str, ...], name: str) -> str | None:
    """The word after `name` in `args`, None if the flag is absent.

    Raises:
        ConfigError: the flag has no value.
    """
    if name not in args:
        return None
    at = args.index(name) + 1
    if at >= len(args):
        raise ConfigError(f"{name} needs a value")
    return args[at]


def run_as_main(program: str | Callable[[tuple[str, ...]], str], body: Body) -> None:
    """The last line of a service's __main__; `program` may depend on the arguments."""
    args = tuple(sys.argv[1:])
    sys.exit(main(program if isinstance(program, str) else program(args), body, args))
