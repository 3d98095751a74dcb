"""/metrics: parsed back by prometheus_client's own parser."""

from __future__ import annotations

from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from runtime.exits import ProgramExits
from services.telemetry.board import Board
from services.telemetry.metrics import render
from tests.unit.telemetry.boards import NOW_NS, S, picture, put_arm, put_service, running

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scraped(board: Board, now_ns: int = NOW_NS, **changes: Any) -> Samples:
    """Every sample by name and labels."""
    text = render(picture(board, now_ns, **changes), now_ns).decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def right(name: str, **labels: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    return name, tuple(sorted({"side": "right", **labels}.items()))


def test_an_arm() -> None:
    board = running()
    put_arm(board, "right", NOW_NS, latency_ms=2.5, gate_blocks=7, reason="clamped", rest_mm=None)
    found = scraped(board)
    assert found[right("farhand_arm_latency_ms")] == 2.5
    assert found[right("farhand_arm_gate_blocks_total")] == 7
    assert found[right("farhand_arm_missed_ticks_total")] == 3
    assert found[right("farhand_arm_state", state="ENGAGED")] == 1
    assert found[right("farhand_arm_state", state="HOLD")] == 0
    assert found[right("farhand_arm_reason", reason="clamped")] == 1
    assert found[right("farhand_arm_latency_window_ms", quantile="0.99")] == 2.5
    assert right("farhand_arm_rest_mm") not in found
    assert found["farhand_healthy", ()] == 1


def test_an_arm_that_is_gone_leaves_no_old_figures() -> None:
    board = running()
    put_arm(board, "right", NOW_NS - 4 * S)
    found = scraped(board)
    assert right("farhand_arm_latency_ms") not in found
    assert found["farhand_topic_age_ms", (("topic", "arm_state.right"),)] == 4000
    assert found["farhand_healthy", ()] == 0


def test_services_with_counters_of_any_name() -> None:
    board = running()
    odd = 'sa"id\n\\so'
    put_service(board, "ingest", NOW_NS, counters={odd: 2**64 - 1, "short": 4})
    put_service(board, "mapper", NOW_NS - 5 * S)
    found = scraped(board)
    ingest = ("service", "ingest")
    assert found["farhand_service_count_total", (("counter", odd), ingest)] == 2.0**64
    assert found["farhand_service_count_total", (("counter", "short"), ingest)] == 4
    assert found["farhand_service_rate", (("rate", "packets_hz"), ingest)] == 49.5
    assert found["farhand_service_jitter_ms", (("quantile", "0.99"), ingest)] == 0.4
    assert found["farhand_service_up", (ingest,)] == 1
    assert found["farhand_service_up", (("service", "mapper"),)] == 0


def test_services_never_heard_are_not_up() -> None:
    found = scraped(Board("sim", ("right",), ("ingest",), 0))
    assert found["farhand_service_up", (("service", "ingest"),)] == 0


def test_topic_rates() -> None:
    board = running(t_ns=NOW_NS - S)
    for number in range(1, 101):
        put_arm(board, "right", NOW_NS - S + number * S // 100, seq=number)
    found = scraped(board)
    topic = (("topic", "arm_state.right"),)
    assert round(found["farhand_topic_rate_hz", topic]) == 100
    assert found["farhand_topic_interval_p99_ms", topic] == 10
    assert found["farhand_topic_messages_count_total", topic] == 101
    assert found["farhand_topic_messages_lost_total", topic] == 0


def test_exits_and_taps() -> None:
    entry = ProgramExits(
        exits_60s=4, hang_kills=2, last_exit="unexpected", t_last_exit_ns=1, reason=None
    )
    found = scraped(running(), exits={"mapper": entry}, tap_subscriptions=3)
    assert found["farhand_program_exits_60s", (("program", "mapper"),)] == 4
    assert found["farhand_program_hang_kills_total", (("program", "mapper"),)] == 2
    assert found["farhand_tap_subscriptions", ()] == 3
