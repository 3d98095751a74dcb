"""The remote stop: from anyone, in any state, whatever else is broken; and the one way out."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proto.messages import HandPose
from proto.reasons import SIDES, Side, State
from runtime.config import REPO_ROOT
from tests.integration.live.hand import ESTOP, TRACKED, packet
from tests.integration.live.motion import apart_m, command, moved_m, stood_still
from tests.integration.live.rig import FRAME_S, Mark, Rig

pytestmark = pytest.mark.integration

# 1 m/s at 5 m/s² are 100 mm; these tests move at a tenth of that.
BRAKING_M = 0.010
CLEAR_S = 1.0
NAN = float("nan")


def _calm_both(rig: Rig) -> None:
    """Both arms in HOLD, hands streaming."""
    for side in SIDES:
        rig.calm(side)
        rig.hands[side].answers.clear()


def _latched(rig: Rig) -> bool:
    return all(rig.is_in("ESTOP_LATCHED", side) for side in SIDES)


def _until_latched(rig: Rig) -> None:
    rig.until(lambda: _latched(rig), "both arms latched", within_s=5.0)


# --- who may press it --------------------------------------------------------------------------


def _from_right(rig: Rig) -> None:
    _press_and_release(rig, "right")


def _from_left(rig: Rig) -> None:
    _press_and_release(rig, "left")


def _press_and_release(rig: Rig, side: Side) -> None:
    rig.hands[side].estop = True
    rig.run(FRAME_S * 3)
    rig.hands[side].estop = False


def _in_bad_packets(rig: Rig) -> None:
    """Each of them is passed on, as a stop without a pose."""
    mark = rig.mark()
    hand = rig.hands["right"]
    stranger = rig.another_hand("right", "127.0.0.9")
    hand.send(packet(rig.now_s(), (NAN,) * 3, (NAN,) * 4, NAN, ESTOP | TRACKED))
    hand.send(packet(rig.now_s() - 0.5, flags=ESTOP | TRACKED))  # old
    stranger.send(packet(5.0, flags=ESTOP))  # no owner, and untracked
    rig.until(lambda: len(_stops(rig, mark)) == 3, "all three")
    rig.drop_hand(stranger)
    for stop in _stops(rig, mark):
        assert (stop.p_vr_hand_m, stop.q_vr_hand_xyzw, stop.tracking_valid) == (None, None, False)


def _stops(rig: Rig, mark: Mark) -> list[HandPose]:
    return [pose for pose in rig.poses("right", mark) if pose.t_send_s is None]


def _from_tools_arm(rig: Rig) -> None:
    tool = subprocess.Popen(
        [sys.executable, "-m", "tools.arm", "estop"],
        cwd=REPO_ROOT,
        env=rig.stack.env,
        stdout=subprocess.PIPE,
        text=True,
    )
    with tool:
        rig.until(lambda: tool.poll() is not None, "tools.arm ends")
        out, _ = tool.communicate()
    assert tool.returncode == 0, out
    assert "right: estop: ok" in out and "left: estop: ok" in out


@pytest.mark.parametrize(
    "press",
    [_from_right, _from_left, _in_bad_packets, _from_tools_arm],
)
def test_both_arms_latch_whoever_presses_and_however(
    duo: Rig, press: Callable[[Rig], None]
) -> None:
    _calm_both(duo)
    mark = duo.mark()
    press(duo)
    _until_latched(duo)
    for side in SIDES:
        assert duo.state(side).reason == "estop"
        assert stood_still(duo.states(side, mark))
        _told(duo, side)


def _told(rig: Rig, side: Side) -> None:
    """The headset learns of it."""
    hand = rig.hands[side]
    rig.until(lambda: any(a.state == "ESTOP_LATCHED" for a in hand.answers), "the headset knows")
    told = hand.answers[-1]
    assert (told.reason, told.side, told.engaged) == ("estop", side, False)


def test_pressed_in_motion_both_arms_brake_and_then_stand_while_hands_move(duo: Rig) -> None:
    _calm_both(duo)
    engaged = {side: duo.engage(side) for side in SIDES}
    for side in SIDES:
        duo.hands[side].glide(duo.now_s(), (0.0, 0.3, 0.0), 3.0)
    duo.until(lambda: all(apart_m(engaged[s], duo.state(s)) > 0.01 for s in SIDES), "moving")
    mark = duo.mark()
    _press_and_release(duo, "left")
    _until_latched(duo)
    stopped = {side: duo.until_still(side) for side in SIDES}
    for side in SIDES:
        latched = [s for s in duo.states(side, mark) if s.state == "ESTOP_LATCHED"]
        assert moved_m(latched) < BRAKING_M
    mark = duo.mark()
    duo.run(2.0)
    for side in SIDES:
        assert any(pose.tracking_valid for pose in duo.poses(side, mark))
        states = duo.states(side, mark)
        assert {s.state for s in states} == {"ESTOP_LATCHED"}
        assert stood_still([stopped[side], *states])


# --- the way out -------------------------------------------------------------------------------


def test_reset_is_refused_while_pressed_and_for_a_second_after(duo: Rig) -> None:
    _calm_both(duo)
    hand = duo.hands["left"]
    hand.estop = True
    _until_latched(duo)
    refusal = "refused: estop still pressed (wait 1 s after its release)"
    assert duo.order("right", "reset") == refusal
    hand.estop = False
    duo.run(0.4)
    assert duo.order("right", "reset") == refusal
    assert _latched(duo)
    hand.sending = False  # silence counts as released
    duo.run(CLEAR_S)
    assert duo.order("right", "reset") == "ok"
    assert duo.is_in("HOLD", "right") and duo.is_in("ESTOP_LATCHED", "left")


def test_after_a_reset_nothing_moves_before_an_engage_in_any_mode(duo: Rig) -> None:
    _calm_both(duo)
    engaged = duo.engage("right")
    _press_and_release(duo, "right")
    _until_latched(duo)
    duo.run(CLEAR_S + 0.4)
    mark = duo.mark()
    for side in SIDES:
        assert duo.order(side, "reset") == "ok"
    duo.run(0.7)
    duo.hands["right"].glide(duo.now_s(), (0.0, 0.03, 0.0), 0.3)
    duo.run(0.5)
    for side in SIDES:
        states = duo.states(side, mark)
        assert states[-1].state == "HOLD"
        assert stood_still(states)
        assert {s.clutch_offer for s in states} == {None}
    again = duo.engage("right")
    assert again.clutch_id not in (None, engaged.clutch_id)
    assert command(again) == command(duo.states("right", mark)[0])


# --- from every state --------------------------------------------------------------------------


def _to_disarmed(rig: Rig, faults_file: Path) -> None:
    assert rig.order("left", "disarm") == "ok"


def _to_fault(rig: Rig, faults_file: Path) -> None:
    set_faults(faults_file, '{"faults": ["joint 3 hot"]}')
    rig.until_state("FAULT", "left")


def _to_protective_stop(rig: Rig, faults_file: Path) -> None:
    rig.engage("left")
    rig.hands["left"].sending = False
    rig.until_state("PROTECTIVE_STOP", "left")


def set_faults(path: Path, text: str) -> None:
    """Replaces the file in one step, as the simulator asks for."""
    neighbour = path.with_suffix(".new")
    neighbour.write_text(text, encoding="utf-8")
    neighbour.replace(path)


@pytest.mark.parametrize(
    ("bring", "before", "after"),
    [
        (_to_disarmed, "DISARMED", "DISARMED"),
        (_to_protective_stop, "PROTECTIVE_STOP", "HOLD"),
        (_to_fault, "FAULT", "FAULT"),
    ],
)
def test_it_latches_in_every_state_and_a_reset_leads_back(
    duo: Rig,
    faults_file: Path,
    bring: Callable[[Rig, Path], None],
    before: State,
    after: State,
) -> None:
    _calm_both(duo)
    bring(duo, faults_file)
    assert duo.is_in(before, "left")
    assert duo.order("left", "estop") == "ok"
    assert duo.is_in("ESTOP_LATCHED", "left")
    answer = duo.order("left", "reset")
    faults_file.unlink(missing_ok=True)
    assert answer == "ok"
    assert duo.is_in(after, "left")
    mark = duo.mark()
    duo.run(0.3)
    assert {s.state for s in duo.states("left", mark)} == {after}


# --- with a dead or stuck mapper ----------------------------------------------------------------


@contextlib.contextmanager
def _stuck(rig: Rig) -> Iterator[None]:
    pid = rig.stack.processes["mapper"].pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def _dead(rig: Rig) -> Iterator[None]:
    rig.kill("mapper")
    try:
        yield
    finally:
        rig.start("mapper")


@pytest.mark.parametrize("broken", [_stuck, _dead])
def test_it_acts_while_the_mapper_does_not(
    duo: Rig, broken: Callable[[Rig], contextlib.AbstractContextManager[None]]
) -> None:
    _calm_both(duo)
    duo.engage("right")
    with broken(duo):
        _press_and_release(duo, "right")
        _until_latched(duo)


def test_what_was_ordered_before_a_stop_does_not_undo_it(duo: Rig) -> None:
    _calm_both(duo)
    for _ in range(3):
        duo.post("right", "reset")
        duo.post("right", "engage")
        duo.post("right", "estop")
        duo.until_state("ESTOP_LATCHED")
        mark = duo.mark()
        duo.run(1.2)
        assert {state.state for state in duo.states("right", mark)} == {"ESTOP_LATCHED"}
        assert duo.order("right", "reset") == "ok"


def test_a_killed_arm_comes_back_with_its_stop_latched(duo: Rig) -> None:
    _calm_both(duo)
    assert duo.order("right", "estop") == "ok"
    duo.run(0.3)
    duo.kill("arm-right")
    mark = duo.mark()
    duo.start("arm-right")
    duo.until_state("ESTOP_LATCHED")
    duo.run(1.2)
    assert {state.state for state in duo.states("right", mark)} == {"ESTOP_LATCHED"}
    assert duo.order("right", "reset") == "ok"
    duo.until_state("HOLD")
    mark = duo.mark()
    duo.run(1.0)
    assert stood_still(duo.states("right", mark))
