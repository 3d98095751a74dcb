"""Every process killed in mid-motion: the others go on, the arm holds, a new clutch drives it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from proto.messages import ArmState
from proto.reasons import SIDES
from runtime.errors import EXIT_DEVICE, EXIT_OK
from tests.integration.live.motion import apart_m, command, moved_m, stood_still
from tests.integration.live.rig import PATIENCE_S, Rig

pytestmark = pytest.mark.integration

# The operator's hand makes 0.1 m/s, its arm 75 mm/s: 8 mm in the 100 ms until the arm brakes, and
# a good deal more on a machine that stalls meanwhile.
COASTING_M = 0.040


def _until_driven(rig: Rig) -> dict[str, ArmState]:
    """Both arms engaged and moving; the newest states."""
    for side in SIDES:
        rig.until_state("ENGAGED", side)
    at = {side: rig.state(side) for side in SIDES}
    rig.until(lambda: all(apart_m(at[s], rig.state(s)) > 0.0005 for s in SIDES), "arms move")
    return {side: rig.state(side) for side in SIDES}


def _others_run(rig: Rig, program: str) -> bool:
    return all(p.poll() is None for name, p in rig.stack.processes.items() if name != program)


@pytest.mark.parametrize("program", ["ingest", "mapper", "sim-operator"])
def test_arms_hold_while_it_is_gone_and_are_driven_again_when_it_is_back(
    operated: Rig, program: str
) -> None:
    before = _until_driven(operated)
    with _dead(operated, program):
        mark = operated.mark()
        operated.until(lambda: all(_not_driven(operated.state(s)) for s in SIDES), "missed")
        for side in SIDES:
            operated.until_still(side)
            assert moved_m([before[side], *operated.states(side, mark)]) < COASTING_M
        mark = operated.mark()
        operated.run(0.2)
        assert all(stood_still(operated.states(side, mark)) for side in SIDES)
        assert _others_run(operated, program)
    after = _until_driven(operated)
    for side in SIDES:
        assert after[side].boot == before[side].boot
        assert after[side].clutch_id not in (None, before[side].clutch_id)
        first = next(
            s for s in operated.states(side, mark) if s.state == "ENGAGED" and not s.braking
        )
        assert command(first) == command(operated.states(side, mark)[0])


def test_a_restarted_operator_does_not_make_room_for_itself(operated: Rig) -> None:
    """Its packets are foreign until its predecessor's lease ends; that is no other sender."""
    before = _until_driven(operated)
    operated.fresh_health("ingest")
    operated.run(0.3)  # the next count then falls between its first packet and its lease
    operated.kill("sim-operator")
    mark = operated.mark()
    operated.start("sim-operator")
    _until_driven(operated)
    for side in SIDES:
        clutches = {s.clutch_id for s in operated.states(side, mark)}
        assert len(clutches - {None, before[side].clutch_id}) == 1, "engaged, stopped, engaged"


@contextmanager
def _dead(rig: Rig, program: str) -> Iterator[None]:
    """Killed, and started anew at the end."""
    rig.kill(program)
    try:
        yield
    finally:
        rig.start(program)


def _not_driven(state: ArmState) -> bool:
    return state.braking or state.state != "ENGAGED"


def test_a_killed_arm_comes_back_disarmed_and_the_other_one_does_not_notice(
    operated: Rig,
) -> None:
    before = _until_driven(operated)
    operated.kill("arm-right")
    mark = operated.mark()
    operated.start("arm-right")
    after = _until_driven(operated)
    _came_back_disarmed(operated, "arm-right")
    anew = [s for s in operated.states("right", mark) if s.boot != before["right"].boot]
    assert {s.clutch_id for s in anew} <= {None, after["right"].clutch_id}
    assert after["right"].clutch_id not in (None, before["right"].clutch_id)
    assert {s.clutch_id for s in operated.states("left", mark)} == {before["left"].clutch_id}
    assert _others_run(operated, "arm-right")


@pytest.mark.parametrize(
    ("old", "new"), [("arm-right", "sim-arm-right"), ("sim-arm-right", "arm-right")]
)
def test_an_arm_is_swapped_for_a_simulator_and_back_while_engaged(
    operated: Rig, old: str, new: str
) -> None:
    _have(operated, old, instead_of=new)
    before = _until_driven(operated)
    mark = operated.mark()
    assert operated.stop(old) == EXIT_OK
    last = operated.states("right", mark)
    assert last[-1].state == "HOLD"
    assert stood_still(last[-2:])
    operated.start(new)
    after = _until_driven(operated)
    _came_back_disarmed(operated, new)
    assert after["right"].clutch_id not in (None, before["right"].clutch_id)
    assert after["left"].clutch_id == before["left"].clutch_id
    _have(operated, "arm-right", instead_of="sim-arm-right")


def _have(rig: Rig, program: str, instead_of: str) -> None:
    """Sees to it that of two programs of one arm this one runs."""
    if program not in rig.stack.processes:
        rig.stop(instead_of)
        rig.start(program)


def _came_back_disarmed(rig: Rig, program: str) -> None:
    """The first tick may be over before anybody listens, so the log is asked."""
    first = [line for line in rig.stack.log(program).splitlines() if " was=null " in line]
    assert " now=DISARMED:" in first[-1]


def test_two_programs_of_one_arm_exclude_each_other(operated: Rig) -> None:
    operated.stack.start("sim-arm-left")
    second = operated.stack.processes.pop("sim-arm-left")
    mark = operated.mark()
    try:
        operated.until(lambda: second.poll() is not None, "the second one gives up", PATIENCE_S)
    finally:
        second.kill()
        second.wait()
    assert second.returncode == EXIT_DEVICE
    lines = operated.stack.log("sim-arm-left").splitlines()
    assert len(lines) == 1
    holder = operated.stack.processes["arm-left"].pid
    assert f"is held by process {holder}: the same program already runs" in lines[0]
    assert {s.boot for s in operated.states("left", mark)} == {operated.state("left").boot}
