"""The two clocks: an injected monotonic one for every decision, and the one wall-clock read.

Nothing here may decide anything; wall time is for stamps on log lines and telemetry only, because
it steps (NTP, an operator's `date -s`) and a stepped clock must change nothing.
"""

import time
from pathlib import Path
from typing import Protocol

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000

_BOOT_ID_FILE = Path("/proc/sys/kernel/random/boot_id")


class Clock(Protocol):
    """What every module with a deadline is given."""

    def now_ns(self) -> int:
        """Nanoseconds since an arbitrary start; never goes back."""


class MonotonicClock:
    """The real clock: CLOCK_MONOTONIC, comparable between processes of one boot."""

    def now_ns(self) -> int:
        """Nanoseconds on CLOCK_MONOTONIC."""
        return time.monotonic_ns()


def wall_s() -> float:
    """Unix seconds, for log and telemetry stamps only: the clock may step at any moment."""
    return time.clock_gettime(time.CLOCK_REALTIME)


def boot_id(source: Path = _BOOT_ID_FILE) -> str:
    """Names the boot within which monotonic instants may be compared.

    Returns:
        The kernel's random boot id, or "" where the system has none (macOS).
    """
    try:
        return source.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
