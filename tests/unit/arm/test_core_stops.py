"""What stops an engaged arm, how it comes to rest, and what leads out again."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from runtime.se3 import vadd, vnorm, vsub
from tests.unit.arm.make import hand
from tests.unit.arm.rig import MS, Rig

MOVING_MPS = (0.3, 0.0, 0.0)


def moving(**settings: Any) -> Rig:
    """Engaged, 0.3 m/s."""
    rig = Rig(**settings).hold().engage()
    rig.stream(20, MOVING_MPS)
    assert rig.told() == ("ENGAGED", "")
    return rig


def speeds(rig: Rig, last: int) -> list[float]:
    """Of the newest commands, in m/s."""
    sent = [target.p_base_tool_m for target in rig.sent()[-last - 1 :]]
    return [vnorm(vsub(b, a)) / 0.01 for a, b in pairwise(sent)]


def brakes(rig: Rig, a_mps2: float = 2.0) -> None:
    """Comes to rest along the motion, in the time and on the way that the deceleration takes."""
    start_m, speed_mps, ticks = rig.command[0], max(speeds(rig, 3)), 0
    while not rig.core.motion.at_rest:
        rig.tick()
        ticks += 1
    assert ticks * 0.01 <= speed_mps / a_mps2 + 0.02
    assert vnorm(vsub(rig.command[0], start_m)) <= speed_mps**2 / (2 * a_mps2) + speed_mps * 0.01
    assert rig.stands(30)


class TestLosingTheHand:
    def test_it_brakes_at_100_ms_and_tells(self) -> None:
        rig = moving()
        rig.sending = False
        rig.tick(9)
        assert not rig.state().braking
        rig.tick(2)
        state = rig.state()
        assert state.braking
        assert (state.state, state.reason) == ("ENGAGED", "stale")
        brakes(rig)
        assert rig.state().starvations == 1

    @pytest.mark.parametrize(
        ("mode", "within_ms", "beyond_ms"), [("relative", 1000, 1001), ("absolute", 300, 301)]
    )
    def test_it_resumes_within_resume_ms_only(
        self, mode: str, within_ms: int, beyond_ms: int
    ) -> None:
        for gap_ms, resumes in ((within_ms, True), (beyond_ms, False)):
            rig = Rig(mode).hold().engage()
            rig.stream(21)
            newest_ns = rig.core.stream.target.t_recv_ns if rig.core.stream.target else 0
            rig.sending = False
            while rig.now_ns - newest_ns < (gap_ms - 10) * MS:
                rig.tick()
            rig.clock.ns = newest_ns + gap_ms * MS
            rig.send()
            rig.tick()
            assert (rig.told()[0] == "ENGAGED") is resumes
            assert rig.told()[1] == ("" if resumes else "stale")

    def test_the_first_command_after_a_resume_is_the_held_pose(self) -> None:
        rig = moving()
        rig.sending = False
        rig.tick(40)
        held = rig.command
        rig.p_m = vadd(rig.p_m, (0.1, -0.05, 0.02))
        rig.send()
        rig.tick()
        assert rig.command == held
        assert not rig.state().braking
        rig.stream(20)
        assert vsub(rig.command[0], held[0]) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)
        assert vnorm(rig.state().slip_p_m) > 0.05

    def test_resumed_while_it_still_brakes_nothing_jumps(self) -> None:
        rig = moving(arm={"tcp_max_mps": 0.5, "tcp_max_mps2": 5.0})
        rig.sending = False
        rig.tick(12)
        assert not rig.core.motion.at_rest
        rig.p_m = vadd(rig.p_m, (0.2, 0.0, 0.0))
        rig.stream(60)
        went = speeds(rig, 60)
        assert max(went) <= 0.5
        assert max(abs(b - a) for a, b in pairwise(went)) <= 5.0 * 0.01 + 1e-9
        assert rig.core.motion.gate_blocks == 0

    def test_in_tracking_mode_it_passes_by_itself_when_the_hand_is_back(self) -> None:
        rig = moving(engage_on="tracking")
        rig.sending = False
        rig.reaches("PROTECTIVE_STOP")
        rig.clutch = None
        rig.tick(50)
        assert rig.told() == ("PROTECTIVE_STOP", "stale")
        rig.sending = True
        rig.tracked = False
        rig.tick(50)
        assert rig.told() == ("PROTECTIVE_STOP", "stale")
        rig.tracked = True
        rig.tick(3)
        assert rig.told()[0] == "HOLD"

    def test_in_command_mode_it_needs_an_engage_or_a_reset(self) -> None:
        for verb, answer in (("engage", "pending"), ("reset", "ok")):
            rig = moving()
            rig.sending = False
            rig.reaches("PROTECTIVE_STOP")
            rig.clutch = None
            assert rig.ask(verb) == "refused: stale still stands"
            rig.stream(50)
            assert rig.told() == ("PROTECTIVE_STOP", "stale")
            assert rig.ask(verb) == answer
            assert rig.told()[0] == "HOLD"
            assert (rig.tick(2).clutch_offer is not None) is (verb == "engage")

    def test_a_command_while_it_brakes_is_refused(self) -> None:
        rig = moving()
        rig.source = {"session": 6}
        rig.reaches("PROTECTIVE_STOP", 3)
        assert rig.ask("engage") == "refused: still braking"


def another_session(rig: Rig) -> None:
    rig.source = {"session": 6}


def another_mapper(rig: Rig) -> None:
    rig.source = {"boot": 8}


def another_ingest(rig: Rig) -> None:
    rig.source = {"ingest_boot": 9, "session": 6}


def a_jump(rig: Rig) -> None:
    rig.tick()  # a sample of its own instant
    rig.p_m = vadd(rig.p_m, (0.0, 0.5, 0.0))
    rig.send(jump=True)


def a_late_tick(rig: Rig) -> None:
    rig.tick(late_ms=100.1)


def another_host(rig: Rig) -> None:
    rig.core.on_foreign_host(rig.now_ns)


CAUSES: list[tuple[Callable[[Rig], None], str, bool]] = [
    (another_session, "session_changed", True),
    (another_mapper, "upstream_restarted", True),
    (another_ingest, "upstream_restarted", True),
    (a_jump, "jump", False),
    (a_late_tick, "tick_late", False),
    (another_host, "clock_domain", False),
]


class TestProtectiveStop:
    @pytest.mark.parametrize(("what", "reason", "_passes"), CAUSES)
    def test_it_brakes_holds_and_waits_for_an_engage(
        self, what: Callable[[Rig], None], reason: str, _passes: bool
    ) -> None:
        rig = moving(engage_on="tracking")
        what(rig)
        rig.reaches("PROTECTIVE_STOP", 20)
        assert rig.told()[1] == reason
        brakes(rig)
        rig.stream(150, MOVING_MPS)
        assert rig.told() == ("PROTECTIVE_STOP", reason)
        assert rig.stands(10)
        assert rig.ask("engage") == "pending"
        rig.tick(2)
        held = rig.command
        rig.take_offer()
        rig.tick()
        assert rig.told() == ("ENGAGED", "")
        assert rig.command == held

    @pytest.mark.parametrize(("what", "reason", "passes"), CAUSES)
    def test_where_nothing_real_moves_a_restart_passes_by_itself(
        self, what: Callable[[Rig], None], reason: str, passes: bool
    ) -> None:
        rig = moving(engage_on="tracking", simulated=True)
        what(rig)
        rig.reaches("PROTECTIVE_STOP", 20)
        rig.clutch = None
        rig.tick(150)
        assert rig.told()[0] == ("HOLD" if passes else "PROTECTIVE_STOP")

    @pytest.mark.parametrize("late_ms", [0.0, 40.0, 100.0])
    def test_a_tick_up_to_100_ms_late_is_none(self, late_ms: float) -> None:
        rig = moving()
        rig.tick(late_ms=late_ms)
        assert rig.told() == ("ENGAGED", "")

    def test_a_late_tick_stops_nothing_that_stands(self) -> None:
        rig = Rig().hold()
        rig.tick(late_ms=5000.0)
        assert rig.told()[0] == "HOLD"

    def test_a_long_step_moves_no_further_than_two_periods(self) -> None:
        """After a stall the arm does not catch up at once."""
        rig = moving()
        before_m = rig.command[0]
        rig.clock.ns += 80 * MS
        rig.p_m = vadd(rig.p_m, (0.02, 0.0, 0.0))
        rig.send()
        rig.tick(late_ms=80.0)
        assert vnorm(vsub(rig.command[0], before_m)) <= 1.0 * 0.02 + 1e-9

    def test_another_hosts_stamps_hold_it_for_a_second(self) -> None:
        rig = moving()
        another_host(rig)
        rig.reaches("PROTECTIVE_STOP", 2)
        rig.until_still()
        assert rig.ask("engage") == "refused: clock_domain still stands"
        rig.tick(100)
        assert rig.ask("engage") == "pending"

    def test_a_robot_that_does_not_follow(self) -> None:
        rig = moving()
        rig.robot.follows = False
        stuck_m = rig.robot.p_m
        rig.sending = True
        for _ in range(60):
            rig.p_m = vadd(rig.p_m, (0.003, 0.0, 0.0))
            rig.tick()
            if rig.told()[0] != "ENGAGED":
                break
        assert rig.told() == ("PROTECTIVE_STOP", "not_following")
        assert vnorm(vsub(rig.command[0], stuck_m)) < 0.040
        rig.tick(30)
        assert rig.ask("engage") == "refused: not_following still stands"
        rig.robot.p_m, rig.robot.q_xyzw = rig.command
        rig.tick()
        assert rig.ask("engage") == "pending"


class TestLimits:
    def test_a_hand_that_outruns_them_is_not_chased(self) -> None:
        """Once it stops the arm goes on for 30 mm and the way it takes to stop, no further."""
        rig = Rig(arm={"tcp_max_mps": 0.25, "tcp_max_mps2": 5.0}).hold().engage()
        rig.stream(4)
        rig.stream(40, (1.0, 0.0, 0.0))
        assert rig.told() == ("ENGAGED", "speed_limited")
        assert vnorm(rig.state().slip_p_m) > 0.2
        at_m = rig.command[0]
        rig.stream(100)
        assert vnorm(vsub(rig.command[0], at_m)) <= 0.030 + 1e-6
        assert rig.told() == ("ENGAGED", "")
        assert rig.core.motion.gate_blocks == 0

    def test_absolute_goes_on_for_the_rest_and_tells_it(self) -> None:
        rig = Rig("absolute", arm={"tcp_max_mps": 0.25, "tcp_max_mps2": 5.0}).hold().engage()
        rig.stream(10)
        rig.stream(16, (0.9, 0.0, 0.0))
        rig.stream(2)
        state = rig.state()
        assert (state.state, state.reason) == ("ENGAGED", "speed_limited")
        assert state.rest_mm is not None
        assert 50.0 < state.rest_mm < 150.0
        rig.stream(100)
        assert rig.told() == ("ENGAGED", "")
        assert vsub(rig.command[0], rig.anchor_m) == pytest.approx(rig.p_m, abs=1e-9)

    def test_at_a_wall_it_slides_and_a_hand_that_turns_back_moves_it_at_once(self) -> None:
        rig = Rig().hold().engage()
        rig.stream(10)
        rig.stream(100, (0.2, 0.05, 0.0))
        assert rig.command[0] == pytest.approx((0.4, 0.05, 0.25), abs=1e-3)
        rig.stream(10, (-0.2, 0.0, 0.0))
        assert rig.command[0][0] == pytest.approx(0.4 - 0.02, abs=0.005)
        assert rig.core.motion.gate_blocks == 0

    def test_the_gripper_follows_a_hand_that_met_it(self) -> None:
        rig = Rig().hold().engage()
        rig.stream(10)
        assert rig.state().gripper_follows
        rig.sending = False
        rig.clock.ns += MS
        rig.send(gripper_ratio=1.0)
        assert rig.tick(5).cmd_gripper_ratio == pytest.approx(0.5 + 0.051 * 2.0)
        held = rig.tick(6).cmd_gripper_ratio  # 100 ms old: it holds, too
        rig.tick(5)
        assert rig.state().cmd_gripper_ratio == held
        assert not rig.state().gripper_follows


def test_the_estop_lane_hears_both_hands_and_no_other_news() -> None:
    rig = moving()
    assert not rig.core.on_hand_pose(hand(side="left"), rig.now_ns)
    rig.tick()
    assert rig.told()[0] == "ENGAGED"
    rig.press_stop(side="left")
    assert rig.told() == ("ESTOP_LATCHED", "estop")
    brakes(rig, a_mps2=5.0)
