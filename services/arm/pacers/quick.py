"""`quick`: each tick takes the newest sample. Nothing is delayed, nothing is predicted."""

from __future__ import annotations

from collections import deque

from services.arm.pacers.base import PacerOutput, PacerSample


class QuickPacer:
    """A bounded queue of which a tick takes the newest; what is older is dropped unused."""

    def __init__(self, queue_maxsize: int) -> None:
        self._queue: deque[PacerSample] = deque(maxlen=queue_maxsize)
        self._last: PacerSample | None = None

    def reset(self) -> None:
        """Forgets everything."""
        self._queue.clear()
        self._last = None

    def reseat(self, sample: PacerSample) -> None:
        """Starts anew at `sample`."""
        self.reset()
        self._last = sample

    def push(self, sample: PacerSample) -> None:
        """Queues a sample; a full queue drops its oldest."""
        self._queue.append(sample)

    def tick(self, now_ns: int) -> PacerOutput | None:
        """The newest sample's pose; it stands until the next sample."""
        del now_ns  # a sample's age is judged before it comes here
        if self._queue:
            self._last = self._queue[-1]
            self._queue.clear()
        last = self._last
        return None if last is None else PacerOutput(last.p_m, last.q_xyzw)
