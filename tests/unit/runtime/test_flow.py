"""Rates, ages and percentiles of a stream, on made-up instants."""

from __future__ import annotations

import pytest

from runtime.flow import MAX_SAMPLES, WINDOW_NS, Flow, percentile

MS = 1_000_000
S = 1_000_000_000


def stream(period_ms: float, count: int, start_ns: int = 7 * S) -> tuple[Flow, int]:
    """A flow of `count` even messages and the instant of the last."""
    flow = Flow()
    for number in range(count):
        t_ns = start_ns + round(number * period_ms * MS)
        flow.add(t_ns, boot=1, seq=number + 1, latency_ms=float(number))
    return flow, t_ns


@pytest.mark.parametrize(
    ("percent", "expected"), [(0, 1.0), (50, 5.0), (51, 6.0), (90, 9.0), (99, 10.0), (100, 10.0)]
)
def test_nearest_rank(percent: float, expected: float) -> None:
    assert percentile([float(n) for n in range(1, 11)], percent) == expected


def test_no_values_have_no_percentile() -> None:
    assert percentile([], 50) is None


@pytest.mark.parametrize(
    ("period_ms", "count"), [(20.0, 50), (20.0, 600), (10.0, 900), (1000.0, 9)]
)
def test_a_steady_stream_has_its_rate_from_the_start_and_later(
    period_ms: float, count: int
) -> None:
    flow, last_ns = stream(period_ms, count)
    figures = flow.figures(last_ns)
    assert figures.rate_hz == pytest.approx(1000 / period_ms, rel=0.01)
    assert figures.interval_p99_ms == pytest.approx(period_ms)
    assert (figures.count, figures.lost, figures.age_ms) == (count, 0, 0.0)


def test_a_fast_stream_is_bounded_and_still_right() -> None:
    flow, last_ns = stream(1.0, 5 * MAX_SAMPLES)
    assert flow.figures(last_ns).rate_hz == pytest.approx(1000, rel=0.01)


def test_a_stream_that_stops_fades_and_ages() -> None:
    flow, last_ns = stream(20.0, 500)
    assert flow.figures(last_ns + WINDOW_NS // 2).rate_hz == pytest.approx(25, rel=0.02)
    figures = flow.figures(last_ns + WINDOW_NS)
    assert (figures.rate_hz, figures.age_ms) == (0.0, 5000.0)
    assert figures.interval_p99_ms is None
    assert figures.latency_p50_ms is None


def test_one_message_is_no_rate() -> None:
    flow, last_ns = stream(20.0, 1)
    assert flow.figures(last_ns).rate_hz == 0.0


def test_an_empty_flow_has_no_figures() -> None:
    assert Flow().figures(9 * S).count == 0


def test_latency_percentiles_are_of_the_window() -> None:
    flow, last_ns = stream(100.0, 101)
    figures = flow.figures(last_ns)
    assert (figures.latency_p50_ms, figures.latency_p99_ms) == (75.0, 100.0)


def test_missing_numbers_are_lost_and_a_restart_is_not() -> None:
    flow = Flow()
    for boot, seq in ((1, 1), (1, 4), (1, 3), (2, 900), (2, 901)):
        flow.add(S, boot, seq)
    assert flow.lost == 2


def test_a_restart_is_no_interval() -> None:
    flow = Flow()
    flow.add(S, 1, 1)
    flow.add(3 * S, 2, 1)
    flow.add(3 * S + 20 * MS, 2, 2)
    assert flow.figures(3 * S + 20 * MS).interval_p99_ms == 20.0
