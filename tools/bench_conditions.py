"""What a bench ran on: enough to compare two runs, nothing that names a person or a host."""

import os
import platform
import threading
from pathlib import Path

from runtime.clock import MonotonicClock
from runtime.realtime import try_fifo
from runtime.tick import Tick

_CPU_INFO = Path("/proc/cpuinfo")


def cpu_model(text: str) -> str:
    """The processor's name in the text of /proc/cpuinfo; "unknown" if it has none (ARM)."""
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip() == "model name":
            return value.strip()
    return "unknown"


def fifo_permitted() -> bool:
    """Whether this user may have real-time scheduling; asked in a thread that ends."""
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(try_fifo(1)))
    thread.start()
    thread.join()
    return answers == [True]


def has_timerfd() -> bool:
    """Whether the tick is a kernel timer here, or the fallback."""
    tick = Tick(1_000_000_000, MonotonicClock())
    found = tick.fileno() is not None
    tick.close()
    return found


def conditions(full: bool) -> dict[str, object]:
    """Machine, system and load now, before the bench adds its own."""
    info = _CPU_INFO.read_text(encoding="utf-8") if _CPU_INFO.exists() else ""
    return {
        "cpu": cpu_model(info),
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load_1min": round(os.getloadavg()[0], 2),
        "fifo_permitted": fifo_permitted(),
        "timerfd": has_timerfd(),
        "full": full,
    }
