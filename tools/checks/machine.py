"""This computer: versions, clocks, real-time rights, disk. Looks only; changes nothing for long."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from pathlib import Path
from typing import Final

import zmq

from runtime import libc
from runtime.realtime import set_timer_slack_1ns, try_fifo
from tools.checks.row import Row, fail, graded, ok, warn

PYTHON_FROM: Final = (3, 10)
PYTHON_TESTED_TO: Final = (3, 13)
# Older ones have known remote faults (CVE-2019-13132, CVE-2020-15166, CVE-2021-20236).
ZMQ_FROM: Final = (4, 3, 5)
DISK_WARN_BYTES: Final = 500_000_000
DISK_FAIL_BYTES: Final = 50_000_000  # the logs of all programs, rotated
FIFO_PRIORITY: Final = 30  # the arm's
_CLOCKSOURCE: Final = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
_SLOW_CLOCKSOURCES: Final = ("acpi_pm", "hpet", "jiffies", "refined-jiffies")
# struct timex of <sys/timex.h> on 64-bit Linux: modes, offset, freq, maxerror, esterror, status.
_TIMEX: Final = struct.Struct("@i4x4qi")
_TIMEX_BYTES: Final = 256
_STA_UNSYNC: Final = 0x0040
Version = tuple[int, ...]


def rows(run_dir: Path | None) -> list[Row]:
    """All of the above."""
    found = [
        python_row(sys.version_info[:2]),
        zmq_row(zmq.zmq_version_info()),
        monotonic_row(_read(_CLOCKSOURCE)),
        wall_clock_row(synchronised()),
        fifo_row(may_use_fifo(), rtprio_limit()),
        slack_row(set_timer_slack_1ns()),
    ]
    if run_dir is not None:
        disk = os.statvfs(run_dir)
        found.append(disk_row(disk.f_bavail * disk.f_frsize, run_dir))
    return found


def python_row(version: Version) -> Row:
    """Whether this Python is one we run on."""
    says = f"Python {_dotted(version)}"
    fix = f"use Python {_dotted(PYTHON_FROM)} to {_dotted(PYTHON_TESTED_TO)}: make clean setup"
    bad, doubtful = version < PYTHON_FROM, version > PYTHON_TESTED_TO
    return graded("python", says, fix, bad=bad, doubtful=doubtful)


def zmq_row(version: Version) -> Row:
    """Whether libzmq is recent enough."""
    fix = f"needs {_dotted(ZMQ_FROM)}: make clean setup"
    return graded(
        "libzmq", f"libzmq {_dotted(version)}", fix, bad=version < ZMQ_FROM, doubtful=False
    )


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def monotonic_row(source: str) -> Row:
    """Whether reading the clock is cheap."""
    if source in _SLOW_CLOCKSOURCES:
        fix = "boot with tsc=reliable if the processor has an invariant TSC"
        return warn("clock", f"monotonic, read through the slow {source}", fix)
    return ok("clock", f"monotonic ({source or 'source not told'})")


def synchronised() -> bool | None:
    """Whether the kernel holds the wall clock for synchronised; None if it does not tell."""
    lib = libc.load()
    if lib is None or struct.calcsize("@l") != 8:
        return None
    buffer = ctypes.create_string_buffer(_TIMEX_BYTES)  # modes 0: read only
    if lib.adjtimex(buffer) < 0:
        return None
    status = int(_TIMEX.unpack_from(buffer.raw)[-1])
    return not status & _STA_UNSYNC


def wall_clock_row(in_step: bool | None) -> Row:
    """Wall time only stamps logs and telemetry, so a wrong one is no failure."""
    if in_step is None:
        return ok("wall clock", "not told whether it is synchronised; only stamps depend on it")
    if in_step:
        return ok("wall clock", "synchronised")
    fix = "timedatectl set-ntp true (install systemd-timesyncd or chrony)"
    return warn("wall clock", "not synchronised: stamps of logs and telemetry may be off", fix)


def may_use_fifo() -> bool:
    """Tries it on this thread and puts things back."""
    if not try_fifo(FIFO_PRIORITY):
        return False
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return True


def rtprio_limit() -> int | None:
    """Soft limit of real-time priority; -1 for none, None where there is no such limit."""
    import resource  # Unix only, like the limit itself

    which = getattr(resource, "RLIMIT_RTPRIO", None)
    return None if which is None else int(resource.getrlimit(which)[0])


def fifo_row(permitted: bool, limit: int | None) -> Row:
    """Without it ticks are late under load."""
    if permitted:
        return ok("real-time", f"SCHED_FIFO is permitted in this shell (RLIMIT_RTPRIO {limit})")
    fix = (
        f"LimitRTPRIO={FIFO_PRIORITY} in the systemd unit, or `@realtime - rtprio"
        f" {FIFO_PRIORITY}` in /etc/security/limits.d and log in again"
    )
    says = f"SCHED_FIFO is refused (RLIMIT_RTPRIO {limit}): ticks may be late under load"
    return warn("real-time", says, fix)


def slack_row(set_to_1ns: bool) -> Row:
    """Timers fire up to 50 us late by default."""
    if set_to_1ns:
        return ok("timer slack", "1 ns")
    return warn("timer slack", "cannot be set here: ticks up to 50 us late", "run on Linux")


def disk_row(free_bytes: int, where: Path) -> Row:
    """Whether logs and locks find room."""
    says = f"{free_bytes / 1e6:.0f} MB free in {where}"
    return graded(
        "disk",
        says,
        "make room: logs and locks are written there",
        bad=free_bytes < DISK_FAIL_BYTES,
        doubtful=free_bytes < DISK_WARN_BYTES,
    )


def scheduling_row(program: str, pid: int) -> Row:
    """How a running arm is in fact scheduled."""
    name = f"{program} scheduling"
    try:
        fifo = os.sched_getscheduler(pid) == os.SCHED_FIFO
    except (AttributeError, OSError):
        return ok(name, "not told")
    if fifo:
        return ok(name, "SCHED_FIFO")
    return warn(name, "no SCHED_FIFO: ticks may be late under load", "see the real-time row")


def venv_row(python: Path) -> Row:
    """Whether set-up has run."""
    if python.exists():
        return ok("set-up", str(python))
    return fail("set-up", f"{python} is missing", "make setup")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
