"""`quick`: the newest sample, as soon as it is there. No delay, no smoothing, no prediction."""

from __future__ import annotations

from collections import deque

from services.arm.pacers.base import PacerOptions, PacerOutput, PacerSample
from services.arm.pacers.glitch import GlitchGate


class QuickPacer:
    """Newest wins; glitches of a few samples are dropped."""

    def __init__(self, options: PacerOptions) -> None:
        self._queue: deque[PacerSample] = deque(maxlen=options.queue_maxsize)
        self._glitches = GlitchGate()
        self._newest: PacerSample | None = None

    @property
    def glitches_rejected(self) -> int:
        """Samples off the track so far."""
        return self._glitches.rejected

    def push(self, sample: PacerSample) -> None:
        """Queued until the next tick; the oldest gives way."""
        self._queue.append(sample)

    def tick(self, _now_ns: int) -> PacerOutput | None:
        """The newest good sample, again and again until there is a newer one."""
        while self._queue:
            sample = self._queue.popleft()
            if self._glitches.accepts(sample):
                self._newest = sample
        newest = self._newest
        return None if newest is None else PacerOutput(newest.p_m, newest.q_xyzw, False, 0.0)

    def reseat(self, sample: PacerSample) -> None:
        """Begins anew at `sample`."""
        self._queue.clear()
        self._glitches.seat(sample)
        self._newest = sample

    def reset(self) -> None:
        """Forgets everything but the count of glitches."""
        self._queue.clear()
        self._glitches.seat(None)
        self._newest = None
