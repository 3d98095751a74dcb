"""Who a process id is: parent, state and start, from /proc. None where that cannot be known."""

import os
import time
from pathlib import Path
from typing import NamedTuple

from runtime.clock import NS_PER_S

_PROC = Path("/proc")


class ProcessInfo(NamedTuple):
    """One living process.

    Attributes:
        parent_pid: its parent.
        state: one letter of proc(5), Z for one that is dead and not yet reaped.
        t_start_ns: start on the monotonic clock, exact to a kernel tick (10 ms).
    """

    parent_pid: int
    state: str
    t_start_ns: int


def parse_stat(text: str, ticks_per_s: int, suspended_ns: int) -> ProcessInfo | None:
    """Reads a line of /proc/PID/stat.

    Args:
        text: the line; the program's name in it may hold anything, even brackets and spaces.
        ticks_per_s: unit of its start time, which counts from boot and through sleep.
        suspended_ns: how long the machine slept since boot, which monotonic time leaves out.
    """
    fields = text.rpartition(")")[2].split()
    try:
        start_ns = int(fields[19]) * NS_PER_S // ticks_per_s
        return ProcessInfo(int(fields[1]), fields[0], start_ns - suspended_ns)
    except (IndexError, ValueError):
        return None


def read_process(pid: int, proc: Path = _PROC) -> ProcessInfo | None:
    """Looks a process up; None if it is gone, or the system has no /proc (macOS)."""
    try:
        text = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return parse_stat(text, os.sysconf("SC_CLK_TCK"), _suspended_ns())


def _suspended_ns() -> int:
    boottime = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return max(0, time.clock_gettime_ns(boottime) - time.monotonic_ns())
