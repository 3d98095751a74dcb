"""services.arm.pacers.glitch: what is a glitch and what is a hand."""

from __future__ import annotations

import math

import pytest

from runtime.se3 import quat_from_rotvec
from services.arm.pacers.base import PacerSample
from services.arm.pacers.glitch import GlitchGate
from tests.unit.arm.pacers.samples import sample


def seated() -> GlitchGate:
    """A gate with a standing hand behind it."""
    gate = GlitchGate()
    for k in range(3):
        assert gate.accepts(sample(k, (0.0, 0.0, 0.0)))
    return gate


@pytest.mark.parametrize(("off_m", "good"), [(0.0257, True), (0.0259, False), (-0.08, False)])
def test_off_the_track_by_more_than_25_mm_and_a_little(off_m: float, good: bool) -> None:
    assert seated().accepts(sample(3, (0.0, off_m, 0.0))) is good


@pytest.mark.parametrize(("off_rad", "good"), [(0.307, True), (0.309, False)])
def test_turned_by_more_than_17_degrees_and_a_little(off_rad: float, good: bool) -> None:
    turned = quat_from_rotvec((0.0, off_rad, 0.0))
    assert seated().accepts(sample(3, (0.0, 0.0, 0.0), turned)) is good


def test_a_gap_widens_the_gate_and_suspicion_does_not() -> None:
    assert seated().accepts(sample(7, (0.0, 0.044, 0.0)))  # 100 ms: 25 mm + 20 mm
    gate = seated()
    assert not gate.accepts(sample(3, (0.0, 0.0, 0.5)))
    assert not gate.accepts(sample(7, (0.0, 0.044, 0.0)))


def test_a_jump_that_persists_becomes_the_track() -> None:
    gate = seated()
    verdicts = [gate.accepts(sample(3 + k, (0.1, 0.0, 0.0))) for k in range(6)]
    assert verdicts == [False, False, False, True, True, True]
    assert gate.rejected == 4


def test_glitches_apart_do_not_add_up() -> None:
    gate = seated()
    for k in range(3, 30):
        glitch = k % 5 == 3
        assert gate.accepts(sample(k, (0.1 if glitch else 0.0, 0.0, 0.0))) is not glitch


def test_a_fast_hand_is_no_glitch() -> None:
    """Reaches of 0.9 m with peaks of 3 m/s and 20 m/s^2, and turns of 8 rad/s, at 50 Hz."""
    gate = GlitchGate()
    for k in range(200):
        t_s = 0.02 * k
        x_m = 0.45 * math.cos(6.6 * t_s)
        turned = quat_from_rotvec((0.0, 0.0, 1.2 * math.cos(6.6 * t_s)))
        assert gate.accepts(sample(k, (x_m, 0.0, 0.0), turned))


def test_a_leaping_sender_clock_opens_no_gate() -> None:
    gate = seated()
    last = sample(3)
    leap = PacerSample(last.t_send_s + 3600.0, last.t_recv_ns, (0.5, 0.0, 0.0), last.q_xyzw)
    assert not gate.accepts(leap)


@pytest.mark.parametrize("dt_s", [0.0, -0.5])
def test_a_sender_clock_that_stands_or_goes_back_divides_by_nothing(dt_s: float) -> None:
    gate = seated()
    before = sample(2)
    again = PacerSample(before.t_send_s + dt_s, before.t_recv_ns, (0.001, 0.0, 0.0), before.q_xyzw)
    assert gate.accepts(again)
    gate.seat(None)
    assert gate.accepts(sample(9, (0.9, 0.0, 0.0)))
