"""Cues from words, their refusals and their schedule."""

from __future__ import annotations

import pytest

from proto.reasons import Side
from sim.cues import KINDS, QUIT, USAGE, Cue, CueError, Schedule, parse_cue
from sim.motion import Still
from sim.performers import Operator, Performer, Wearer

NOW_S = 7.0


@pytest.mark.parametrize(
    ("line", "cue"),
    [
        ("untracked 0.5", Cue("untracked", 0.5)),
        ("untracked", Cue("untracked", 0.5)),
        ("estop", Cue("estop")),
        ("left estop", Cue("estop", 0.0, "left")),
        ("right jump -0.2", Cue("jump", -0.2, "right")),
        ("leap -3600", Cue("leap", -3600.0)),
        ("quit", Cue(QUIT)),
    ],
)
def test_words_to_cues(line: str, cue: Cue) -> None:
    assert parse_cue(line.split()) == cue


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("dance", "untracked [S]"),
        ("", "untracked [S]"),
        ("left", "untracked [S]"),
        ("left quit", "untracked [S]"),
        ("estop now", "estop: pressed"),
        ("untracked 1 2", "untracked [S]"),
        ("untracked soon", "not a number"),
        ("jump 50", "beyond 5"),
        ("silent nan", "beyond 3600"),
    ],
)
def test_refusals_name_the_valid_cues(line: str, names: str) -> None:
    with pytest.raises(CueError) as error:
        parse_cue(line.split())
    assert names in str(error.value)


def test_usage_names_every_cue() -> None:
    assert all(name in USAGE for name in (*KINDS, QUIT))


def performers() -> dict[Side, Performer]:
    both: dict[Side, Performer] = {
        "right": Wearer("right", Still()),
        "left": Operator("left", Still()),
    }
    for performer in both.values():
        performer.sample(NOW_S)
    return both


def test_a_cue_reaches_one_hand_or_both() -> None:
    hands = performers()
    parse_cue(["left", "estop"]).apply(hands, NOW_S)
    pressed = {side: hand.sample(NOW_S + 0.02) for side, hand in hands.items()}
    assert [packet and packet.estop for packet in pressed.values()] == [False, True]
    parse_cue(["estop"]).apply(hands, NOW_S)
    pressed = {side: hand.sample(NOW_S + 0.04) for side, hand in hands.items()}
    assert [packet and packet.estop for packet in pressed.values()] == [True, True]


@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_cue_acts_on_every_kind_of_performer(name: str) -> None:
    hands = performers()
    untouched = [hand.sample(NOW_S + 1.5) for hand in performers().values()]
    parse_cue(["estop"]).apply(hands, NOW_S) if name == "release" else None
    parse_cue([name]).apply(hands, NOW_S + 1.49)
    after = [hand.sample(NOW_S + 1.5) for hand in hands.values()]
    if name in ("still", "go"):  # only a moving hand shows these
        assert after == untouched
    else:
        assert all(a != b for a, b in zip(after, untouched, strict=True))


def test_schedule_gives_each_cue_once_in_order_of_time() -> None:
    schedule = Schedule([(5.0, Cue("release")), (3.0, Cue("estop")), (5.0, Cue("still"))])
    assert schedule.due(2.9) == []
    assert schedule.due(3.0) == [Cue("estop")]
    assert schedule.due(3.1) == []
    assert schedule.due(9.0) == [Cue("release"), Cue("still")]
    assert schedule.due(99.0) == []
