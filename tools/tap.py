"""Live view of everything on the bus: python -m tools.tap [--raw | --json] [--topic PREFIX].

Only reads. On a terminal a table, else plain lines each second; --raw and --json print each
message as it comes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import zmq
from rich.live import Live

from proto.json_view import slashed
from runtime import config
from runtime.clock import NS_PER_S, Clock, MonotonicClock
from runtime.errors import ConfigError, FarhandError
from runtime.rundir import run_dir
from runtime.service import identity
from tools.tap_source import KNOWN, DirectSource, Item, JsonSource, Source, topics_under
from tools.tap_table import TapTable

SILENCE_NS: Final = 2 * NS_PER_S
TABLE_PERIOD_NS: Final = NS_PER_S // 4
LINES_PERIOD_NS: Final = NS_PER_S
POLL_MS: Final = 50

EXIT_NOTHING: Final = 1


@dataclass(slots=True)
class Limit:
    """When to stop by ourselves: after so many messages, or so long."""

    count: int | None
    until_ns: int | None
    seen: int = 0

    def left(self) -> int | None:
        """Messages still to show; None for no limit."""
        return None if self.count is None else max(0, self.count - self.seen)

    def reached(self, now_ns: int) -> bool:
        """Whether that is it."""
        return self.left() == 0 or (self.until_ns is not None and now_ns >= self.until_ns)


class Silence:
    """Notices when nothing arrives, and that it does again."""

    def __init__(self, now_ns: int) -> None:
        self._heard_ns = now_ns
        self._told = False

    def heard(self, now_ns: int) -> None:
        """Something arrived."""
        self._heard_ns = now_ns
        self._told = False

    def lasts(self, now_ns: int) -> bool:
        """Whether it is silent, and long enough to be told."""
        return now_ns - self._heard_ns >= SILENCE_NS

    def news(self, now_ns: int) -> bool:
        """True once for each silence."""
        if self._told or not self.lasts(now_ns):
            return False
        self._told = True
        return True


def main(words: Sequence[str] | None = None) -> int:
    """Runs the tap.

    Returns:
        0; 1 if it ended without having seen anything; 78 for a bad configuration.
    """
    options = _arguments().parse_args(words)
    try:
        return _run(options)
    except KeyboardInterrupt:
        return 0
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except FarhandError as error:
        print(error, file=sys.stderr)
        return error.exit_code


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.tap", description=__doc__)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--raw", action="store_true", help="print each message: topic, then JSON")
    form.add_argument("--json", action="store_true", help="print each message as one JSON object")
    parser.add_argument("--topic", default="", metavar="PREFIX", help="e.g. arm_state/right")
    parser.add_argument("--direct", action="store_true", help="read the ipc topics: no telemetry")
    parser.add_argument("--address", help="tap to read (default: [telemetry] tap_port, this host)")
    parser.add_argument("--count", type=int, metavar="N", help="end after N messages")
    parser.add_argument("--duration-s", type=float, metavar="S", help="end after S seconds")
    return parser


def _run(options: argparse.Namespace) -> int:
    clock = MonotonicClock()
    seconds = options.duration_s
    until_ns = None if seconds is None else clock.now_ns() + round(seconds * NS_PER_S)
    limit = Limit(options.count, until_ns)
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    try:
        source = _source(options, context, clock)
        if options.raw or options.json:
            follow(source, clock, limit, json_line if options.json else raw_line)
        elif sys.stdout.isatty():
            _live(source, clock, limit)
        else:
            _plain(source, clock, limit)
    finally:
        context.destroy(linger=0)
    return 0 if limit.seen else EXIT_NOTHING


def _source(
    options: argparse.Namespace, context: zmq.Context[zmq.Socket[bytes]], clock: Clock
) -> Source:
    prefix = slashed(options.topic)
    if not topics_under(prefix):
        names = ", ".join(slashed(topic.name) for topic in KNOWN)
        raise ConfigError(f"no topic begins with {options.topic!r}; there are: {names}")
    if options.direct:
        where = run_dir(config.REPO_ROOT, os.environ, Path(tempfile.gettempdir()))
        return DirectSource(context, where, identity(), clock, prefix)
    address = options.address
    if address is None:
        address = f"tcp://127.0.0.1:{config.load(os.environ).telemetry.tap_port}"
    return JsonSource(context, address, prefix)


def raw_line(item: Item) -> str:
    """`topic {fields}`."""
    return f"{item.topic} {json.dumps(item.shape)}"


def json_line(item: Item) -> str:
    """One object, the topic among its fields."""
    return json.dumps({"topic": item.topic, **item.shape})


def follow(source: Source, clock: Clock, limit: Limit, line: Callable[[Item], str]) -> None:
    """Prints each message as it comes."""
    silence = Silence(clock.now_ns())
    while not limit.reached(clock.now_ns()):
        for item in take(source, clock, limit, silence):
            print(line(item), flush=True)
        _tell(source, silence, clock.now_ns())


def take(source: Source, clock: Clock, limit: Limit, silence: Silence) -> list[Item]:
    """What has arrived, up to the limit."""
    items = source.read(POLL_MS)[: limit.left()]
    limit.seen += len(items)
    if items:
        silence.heard(clock.now_ns())
    return items


def _tell(source: Source, silence: Silence, now_ns: int) -> None:
    if silence.news(now_ns):
        print(f"{source.check()} (silent for 2 s)", file=sys.stderr, flush=True)


def _plain(source: Source, clock: Clock, limit: Limit) -> None:
    """A line per topic each second, and at the end."""

    def show(table: TapTable, now_ns: int, silence: Silence) -> None:
        for line in table.lines(now_ns):
            print(line, flush=True)
        _tell(source, silence, now_ns)

    _watch(source, clock, limit, LINES_PERIOD_NS, show)


def _live(source: Source, clock: Clock, limit: Limit) -> None:
    """The table, drawn anew four times a second."""
    with Live(auto_refresh=False) as live:

        def show(table: TapTable, now_ns: int, silence: Silence) -> None:
            note = source.check() if silence.lasts(now_ns) else ""
            live.update(table.render(now_ns, f"tap of {source.where}", note), refresh=True)

        _watch(source, clock, limit, TABLE_PERIOD_NS, show)


def _watch(
    source: Source,
    clock: Clock,
    limit: Limit,
    period_ns: int,
    show: Callable[[TapTable, int, Silence], None],
) -> None:
    """Collects, and calls `show` each period and at the end."""
    table = TapTable(identity().host)
    silence = Silence(clock.now_ns())
    due_ns = clock.now_ns() + period_ns
    while not limit.reached(clock.now_ns()):
        for item in take(source, clock, limit, silence):
            table.add(item, clock.now_ns())
        if clock.now_ns() >= due_ns:
            show(table, clock.now_ns(), silence)
            due_ns = clock.now_ns() + period_ns
    show(table, clock.now_ns(), silence)


if __name__ == "__main__":
    sys.exit(main())
