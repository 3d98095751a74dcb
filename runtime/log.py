"""Log lines `time level program event key=value ...`, one event a line, written without blocking.

The standard logging module costs a third of a service's start-up time, and start-up time is
recovery time, so this is a writer of its own. It must never block, raise or split a line: a reader
that stalls costs lines (counted, reported by the next one that gets through), never a tick.
"""

import os
import select
import time
from collections.abc import Callable

from runtime.clock import wall_s

DEBUG, INFO, WARNING, ERROR = 10, 20, 30, 40
_LEVEL_NAMES = {DEBUG: "debug", INFO: "info", WARNING: "warning", ERROR: "error"}

# A pipe that polls writable takes PIPE_BUF (4096, pipe(7)) bytes at once, whole and unblocked.
LINE_MAX_BYTES = 4096
_CUT = b"...\n"

Sink = Callable[[bytes], bool]


def fd_sink(fd: int) -> Sink:
    """A sink that writes to a descriptor if it is writable right now, else gives the line up."""

    def write(line: bytes) -> bool:
        try:
            if not select.select([], [fd], [], 0)[1]:
                return False
            os.write(fd, line)
        except OSError:
            return False
        return True

    return write


def format_value(value: object) -> str:
    """One value as it stands after `key=`: quoted and escaped where it would break the line."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    if text and text.isprintable() and not any(mark in text for mark in ' ="\\'):
        return text
    if text.isprintable():
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    else:
        escaped = text.encode("unicode_escape").decode("ascii").replace('"', '\\"')
    return f'"{escaped}"'


def _stamp(now_wall_s: float) -> str:
    whole_s = int(now_wall_s)
    day = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole_s))
    return f"{day}.{int((now_wall_s - whole_s) * 1000):03d}Z"


class Logger:
    """Formats events and hands whole lines to a sink.

    Args:
        sink: takes one line, returns whether it was written.
        stamp_s: unix seconds for the line's time.
    """

    def __init__(self, sink: Sink, stamp_s: Callable[[], float] = wall_s) -> None:
        self.sink = sink
        self.program = "-"
        self.level = INFO
        self.lines_lost = 0
        self._stamp_s = stamp_s

    def debug(self, event: str, /, **fields: object) -> None:
        """Detail that is off unless someone looks for a fault."""
        self._emit(DEBUG, event, fields)

    def info(self, event: str, /, **fields: object) -> None:
        """Something happened as it should."""
        self._emit(INFO, event, fields)

    def warning(self, event: str, /, **fields: object) -> None:
        """The program goes on, and a person should know."""
        self._emit(WARNING, event, fields)

    def error(self, event: str, /, **fields: object) -> None:
        """The program cannot do its job until something changes."""
        self._emit(ERROR, event, fields)

    def _emit(self, level: int, event: str, fields: dict[str, object]) -> None:
        if level < self.level:
            return
        if self.lines_lost:
            fields = {**fields, "log_lines_lost": self.lines_lost}
        if self.sink(self._line(level, event, fields)):
            self.lines_lost = 0
        else:
            self.lines_lost += 1

    def _line(self, level: int, event: str, fields: dict[str, object]) -> bytes:
        head = (_stamp(self._stamp_s()), _LEVEL_NAMES[level], self.program, event)
        pairs = (f"{key}={format_value(value)}" for key, value in fields.items())
        line = " ".join((*head, *pairs)).encode("utf-8", "backslashreplace") + b"\n"
        if len(line) <= LINE_MAX_BYTES:
            return line
        return line[: LINE_MAX_BYTES - len(_CUT)] + _CUT


class OnChange:
    """Logs a condition when it changes, with how often it was reported unchanged in between.

    Args:
        logger: where to.
        event: name of the line.
        initial: the value at which nothing is worth a line.
    """

    def __init__(self, logger: Logger, event: str, initial: object = None) -> None:
        self._logger = logger
        self._event = event
        self._value = initial
        self._repeats = 0

    def update(self, value: object, /, **fields: object) -> bool:
        """Reports the present value; returns whether it was a change, and so a line."""
        if value == self._value:
            self._repeats += 1
            return False
        changed = {"was": self._value, "now": value, "repeats": self._repeats}
        self._value, self._repeats = value, 0
        self._logger.info(self._event, **changed, **fields)
        return True


log = Logger(fd_sink(1))
"""The process's logger: `from runtime.log import log`."""


def setup(program: str, *, level: int = INFO, fd: int = 1) -> Logger:
    """Names the program on every line of `log`; called once, first thing in a process.

    Args:
        program: name in the process table, e.g. "arm-right".
        level: lowest level written.
        fd: 1, or 2 where standard output carries a protocol.
    """
    log.program = program
    log.level = level
    log.sink = fd_sink(fd)
    return log
