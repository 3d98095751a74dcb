"""What a service costs: CPU until its first message, memory, and share of a core in use.

Two hands at 50 Hz, both simulated arms engaged. Beside each start-up stands a bare interpreter and
one that only imports zmq, started in the same run: the floor that no service can beat.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any, Final

import zmq

from proto.registry import service
from proto.topics import ARM_STATES, TOPICS, health_topic
from runtime.bus import Subscriber
from runtime.clock import MonotonicClock
from runtime.service import identity
from tools.progress import say
from tools.stack import PrivateStack

PROGRAMS: Final = ("ingest", "mapper", "arm-right", "arm-left")
STARTS: Final = 5
STARTS_FULL: Final = 20
RUN_S: Final = 20.0
RUN_FULL_S: Final = 120.0
FIRST_WAIT_S: Final = 10.0
NS: Final = 1e9


def rows(full: bool) -> list[dict[str, Any]]:
    """One row per program."""
    starts, run_s = (STARTS_FULL, RUN_FULL_S) if full else (STARTS, RUN_S)
    cpu_pct, rss_mb = _in_use(run_s)
    found = []
    for program in PROGRAMS:
        say(f"footprint: starting {program} {starts} times")
        started = [_start_cpu_s(program) for _ in range(starts)]
        bare = [_child_cpu_s("pass") for _ in range(starts)]
        with_zmq = [_child_cpu_s("import zmq") for _ in range(starts)]
        found.append(
            {
                "program": program,
                "n": starts,
                "start_cpu_s": round(median(started), 4),
                "bare_python_cpu_s": round(median(bare), 4),
                "import_zmq_cpu_s": round(median(with_zmq), 4),
                "rss_mb": round(rss_mb[program], 1),
                "cpu_pct": round(cpu_pct[program], 2),
            }
        )
    return found


def cpu_s(pid: int) -> float:
    """CPU seconds of all threads of `pid` so far (Linux; nanosecond counters)."""
    total_ns = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total_ns += int((task / "schedstat").read_text().split()[0])
    return total_ns / NS


def rss_mb(pid: int) -> float:
    """Resident memory of `pid` in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _in_use(run_s: float) -> tuple[dict[str, float], dict[str, float]]:
    say(f"footprint: {run_s:.0f} s of two engaged hands at 50 Hz")
    with PrivateStack((*PROGRAMS, "sim-operator"), {}) as stack:
        _wait_engaged(stack)
        before = {name: cpu_s(p.pid) for name, p in stack.processes.items()}
        started_s = time.monotonic()
        time.sleep(run_s)
        span_s = time.monotonic() - started_s
        used = {
            name: 100 * (cpu_s(p.pid) - before[name]) / span_s
            for name, p in stack.processes.items()
        }
        return used, {name: rss_mb(p.pid) for name, p in stack.processes.items()}


def _wait_engaged(stack: PrivateStack) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    reader = Subscriber(context, stack.run_dir, ARM_STATES, identity(), MonotonicClock(), None)
    engaged: set[str] = set()
    deadline_s = time.monotonic() + FIRST_WAIT_S
    while len(engaged) < len(ARM_STATES) and time.monotonic() < deadline_s:
        reader.socket.poll(100)
        engaged |= {
            item.topic.name
            for item in reader.drain()
            if getattr(item.message, "state", "") == "ENGAGED"
        }
    context.destroy(linger=0)
    if len(engaged) < len(ARM_STATES):
        raise RuntimeError("the simulated arms did not engage:\n" + stack.log("arm-right")[-500:])


def _start_cpu_s(program: str) -> float:
    """CPU seconds of `program` when its first message arrives."""
    with PrivateStack((), {}) as stack:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        family = service(program).family
        topics = [topic for topic in (*TOPICS, health_topic(family)) if topic.endpoint == family]
        reader = Subscriber(context, stack.run_dir, topics, identity(), MonotonicClock(), None)
        stack.start(program)
        heard = reader.socket.poll(int(FIRST_WAIT_S * 1000))
        used_s = cpu_s(stack.processes[program].pid)
        context.destroy(linger=0)
        if not heard:
            raise RuntimeError(f"{program} said nothing:\n" + stack.log(program)[-500:])
        return used_s


def _child_cpu_s(code: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run([sys.executable, "-c", code], check=True, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
