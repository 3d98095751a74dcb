"""Bench `tick`: how late the control tick comes, ours against a 10 us poll loop.

Each row runs in a process of its own, so that neither method inherits the other's scheduling. It
must never leave a process running: the load dies with its parent.
"""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, TypedDict

import zmq

from runtime.clock import NS_PER_S, MonotonicClock
from runtime.realtime import set_timer_slack_1ns, try_fifo
from runtime.tick import Tick, period_from_hz
from tools.bench_stats import drift_ms_per_min, percentile_us
from tools.progress import say

REPO_ROOT = Path(__file__).parents[1]

Method = Literal["ours", "legacy_poll"]
Load = Literal["idle", "busy"]

METHODS: tuple[Method, ...] = ("ours", "legacy_poll")
LOADS: tuple[Load, ...] = ("idle", "busy")
RATES_HZ = (30.0, 100.0)
# 8 rows: 2.5 minutes by default, 8 in the long form.
SECONDS_PER_ROW = 18.0
SECONDS_PER_ROW_FULL = 60.0
# Ticks at the start of a row that pay for page faults and cold caches.
WARM_UP_TICKS = 10
# The published loop sleeps this long between two looks at the clock.
POLL_SLEEP_S = 1e-5
FIFO_PRIORITY = 30


class Spec(TypedDict):
    """What one process measures."""

    method: Method
    hz: float
    seconds: float


class Measured(TypedDict):
    """What it found."""

    late_p50_us: float
    late_p99_us: float
    missed: int
    drift_ms_per_min: float
    cpu_pct: float


class Row(Measured):
    """One row of the bench."""

    method: Method
    hz: float
    load: Load


class Samples:
    """Instants of the ticks of one run, and how late each came by its own method's deadline."""

    def __init__(self) -> None:
        self.t_ns: list[int] = []
        self.index: list[int] = []
        self.late_ns: list[int] = []

    def add(self, t_ns: int, index: int, late_ns: int) -> None:
        """One tick: when, which deadline of the ideal grid, how late."""
        self.t_ns.append(t_ns)
        self.index.append(index)
        self.late_ns.append(late_ns)


def run_ours(hz: float, seconds: float) -> Samples:
    """The arm's way: kernel timer in the poller, absolute deadlines, missed ones skipped."""
    clock = MonotonicClock()
    tick = Tick(period_from_hz(hz), clock)
    start_ns = tick.deadline_ns
    poller = zmq.Poller()
    if (fd := tick.fileno()) is not None:
        poller.register(fd, zmq.POLLIN)
    samples = Samples()
    while clock.now_ns() < start_ns + seconds * NS_PER_S:
        poller.poll(_whole(tick.timeout_ms()))
        if tick.expirations():
            now_ns = clock.now_ns()
            index = (tick.deadline_ns - start_ns) // tick.period_ns
            samples.add(now_ns, index, now_ns - tick.deadline_ns)
    tick.close()
    return samples


def _whole(timeout_ms: float | None) -> int | None:
    return None if timeout_ms is None else int(timeout_ms)


def run_legacy_poll(hz: float, seconds: float) -> Samples:
    """The published way: look at the clock every 10 us, count the period from the last tick."""
    period_s = 1.0 / hz
    samples = Samples()
    start_s = last_s = time.monotonic()
    index = 0
    while last_s < start_s + seconds:
        now_s = time.monotonic()
        if now_s - last_s >= period_s:
            index += 1
            samples.add(round(now_s * 1e9), index, round((now_s - last_s - period_s) * 1e9))
            last_s = now_s
        time.sleep(POLL_SLEEP_S)
    return samples


def summarise(samples: Samples, hz: float, cpu_pct: float) -> Measured:
    """Turns one run into its figures.

    `missed` is the same for both: periods that passed without a tick of their own.

    Raises:
        ValueError: too few ticks to say anything.
    """
    t_ns = samples.t_ns[WARM_UP_TICKS:]
    index = samples.index[WARM_UP_TICKS:]
    late_ns = samples.late_ns[WARM_UP_TICKS:]
    if len(t_ns) < 2:
        raise ValueError(f"only {len(samples.t_ns)} ticks: run longer")
    period_ns = NS_PER_S / hz
    offsets_ns = [t - i * period_ns for t, i in zip(t_ns, index, strict=True)]
    periods_passed = round((t_ns[-1] - t_ns[0]) / period_ns)
    return Measured(
        late_p50_us=percentile_us(late_ns, 50),
        late_p99_us=percentile_us(late_ns, 99),
        missed=max(0, periods_passed + 1 - len(t_ns)),
        drift_ms_per_min=drift_ms_per_min(t_ns, offsets_ns),
        cpu_pct=round(cpu_pct, 2),
    )


def measure(spec: Spec) -> Measured:
    """Runs one method in this process, which is changed by it (scheduling)."""
    runner: Callable[[float, float], Samples] = run_legacy_poll
    if spec["method"] == "ours":
        runner = run_ours
        set_timer_slack_1ns()
        try_fifo(FIFO_PRIORITY)
    cpu_s, wall_s = time.process_time(), time.monotonic()
    samples = runner(spec["hz"], spec["seconds"])
    cpu_pct = 100 * (time.process_time() - cpu_s) / (time.monotonic() - wall_s)
    return summarise(samples, spec["hz"], cpu_pct)


def measure_apart(spec: Spec) -> Measured:
    """Runs `measure` in a fresh process.

    Raises:
        subprocess.SubprocessError: it failed or did not end.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tools.bench_tick", "--one"],
        cwd=REPO_ROOT,
        input=json.dumps(spec).encode(),
        stdout=subprocess.PIPE,
        check=True,
        timeout=spec["seconds"] * 2 + 30,
    )
    measured: Measured = json.loads(done.stdout)
    return measured


def burn(parent_pid: Callable[[], int] = os.getppid) -> int:
    """Spins until the parent is gone; returns how often it looked."""
    parent = parent_pid()
    looks = 0
    while parent_pid() == parent:
        looks += 1
        sum(range(50_000))
    return looks


@contextlib.contextmanager
def busy_cores(count: int) -> Iterator[list["subprocess.Popen[bytes]"]]:
    """That many spinning processes, ended on the way out."""
    burners = [
        subprocess.Popen([sys.executable, "-m", "tools.bench_tick", "--burn"], cwd=REPO_ROOT)
        for _ in range(count)
    ]
    try:
        yield burners
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def rows(full: bool, measure_one: Callable[[Spec], Measured] = measure_apart) -> list[Row]:
    """The bench: each method at each rate, on the machine as it is, then with every core busy.

    Args:
        full: the long form.
        measure_one: measures one row.
    """
    seconds = SECONDS_PER_ROW_FULL if full else SECONDS_PER_ROW
    found: list[Row] = []
    for load in LOADS:
        with busy_cores((os.cpu_count() or 1) if load == "busy" else 0):
            for hz in RATES_HZ:
                for method in METHODS:
                    measured = measure_one(Spec(method=method, hz=hz, seconds=seconds))
                    found.append(Row(method=method, hz=hz, load=load, **measured))
                    say(f"tick {found[-1]}")
    return found


def closing(full: bool) -> dict[str, object]:
    """What holds for all rows; a row's n is its rate times the seconds."""
    return {"seconds_per_row": SECONDS_PER_ROW_FULL if full else SECONDS_PER_ROW}


def main() -> None:
    """The two kinds of child process; the bench itself is `python -m tools.bench tick`."""
    if sys.argv[1:] == ["--one"]:
        print(json.dumps(measure(json.load(sys.stdin))))
    elif sys.argv[1:] == ["--burn"]:
        burn()
    else:
        sys.exit("run python -m tools.bench tick")


if __name__ == "__main__":
    main()
