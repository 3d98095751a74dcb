"""A seeded bad network in user space: `python -m sim.netem --listen HOST:PORT --to HOST:PORT`.

Relays UDP both ways with loss, delay, jitter, duplicates, reordering, corruption, blackholes,
stalls and a rate limit. For machines whose kernel has no netem, and for repeatable tests on all.
Command line and loop only: the model is in sim/link.py, the sockets in sim/relay.py.
"""

from __future__ import annotations

import argparse
import json
import selectors
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from sim.endpoints import Address, parse_address
from sim.impair import SETTING_NAMES, USAGE, ImpairError, Settings, changed, number, profile
from sim.lines import LineReader
from sim.link import Link
from sim.relay import Relay
from sim.stop import MAX_WAIT_S, StopFlag

DIRECTIONS: Final = ("up", "down")  # up: client to target


class Netem:
    """Relays and the one loop that serves them."""

    def __init__(self, relays: list[Relay], clock: Callable[[], float], stop: StopFlag) -> None:
        self._relays = relays
        self._clock = clock
        self._stop = stop
        # select() waits to the microsecond; epoll would round every delay up to whole milliseconds.
        self._selector = selectors.SelectSelector()
        for relay in relays:
            relay.register(self._selector)

    def watch(self, control: LineReader) -> None:
        """Obeys lines from `control` as well."""
        self._selector.register(control.fd, selectors.EVENT_READ, control)

    def run(self, until_s: float) -> None:
        """Serves until asked to stop or until this time of the clock."""
        while not self._stop.asked and self._clock() < until_s:
            events = self._selector.select(self._wait_s(until_s))
            now_s = self._clock()
            for key, _ in events:
                if isinstance(key.data, LineReader):
                    self._on_lines(key.data, now_s)
                elif isinstance(key.fileobj, socket.socket):
                    key.data.on_readable(key.fileobj, now_s)
            for relay in self._relays:
                relay.flush(self._clock())

    def report(self) -> dict[str, object]:
        """The closing line."""
        return {"netem": [relay.report() for relay in self._relays]}

    def close(self) -> None:
        """Closes every socket."""
        for relay in self._relays:
            relay.close()
        self._selector.close()

    def obey(self, line: str, now_s: float) -> None:
        """One control line: `[up|down|both] SETTING ARGS`, `stall MS`, `stats` or `quit`.

        Raises:
            ImpairError: the line is not understood; the text names what is.
        """
        words = line.split()
        if words == ["quit"]:
            self._stop.ask()
        elif words == ["stats"]:
            _say(json.dumps(self.report()))
        else:
            which = (words[0],) if words[0] in DIRECTIONS else DIRECTIONS
            self._apply(which, words[words[0] in (*DIRECTIONS, "both") :], now_s)

    def _apply(self, which: tuple[str, ...], words: list[str], now_s: float) -> None:
        if not words:
            raise ImpairError(f"a direction needs a setting; {USAGE}")
        name, *args = words
        for relay in self._relays:
            for link in [relay.up] * ("up" in which) + [relay.down] * ("down" in which):
                if name == "stall" and len(args) == 1:
                    link.hold(now_s, number("stall", args[0]))
                else:
                    link.settings = changed(link.settings, name, args)

    def _on_lines(self, control: LineReader, now_s: float) -> None:
        for relay in self._relays:
            relay.drain(now_s)  # what was sent before the line has its fate before the line counts
        for line in control.read():
            try:
                self.obey(line, now_s)
                _log(f"netem_control line={line!r}")
            except ImpairError as error:
                _log(f"netem_control_refused why={str(error)!r}")
        if control.closed:
            self._selector.unregister(control.fd)

    def _wait_s(self, until_s: float) -> float:
        due = [at_s for relay in self._relays if (at_s := relay.next_due_s()) is not None]
        return min(max(min([until_s, *due]) - self._clock(), 0.0), MAX_WAIT_S)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _log(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _address(text: str) -> Address:
    try:
        return parse_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _window(text: str) -> tuple[float, float]:
    low, dash, high = text.partition("-")
    if not dash:
        raise argparse.ArgumentTypeError(f"{text!r} is not FROM-TO in seconds, as 3.0-4.5")
    return float(low), float(high)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sim.netem", description=__doc__, epilog=USAGE)
    parser.add_argument("--listen", action="append", type=_address, required=True)
    parser.add_argument("--to", action="append", type=_address, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--duration-s", type=float, default=float("inf"))
    parser.add_argument("--queue", type=int, default=1000, help="packets held per direction")
    parser.add_argument("--direction", choices=["both", *DIRECTIONS], default="both")
    parser.add_argument(
        "--blackhole", action="append", type=_window, default=[], metavar="FROM-TO", help="seconds"
    )
    for name in SETTING_NAMES:
        if name != "blackhole":
            parser.add_argument(f"--{name}", nargs="+", metavar="ARG")
    return parser


def _settings(options: argparse.Namespace) -> dict[str, Settings]:
    """Settings per direction: the profile on both, everything else on --direction."""
    base = profile(*(options.profile or ["none"]))
    bent = base
    for name in SETTING_NAMES:
        args = getattr(options, name.replace("-", "_"))
        if args and name not in ("profile", "blackhole"):
            bent = changed(bent, name, args)
    bent = replace(bent, windows_s=tuple(options.blackhole))
    return {way: bent if options.direction in ("both", way) else base for way in DIRECTIONS}


def _relays(options: argparse.Namespace, now_s: float) -> list[Relay]:
    settings = _settings(options)
    relays = []
    for number_, (listen, target) in enumerate(zip(options.listen, options.to, strict=True)):
        links: list[Link[Address]] = [
            Link(settings[way], options.seed, f"{number_}/{way}", now_s, options.queue)
            for way in DIRECTIONS
        ]
        relays.append(Relay(listen, target, *links))
    return relays


def main(argv: list[str] | None = None) -> int:
    """Runs the relay; counters as one JSON line on stdout at exit."""
    parser = _parser()
    options = parser.parse_args(argv)
    if len(options.listen) != len(options.to):
        parser.error("as many --to as --listen are needed")
    stop = StopFlag()
    stop.listen()
    start_s = time.monotonic()
    try:
        relays = _relays(options, start_s)
    except ImpairError as error:
        parser.error(str(error))
    except OSError as error:
        parser.error(f"cannot listen: {error}; `ss -lunp` names the holder of a UDP port")
    netem = Netem(relays, time.monotonic, stop)
    for relay in relays:
        report = relay.report()
        _log(f"netem_started listen={report['listen']} to={report['to']} seed={options.seed}")
    if sys.stdin is not None:
        netem.watch(LineReader(sys.stdin.fileno()))
    netem.run(start_s + options.duration_s)
    _say(json.dumps(netem.report()))
    netem.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
