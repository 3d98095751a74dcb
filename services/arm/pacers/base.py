"""What every pacer is: samples in, one pose per control deadline out. Pure, time handed in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from runtime.se3 import Quat, Vec3


@dataclass(frozen=True, slots=True)
class PacerSample:
    """One fresh sample of the hand, mapped. `t_send_s` is the sender's clock, None if unknown."""

    t_send_s: float | None
    t_recv_ns: int
    p_m: Vec3
    q_xyzw: Quat
    jump: bool = False


@dataclass(frozen=True, slots=True)
class PacerOutput:
    """The wish for one deadline. `predicting`: it lies beyond the newest sample."""

    p_m: Vec3
    q_xyzw: Quat
    predicting: bool = False
    playout_delay_ms: float = 0.0


class Pacer(Protocol):
    """The seam between the operator's stream and the arm's ticks."""

    def reset(self) -> None:
        """Forgets everything: a new clutch."""
        ...

    def reseat(self, sample: PacerSample) -> None:
        """Starts anew at `sample`, which counts as no motion."""
        ...

    def push(self, sample: PacerSample) -> None:
        """One fresh sample, in order of receipt."""
        ...

    def tick(self, now_ns: int) -> PacerOutput | None:
        """The pose for the deadline at `now_ns`, None before the first sample."""
        ...
