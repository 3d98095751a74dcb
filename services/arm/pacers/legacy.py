"""`legacy`: buffer, time slice, deadband and sliding mean, as published for the Mercury arms.

The baseline to beat, and what its users know: each sample is shown for one time slice; the buffer
fills once and is never filled again; nothing is known of when a sample was taken.
"""

from __future__ import annotations

from collections import deque
from math import hypot

from runtime.clock import NS_PER_S
from runtime.se3 import Quat, Vec3, quat_normalize, vadd, vscale
from services.arm.pacers.base import PacerOptions, PacerOutput, PacerSample


class LegacyPacer:
    """FIFO with a depth; every part of the scheme can be switched off by its option."""

    def __init__(self, options: PacerOptions) -> None:
        self._options = options
        self._depth = min(options.legacy_buffer, options.queue_maxsize)
        self._slice_ns = round(options.legacy_slice_s * NS_PER_S)
        self._queue: deque[PacerSample] = deque(maxlen=options.queue_maxsize)
        self._mean: deque[PacerSample] = deque(maxlen=options.legacy_mean)
        self._shown: tuple[Vec3, Quat] | None = None
        self._due_ns: int | None = None
        self._ticked_ns = 0

    @property
    def glitches_rejected(self) -> int:
        """It has no gate."""
        return 0

    def push(self, sample: PacerSample) -> None:
        """Queued; the oldest gives way."""
        self._queue.append(sample)

    def tick(self, now_ns: int) -> PacerOutput | None:
        """The sample whose slice it is; the last one while the queue is empty."""
        if self._due_ns is None and len(self._queue) >= self._depth:
            self._due_ns = now_ns
        if self._due_ns is not None:
            # Due before the last tick and still not shown: it starved, slices count from now on.
            due_ns = now_ns if self._due_ns < self._ticked_ns else self._due_ns
            while self._queue and due_ns <= now_ns:
                self._shown = self._show(self._queue.popleft())
                due_ns += self._slice_ns
            self._due_ns = due_ns
        self._ticked_ns = now_ns
        if self._shown is None:
            return None
        waiting_ms = 1000.0 * len(self._queue) * self._options.legacy_slice_s
        return PacerOutput(*self._shown, predicting=False, playout_delay_ms=waiting_ms)

    def reseat(self, sample: PacerSample) -> None:
        """Shows `sample` until the buffer has filled anew."""
        self.reset()
        self._shown = self._show(sample)

    def reset(self) -> None:
        """Forgets everything."""
        self._queue.clear()
        self._mean.clear()
        self._shown = None
        self._due_ns = None

    def _show(self, sample: PacerSample) -> tuple[Vec3, Quat]:
        self._mean.append(sample)
        return self._outside_deadband(_mean_p_m(self._mean)), _mean_q_xyzw(self._mean)

    def _outside_deadband(self, p_m: Vec3) -> Vec3:
        """Each axis by itself: one that moved less than the deadband stays."""
        if self._shown is None:
            return p_m
        old, band_m = self._shown[0], self._options.legacy_deadband_m
        x, y, z = (b if abs(b - a) >= band_m else a for a, b in zip(old, p_m, strict=True))
        return (x, y, z)


def _mean_p_m(samples: deque[PacerSample]) -> Vec3:
    if len(samples) == 1:
        return samples[0].p_m
    total = (0.0, 0.0, 0.0)
    for sample in samples:
        total = vadd(total, sample.p_m)
    return vscale(total, 1.0 / len(samples))


def _mean_q_xyzw(samples: deque[PacerSample]) -> Quat:
    """Normalised sum on the half sphere of the newest; the newest where that is no rotation."""
    newest = samples[-1].q_xyzw
    if len(samples) == 1:
        return newest
    x = y = z = w = 0.0
    for sample in samples:
        a, b, c, d = sample.q_xyzw
        same = a * newest[0] + b * newest[1] + c * newest[2] + d * newest[3] >= 0.0
        sign = 1.0 if same else -1.0
        x, y, z, w = x + sign * a, y + sign * b, z + sign * c, w + sign * d
    return quat_normalize((x, y, z, w)) if hypot(x, y, z, w) > 1e-6 else newest
