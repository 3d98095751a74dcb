"""Figures of one stream over the last seconds: rate, age, interval and latency percentiles.

Pure: instants are passed in. Memory is bounded whatever arrives.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from runtime.clock import NS_PER_MS, NS_PER_S

# Long enough for a rate of 1 Hz messages, short enough that a person sees a change.
WINDOW_NS: Final = 5 * NS_PER_S
# 5 s at 200 Hz, the fastest control rate; a faster stream is judged over a shorter window.
MAX_SAMPLES: Final = 1024


@dataclass(frozen=True, slots=True)
class Figures:
    """What is known of a stream at one moment; None where too little has arrived."""

    count: int
    lost: int
    rate_hz: float
    age_ms: float
    interval_p99_ms: float | None
    latency_p50_ms: float | None
    latency_p99_ms: float | None


def percentile(ordered: Sequence[float], percent: float) -> float | None:
    """The nearest-rank percentile of sorted values; None of none."""
    if not ordered:
        return None
    rank = max(1, -int(-percent * len(ordered) // 100))
    return ordered[rank - 1]


class Flow:
    """One topic. Give it every message's instant (its sender's, if on this host)."""

    def __init__(self) -> None:
        self.count = 0
        self.lost = 0
        self._first_ns = 0
        self._last_ns = 0
        self._boot_seq: tuple[int, int] | None = None
        self._arrivals_ns: deque[int] = deque(maxlen=MAX_SAMPLES)
        self._intervals: deque[tuple[int, int]] = deque(maxlen=MAX_SAMPLES)
        self._latencies: deque[tuple[int, float]] = deque(maxlen=MAX_SAMPLES)

    def add(self, t_ns: int, boot: int, seq: int, latency_ms: float | None = None) -> None:
        """Counts one message.

        Args:
            t_ns: its instant, monotonic, not later than now.
            boot: its sender's run; numbering and intervals start anew with it.
            seq: its number; a step beyond 1 counts as lost.
            latency_ms: what the message says of its own latency.
        """
        if not self.count:
            self._first_ns = t_ns
        self.count += 1
        if self._boot_seq is not None and self._boot_seq[0] == boot:
            self.lost += max(0, seq - self._boot_seq[1] - 1)
            self._intervals.append((t_ns, max(0, t_ns - self._last_ns)))
        self._boot_seq = boot, seq
        self._last_ns = t_ns
        self._arrivals_ns.append(t_ns)
        if latency_ms is not None:
            self._latencies.append((t_ns, latency_ms))

    def figures(self, now_ns: int) -> Figures:
        """The figures of the window that ends now."""
        since_ns = now_ns - WINDOW_NS
        intervals_ns = sorted(gap for t_ns, gap in self._intervals if t_ns > since_ns)
        latencies = sorted(ms for t_ns, ms in self._latencies if t_ns > since_ns)
        interval_ns = percentile(intervals_ns, 99)
        return Figures(
            count=self.count,
            lost=self.lost,
            rate_hz=self._rate_hz(now_ns, since_ns),
            age_ms=max(0, now_ns - self._last_ns) / NS_PER_MS,
            interval_p99_ms=None if interval_ns is None else interval_ns / NS_PER_MS,
            latency_p50_ms=percentile(latencies, 50),
            latency_p99_ms=percentile(latencies, 99),
        )

    def _rate_hz(self, now_ns: int, since_ns: int) -> float:
        """Messages in the window over its length, which begins where the memory of it does."""
        inside = [t_ns for t_ns in self._arrivals_ns if t_ns > since_ns]
        if not inside:
            return 0.0
        whole = self._first_ns <= since_ns and len(inside) < MAX_SAMPLES
        from_ns = since_ns if whole else inside[0]
        number = len(inside) if whole else len(inside) - 1
        return number * NS_PER_S / max(1, now_ns - from_ns)
