"""The arm's half of the clutch."""

from __future__ import annotations

import math
from itertools import count
from typing import Any

import pytest

from services.arm.offer import Offer
from services.arm.situation import EngageOn
from tests.unit.arm.make import HELD, target, untracked

S = 1_000_000_000
MS = 1_000_000


def held(engage_on: EngageOn = "tracking") -> Offer:
    """An arm that entered HOLD just now; offers count from 11."""
    numbers = count(11)
    offer = Offer(engage_on, lambda: next(numbers))
    offer.enter_hold()
    return offer


def turned(angle_deg: float) -> tuple[float, float, float, float]:
    half_rad = math.radians(angle_deg) / 2
    return (math.sin(half_rad), 0.0, 0.0, math.cos(half_rad))


def published(engage_on: EngageOn = "tracking", now_ns: int = S) -> Offer:
    offer = held(engage_on)
    if engage_on == "command":
        offer.on_engage_command(now_ns, None, engaged=False)
    if engage_on == "enable_bit":
        offer.on_enable(False, now_ns - 300 * MS)
        offer.on_enable(False, now_ns)
    offer.in_hold(now_ns, at_rest=True, needs_engage=False)
    assert offer.in_hold(now_ns, at_rest=True, needs_engage=False) == 11
    return offer


def test_offered_only_after_two_ticks_at_rest() -> None:
    offer = held()
    assert offer.in_hold(0, at_rest=True, needs_engage=False) is None
    assert offer.in_hold(0, at_rest=False, needs_engage=False) is None
    assert offer.in_hold(0, at_rest=True, needs_engage=False) is None
    assert offer.in_hold(0, at_rest=True, needs_engage=False) == 11


@pytest.mark.parametrize("engage_on", ["tracking", "command", "enable_bit"])
def test_never_offered_while_an_engage_is_needed(engage_on: EngageOn) -> None:
    offer = published(engage_on)
    assert offer.in_hold(S, at_rest=True, needs_engage=True) is None


@pytest.mark.parametrize("engage_on", ["tracking", "command", "enable_bit"])
def test_an_offer_that_stood_dies_with_the_need_of_an_engage(engage_on: EngageOn) -> None:
    offer = published(engage_on)
    offer.in_hold(S, at_rest=True, needs_engage=True)
    assert not offer.taken_by(target(), *HELD, S)


def test_one_engage_command_is_good_for_one_clutch() -> None:
    """Let go within the two seconds, the arm must not be taken again without a new command."""
    offer = published("command")
    offer.engaged()
    offer.enter_hold()
    for _ in range(3):
        assert offer.in_hold(S + 500 * MS, at_rest=True, needs_engage=False) is None
    assert not offer.window_ended(3 * S)


def test_command_mode_offers_for_two_seconds_then_says_so_once() -> None:
    offer = held("command")
    for _ in range(5):
        assert offer.in_hold(0, at_rest=True, needs_engage=False) is None
    offer.on_engage_command(S, None, engaged=False)
    assert offer.in_hold(3 * S - 1, at_rest=True, needs_engage=False) == 11
    assert not offer.window_ended(3 * S - 1)
    assert offer.window_ended(3 * S)
    offer.withdraw()
    assert not offer.window_ended(3 * S)
    assert offer.in_hold(3 * S, at_rest=True, needs_engage=False) is None
    # "refused" has been said: what was on its way must not engage any more
    assert not offer.taken_by(target(), *HELD, 3 * S)


def test_enable_bit_must_have_been_low_for_200_ms() -> None:
    offer = held("enable_bit")
    offer.on_enable(True, 0)
    offer.on_enable(False, S)
    offer.on_enable(False, S + 199 * MS)
    for _ in range(3):
        assert offer.in_hold(S, at_rest=True, needs_engage=False) is None
    offer.on_enable(False, S + 200 * MS)
    assert offer.in_hold(S, at_rest=True, needs_engage=False) == 11
    offer.on_enable(True, S + 300 * MS)  # the rising edge that the mapper answers with
    assert offer.in_hold(S, at_rest=True, needs_engage=False) == 11


def test_a_sender_without_an_enable_bit_is_never_low() -> None:
    offer = held("enable_bit")
    for t_ms in range(0, 1000, 20):
        offer.on_enable(None, t_ms * MS)
        assert offer.in_hold(t_ms * MS, at_rest=True, needs_engage=False) is None


def test_each_stay_in_hold_has_its_own_number() -> None:
    offer = published()
    offer.leave()
    assert not offer.taken_by(target(clutch_id=11), *HELD, S)
    offer.enter_hold()
    assert not offer.taken_by(target(clutch_id=12), *HELD, S)  # not published yet
    offer.in_hold(S, at_rest=True, needs_engage=False)
    assert offer.in_hold(S, at_rest=True, needs_engage=False) == 12
    assert not offer.taken_by(target(clutch_id=11), *HELD, S)
    assert offer.taken_by(target(clutch_id=12), *HELD, S)


@pytest.mark.parametrize(
    ("changes", "takes"),
    [
        ({}, True),
        ({"clutch_id": 12}, False),
        ({"clutch_id": None}, False),
        ({"engaged": False}, False),
        ({"jump": True}, False),
        ({"tracking_valid": False}, False),
        ({"target_p_base_tool_m": (0.2509, 0.0, 0.25)}, True),
        ({"target_p_base_tool_m": (0.2511, 0.0, 0.25)}, False),
        ({"target_q_base_tool_xyzw": turned(0.19)}, True),
        ({"target_q_base_tool_xyzw": turned(0.21)}, False),
        ({"mode": "absolute", "target_p_base_tool_m": (0.5, 0.0, 0.25)}, True),
    ],
)
def test_what_takes_an_offer(changes: dict[str, Any], takes: bool) -> None:
    assert published().taken_by(target(**changes), *HELD, S) is takes


def test_a_target_without_a_pose_takes_nothing() -> None:
    assert not published().taken_by(untracked(tracking_valid=True), *HELD, S)


class TestPedal:
    def test_offer_ends_with_the_pedal(self) -> None:
        offer = held("command")
        offer.on_engage_command(S, 200.0, engaged=False)
        offer.in_hold(S, at_rest=True, needs_engage=False)
        assert offer.in_hold(S, at_rest=True, needs_engage=False) == 11
        assert not offer.window_ended(S + 200 * MS - 1)
        assert not offer.taken_by(target(), *HELD, S + 200 * MS)
        assert offer.in_hold(S + 200 * MS, at_rest=True, needs_engage=False) is None
        assert offer.window_ended(S + 200 * MS)

    def test_repeats_extend_and_a_plain_engage_ends_hold_to_run(self) -> None:
        offer = published("command")
        assert not offer.pedal_up(9 * S)
        offer.on_engage_command(2 * S, 200.0, engaged=True)
        assert not offer.pedal_up(2 * S + 200 * MS - 1)
        assert offer.pedal_up(2 * S + 200 * MS)
        offer.on_engage_command(3 * S, None, engaged=True)
        assert not offer.pedal_up(9 * S)

    def test_a_stop_does_not_turn_hold_to_run_into_free_run(self) -> None:
        offer = held("tracking")
        offer.on_engage_command(S, 200.0, engaged=False)
        offer.engaged()
        offer.leave()
        offer.enter_hold()
        for _ in range(3):
            assert offer.in_hold(2 * S, at_rest=True, needs_engage=False) is None
        offer.on_engage_command(2 * S, 200.0, engaged=False)
        assert offer.in_hold(2 * S, at_rest=True, needs_engage=False) == 12
