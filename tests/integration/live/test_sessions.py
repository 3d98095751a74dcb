"""Whose packets count, and in what order: app restarts, clock leaps, duplicates, strangers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from proto.messages import ArmState
from proto.reasons import SIDES
from runtime.se3 import vadd, vnorm, vsub
from tests.integration.live.hand import packet
from tests.integration.live.motion import apart_m, command, shifted_m, stood_still
from tests.integration.live.rig import Mark, Rig

pytestmark = pytest.mark.integration

HOUR_S = 3600.0


def test_an_app_restart_stops_the_arm_and_only_a_simulator_on_tracking_goes_on(duo: Rig) -> None:
    for side in SIDES:
        duo.calm(side)
    before = {side: duo.engage(side) for side in SIDES}
    sessions = {side: duo.watch.hands[side][-1].session for side in SIDES}
    mark = duo.mark()
    for side in SIDES:
        duo.hands[side].t_offset_s = -duo.now_s()
    duo.until(lambda: all(_stopped(duo.states(side, mark)) for side in SIDES), "both stop")
    duo.until_state("ENGAGED", "right")
    duo.run(0.3)
    for side in SIDES:
        assert duo.watch.hands[side][-1].session != sessions[side]
        stop = next(s for s in duo.states(side, mark) if s.state == "PROTECTIVE_STOP")
        assert stop.reason == "session_changed"
        assert stood_still(duo.states(side, mark))
    assert duo.state("right").clutch_id not in (None, before["right"].clutch_id)
    assert duo.is_in("PROTECTIVE_STOP", "left")
    assert duo.order("left", "engage") == "ok"
    assert command(duo.state("left")) == command(before["left"])


def _stopped(states: Sequence[ArmState]) -> bool:
    return any(state.state == "PROTECTIVE_STOP" for state in states)


def test_a_leap_of_the_headset_clock_by_an_hour_changes_nothing(duo: Rig) -> None:
    duo.calm()
    engaged = duo.engage()
    session = duo.watch.hands["right"][-1].session
    hand, mark = duo.hands["right"], duo.mark()
    hand.glide(duo.now_s(), (0.05, 0.0, 0.0), 0.6)
    duo.until(lambda: apart_m(engaged, duo.state()) > 0.005, "moving")
    hand.t_offset_s = HOUR_S
    still = duo.until_followed()
    assert {p.session for p in duo.poses("right", mark)} == {session}
    assert {s.clutch_id for s in duo.states("right", mark)} == {engaged.clutch_id}
    assert vnorm(vsub(command(still)[0], shifted_m(duo.watch.targets["right"][-1], still))) < 1e-9
    assert apart_m(engaged, still) > 0.010


def _until_more_than(rig: Rig, mark: Mark, taken: int) -> None:
    rig.until(lambda: len(rig.poses("right", mark)) > taken, "taken")


def test_duplicates_and_late_packets_change_nothing_but_counters(duo: Rig) -> None:
    duo.calm()
    engaged = duo.engage()
    duo.fresh_health("ingest")
    names = ("duplicate_right", "old_right")
    before = {name: duo.counter("ingest", name) for name in names}
    hand = duo.hands["right"]
    hand.sending = False
    duo.run(0.05)
    mark, started_s = duo.mark(), duo.now_s()
    frames = 12
    for _ in range(frames):
        taken = len(duo.poses("right", mark))
        t_s = duo.now_s()
        hand.p_m = vadd(hand.p_m, (0.001, 0.0, 0.0))
        good = hand.packet(t_s)
        late = packet(t_s - 0.5, (2.0, 2.0, 2.0))
        for data in (good, late, good, good):
            hand.send(data)
        _until_more_than(duo, mark, taken)
    hand.sending = True
    duo.run(0.1)
    mark_end = duo.mark()
    duo.fresh_health("ingest")
    assert duo.counter("ingest", names[0]) - before[names[0]] == 2 * frames
    assert duo.counter("ingest", names[1]) - before[names[1]] == frames
    stamps = [p.t_send_s for p in duo.poses("right", mark) if p.t_send_s is not None]
    assert stamps == sorted(set(stamps))
    assert stamps[0] >= started_s
    states = duo.states("right", mark)
    assert {s.clutch_id for s in states} == {engaged.clutch_id}
    assert 0.0 < apart_m(engaged, duo.states("right", mark_end)[-1]) <= 0.75 * 0.001 * frames + 1e-6


def test_the_other_one_of_two_hands_only_counts_for_its_stop(duo: Rig) -> None:
    duo.calm("right")
    engaged = duo.engage("right")
    session = duo.watch.hands["right"][-1].session
    stranger = duo.another_hand("right", "127.0.0.7")
    foreign = duo.counter("ingest", "foreign_source_right")
    stranger.p_m = (0.3, 0.2, -0.1)
    stranger.sending = True
    mark = duo.mark()
    duo.run(0.5)
    duo.drop_hand(stranger)
    duo.fresh_health("ingest")
    assert duo.counter("ingest", "foreign_source_right") - foreign > 5
    assert {p.session for p in duo.poses("right", mark)} == {session}
    assert {s.clutch_id for s in duo.states("right", mark)} == {engaged.clutch_id}
    assert stood_still(duo.states("right", mark))
