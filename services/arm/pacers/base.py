"""What every pacer takes and gives. A pacer never limits, never stops and never sees the robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from runtime.se3 import Quat, Vec3


class PacerSample(NamedTuple):
    """One mapped sample of the hand.

    Attributes:
        t_send_s: sender's clock, to be compared only with itself.
        t_recv_ns: our monotonic clock.
        p_m, q_xyzw: target of the tool in the base frame, without slip.
        jump: ingest saw a step that no hand can do.
    """

    t_send_s: float
    t_recv_ns: int
    p_m: Vec3
    q_xyzw: Quat
    jump: bool = False


class PacerOutput(NamedTuple):
    """The pose for one tick.

    Attributes:
        p_m, q_xyzw: target of the tool in the base frame, without slip.
        predicting: it lies beyond the newest sample.
        playout_delay_ms: how long samples wait here on purpose.
    """

    p_m: Vec3
    q_xyzw: Quat
    predicting: bool
    playout_delay_ms: float


@dataclass(frozen=True, slots=True)
class PacerOptions:
    """What the configuration says; each pacer reads its own.

    Attributes:
        queue_maxsize: samples that may wait in `quick` and `legacy`; the oldest is dropped.
        legacy_buffer: samples buffered before the first is used, at most queue_maxsize.
        legacy_slice_s: time slice of one sample.
        legacy_deadband_m: axes that moved less stay; 0 switches it off.
        legacy_mean: sliding mean over so many samples; 1 switches it off.
    """

    queue_maxsize: int = 3
    legacy_buffer: int = 5
    legacy_slice_s: float = 0.020
    legacy_deadband_m: float = 0.005
    legacy_mean: int = 5


class Pacer(Protocol):
    """Samples in as they come, one pose out a tick. All instants are of one monotonic clock."""

    @property
    def glitches_rejected(self) -> int:
        """Samples that were dropped as no motion of a hand, so far."""

    def push(self, sample: PacerSample, /) -> None:
        """A fresh, tracked sample, in order."""

    def tick(self, now_ns: int, /) -> PacerOutput | None:
        """The pose for the tick at now_ns; None before the first sample."""

    def reseat(self, sample: PacerSample, /) -> None:
        """Begins anew at `sample`: the next tick gives it, and nothing before it counts."""

    def reset(self) -> None:
        """Forgets everything."""
