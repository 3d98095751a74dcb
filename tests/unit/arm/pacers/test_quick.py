"""services.arm.pacers.quick: newest wins, the queue is bounded, glitches are dropped."""

from __future__ import annotations

from services.arm.pacers.base import PacerOptions
from services.arm.pacers.quick import QuickPacer
from tests.unit.arm.pacers.samples import T0_NS, sample


def given(pacer: QuickPacer) -> float:
    out = pacer.tick(T0_NS)
    assert out is not None
    assert (out.predicting, out.playout_delay_ms) == (False, 0.0)
    return out.p_m[0]


def test_the_newest_sample_wins_and_stays() -> None:
    pacer = QuickPacer(PacerOptions(queue_maxsize=3))
    for k in range(3):
        pacer.push(sample(k))
    assert given(pacer) == 0.002
    assert given(pacer) == 0.002
    pacer.push(sample(3))
    assert given(pacer) == 0.003


def test_the_oldest_is_dropped_from_a_full_queue() -> None:
    """The first ones would be the track; dropped, the last ones are no glitch."""
    pacer = QuickPacer(PacerOptions(queue_maxsize=1))
    pacer.push(sample(0))
    pacer.push(sample(1, (0.5, 0.0, 0.0)))
    assert given(pacer) == 0.5
    assert pacer.glitches_rejected == 0


def test_a_glitch_is_dropped_and_counted() -> None:
    pacer = QuickPacer(PacerOptions())
    for k in range(6):
        pacer.push(sample(k, (0.08, 0.0, 0.0) if k in (3, 4) else None))
        assert given(pacer) == (0.002 if k in (3, 4) else 0.001 * k)
    assert pacer.glitches_rejected == 2
    pacer.reset()
    assert pacer.glitches_rejected == 2


def test_a_sample_after_a_reseat_is_judged_from_there() -> None:
    pacer = QuickPacer(PacerOptions())
    pacer.push(sample(0))
    given(pacer)
    pacer.reseat(sample(1, (0.5, 0.0, 0.0)))
    pacer.push(sample(2, (0.501, 0.0, 0.0)))
    assert given(pacer) == 0.501
