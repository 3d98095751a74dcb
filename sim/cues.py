"""Cues for a simulated hand as words: `untracked 0.5`, `left estop`. One table, used by the command
line's --at and by standard input alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from proto.reasons import SIDES, Side
from sim.performers import Performer, Wearer

Act = Callable[[Performer, float, float], None]  # performer, value, now_s


class CueError(ValueError):
    """Words that are no cue; the text names the valid ones."""


@dataclass(frozen=True, slots=True)
class _Kind:
    act: Act
    help: str
    value: float | None = None  # the default; None = takes no value
    most: float = 0.0  # of its size


def _reclutch(performer: Performer, _value: float, now_s: float) -> None:
    if isinstance(performer, Wearer):
        performer.reclutch(now_s)
    else:
        performer.hand.reclutch(now_s)


KINDS: Final[Mapping[str, _Kind]] = MappingProxyType(
    {
        "untracked": _Kind(
            lambda who, value, now_s: who.hand.lose_tracking(now_s, value),
            "untracked [S]: tracking lost for S seconds",
            0.5,
            3600.0,
        ),
        "silent": _Kind(
            lambda who, value, now_s: who.hand.fall_silent(now_s, value),
            "silent [S]: nothing sent for S seconds",
            1.0,
            3600.0,
        ),
        "estop": _Kind(
            lambda who, _value, _now_s: who.hand.press_estop(),
            "estop: pressed, in every packet",
        ),
        "release": _Kind(
            lambda who, _value, now_s: who.hand.release_estop(now_s),
            "release: the e-stop button",
        ),
        "reclutch": _Kind(_reclutch, "reclutch: out of sight, then still in sight"),
        "still": _Kind(lambda who, _value, _now_s: who.hand.hold(True), "still: stop moving"),
        "go": _Kind(lambda who, _value, _now_s: who.hand.hold(False), "go: move again"),
        "jump": _Kind(
            lambda who, value, _now_s: who.hand.recentre(value),
            "jump [M]: recentred by M metres to the right, and back the next time",
            0.3,
            5.0,
        ),
        "restart": _Kind(
            lambda who, _value, now_s: who.hand.restart_app(now_s),
            "restart: the headset's clock begins again at 0",
        ),
        "leap": _Kind(
            lambda who, value, _now_s: who.hand.leap_clock(value),
            "leap [S]: the headset's clock leaps by S seconds",
            3600.0,
            1e9,
        ),
    }
)
QUIT: Final = "quit"
USAGE: Final = "; ".join([*(kind.help for kind in KINDS.values()), "quit: end the program"])


@dataclass(frozen=True, slots=True)
class Cue:
    """One thing to do; `side` None = both hands."""

    name: str
    value: float = 0.0
    side: Side | None = None

    def apply(self, performers: Mapping[Side, Performer], now_s: float) -> None:
        """Does it to the hands it is meant for. Not for QUIT, which is the program's business."""
        for side, performer in performers.items():
            if self.side in (None, side):
                KINDS[self.name].act(performer, self.value, now_s)


def parse_cue(words: Sequence[str]) -> Cue:
    """A cue from words, as ["untracked", "0.5"] or ["left", "estop"].

    Raises:
        CueError: unknown cue, wrong number of words, or a bad value.
    """
    side = next((side for side in SIDES if words and words[0] == side), None)
    name, *args = (words[1:] if side else words) or [""]
    if name == QUIT and not args and side is None:
        return Cue(QUIT)
    kind = KINDS.get(name)
    if kind is None or len(args) > (kind.value is not None):
        raise CueError(f"{' '.join(words)!r} is no cue; valid: [right|left] {USAGE}")
    if kind.value is None:
        return Cue(name, 0.0, side)
    return Cue(name, _value(name, args, kind), side)


def _value(name: str, args: list[str], kind: _Kind) -> float:
    try:
        value = float(args[0]) if args else float(kind.value or 0.0)
    except ValueError:
        raise CueError(f"{name}: {args[0]!r} is not a number; {kind.help}") from None
    if not abs(value) <= kind.most:
        raise CueError(f"{name}: {args[0]} is beyond {kind.most:g}; {kind.help}")
    return value


class Schedule:
    """Cues to come, each at its time since the start."""

    def __init__(self, cues: Sequence[tuple[float, Cue]]) -> None:
        self._cues = sorted(cues, key=lambda timed: timed[0])

    def due(self, since_start_s: float) -> list[Cue]:
        """The cues whose time has come, each given out once."""
        count = sum(at_s <= since_start_s for at_s, _ in self._cues)
        due, self._cues = self._cues[:count], self._cues[count:]
        return [cue for _, cue in due]
