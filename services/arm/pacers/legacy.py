"""`legacy`: the scheme of the source article, kept as the baseline to beat and for its users.

A FIFO that plays one sample per time slice once it was filled, a per-axis deadband, and a sliding
mean. Each part can be switched off by its option. Its delay (depth x slice) is the point it makes.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from runtime.se3 import Quat, Vec3, quat_slerp
from services.arm.pacers.base import PacerOutput, PacerSample


@dataclass(frozen=True, slots=True)
class LegacyOptions:
    """Off: buffer 1, deadband_m 0, mean 1. `queue_maxsize` bounds the FIFO beyond its depth."""

    buffer: int = 5
    slice_ns: int = 20_000_000
    deadband_m: float = 0.005
    mean: int = 5
    queue_maxsize: int = 3


class LegacyPacer:
    """Buffer, slice, deadband, mean."""

    def __init__(self, options: LegacyOptions) -> None:
        self._options = options
        depth = max(options.buffer, options.queue_maxsize)
        self._fifo: deque[PacerSample] = deque(maxlen=depth)
        self._window: deque[PacerSample] = deque(maxlen=options.mean)
        self._filling = True
        self._slice_end_ns = 0
        self._out: tuple[Vec3, Quat] | None = None

    def reset(self) -> None:
        """Forgets everything; the buffer fills anew."""
        self._fifo.clear()
        self._window.clear()
        self._filling = True
        self._slice_end_ns = 0
        self._out = None

    def reseat(self, sample: PacerSample) -> None:
        """Starts anew at `sample`."""
        self.reset()
        self._play(sample)

    def push(self, sample: PacerSample) -> None:
        """Queues a sample; a full FIFO drops its oldest."""
        self._fifo.append(sample)

    def tick(self, now_ns: int) -> PacerOutput | None:
        """Plays the next sample when the present slice is over; a dry FIFO fills up first."""
        self._filling = len(self._fifo) < self._options.buffer if self._filling else False
        if not self._filling and now_ns >= self._slice_end_ns:
            if self._fifo:
                self._play(self._fifo.popleft())
                self._slice_end_ns = max(self._slice_end_ns, now_ns - self._options.slice_ns)
                self._slice_end_ns += self._options.slice_ns
            else:
                self._filling = True
        if self._out is None:
            return None
        delay_ms = len(self._fifo) * self._options.slice_ns * 1e-6
        return PacerOutput(*self._out, playout_delay_ms=delay_ms)

    def _play(self, sample: PacerSample) -> None:
        self._window.append(sample)
        count = len(self._window)
        mean_m = tuple(sum(s.p_m[axis] for s in self._window) / count for axis in range(3))
        wish_m = (mean_m[0], mean_m[1], mean_m[2])
        q_xyzw = _mean_rotation(self._window)
        self._out = (self._deadband(wish_m), q_xyzw)

    def _deadband(self, wish_m: Vec3) -> Vec3:
        """Each axis stands still until it is to move by more than the deadband."""
        if self._out is None:
            return wish_m
        kept = [
            new if abs(new - old) > self._options.deadband_m else old
            for new, old in zip(wish_m, self._out[0], strict=True)
        ]
        return (kept[0], kept[1], kept[2])


def _mean_rotation(window: deque[PacerSample]) -> Quat:
    """Running slerp mean, oldest to newest; exact for one sample."""
    mean = window[0].q_xyzw
    for index, sample in enumerate(window):
        if index:
            mean = quat_slerp(mean, sample.q_xyzw, 1.0 / (index + 1))
    return mean
