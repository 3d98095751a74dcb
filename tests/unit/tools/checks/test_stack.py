"""What the doctor says about a running stack."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from proto.messages import ArmState, HandPose, ServiceHealth
from proto.reasons import STATES, State
from proto.registry import HEALTH_FAMILIES
from runtime import config
from runtime.exits import ProgramExits
from runtime.settings import Settings
from tests.config_copy import copy_config
from tools.checks import stack
from tools.checks.observe import ArmRecord, Observation
from tools.checks.row import Row
from tools.supervisor import Program

TICK_NS = 10_000_000
STATE = ArmState(
    side="right", driver="sim", simulated=True, state="HOLD", reason="", t_tick_ns=0, boot=1,
    feedback_age_ms=5.0,
)  # fmt: skip
HAND = HandPose(
    side="right", session=1, t_send_s=0.0, t_recv_ns=0, p_vr_hand_m=None, q_vr_hand_xyzw=None,
    gripper_ratio=None, tracking_valid=True, enable=None, estop=False, estop_count=0,
    authenticated=False, jump=False,
)  # fmt: skip


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return config.load({"ROBOT": "sim", "FARHAND_CONFIG_DIR": str(copy_config(tmp_path))})


def health(family: str, status: str = "ok", **counters: int) -> ServiceHealth:
    return ServiceHealth(
        name=family,
        version="0",
        pid=5,
        uptime_s=1.0,
        status=status,
        reason="why" if status != "ok" else "",
        counters=counters,
        rates={},
    )


def recorded(hz: float = 100.0, missed: int = 0, state: ArmState = STATE) -> ArmRecord:
    """200 ticks at `hz`."""
    last = replace(state, t_tick_ns=int(199e9 / hz), missed_ticks=missed)
    return ArmRecord(state, last, 200)


def whole() -> Observation:
    """A stack in good order: two arms, two hands."""
    left = replace(STATE, side="left")
    return Observation(
        health={family: health(family) for family in HEALTH_FAMILIES},
        arms={"right": recorded(), "left": recorded(state=left)},
        hands={"right": HAND, "left": replace(HAND, side="left")},
    )


def by_name(rows: list[Row]) -> dict[str, Row]:
    for row in rows:
        assert bool(row.fix) == (row.status != "ok"), row
    return {row.name: row for row in rows}


def test_a_stack_in_order_is_all_ok_and_says_that_packets_are_unsigned(settings: Settings) -> None:
    rows = by_name(stack.rows(whole(), settings, ["127.0.0.1"]))
    assert {row.status for row in rows.values()} == {"ok"}
    assert set(HEALTH_FAMILIES) <= set(rows)
    assert "authenticated: false" in rows["authenticated"].says


@pytest.mark.parametrize("family", HEALTH_FAMILIES)
def test_a_silent_service_fails_and_names_its_log(settings: Settings, family: str) -> None:
    seen = whole()
    del seen.health[family]
    rows = by_name(stack.rows(seen, settings, ["127.0.0.1"]))
    assert [name for name, row in rows.items() if row.status == "fail"] == [family]
    assert f"run/{family}.log" in rows[family].fix


def test_a_service_that_complains_is_a_warning_an_idle_one_is_not(settings: Settings) -> None:
    seen = whole()
    seen.health["mapper"] = health("mapper", "degraded")
    seen.health["sim-operator"] = health("sim-operator", "not_configured")
    rows = by_name(stack.rows(seen, settings, ["127.0.0.1"]))
    assert (rows["mapper"].status, rows["sim-operator"].status) == ("warn", "ok")
    assert "degraded (why)" in rows["mapper"].says


def test_a_configured_arm_that_says_nothing_fails(settings: Settings) -> None:
    seen = whole()
    del seen.arms["left"]
    rows = by_name(stack.rows(seen, settings, ["127.0.0.1"]))
    assert rows["arm left"].status == "fail"
    assert "arm left rate" not in rows


@pytest.mark.parametrize("state", STATES)
def test_only_states_that_can_follow_a_hand_are_ok(state: State) -> None:
    want = {"HOLD": "ok", "HOMING": "ok", "ENGAGED": "ok", "FAULT": "fail"}.get(state, "warn")
    row = stack.state_row(replace(STATE, state=state, reason="not_armed"))
    assert row.status == want
    assert row.says.startswith(f"{state} not_armed")


@pytest.mark.parametrize(
    ("hz", "missed", "want"),
    [
        (100.0, 0, "ok"),
        (99.0, 0, "ok"),
        (100.0, 3, "warn"),
        (97.0, 0, "warn"),
        (104.0, 0, "warn"),
        (89.0, 0, "fail"),
        (30.0, 0, "fail"),
    ],
)
def test_rate_against_the_configuration(hz: float, missed: int, want: str) -> None:
    assert stack.rate_row(recorded(hz, missed), 100.0).status == want


def test_too_few_states_to_tell_a_rate() -> None:
    assert stack.rate_row(ArmRecord(STATE, STATE), 100.0).status == "fail"


@pytest.mark.parametrize(
    ("age_ms", "want"),
    [(0.0, "ok"), (99.0, "ok"), (100.0, "warn"), (500.0, "fail"), (None, "warn")],
)
def test_feedback_age(age_ms: float | None, want: str) -> None:
    assert stack.feedback_row(replace(STATE, feedback_age_ms=age_ms)).status == want


def test_a_hand_that_is_not_seen(settings: Settings) -> None:
    seen = whole()
    del seen.hands["left"]
    seen.hands["right"] = replace(HAND, tracking_valid=False)
    rows = by_name(stack.hand_rows(seen, settings))
    assert rows["hand left"].says == "no packets"
    assert "not tracked" in rows["hand right"].says


def test_packets_from_outside_are_counted_with_the_key_to_change(settings: Settings) -> None:
    seen = whole()
    seen.health["ingest"] = health("ingest", not_allowed_right=4, not_allowed_left=3, old_left=9)
    rows = by_name(stack.hand_rows(seen, settings))
    assert rows["allow"].says == "7 packets came from outside"
    assert "[network] allow" in rows["allow"].fix


def test_unsigned_packets_matter_once_the_network_can_reach_us() -> None:
    seen = whole()
    assert stack.authenticated_row(seen, ["127.0.0.1", "10.0.0.5"]).status == "warn"
    assert stack.authenticated_row(Observation(), ["10.0.0.5"]).status == "warn"
    seen.hands = {"right": replace(HAND, authenticated=True)}
    row = stack.authenticated_row(seen, ["10.0.0.5"])
    assert (row.status, row.says) == ("ok", "authenticated: true")


def test_programs_in_trouble_are_named_others_are_only_counted() -> None:
    good = [Program("ingest", "RUNNING", 5, "pid 5"), Program("sim-arm-left", "STOPPED", 0, "")]
    assert [row.says for row in stack.program_rows(good, {})] == ["2, none in trouble"]
    loop: ProgramExits = {
        "exits_60s": 9,
        "hang_kills": 0,
        "last_exit": "unexpected",
        "t_last_exit_ns": 1,
        "reason": "repeated_exits",
    }
    bad = [*good, Program("mapper", "EXITED", 0, "exit status 78")]
    rows = by_name(stack.program_rows(bad, {"ingest": loop}))
    assert {name: row.status for name, row in rows.items()} == {"ingest": "fail", "mapper": "fail"}
    assert "repeated_exits" in rows["ingest"].says
    assert "78" in rows["mapper"].says


def test_a_restarted_arm_is_counted_anew() -> None:
    seen = Observation()
    for tick in range(50):
        seen.take("arm-right", replace(STATE, t_tick_ns=tick * TICK_NS))
    assert seen.arms["right"].rate_hz() == pytest.approx(100.0)
    seen.take("arm-right", replace(STATE, boot=2, t_tick_ns=50 * TICK_NS))
    assert seen.arms["right"].rate_hz() is None
    seen.take("ingest", HAND)
    seen.take("ingest", health("ingest"))
    assert (set(seen.hands), set(seen.health)) == ({"right"}, {"ingest"})
