"""The tick bench: figures of known runs, every row once, nothing left running."""

import pytest

from tools import bench_tick
from tools.bench_tick import Measured, Samples, Spec, rows, summarise

MS = 1_000_000
FOUND = Measured(late_p50_us=1.0, late_p99_us=2.0, missed=3, drift_ms_per_min=4.0, cpu_pct=5.0)


def on_grid(count: int, skipped: tuple[int, ...] = ()) -> Samples:
    """A perfect 100 Hz run that is 40 us late each time and skips some deadlines."""
    samples = Samples()
    for k in range(count):
        if k not in skipped:
            samples.add(k * 10 * MS + 40_000, k, 40_000)
    return samples


def test_a_perfect_run_has_no_drift_and_misses_nothing() -> None:
    assert summarise(on_grid(200), 100.0, 0.8) == Measured(
        late_p50_us=40.0, late_p99_us=40.0, missed=0, drift_ms_per_min=0.0, cpu_pct=0.8
    )


def test_skipped_deadlines_are_missed_but_no_drift() -> None:
    found = summarise(on_grid(200, skipped=(50, 51, 120)), 100.0, 0.8)
    assert (found["missed"], found["drift_ms_per_min"]) == (3, 0.0)


def test_a_loop_that_counts_from_its_last_tick_drifts_and_misses() -> None:
    samples = Samples()
    for k in range(1000):
        samples.add(round(k * 10.1 * MS), k, 100_000)
    found = summarise(samples, 100.0, 13.0)
    assert found["drift_ms_per_min"] == pytest.approx(594.06, abs=0.01)
    assert found["missed"] == 10


def test_the_first_ticks_do_not_count() -> None:
    samples = on_grid(200)
    samples.late_ns[:10] = [10**9] * 10
    assert summarise(samples, 100.0, 0.8)["late_p99_us"] == 40.0


def test_too_short_a_run_is_refused() -> None:
    with pytest.raises(ValueError, match="only 11 ticks"):
        summarise(on_grid(11), 100.0, 0.8)


@pytest.mark.parametrize(("full", "seconds"), [(False, 18.0), (True, 60.0)])
def test_every_method_rate_and_load_has_one_row(
    monkeypatch: pytest.MonkeyPatch, full: bool, seconds: float
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 0)
    specs: list[Spec] = []

    def measure_one(spec: Spec) -> Measured:
        specs.append(spec)
        return FOUND

    found = rows(full, measure_one)
    assert [(row["method"], row["hz"], row["load"]) for row in found] == [
        ("ours", 30.0, "idle"),
        ("legacy_poll", 30.0, "idle"),
        ("ours", 100.0, "idle"),
        ("legacy_poll", 100.0, "idle"),
        ("ours", 30.0, "busy"),
        ("legacy_poll", 30.0, "busy"),
        ("ours", 100.0, "busy"),
        ("legacy_poll", 100.0, "busy"),
    ]
    assert {spec["seconds"] for spec in specs} == {seconds}
    assert bench_tick.closing(full) == {"seconds_per_row": seconds}


def test_a_row_has_exactly_its_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 0)
    assert list(rows(False, lambda spec: FOUND)[0]) == [
        "method",
        "hz",
        "load",
        "late_p50_us",
        "late_p99_us",
        "missed",
        "drift_ms_per_min",
        "cpu_pct",
    ]


def test_the_default_run_takes_under_three_minutes() -> None:
    count = len(bench_tick.METHODS) * len(bench_tick.RATES_HZ) * len(bench_tick.LOADS)
    assert count * bench_tick.SECONDS_PER_ROW <= 150


def test_the_load_ends_with_its_parent() -> None:
    parents = iter([5, 5, 5, 1])
    assert bench_tick.burn(lambda: next(parents)) == 2
