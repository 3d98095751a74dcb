"""Decides from heartbeats which program hangs. Pure: beats and time are passed in.

A hang is a heartbeat that was seen alive and then stands still for the program's own limit, by its
stamp and by our own watch both, so that a machine that slept or a checker that was itself stopped
never takes a sleeping program for a dead one.
"""

from collections.abc import Mapping
from typing import NamedTuple

from runtime.clock import NS_PER_S
from runtime.heartbeat import Beat

# The check runs every half second. After a pause of its own this long it starts over.
MAX_GAP_NS = 2 * NS_PER_S
MIN_HANG_AFTER_S = 2.0


class Hang(NamedTuple):
    """A program found hanging, and the beat at which it stopped."""

    program: str
    beat: Beat


class HangJudge:
    """Watches the heartbeats of the programs it was given.

    Args:
        hang_after_s: limit of each program, seconds; at least 2 (a loaded machine stalls for one).

    Raises:
        ValueError: a limit under 2 s.
    """

    def __init__(self, hang_after_s: Mapping[str, float]) -> None:
        for program, limit_s in hang_after_s.items():
            if limit_s < MIN_HANG_AFTER_S:
                raise ValueError(f"hang_after_s of {program} must be at least 2, got {limit_s}")
        self._limits_ns = {
            program: round(limit_s * NS_PER_S) for program, limit_s in hang_after_s.items()
        }
        self._seen: dict[str, tuple[Beat, int]] = {}
        self._t_judged_ns: int | None = None

    def judge(self, beats: Mapping[str, Beat | None], now_ns: int) -> list[Hang]:
        """Takes the heartbeats of now; returns those that hang.

        A hang is reported again only after the program's limit has passed once more.
        """
        if self._t_judged_ns is None or now_ns - self._t_judged_ns > MAX_GAP_NS:
            self._seen.clear()
        self._t_judged_ns = now_ns
        return [
            Hang(program, beat)
            for program, limit_ns in self._limits_ns.items()
            if (beat := beats.get(program)) is not None
            and self._stands_still(program, beat, limit_ns, now_ns)
        ]

    def _stands_still(self, program: str, beat: Beat, limit_ns: int, now_ns: int) -> bool:
        seen = self._seen.get(program)
        if seen is None or seen[0] != beat:
            self._seen[program] = (beat, now_ns)
            return False
        if now_ns - seen[1] < limit_ns or now_ns - beat.t_beat_ns < limit_ns:
            return False
        self._seen[program] = (beat, now_ns)
        return True
