"""Which operator commands are acted on, and what is answered."""

from __future__ import annotations

from typing import Any

import pytest

from services.arm.desk import QUEUE, Desk, confirmed, hold_ms_of, is_hard
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
    assert (desk.next(NOW_NS) is None) == bool(answer)


def test_unknown_command_is_named() -> None:
    desk = Desk(boot=1)
    desk.take_in(order("fly" * 20), NOW_NS)
    assert desk.last_result == "refused: unknown command 'flyflyflyflyflyflyfl'"
    assert desk.refused == 1


def test_an_estop_needs_no_boot_and_no_age_and_goes_first() -> None:
    desk = Desk(boot=1)
    desk.take_in(order("arm"), NOW_NS)
    assert desk.take_in(order("estop", to_boot=None, max_age_ms=None, t_mono_ns=0), NOW_NS)
    first = desk.next(NOW_NS)
    assert first is not None
    assert first.verb == "estop"


def test_a_flood_is_bounded() -> None:
    desk = Desk(boot=1)
    for _ in range(QUEUE + 5):
        desk.take_in(order("arm"), NOW_NS)
    assert desk.refused == 5
    assert desk.last_result == "refused: too many commands"


def test_settle_touches_only_a_pending_answer_to_that_verb() -> None:
    desk = Desk(boot=1)
    desk.answer(order("engage", id=3), "pending")
    desk.settle("arm", "ok")
    assert (desk.last_id, desk.last_result) == (3, "pending")
    desk.settle("engage", "ok")
    desk.settle("engage", "refused: late")
    assert (desk.last_id, desk.last_result) == (3, "ok")
    desk.answer(order("engage", id=4), "pending")
    desk.answer(order("release", id=5), "ok")
    desk.settle("engage", "refused: late")
    assert (desk.last_id, desk.last_result) == (5, "ok")


def test_estops_that_come_together_are_one_and_hard_if_one_is() -> None:
    desk = Desk(boot=1)
    desk.take_in(order("arm", id=1), NOW_NS)
    desk.take_in(order("estop", id=2), NOW_NS)
    desk.take_in(order("estop", id=3, args={"hard": True}), NOW_NS)
    desk.take_in(order("estop", id=4), NOW_NS)
    served = [desk.next(NOW_NS), desk.next(NOW_NS), desk.next(NOW_NS)]
    assert [None if c is None else c.id for c in served] == [3, 1, None]
    for number in (5, 6):
        desk.take_in(order("estop", id=number), NOW_NS)
    newest = desk.next(NOW_NS)
    assert newest is not None
    assert newest.id == 6
    assert desk.next(NOW_NS) is None


@pytest.mark.parametrize(
    ("value", "said"), [(True, True), (1, False), ("yes", False), (None, False)]
)
def test_what_lets_an_arm_drop_must_be_said_outright(value: Any, said: bool) -> None:
    assert is_hard(order("estop", args={"hard": value})) is said
    assert confirmed(order("clear", args={"confirm_drop": value})) is said


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


def test_what_grew_too_old_in_the_queue_is_refused() -> None:
    desk = Desk(boot=1)
    for verb in ("release", "engage"):
        desk.take_in(order(verb), NOW_NS)
    assert desk.next(NOW_NS) is not None
    assert desk.next(NOW_NS + 6_000_000_000) is None
    assert desk.last_result == "refused: too old; try again"


def test_a_stop_refuses_what_was_ordered_before_it() -> None:
    desk = Desk(boot=1)
    desk.take_in(order("reset"), NOW_NS)
    desk.take_in(order("engage", id=43), NOW_NS)
    desk.flush("estop")
    assert desk.next(NOW_NS) is None
    assert (desk.last_id, desk.last_result) == (43, "refused: estop")
