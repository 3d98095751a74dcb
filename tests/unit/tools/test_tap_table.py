"""The tap's table: what each topic's row says."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from proto.json_view import json_fields
from proto.messages import Message
from tests import samples
from tools.tap_source import Item
from tools.tap_table import TapTable, state_and_reason

HOST = 77
MS = 1_000_000
NOW_NS = 90_000 * MS


def item(message: Message, topic: str, **fields: Any) -> Item:
    """A message as it comes off the tap."""
    return Item(topic, {**json_fields(message), "host": HOST, **fields})


def filled() -> TapTable:
    """100 states at 100 Hz, the last one now, received in one lump."""
    table = TapTable(HOST)
    for seq in range(1, 101):
        sent_ns = NOW_NS - (100 - seq) * 10 * MS
        state = samples.arm_state(latency_ms=seq / 10, reason="clamped", reason_detail="z")
        table.add(item(state, "arm_state/left", seq=seq, t_mono_ns=sent_ns), NOW_NS)
    return table


def test_a_row_is_about_when_messages_were_sent() -> None:
    table = filled()
    table.add(item(samples.hand_pose(), "hand_pose/right", t_mono_ns=NOW_NS), NOW_NS)
    rows = table.rows(NOW_NS + 5 * MS)
    assert [row["topic"] for row in rows] == ["hand_pose/right", "arm_state/left"]
    assert rows[1] == {
        "topic": "arm_state/left",
        "rate_hz": "99.5",
        "age_ms": "5",
        "jitter_p99_ms": "10.0",
        "lost": "0",
        "latency_p50_ms": "5.0",
        "latency_p99_ms": "9.9",
        "state": "ENGAGED",
        "reason": "clamped (z)",
    }
    assert rows[0]["latency_p50_ms"] == "-"


def test_messages_of_another_host_count_from_when_they_came() -> None:
    table = TapTable(HOST)
    for seq, came_ns in ((1, NOW_NS - 20 * MS), (2, NOW_NS - 4 * MS)):
        table.add(item(samples.arm_state(), "x/y", seq=seq, host=1, t_mono_ns=5), came_ns)
    row = table.rows(NOW_NS)[0]
    assert (row["age_ms"], row["jitter_p99_ms"]) == ("4", "16.0")


def test_the_last_word_of_one_who_is_gone_is_no_state() -> None:
    assert filled().rows(NOW_NS + 3000 * MS)[0]["state"] == "ENGAGED"
    assert filled().rows(NOW_NS + 3001 * MS)[0]["state"] == "silent"


def test_lost_messages_show() -> None:
    table = filled()
    table.add(item(samples.arm_state(), "arm_state/left", seq=104, t_mono_ns=NOW_NS), NOW_NS)
    assert table.rows(NOW_NS)[0]["lost"] == "3"


def test_fields_of_the_wrong_type_are_passed_over() -> None:
    table = TapTable(HOST)
    odd: dict[str, Any] = {"seq": "x", "boot": None, "t_mono_ns": 1.5, "latency_ms": "fast"}
    table.add(Item("odd", {"host": HOST, "state": ["a"], "reason": 5, **odd}), NOW_NS)
    assert table.rows(NOW_NS)[0]["state"] == "['a']"


def test_lines_are_key_value_and_quote_what_has_spaces() -> None:
    line = filled().lines(NOW_NS)[0]
    assert line.startswith("topic=arm_state/left rate_hz=")
    assert line.endswith('state=ENGAGED reason="clamped (z)"')


def test_the_table_fits_80_columns() -> None:
    table = TapTable(HOST)
    stopped = samples.arm_state(state="PROTECTIVE_STOP", reason="tracking_unstable")
    table.add(item(stopped, "service_health/sim-operator"), NOW_NS)
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(table.render(NOW_NS, "tap of tcp://127.0.0.1:9872", "look at the plug"))
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    row = next(line for line in lines if "service_health/sim-operator" in line)
    assert "PROTECTIVE_STOP" in row
    assert "look at the plug" in lines[-1]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (samples.arm_state(state="FAULT", reason="fault"), ("FAULT", "fault")),
        (samples.service_health(status="down", reason="x"), ("down", "x")),
        (samples.arm_target(), ("engaged", "clamped")),
        (samples.arm_target(engaged=False, reason="not_engaged"), ("free", "not_engaged")),
        (samples.hand_pose(), ("tracked", "")),
        (samples.hand_pose(tracking_valid=False), ("untracked", "")),
        (samples.hand_pose(estop=True), ("ESTOP", "")),
        (samples.operator_command(), ("-", "")),
    ],
)
def test_state_and_reason(message: Message, expected: tuple[str, str]) -> None:
    assert state_and_reason(json_fields(message)) == expected
