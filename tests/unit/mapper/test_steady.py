"""Fit to be engaged: tracked for half a second and slow throughout, whatever the clocks do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from runtime.se3 import Vec3
from services.mapper.steady import (
    CLOCK_SLACK_S,
    MAX_GAP_NS,
    MAX_SPEED_MPS,
    SPEED_SPAN_S,
    STEADY_S,
    Steadiness,
    Verdict,
)
from tests.unit.mapper.views import MS, Hand

STEP_MS = 20


def stream(
    count: int,
    *,
    step_ms: float = STEP_MS,
    start_ms: float = 0.0,
    at: Callable[[float], Vec3] = lambda _: (0.0, 0.0, 0.0),
) -> list[Hand]:
    """Samples on a perfect link; `at` gives the position by seconds since the first one."""
    return [
        Hand(
            t_recv_ns=round((start_ms + i * step_ms) * MS),
            t_send_s=100.0 + (start_ms + i * step_ms) * 1e-3,
            p_vr_hand_m=at(i * step_ms * 1e-3),
        )
        for i in range(count)
    ]


def verdicts(samples: list[Hand]) -> list[Verdict]:
    steadiness = Steadiness()
    return [steadiness.observe(sample) for sample in samples]


def walk(speed_mps: float) -> Callable[[float], Vec3]:
    return lambda t_s: (0.0, speed_mps * t_s, 0.0)


def test_the_figures_of_the_rule() -> None:
    assert (STEADY_S, MAX_SPEED_MPS, MAX_GAP_NS) == (0.5, 0.3, 100 * MS)
    assert (SPEED_SPAN_S, CLOCK_SLACK_S) == (0.04, 0.05)


@pytest.mark.parametrize("step_ms", [1.0, 11.1, 13.9, 20.0, 50.0, 100.0])
def test_steady_after_half_a_second_of_tracking(step_ms: float) -> None:
    samples = stream(round(700 / step_ms), step_ms=step_ms)
    for sample, verdict in zip(samples, verdicts(samples), strict=True):
        fit = sample.t_recv_ns * 1e-9 >= STEADY_S - 1e-6
        assert verdict == ("steady" if fit else "settling")


@pytest.mark.parametrize(
    ("speed_mps", "last"),
    [
        (0.0, "steady"),
        (0.99 * MAX_SPEED_MPS, "steady"),
        (1.01 * MAX_SPEED_MPS, "moving"),
        (2.0, "moving"),
    ],
)
@pytest.mark.parametrize("step_ms", [1.0, 13.9, 20.0, 90.0])
def test_speed_limit(speed_mps: float, last: Verdict, step_ms: float) -> None:
    samples = stream(round(1200 / step_ms), step_ms=step_ms, at=walk(speed_mps))
    assert verdicts(samples)[-1] == last


def test_slow_throughout_means_from_the_last_fast_moment() -> None:
    # Fast for 0.3 s, then still: fit half a second after the last fast verdict.
    samples = stream(60, at=lambda t_s: (min(t_s, 0.3), 0.0, 0.0))
    seen = verdicts(samples)
    last_fast = max(i for i, verdict in enumerate(seen) if verdict == "moving")
    assert 15 <= last_fast <= 17  # the 40 ms span may still see the end of the motion
    first_steady = seen.index("steady")
    elapsed_ns = samples[first_steady].t_recv_ns - samples[last_fast].t_recv_ns
    assert elapsed_ns == 500 * MS


@pytest.mark.parametrize("step_ms", [1.0, 5.0, 11.1, 20.0])
def test_a_millimetre_of_tracking_noise_is_no_motion(step_ms: float) -> None:
    noise_m = np.random.RandomState(1).normal(0.0, 1e-3, (1000, 3)).tolist()
    samples = [
        replace(sample, p_vr_hand_m=(x, y, z))
        for sample, (x, y, z) in zip(
            stream(round(1000 / step_ms), step_ms=step_ms), noise_m, strict=False
        )
    ]
    assert "moving" not in verdicts(samples)


def test_one_sample_beside_the_track_is_motion() -> None:
    samples = stream(40)
    samples[20] = replace(samples[20], p_vr_hand_m=(0.02, 0.0, 0.0))
    seen = verdicts(samples)
    assert seen[20] == "moving"
    assert "steady" not in seen


def untracked(sample: Hand) -> Hand:
    return replace(sample, tracking_valid=False)


def bare_stop(sample: Hand) -> Hand:
    return replace(sample, tracking_valid=False, estop=True, p_vr_hand_m=None, t_send_s=None)


def jumped(sample: Hand) -> Hand:
    return replace(sample, jump=True)


@pytest.mark.parametrize(
    ("spoil", "verdict"),
    [(untracked, "untracked"), (bare_stop, "untracked"), (jumped, "settling")],
)
def test_what_starts_the_half_second_anew(spoil: Callable[[Hand], Hand], verdict: Verdict) -> None:
    samples = stream(60)
    samples[24] = spoil(samples[24])
    seen = verdicts(samples)
    assert seen[24] == verdict
    fit_from = 49 if verdict == "settling" else 50  # a jump's own sample starts the time
    assert seen.index("steady") == fit_from


def test_a_new_session_starts_the_half_second_anew() -> None:
    samples = stream(25)
    samples += [replace(s, session=8) for s in stream(30, start_ms=25 * STEP_MS)]
    assert verdicts(samples).index("steady") == 50


@pytest.mark.parametrize(("gap_ms", "first_steady"), [(100, 21), (101, 35)])
def test_a_hole_in_the_stream_is_not_throughout(gap_ms: int, first_steady: int) -> None:
    samples = stream(10)
    samples += stream(50, start_ms=9 * STEP_MS + gap_ms)
    assert verdicts(samples).index("steady") == first_steady


def test_forgetting_starts_anew() -> None:
    steadiness = Steadiness()
    seen: list[Verdict] = []
    for i, sample in enumerate(stream(60)):
        if i == 30:
            steadiness.forget()
        seen.append(steadiness.observe(sample))
    assert seen[29] == "steady"
    assert seen[30] == "settling"
    assert seen.index("steady", 30) == 55


# --- clocks ---------------------------------------------------------------------------------------


def jitter(samples: list[Hand], jitter_ms: float) -> Iterator[Hand]:
    rng = np.random.RandomState(2)
    last_ns = 0
    for sample in samples:
        last_ns = max(last_ns, sample.t_recv_ns + round(rng.uniform(0, jitter_ms) * MS))
        yield replace(sample, t_recv_ns=last_ns)


def test_jitter_of_the_link_is_no_motion() -> None:
    """Samples that arrive together are still 20 ms apart by the sender's clock."""
    slow = list(jitter(stream(200, at=walk(0.29)), 70.0))
    assert "moving" not in verdicts(slow)
    assert verdicts(slow)[-1] == "steady"
    assert "moving" in verdicts([replace(sample, t_send_s=None) for sample in slow])


def test_a_stamp_missing_now_and_then_is_no_harm() -> None:
    samples = stream(40, at=walk(0.2))
    samples[7] = replace(samples[7], t_send_s=None)
    assert verdicts(samples).index("steady") == 25


def test_without_a_send_stamp_our_own_clock_counts() -> None:
    def bare(speed_mps: float) -> list[Hand]:
        return [replace(s, t_send_s=None) for s in stream(60, at=walk(speed_mps))]

    assert verdicts(bare(0.2))[-1] == "steady"
    assert verdicts(bare(0.4))[-1] == "moving"


def test_a_leaping_sender_clock_opens_no_gate() -> None:
    """A hand at 1.5 m/s whose sender claims an hour between two samples is still fast."""
    samples = [replace(s, t_send_s=3600.0 * i) for i, s in enumerate(stream(60, at=walk(1.5)))]
    assert "steady" not in verdicts(samples)


@pytest.mark.parametrize("rate", [0.0, 1e-6])
def test_a_standing_sender_clock_opens_no_gate(rate: float) -> None:
    samples = [
        replace(s, t_send_s=100.0 + rate * i) for i, s in enumerate(stream(2000, at=walk(2.0)))
    ]
    assert "steady" not in verdicts(samples)


@pytest.mark.parametrize(
    ("sender_step_s", "samples_needed"),
    [(0.06, 25), (0.02, 25), (0.01, 50), (0.005, 100)],
)
def test_half_a_second_must_pass_on_both_clocks(sender_step_s: float, samples_needed: int) -> None:
    samples = [
        replace(s, t_send_s=100.0 + sender_step_s * i)
        for i, s in enumerate(stream(200, start_ms=900.0))
    ]
    samples[30] = replace(samples[30], jump=True)
    assert verdicts(samples).index("steady", 30) == 30 + samples_needed


def test_a_clock_that_leaps_once_while_at_rest_changes_nothing() -> None:
    samples = [
        replace(s, t_send_s=(s.t_send_s or 0.0) + (3600.0 if i > 10 else 0.0))
        for i, s in enumerate(stream(40))
    ]
    assert verdicts(samples).index("steady") == 25


def test_receive_stamps_in_disorder_do_no_harm() -> None:
    samples = stream(60)
    samples[30] = replace(samples[30], t_recv_ns=samples[28].t_recv_ns)
    assert verdicts(samples)[-1] == "steady"
