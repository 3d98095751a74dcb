"""Motion time and frame deadlines of the simulated operator."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.phase import EASE_IN_S, MAX_STEP_S, FrameClock, PhaseClock


def test_standing_never_moves() -> None:
    clock = PhaseClock()
    assert [clock.advance(0.02, False) for _ in range(100)] == [0.0] * 100


def test_eases_in_over_one_second_then_runs_in_real_time() -> None:
    clock = PhaseClock()
    for _ in range(100):
        clock.advance(0.01, True)
    assert clock.rate == pytest.approx(1.0)
    assert clock.phase_s == pytest.approx(EASE_IN_S / 2)  # the smoothstep's mean is a half
    for _ in range(100):
        clock.advance(0.01, True)
    assert clock.phase_s == pytest.approx(EASE_IN_S / 2 + 1.0)


@pytest.mark.parametrize("step_s", [0.001, 0.011, 0.02, 0.1])
def test_the_phase_does_not_depend_on_the_frame_rate(step_s: float) -> None:
    clock = PhaseClock()
    for _ in range(round(2.2 / step_s)):
        clock.advance(step_s, True)
    assert clock.phase_s == pytest.approx(EASE_IN_S / 2 + 1.2, abs=step_s)


def test_a_long_pause_is_not_made_up_for() -> None:
    clock = PhaseClock()
    for _ in range(200):
        clock.advance(0.01, True)
    before_s = clock.phase_s
    assert clock.advance(3.0, True) == pytest.approx(before_s + MAX_STEP_S)
    assert clock.advance(-5.0, True) == pytest.approx(before_s + MAX_STEP_S)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(0.0, 0.1), st.booleans()), max_size=60))
def test_the_rate_is_smooth_and_time_never_runs_back(steps: list[tuple[float, bool]]) -> None:
    clock = PhaseClock()
    for dt_s, run in steps:
        phase_s, rate = clock.phase_s, clock.rate
        clock.advance(dt_s, run)
        assert 0.0 <= clock.rate <= 1.0
        # 1.5 / 0.3 s is the steepest slope of the faster ramp.
        assert abs(clock.rate - rate) <= 5.0 * dt_s + 1e-9
        low, high = sorted((rate, clock.rate))
        assert low * dt_s - 1e-9 <= clock.phase_s - phase_s <= high * dt_s + 1e-9


def test_frames_are_absolute_and_even() -> None:
    frames = FrameClock(10.0, 50.0)
    got = [frames.due(10.0 + 0.001 * k) for k in range(1000)]
    times = [at_s for at_s in got if at_s is not None]
    assert times == pytest.approx([10.0 + k / 50.0 for k in range(50)])
    assert frames.skipped == 0


def test_late_frames_are_dropped_and_counted_not_sent_in_a_burst() -> None:
    frames = FrameClock(0.0, 100.0)
    assert frames.due(0.0) == 0.0
    assert frames.due(0.0549) == pytest.approx(0.05)
    assert frames.skipped == 4
    assert frames.due(0.0549) is None
    assert frames.due(0.0601) == pytest.approx(0.06)


def test_recorded_intervals_keep_their_shape_at_any_rate() -> None:
    frames = FrameClock(0.0, 100.0, (0.01, 0.02, 0.03))  # 50 Hz on average
    times = [at_s for k in range(4000) if (at_s := frames.due(k * 1e-4)) is not None]
    steps = [b - a for a, b in pairwise(times)]
    assert steps[:6] == pytest.approx([0.005, 0.01, 0.015] * 2)


def test_frame_times_do_not_drift_over_many_rounds() -> None:
    frames = FrameClock(0.0, 72.0)
    last = [frames.due(k / 72.0 + 1e-6) for k in range(200_000)][-1]
    assert last == pytest.approx(199_999 / 72.0, abs=1e-6)
