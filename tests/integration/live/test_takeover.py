"""A second sender on a hand that somebody has: who drives, and what the arm does meanwhile."""

from __future__ import annotations

import pytest

from tests.integration.live.motion import apart_m, command, stood_still
from tests.integration.live.rig import Rig

pytestmark = pytest.mark.integration

LEASE_NS = 1_000_000_000
RETURN_NS = 3_000_000_000


def test_the_background_operator_makes_room_and_comes_back(operated: Rig) -> None:
    rig = operated
    rig.until_state("ENGAGED", "right")
    rig.until_state("ENGAGED", "left")
    left_clutch, own = rig.state("left").clutch_id, rig.state("right").clutch_id
    own_session = rig.watch.hands["right"][-1].session
    foreign = rig.counter("ingest", "foreign_source_right")
    newcomer = rig.another_hand("right", "127.0.0.5")
    mark = rig.mark()
    newcomer.sending = True
    rig.until(lambda: rig.counter("ingest", "foreign_source_right") > foreign, "it is counted")
    rig.until(lambda: rig.watch.hands["right"][-1].session != own_session, "the lease changes")
    rig.until(lambda: rig.state("right").clutch_id not in (None, own), "a new clutch")
    states = rig.states("right", mark)
    lost = next(i for i, s in enumerate(states) if s.state == "PROTECTIVE_STOP")
    assert states[lost].reason in ("session_changed", "stale")
    assert stood_still(states[lost:])
    poses = rig.poses("right", mark)
    theirs = next(i for i, pose in enumerate(poses) if pose.session != own_session)
    silence_ns = poses[theirs].t_recv_ns - poses[theirs - 1].t_recv_ns
    assert silence_ns >= LEASE_NS

    engaged = rig.state("right")
    newcomer.glide(rig.now_s(), (0.05, 0.0, 0.0), 0.5)
    rig.until(lambda: apart_m(engaged, rig.state("right")) > 0.01, "the newcomer is followed")
    assert rig.state("left").clutch_id == left_clutch

    new_session = rig.watch.hands["right"][-1].session
    rig.drop_hand(newcomer)
    gone_ns = rig.watch.hands["right"][-1].t_recv_ns
    held = rig.until_still("right")
    rig.until(lambda: rig.watch.hands["right"][-1].session != new_session, "the operator is back")
    assert rig.watch.hands["right"][-1].t_recv_ns - gone_ns > 0.9 * RETURN_NS
    mark = rig.mark()
    rig.until(lambda: rig.state("right").clutch_id not in (None, engaged.clutch_id), "and engaged")
    states = rig.states("right", mark)
    again = next(s for s in states if s.clutch_id not in (None, engaged.clutch_id))
    assert command(again) == command(held)
    rig.until(lambda: apart_m(held, rig.state("right")) > 0.002, "and drives")
    assert rig.state("left").clutch_id == left_clutch
