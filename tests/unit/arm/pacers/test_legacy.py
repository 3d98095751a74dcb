"""services.arm.pacers.legacy: each part of the published scheme, alone and off."""

from __future__ import annotations

import pytest

from runtime.se3 import Quat, quat_angle_rad, quat_from_rotvec
from services.arm.pacers.base import PacerOptions, PacerOutput
from services.arm.pacers.legacy import LegacyPacer
from tests.unit.arm.pacers.samples import MS, T0_NS, sample

PLAIN = PacerOptions(
    queue_maxsize=5, legacy_buffer=5, legacy_slice_s=0.02, legacy_deadband_m=0.0, legacy_mean=1
)


def at(pacer: LegacyPacer, t_ms: int) -> PacerOutput | None:
    return pacer.tick(T0_NS + t_ms * MS)


def x_mm(out: PacerOutput | None) -> float:
    assert out is not None
    return round(1000.0 * out.p_m[0], 6)


def test_nothing_until_the_buffer_is_full_then_one_sample_a_slice() -> None:
    pacer = LegacyPacer(PLAIN)
    shown = []
    for t_ms in range(0, 200, 10):
        if t_ms % 20 == 0:
            pacer.push(sample(t_ms // 20))
        out = at(pacer, t_ms)
        shown.append(None if out is None else x_mm(out))
    assert shown == [None] * 8 + [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


def test_the_waiting_samples_are_the_playout_delay() -> None:
    pacer = LegacyPacer(PLAIN)
    for k in range(5):
        pacer.push(sample(k))
    out = at(pacer, 0)
    assert out is not None
    assert out.playout_delay_ms == pytest.approx(80.0)


@pytest.mark.parametrize(("tick_ms", "shown"), [(33, [0, 1, 3]), (20, [0, 1, 2]), (7, [0, 0, 0])])
def test_slices_pass_by_their_own_time_whatever_the_tick(tick_ms: int, shown: list[int]) -> None:
    pacer = LegacyPacer(PLAIN)
    for k in range(5):
        pacer.push(sample(k))
    assert [x_mm(at(pacer, k * tick_ms)) for k in range(3)] == shown


def test_a_starved_queue_shows_the_next_sample_at_once_and_then_slice_by_slice() -> None:
    pacer = LegacyPacer(PLAIN)
    for k in range(5):
        pacer.push(sample(k))
    assert [x_mm(at(pacer, t)) for t in range(0, 180, 20)] == [0, 1, 2, 3, 4, 4, 4, 4, 4]
    for k in range(5, 8):  # a burst after the stall: no leap, the backlog stays as delay
        pacer.push(sample(k))
    assert [x_mm(at(pacer, t)) for t in range(180, 260, 20)] == [5, 6, 7, 7]


def test_the_queue_is_bounded_and_drops_the_oldest() -> None:
    pacer = LegacyPacer(PLAIN)
    for k in range(12):
        pacer.push(sample(k))
    assert x_mm(at(pacer, 0)) == 7


def test_a_small_queue_bounds_the_buffer_too() -> None:
    pacer = LegacyPacer(PacerOptions(queue_maxsize=2, legacy_buffer=5, legacy_deadband_m=0.0))
    pacer.push(sample(0))
    assert at(pacer, 0) is None
    pacer.push(sample(1))
    assert x_mm(at(pacer, 20)) == 0


def test_the_mean_slides_over_the_last_samples() -> None:
    pacer = LegacyPacer(PacerOptions(queue_maxsize=5, legacy_deadband_m=0.0, legacy_mean=3))
    for k in range(5):
        pacer.push(sample(k))
    assert [x_mm(at(pacer, 20 * k)) for k in range(5)] == [0.0, 0.5, 1.0, 2.0, 3.0]


def test_the_deadband_holds_each_axis_by_itself() -> None:
    pacer = LegacyPacer(PacerOptions(queue_maxsize=3, legacy_buffer=3, legacy_mean=1))
    pacer.push(sample(0, (0.0, 0.0, 0.0)))
    pacer.push(sample(1, (0.0049, 0.0051, -0.0049)))
    pacer.push(sample(2, (0.0051, 0.006, -0.0051)))
    shown = []
    for k in range(3):
        out = at(pacer, 20 * k)
        assert out is not None
        shown.append(out.p_m)
    assert shown == [(0.0, 0.0, 0.0), (0.0, 0.0051, 0.0), (0.0051, 0.0051, -0.0051)]


def _turn(angle_rad: float) -> Quat:
    return quat_from_rotvec((0.0, 0.0, angle_rad))


def test_rotations_are_averaged_whatever_their_sign() -> None:
    x, y, z, w = _turn(0.2)
    pacer = LegacyPacer(PacerOptions(queue_maxsize=2, legacy_buffer=2, legacy_mean=2))
    pacer.push(sample(0, q_xyzw=(-x, -y, -z, -w)))
    pacer.push(sample(1, q_xyzw=_turn(0.4)))
    at(pacer, 0)
    out = at(pacer, 20)
    assert out is not None
    assert quat_angle_rad(out.q_xyzw, _turn(0.3)) < 1e-9


def test_the_buffer_fills_anew_after_a_reseat() -> None:
    pacer = LegacyPacer(PLAIN)
    pacer.reseat(sample(0, (0.1, 0.0, 0.0)))
    for k in range(5):
        assert x_mm(at(pacer, 20 * k)) == 100
        pacer.push(sample(k, (0.2, 0.0, 0.0)))
    assert x_mm(at(pacer, 100)) == 200
