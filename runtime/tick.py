"""The paced loop's tick: absolute deadlines that never drift, missed ones skipped and counted.

It must never replay missed ticks: after a stall the robot gets one command, not the backlog.
"""

import os

from runtime.clock import NS_PER_MS, NS_PER_S, Clock
from runtime.timerfd import open_timerfd, read_expirations


def period_from_hz(rate_hz: float) -> int:
    """Period in nanoseconds; rounding costs under 1 us a minute at any rate up to 1 kHz."""
    return round(NS_PER_S / rate_hz)


class Tick:
    """Deadlines at `start + k * period`; put `fileno()` into the poller next to the sockets.

    Attributes:
        deadline_ns: deadline of the tick being handled (of the newest, if some were missed).
        missed: deadlines skipped so far.

    Args:
        period_ns: distance of the deadlines; the first is one period from now.
        clock: must be the system's monotonic clock, unless `fallback`.
        fallback: no kernel timer, the poller's time-out instead (what systems without timerfd get).

    Raises:
        ValueError: the period is not positive.
    """

    def __init__(self, period_ns: int, clock: Clock, *, fallback: bool = False) -> None:
        if period_ns <= 0:
            raise ValueError(f"period_ns must be positive, got {period_ns}")
        self.period_ns = period_ns
        self.deadline_ns = clock.now_ns()
        self.missed = 0
        self._clock = clock
        first_ns = self.deadline_ns + period_ns
        self._fd = None if fallback else open_timerfd(first_ns, period_ns)

    def fileno(self) -> int | None:
        """Descriptor that is readable from each deadline on, or None in the fallback."""
        return self._fd

    def timeout_ms(self) -> float | None:
        """How long the poller may wait in the fallback; None where the descriptor wakes it.

        Whole milliseconds, rounded up: pollers count in them, and a rounded-down wait would spin
        through the last one.
        """
        if self._fd is not None:
            return None
        left_ns = self.deadline_ns + self.period_ns - self._clock.now_ns()
        return float(max(0, -(-left_ns // NS_PER_MS)))

    def expirations(self) -> int:
        """Deadlines passed since the last call: 0 = none yet, 1 = on time, more = some missed."""
        count = self._passed() if self._fd is None else read_expirations(self._fd)
        if count:
            self.deadline_ns += count * self.period_ns
            self.missed += count - 1
        return count

    def close(self) -> None:
        """Frees the kernel timer; may be called again."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _passed(self) -> int:
        return max(0, (self._clock.now_ns() - self.deadline_ns) // self.period_ns)
