"""E-stop, faults of the driver, and the end of the process."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.se3 import vadd, vnorm, vsub
from tests.unit.arm.make import HELD, hand
from tests.unit.arm.rig import MS, Rig

PRESSED = "refused: estop still pressed (wait 1 s after its release)"


def moving(**settings: Any) -> Rig:
    rig = Rig(**settings).hold().engage()
    rig.stream(20, (0.3, 0.0, 0.0))
    assert rig.told() == ("ENGAGED", "")
    return rig


class TestEstop:
    def test_it_brakes_at_once_and_stays_whatever_comes(self) -> None:
        rig = moving(engage_on="tracking", arm={"auto_arm": True}, simulated=True)
        rig.press_stop()
        assert rig.told() == ("ESTOP_LATCHED", "estop")
        rig.stream(10, (0.3, 0.0, 0.0))
        held = rig.until_still()
        rig.clutch = None
        for verb in ("arm", "disarm", "engage", "release", "clear", "home"):
            rig.ask(verb)
        rig.stream(300, (0.3, 0.0, 0.0))
        assert rig.told() == ("ESTOP_LATCHED", "estop")
        assert rig.command == held
        assert rig.robot.stops == []

    def test_from_a_tool_it_needs_no_boot_and_no_age_and_is_served_on_arrival(self) -> None:
        rig = moving()
        rig.post("estop")
        assert rig.told() == ("ESTOP_LATCHED", "estop")
        assert rig.state().last_command_result == "ok"

    def test_a_stop_that_was_missed_shows_in_the_count(self) -> None:
        rig = moving()
        rig.core.on_hand_pose(hand(estop_count=0), rig.now_ns)
        assert rig.core.on_hand_pose(hand(estop_count=1), rig.now_ns)
        rig.core.step(rig.now_ns)
        assert rig.told()[0] == "ESTOP_LATCHED"

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("DISARMED", "DISARMED"),
            ("HOLD", "HOLD"),
            ("HOMING", "HOLD"),
            ("ENGAGED", "HOLD"),
            ("PROTECTIVE_STOP", "HOLD"),
            ("FAULT", "FAULT"),
        ],
    )
    def test_reset_leads_back_by_the_state_before_and_moves_nothing(
        self, before: str, after: str
    ) -> None:
        rig = self.brought_to(before)
        rig.press_stop()
        rig.tick(30)
        assert rig.told() == ("ESTOP_LATCHED", "estop")
        sent = len(set(rig.sent()))
        assert rig.ask("reset") == PRESSED
        rig.tick(70)
        assert rig.ask("reset") == "ok"
        assert rig.told()[0] == after
        rig.clutch = None
        rig.tick(50)
        assert len(set(rig.sent())) == sent
        if after == "HOLD":
            assert rig.state().reason_detail == "no_packets"
            rig.stream(100)
            assert rig.state().reason_detail == "needs an engage command"
            assert rig.state().clutch_offer is None

    def brought_to(self, state: str) -> Rig:
        home = {"home_p_m": vadd(HELD[0], (0.0, 0.1, 0.0))}
        rig = Rig(engage_on="tracking", arm=home)
        if state != "DISARMED":
            rig.hold()
        if state in ("ENGAGED", "PROTECTIVE_STOP"):
            rig.take_offer()
        if state == "PROTECTIVE_STOP":
            rig.tick(late_ms=500.0)
        if state == "HOMING":
            rig.ask("home", 20)
        if state == "FAULT":
            rig.robot.faults = ("joint 3 hot",)
            rig.tick()
            rig.robot.faults = ()
        assert rig.told()[0] == state
        return rig

    def test_pressed_by_the_other_hand_it_is_not_clear(self) -> None:
        rig = Rig().hold()
        rig.press_stop()
        for _ in range(12):
            rig.tick(10)
            rig.press_stop(side="left")
        assert rig.ask("reset") == PRESSED

    def test_with_drives_off_reset_leads_to_disarmed(self) -> None:
        rig = Rig().hold()
        rig.press_stop()
        rig.robot.drives_on = False
        rig.tick(101)
        assert rig.ask("reset") == "ok"
        assert rig.told() == ("DISARMED", "not_armed")

    def test_a_fault_meanwhile_leads_to_fault_and_from_there_out(self) -> None:
        rig = Rig().hold()
        rig.press_stop()
        rig.robot.faults = ("e-stop circuit",)
        rig.tick(101)
        assert rig.ask("reset") == "ok"
        assert rig.told() == ("FAULT", "fault")
        rig.post("clear")
        rig.tick()
        rig.robot.faults = ()
        rig.tick()
        assert rig.told() == ("DISARMED", "not_armed")


class TestVendorStop:
    @pytest.mark.parametrize("how", ["hard", "damp"])
    def test_it_is_sent_and_no_pose_after_it(self, how: str) -> None:
        rig = moving(arm={"estop_action": "damp" if how == "damp" else "brake"})
        if how == "hard":
            rig.post("estop", hard=True)
        else:
            rig.press_stop()
        sent = len(rig.robot.poses)
        rig.tick(100)
        assert rig.robot.stops == ["ESTOP"]
        assert len(rig.robot.poses) == sent
        assert rig.told() == ("ESTOP_LATCHED", "estop")

    def test_a_hard_one_counts_after_a_soft_one(self) -> None:
        rig = moving()
        rig.post("estop")
        rig.tick(50)
        assert rig.robot.stops == []
        rig.post("estop", hard=True)
        assert rig.robot.stops == ["ESTOP"]

    @pytest.mark.parametrize(
        ("hard", "needs_clear", "after"),
        [
            (False, True, "HOLD"),  # it sent nothing that needs a clear
            (True, False, "HOLD"),
            (True, True, "DISARMED"),
        ],
    )
    def test_reset_leads_to_hold_unless_something_must_be_cleared(
        self, hard: bool, needs_clear: bool, after: str
    ) -> None:
        rig = Rig(clear_needed_after_estop=needs_clear).hold()
        rig.post("estop", hard=hard)
        sank_m = vadd(HELD[0], (0.0, 0.0, -0.05)) if hard else HELD[0]
        rig.robot.p_m = sank_m
        rig.tick()
        assert rig.ask("reset") == "ok"
        assert rig.told()[0] == after
        rig.tick(20)
        if after == "HOLD":  # where it is now: the stop let it sink
            assert rig.command[0] == sank_m
        assert rig.stands(20)


class TestFault:
    @pytest.mark.parametrize(("hold_stream", "sends"), [(False, False), (True, True)])
    def test_only_where_silence_drops_the_arm_poses_go_on(
        self, hold_stream: bool, sends: bool
    ) -> None:
        rig = moving(hold_stream_in_fault=hold_stream)
        rig.robot.faults = ("joint 3 hot",)
        rig.tick()
        assert rig.told() == ("FAULT", "fault")
        rig.robot.poses.clear()
        rig.tick(30)
        assert bool(rig.robot.poses) is sends
        assert len(set(rig.sent()[-5:])) <= 1
        assert rig.stands(20)

    def test_feedback_that_stops_is_a_stop_and_then_a_fault(self) -> None:
        rig = moving()
        rig.robot.feedback_ns = rig.now_ns
        rig.tick(10)
        assert rig.told()[0] == "ENGAGED"
        rig.tick()
        assert rig.told() == ("PROTECTIVE_STOP", "can_silent")
        assert rig.ask("reset") == "refused: can_silent still stands"
        rig.tick(38)
        assert rig.told() == ("PROTECTIVE_STOP", "can_silent")
        rig.tick()
        assert rig.told() == ("FAULT", "can_silent")

    def test_a_hung_sdk_is_a_stop_then_a_fault_that_says_what_may_be_lost(self) -> None:
        rig = moving()
        rig.robot.call_since_ns = rig.robot.feedback_ns = rig.now_ns
        rig.tick(5)
        assert rig.told()[0] == "ENGAGED"
        rig.tick()
        assert rig.told() == ("PROTECTIVE_STOP", "sdk_hung")
        rig.tick(44)
        assert rig.told() == ("PROTECTIVE_STOP", "sdk_hung")
        rig.tick()
        assert rig.told() == ("FAULT", "sdk_hung")
        assert rig.state().reason_detail == "the robot may not have received the stop"
        assert rig.ask("clear") == "refused: sdk_hung"
        rig.robot.call_since_ns = rig.robot.feedback_ns = None
        rig.tick()
        assert rig.told() == ("FAULT", "sdk_hung")
        assert rig.ask("clear", 2) == "ok"
        assert rig.told() == ("DISARMED", "not_armed")

    def test_a_failed_call_stops_and_three_in_a_second_are_a_fault(self) -> None:
        rig = moving()
        for number in range(3):
            assert rig.told()[0] == ("PROTECTIVE_STOP" if number else "ENGAGED")
            rig.robot.fail("can_tx", "ENOBUFS")
            rig.tick(20)
        assert rig.told() == ("FAULT", "can_tx")
        assert rig.state().reason_detail == "ENOBUFS"

    def test_a_lost_device_is_a_fault(self) -> None:
        rig = moving()
        rig.robot.connected = False
        rig.robot.fail("driver_missing", "unplugged")
        rig.tick()
        assert rig.told() == ("FAULT", "driver_missing")
        assert rig.state().reason_detail == "unplugged"
        rig.robot.connected = True
        rig.tick(100)
        assert rig.told() == ("FAULT", "driver_missing")
        assert rig.ask("clear", 2) == "ok"
        assert rig.told()[0] == "DISARMED"

    def test_what_the_gate_cuts_shows_and_the_limits_go_on_from_what_passed(self) -> None:
        rig = moving()
        stuck = rig.command
        rig.robot.follows = False
        rig.robot.p_m = vadd(stuck[0], (-0.04, 0.0, 0.0))
        rig.stream(5, (0.3, 0.0, 0.0))
        state = rig.state()
        assert (state.state, state.reason, state.reason_detail) == (
            "ENGAGED",
            "not_following",
            "lead",
        )
        assert state.gate_blocks > 0
        assert state.limited_p_base_tool_m == state.cmd_p_base_tool_m
        cut = rig.command
        rig.robot.p_m, rig.robot.follows = cut[0], True
        rig.stream(2, (0.3, 0.0, 0.0))
        assert vnorm(vsub(rig.command[0], cut[0])) <= 20.0 * 0.01 * 0.01 * 3 + 1e-9
        rig.stream(50, (0.1, 0.0, 0.0))
        assert rig.told() == ("ENGAGED", "")
        assert rig.state().gate_blocks == state.gate_blocks


class TestTheEndOfTheProcess:
    def test_it_brakes_holds_and_is_done(self) -> None:
        rig = moving()
        rig.core.stopping = True
        ticks = 0
        while not rig.core.stopped:
            rig.tick()
            ticks += 1
        assert rig.told()[0] == "HOLD"
        assert ticks * 0.01 < 0.5
        assert len(set(rig.sent()[-2:])) == 1  # the last pose was there a tick before

    def test_a_call_in_flight_is_waited_for(self) -> None:
        rig = Rig().hold()
        rig.core.stopping = True
        rig.tick(3)
        seen = [rig.core.stopped]
        rig.robot.call_since_ns = rig.now_ns - MS
        rig.tick()
        seen.append(rig.core.stopped)
        assert seen == [True, False]

    def test_every_order_but_a_stop_is_refused(self) -> None:
        rig = moving()
        rig.core.stopping = True
        for verb in ("engage", "home", "disarm", "release"):
            assert rig.ask(verb) == "refused: the arm's process is stopping"
        assert rig.told()[0] == "HOLD"
        rig.post("estop")
        assert rig.told()[0] == "ESTOP_LATCHED"
