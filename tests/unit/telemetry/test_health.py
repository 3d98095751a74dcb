"""/health: the rule for 200, and a reason for everything else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proto.reasons import STATES
from runtime.exits import ProgramExits
from services.telemetry.board import Board, Picture
from services.telemetry.health import Verdict, judge
from tests.unit.telemetry.boards import (
    NOW_NS,
    START_NS,
    S,
    picture,
    put_arm,
    put_hand,
    put_service,
    put_target,
    running,
)


def verdict(board: Board, **changes: Any) -> Verdict:
    return judge(picture(board, **changes), NOW_NS)


def test_a_running_stack_is_healthy_and_gives_no_reasons() -> None:
    found = verdict(running())
    assert found.code == 200
    assert found.body["status"] == "ok"
    assert found.body["reasons"] == []
    assert list(found.body["sides"]) == ["right", "left"]
    assert json.loads(json.dumps(found.body)) == found.body


@pytest.mark.parametrize("state", STATES)
def test_only_three_states_are_good(state: str) -> None:
    board = running()
    put_arm(board, "left", NOW_NS, state=state, reason="not_armed", reason_detail="no feedback")
    found = verdict(board)
    good = state in ("HOLD", "HOMING", "ENGAGED")
    assert found.code == (200 if good else 503)
    assert found.body["sides"]["left"]["state"] == state
    assert found.body["sides"]["left"]["reason"] == "not_armed"
    assert found.body["reasons"] == ([] if good else [f"left: {state}: not_armed (no feedback)"])


def test_a_good_state_may_have_a_reason_without_being_unhealthy() -> None:
    board = running()
    put_arm(board, "right", NOW_NS, state="ENGAGED", reason="speed_limited")
    found = verdict(board)
    assert (found.code, found.body["reasons"]) == (200, [])
    assert found.body["sides"]["right"]["reason"] == "speed_limited"


@pytest.mark.parametrize(("age_ns", "code"), [(S, 200), (S + 1, 503)])
def test_an_arm_that_falls_silent_is_unknown(age_ns: int, code: int) -> None:
    board = running()
    put_arm(board, "right", NOW_NS - age_ns)
    found = verdict(board)
    assert found.code == code
    if code == 503:
        assert found.body["sides"]["right"]["state"] == "UNKNOWN"
        assert found.body["reasons"] == ["right: UNKNOWN: down (no arm_state any more)"]


def test_an_arm_never_heard_is_unknown() -> None:
    board = Board("sim", ("right",), (), START_NS)
    found = verdict(board)
    assert found.code == 503
    assert found.body["reasons"] == ["right: UNKNOWN: down (no arm_state yet)"]


@pytest.mark.parametrize(("age_ns", "code"), [(3 * S, 200), (3 * S + 1, 503)])
def test_a_service_silent_for_3_s_is_down(age_ns: int, code: int) -> None:
    board = running()
    put_service(board, "mapper", NOW_NS - age_ns)
    found = verdict(board)
    assert found.code == code
    if code == 503:
        assert found.body["services"]["mapper"]["status"] == "down"
        assert found.body["reasons"] == ["mapper: down: silent for 3 s"]


@pytest.mark.parametrize(
    ("uptime_ns", "status"), [(3 * S, "unknown"), (3 * S + 1, "down"), (10 * S, "down")]
)
def test_a_service_never_heard_is_down_once_it_had_its_time(uptime_ns: int, status: str) -> None:
    now_ns = START_NS + uptime_ns
    board = Board("sim", (), ("ingest",), START_NS)
    found = judge(picture(board, now_ns), now_ns)
    assert found.code == 503
    assert found.body["services"]["ingest"]["status"] == status


def test_a_service_in_trouble_is_named_though_it_is_live() -> None:
    board = running()
    put_service(board, "ingest", NOW_NS, status="degraded", reason="no_packets")
    found = verdict(board)
    assert (found.code, found.body["reasons"]) == (200, ["ingest: degraded: no_packets"])


def test_a_program_that_the_configuration_does_not_use_does_not_count() -> None:
    board = running()
    put_service(board, "sim-operator", NOW_NS, status="not_configured", reason="disabled")
    put_service(board, "arm-left", NOW_NS, status="not_configured", reason="no [arm.left]")
    found = verdict(board)
    assert (found.code, found.body["reasons"]) == (200, [])
    assert found.body["services"]["sim-operator"]["status"] == "not_configured"


def test_a_silent_program_outside_the_configuration_does_not_count() -> None:
    board = running()
    put_service(board, "sim-operator", NOW_NS - 9 * S)
    found = verdict(board)
    assert found.code == 200
    assert found.body["services"]["sim-operator"]["status"] == "down"


def test_a_swapped_program_shows_its_name() -> None:
    board = running()
    put_service(board, "arm-right", NOW_NS, name="sim-arm-right")
    assert verdict(board).body["services"]["arm-right"]["program"] == "sim-arm-right"


@pytest.mark.parametrize(
    ("hand", "target", "expected"),
    [
        ({"authenticated": True}, {"authenticated": False}, True),
        ({"authenticated": False}, {"authenticated": True}, False),
        (None, {"authenticated": True}, True),
        (None, None, False),
    ],
)
def test_each_side_says_whether_its_hand_is_authenticated(
    hand: dict[str, bool] | None, target: dict[str, bool] | None, *, expected: bool
) -> None:
    board = running()
    if hand is not None:
        put_hand(board, "left", NOW_NS, **hand)
    if target is not None:
        put_target(board, "left", NOW_NS, **target)
    sides = verdict(board).body["sides"]
    assert sides["left"]["authenticated"] is expected
    assert sides["right"]["authenticated"] is False


def test_a_signature_of_long_ago_says_nothing() -> None:
    board = running()
    put_hand(board, "left", NOW_NS - 4 * S, authenticated=True)
    assert verdict(board).body["sides"]["left"]["authenticated"] is False


def test_a_program_that_exits_again_and_again_is_told() -> None:
    loud = ProgramExits(
        exits_60s=4,
        hang_kills=0,
        last_exit="unexpected",
        t_last_exit_ns=1,
        reason="repeated_exits",
    )
    quiet: ProgramExits = {**loud, "exits_60s": 1, "reason": None}
    found = verdict(running(), exits={"mapper": loud, "ingest": quiet})
    assert found.code == 200
    assert found.body["reasons"] == [
        "program mapper: repeated_exits: 4 unexpected exits in 60 s, last exit unexpected;"
        " see mapper.log"
    ]
    assert found.body["programs"]["ingest"]["exits_60s"] == 1


def test_a_loop_that_is_stuck_cannot_vouch_for_anyone() -> None:
    old: Picture = picture(running())
    assert judge(old, NOW_NS + 3 * S).code == 200
    found = judge(old, NOW_NS + 3 * S + 1)
    assert found.code == 503
    assert found.body["reasons"] == ["telemetry: down: its loop last came round 3.0 s ago"]
