"""A headset without a headset: `python -m sim.headset --motion circle|reach|still|replay [FILE]`.

Sends RCTP for one or two hands, obeys cues from --at and standard input, prints the feedback.
Command line and loop only: the hand is in sim/hand.py, its will in sim/performers.py.
"""

from __future__ import annotations

import argparse
import selectors
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from proto.reasons import SIDES, Side
from sim.cues import QUIT, USAGE, Cue, CueError, Schedule, parse_cue
from sim.hand_port import HandPort
from sim.lines import LineReader
from sim.motion import Circle, Motion, Reach, Replay, Still
from sim.performers import Operator, Performer, Wearer
from sim.phase import FrameClock
from sim.recordings import ARM_MOTION, RecordingError, load_frame_intervals_s, load_track
from sim.report import Printer, Report, status
from sim.stop import MAX_WAIT_S, StopFlag

MOTIONS: Final = ("circle", "reach", "still", "replay")
DEFAULT_AMPLITUDE_M: Final = 0.10
DEFAULT_FREQ_HZ: Final = {"circle": 0.25, "reach": 0.5}


class Headset:
    """The loop: cues, frames, feedback."""

    def __init__(
        self,
        ports: list[HandPort],
        frames: FrameClock,
        schedule: Schedule,
        emit: Callable[..., None],
        stop: StopFlag,
        clock: Callable[[], float],
    ) -> None:
        """Registers the sockets; `run` does the rest."""
        self._ports = ports
        self._performers: dict[Side, Performer] = {port.side: port.performer for port in ports}
        self._frames = frames
        self._schedule = schedule
        self._emit = emit
        self._stop = stop
        self._clock = clock
        self._start_s = frames.next_s
        self._report = Report(emit, self._start_s)
        # select() waits to the microsecond; epoll would round each frame up to whole milliseconds.
        self._selector = selectors.SelectSelector()
        for port in ports:
            self._selector.register(port.sock, selectors.EVENT_READ, port)

    def watch(self, lines: LineReader) -> None:
        """Obeys cues from `lines` as well."""
        self._selector.register(lines.fd, selectors.EVENT_READ, lines)

    def run(self, until_s: float) -> None:
        """Plays until asked to stop or until this time of the clock."""
        while not self._stop.asked:
            now_s = self._clock()
            if now_s >= until_s:
                return
            for cue in self._schedule.due(now_s - self._start_s):
                self._obey(cue, now_s)
            frame_s = self._frames.due(now_s)
            if frame_s is not None:
                for port in self._ports:
                    port.send_frame(frame_s)
            self._report.on_time(self._ports, now_s)
            self._wait(until_s)

    def close(self) -> None:
        """Closes every socket."""
        for port in self._ports:
            port.close()
        self._selector.close()

    def _wait(self, until_s: float) -> None:
        """Until the next frame, reading what comes in meanwhile."""
        wait_s = min(self._frames.next_s, until_s) - self._clock()
        for key, _ in self._selector.select(min(max(wait_s, 0.0), MAX_WAIT_S)):
            if isinstance(key.data, HandPort):
                self._report.on_feedback(key.data.read_feedback(self._clock()))
            else:
                self._on_lines(key.data)

    def _on_lines(self, lines: LineReader) -> None:
        for line in lines.read():
            try:
                self._obey(parse_cue(line.split()), self._clock())
            except CueError as error:
                self._emit("cue_refused", why=str(error))
        if lines.closed:
            self._selector.unregister(lines.fd)

    def _obey(self, cue: Cue, now_s: float) -> None:
        if cue.side is not None and cue.side not in self._performers:
            self._emit("cue_refused", why=f"no {cue.side} hand here; start with --hands both")
            return
        self._emit("cue", name=cue.name, value=cue.value, side=cue.side or "both")
        if cue.name == QUIT:
            self._stop.ask()
        else:
            cue.apply(self._performers, now_s)


def number_within(low: float, high: float) -> Callable[[str], float]:
    """A reader of numbers in low...high for the command line."""

    def read(text: str) -> float:
        value = float(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text} is outside {low:g}...{high:g}")
        return value

    return read


def port_number(text: str) -> int:
    """A UDP port from the command line."""
    return int(number_within(1, 65535)(text))


def make_motion(options: argparse.Namespace) -> Motion:
    """The motion of --motion, --amplitude-m, --freq-hz and --seed.

    Raises:
        RecordingError: the file of a replay is no recording.
    """
    name, *files = options.motion
    if name == "still":
        return Still()
    if name == "replay":
        return Replay(load_track(Path(files[0]) if files else ARM_MOTION, options.amplitude_m))
    amplitude_m = DEFAULT_AMPLITUDE_M if options.amplitude_m is None else options.amplitude_m
    freq_hz = options.freq_hz or DEFAULT_FREQ_HZ[name]
    if name == "circle":
        return Circle(amplitude_m, freq_hz)
    return Reach(amplitude_m, freq_hz, options.seed)


def _make_ports(options: argparse.Namespace, motion: Motion) -> list[HandPort]:
    sides = SIDES if options.hands == "both" else (options.hands,)
    numbers = {"right": options.port_right, "left": options.port_left}
    ports = []
    for side in sides:
        performer: Performer = Wearer(side, motion, wait_engaged=not options.no_wait)
        if options.operator:
            performer = Operator(side, motion)
        ports.append(HandPort(side, performer, (options.host, numbers[side])))
    return ports


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sim.headset", description=__doc__, epilog=f"Cues: {USAGE}"
    )
    add = parser.add_argument
    add("--motion", nargs="+", default=["circle"], metavar=("NAME", "FILE"), help="|".join(MOTIONS))
    add("--hz", type=number_within(1.0, 2000.0), default=72.0, help="frames per second")
    add("--hands", choices=[*SIDES, "both"], default="right")
    add("--host", default="127.0.0.1")
    add("--port-right", type=port_number, default=8888)
    add("--port-left", type=port_number, default=8889)
    add("--duration-s", type=number_within(0.0, 1e9), default=float("inf"))
    add("--amplitude-m", type=number_within(0.0, 1.0), help="replay: rescales the recording")
    add("--freq-hz", type=number_within(0.01, 5.0), help="turns or reaches per second")
    add("--seed", type=int, default=1, help="of the targets of `reach`")
    add("--at", nargs="+", action="append", default=[], metavar=("S", "CUE"), help="a cue, timed")
    add("--no-wait", action="store_true", help="move after 1 s even if the arm is not engaged")
    add("--operator", action="store_true", help="move only while the simulated arm follows")
    add("--json", action="store_true", help="machine-readable lines")
    return parser


def _read_schedule(parser: argparse.ArgumentParser, timed: list[list[str]]) -> Schedule:
    cues = []
    for at_s, *words in timed:
        try:
            cues.append((float(at_s), parse_cue(words)))
        except CueError as error:
            parser.error(f"--at: {error}")
        except ValueError:
            parser.error(f"--at: {at_s!r} is not a time in seconds")
    return Schedule(cues)


def _check_motion(parser: argparse.ArgumentParser, words: list[str]) -> None:
    name, *files = words
    if name not in MOTIONS:
        parser.error(f"--motion: {name!r} unknown; choose from {', '.join(MOTIONS)}")
    if len(files) > (name == "replay"):
        parser.error("--motion: only replay takes a file, and only one")


def main(argv: list[str] | None = None) -> int:
    """Runs the headset; 0 when asked to stop."""
    parser = _parser()
    options = parser.parse_args(argv)
    _check_motion(parser, options.motion)
    schedule = _read_schedule(parser, options.at)
    stop = StopFlag()
    stop.listen()
    replay = options.motion[0] == "replay"
    try:
        motion = make_motion(options)
        intervals_s = load_frame_intervals_s() if replay else ()
        ports = _make_ports(options, motion)
    except (RecordingError, OSError) as error:
        parser.error(str(error))
    emit = Printer(options.json, stop.ask)
    emit(
        "headset_started",
        motion=options.motion[0],
        hz=options.hz,
        speed_bound_mps=round(motion.speed_bound_mps, 3),
        to=[f"{port.receiver[0]}:{port.receiver[1]}" for port in ports],
    )
    start_s = time.monotonic()
    frames = FrameClock(start_s, options.hz, intervals_s)
    headset = Headset(ports, frames, schedule, emit, stop, time.monotonic)
    if sys.stdin is not None:
        headset.watch(LineReader(sys.stdin.fileno()))
    headset.run(start_s + options.duration_s)
    for port in ports:
        emit("headset_done", **status(port), frames_skipped=frames.skipped)
    headset.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
