"""A process that was stopped for seconds: what it missed is over, except for a stop."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.integration.live.motion import apart_m, command, moved_m, stood_still
from tests.integration.live.rig import FRAME_S, Rig

pytestmark = pytest.mark.integration

STALL_S = 3.0
BRAKING_M = 0.010


@contextmanager
def _stalled(rig: Rig, program: str) -> Iterator[None]:
    """SIGSTOP, and SIGCONT at the end."""
    pid = rig.stack.processes[program].pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_an_arm_that_slept_three_seconds_obeys_nothing_of_what_it_missed(duo: Rig) -> None:
    duo.calm()
    engaged = duo.engage()
    hand = duo.hands["right"]
    hand.glide(duo.now_s(), (0.1, 0.1, 0.0), 2.0)
    duo.until(lambda: apart_m(engaged, duo.state()) > 0.01, "moving")
    mark = duo.mark()
    with _stalled(duo, "arm-right"):
        duo.run(STALL_S)
    duo.until(lambda: duo.state().state != "ENGAGED", "it wakes")
    duo.run(0.65)
    states = duo.states("right", mark)
    stop = next(s for s in states if s.state == "PROTECTIVE_STOP")
    assert stop.reason == "tick_late"
    assert duo.is_in("PROTECTIVE_STOP")
    woken = [s for s in states if s.t_tick_ns >= stop.t_tick_ns]
    assert moved_m(woken) < BRAKING_M
    assert duo.engage().clutch_id not in (None, engaged.clutch_id)
    assert command(duo.state()) == command(woken[-1])


def test_a_stop_among_what_it_missed_still_latches(duo: Rig) -> None:
    duo.calm()
    duo.engage()
    hand, mark = duo.hands["right"], duo.mark()
    with _stalled(duo, "arm-right"):
        hand.estop = True
        duo.run(FRAME_S * 3)
        hand.estop = False
        duo.run(0.8)
    duo.until_state("ESTOP_LATCHED")
    assert stood_still(duo.states("right", mark))


@pytest.mark.parametrize("program", ["mapper", "ingest"])
def test_old_motion_behind_a_stalled_stage_moves_nothing(duo: Rig, program: str) -> None:
    """Shorter than what would stop the arm: it resumes, and what waited in a queue is no motion."""
    duo.calm()
    engaged = duo.engage()
    mark = duo.mark()
    with _stalled(duo, program):
        duo.hands["right"].glide(duo.now_s(), (0.06, 0.0, 0.0), 0.3)
        duo.run(0.5)
    duo.run(0.3)
    states = duo.states("right", mark)
    assert any(s.braking for s in states)
    assert {s.clutch_id for s in states} == {engaged.clutch_id}
    assert moved_m(states) < 0.75 * 0.06 / 2
