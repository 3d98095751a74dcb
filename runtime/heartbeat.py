"""Sign of life of a loop, and the start stamp that slows a crash loop down: two small files.

The loop itself never touches the disk: a file system that commits its journal can stall a write
for a tenth of a second, and a tick must not wait for that. `beat` stores an integer; a thread
writes it. A stuck loop stores nothing, so its file grows old though the thread goes on.
"""

import os
import threading
from pathlib import Path
from typing import NamedTuple

from runtime.clock import NS_PER_S

WRITE_PERIOD_S = 0.2
_MAGIC = "farhand-heartbeat"
_RECORD_BYTES = 96

# A run shorter than this was a crash at start; the delay then doubles between the two bounds.
SHORT_RUN_NS = NS_PER_S
BACKOFF_MIN_S = 0.2
BACKOFF_MAX_S = 5.0


class Beat(NamedTuple):
    """One record: who wrote it, and when its loop last came round (this boot's monotonic ns)."""

    pid: int
    t_beat_ns: int


def heartbeat_path(run_dir: Path, program: str) -> Path:
    """Where the program of that name keeps its heartbeat."""
    return run_dir / f"{program}.heartbeat"


def start_path(run_dir: Path, program: str) -> Path:
    """Where the program of that name keeps its start stamp."""
    return run_dir / f"{program}.start"


def encode_beat(beat: Beat) -> bytes:
    """A fixed-width line; the instant stands in it twice, so a torn read is recognised."""
    text = f"{_MAGIC} {beat.t_beat_ns} {beat.pid} {beat.t_beat_ns}"
    return text.ljust(_RECORD_BYTES - 1).encode("ascii") + b"\n"


def decode_beat(data: bytes) -> Beat | None:
    """The record, or None for anything torn or foreign."""
    fields = data.split()
    if len(fields) != 4 or fields[0] != _MAGIC.encode("ascii") or fields[1] != fields[3]:
        return None
    if not (fields[1].isdigit() and fields[2].isdigit()):
        return None
    return Beat(pid=int(fields[2]), t_beat_ns=int(fields[1]))


def read_heartbeat(path: Path) -> Beat | None:
    """Reads a heartbeat file; None if there is none, or nothing that can be used."""
    try:
        return decode_beat(path.read_bytes()[:_RECORD_BYTES])
    except OSError:
        return None


class Heartbeat:
    """Writes one program's heartbeat file.

    Args:
        run_dir: the run directory.
        program: name in the process table.
        pid: our process id.

    Raises:
        OSError: the file cannot be created.
    """

    def __init__(self, run_dir: Path, program: str, pid: int) -> None:
        path = heartbeat_path(run_dir, program)
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._pid = pid
        self._t_beat_ns = 0
        self._t_written_ns = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def beat(self, now_ns: int) -> None:
        """The loop came round; costs one store, so call it as often as you like."""
        self._t_beat_ns = now_ns

    def write(self) -> bool:
        """Writes the newest beat if it is new; returns whether it wrote (a full disk: False)."""
        t_beat_ns = self._t_beat_ns
        if t_beat_ns == self._t_written_ns:
            return False
        try:
            os.pwrite(self._fd, encode_beat(Beat(self._pid, t_beat_ns)), 0)
        except OSError:
            return False
        self._t_written_ns = t_beat_ns
        return True

    def start(self) -> None:
        """Starts the thread that writes five times a second; call before `try_fifo`."""
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread; the last beat stays in the file."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _run(self) -> None:
        while not self._stop.wait(WRITE_PERIOD_S):
            self.write()


def backoff_s(short_runs: int) -> float:
    """Delay before the work starts, after that many short runs on end: 0, 0.2, 0.4 ... 5 s."""
    if short_runs <= 0:
        return 0.0
    return float(min(BACKOFF_MAX_S, BACKOFF_MIN_S * 2 ** min(short_runs - 1, 10)))


class StartStamp:
    """When the work of this program last started, and how many short runs came before.

    Use: `delay_s = stamp.backoff_s(now)`, sleep it, `stamp.mark(now)`, work; `stamp.clear()` when
    the program was asked to stop, so that an operator's restart is not taken for a crash.

    Attributes:
        short_runs: short runs on end up to now, set by `backoff_s`; above 0 is a health reason.

    Args:
        run_dir: the run directory.
        program: name in the process table.
        boot: names the boot; a stamp of another boot means nothing.
    """

    def __init__(self, run_dir: Path, program: str, boot: str) -> None:
        self._path = start_path(run_dir, program)
        self._boot = boot or "-"
        self.short_runs = 0

    def backoff_s(self, now_ns: int) -> float:
        """How long to wait before the work, judged by how long the previous run lived.

        The previous run's end is not known, so the time to this start stands for it; a supervisor
        without the pulse adds up to 2 s of its own, and then needs no delay from us.
        """
        previous = self._read()
        if previous is None:
            self.short_runs = 0
        else:
            t_start_ns, short_runs = previous
            lived_ns = now_ns - t_start_ns
            self.short_runs = short_runs + 1 if 0 <= lived_ns < SHORT_RUN_NS else 0
        return backoff_s(self.short_runs)

    def mark(self, now_ns: int) -> None:
        """The work starts now. A stamp that cannot be written only costs the delay."""
        self._write(f"{now_ns} {self.short_runs} {self._boot}\n")

    def clear(self) -> None:
        """This run ended as it should."""
        self._write("")

    def _write(self, text: str) -> None:
        try:
            self._path.write_text(text, encoding="ascii")
        except OSError:
            return

    def _read(self) -> tuple[int, int] | None:
        try:
            fields = self._path.read_bytes().split()
        except OSError:
            return None
        if len(fields) != 3 or fields[2] != self._boot.encode():
            return None
        if not (fields[0].isdigit() and fields[1].isdigit()):
            return None
        return int(fields[0]), int(fields[1])
