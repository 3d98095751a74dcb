"""Which operator commands are acted on, and what is answered."""

from __future__ import annotations

from typing import Any

import pytest

from services.arm.desk import QUEUE, Desk, hold_ms_of
from tests.unit.arm.make import order

NOW_NS = 1_000_000_000


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({}, ""),
        ({"to_boot": 2}, "refused: meant for another run of this arm; try again"),
        ({"to_boot": None}, "refused: meant for another run of this arm; try again"),
        ({"max_age_ms": 0.5}, "refused: too old; try again"),
        ({"max_age_ms": None}, "refused: too old; try again"),
        ({"t_mono_ns": NOW_NS + 5_000_000}, "refused: too old; try again"),
        ({"t_mono_ns": NOW_NS - 2_100_000_000, "max_age_ms": 1e9}, "refused: too old; try again"),
    ],
)
def test_only_for_this_run_and_for_now(changes: dict[str, Any], answer: str) -> None:
    desk = Desk(boot=1)
    assert not desk.take_in(order("arm", **changes), NOW_NS)
    assert desk.last_result == answer
    assert (desk.next() is None) == bool(answer)


def test_unknown_command_is_named() -> None:
    desk = Desk(boot=1)
    desk.take_in(order("fly" * 20), NOW_NS)
    assert desk.last_result == "refused: unknown command 'flyflyflyflyflyflyfl'"
    assert desk.refused == 1


def test_an_estop_needs_no_boot_and_no_age_and_goes_first() -> None:
    desk = Desk(boot=1)
    desk.take_in(order("arm"), NOW_NS)
    assert desk.take_in(order("estop", to_boot=None, max_age_ms=None, t_mono_ns=0), NOW_NS)
    first = desk.next()
    assert first is not None
    assert first.verb == "estop"


def test_a_flood_is_bounded() -> None:
    desk = Desk(boot=1)
    for _ in range(QUEUE + 5):
        desk.take_in(order("arm"), NOW_NS)
    assert desk.refused == 5
    assert desk.last_result == "refused: too many commands"


def test_settle_touches_only_a_pending_answer() -> None:
    desk = Desk(boot=1)
    desk.answer(3, "pending")
    desk.settle("ok")
    desk.settle("refused: late")
    assert (desk.last_id, desk.last_result) == (3, "ok")


@pytest.mark.parametrize(
    ("value", "hold_ms"),
    [
        (200, 200.0),
        (200.5, 200.5),
        (1, 50.0),
        (1e9, 1000.0),
        (None, None),
        (True, None),
        ("x", None),
    ],
)
def test_hold_ms_is_bounded(value: Any, hold_ms: float | None) -> None:
    assert hold_ms_of(order("engage", args={"hold_ms": value})) == hold_ms
