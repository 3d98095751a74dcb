"""Operators' orders: what they do, when they are refused, and what is answered in the end."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.se3 import vadd, vnorm, vsub
from tests.unit.arm.make import HELD, order
from tests.unit.arm.rig import Rig

DROPS: dict[str, Any] = {"drops_arm": ("disable", "clear", "estop")}


class TestArm:
    def test_from_drives_off_it_switches_them_on_and_holds_the_measured_pose(self) -> None:
        rig = Rig()
        rig.tick()
        assert rig.told() == ("DISARMED", "not_armed")
        assert rig.robot.poses == []
        assert rig.ask("arm") == "pending"
        state = rig.tick(2)
        assert (state.state, state.last_command_result) == ("HOLD", "ok")
        assert rig.robot.verbs == [("enable", False)]
        assert rig.sent()[0].p_base_tool_m == HELD[0]
        assert rig.stands(50)

    def test_with_drives_on_it_holds_at_once(self) -> None:
        rig = Rig()
        rig.robot.drives_on = True
        rig.tick()
        assert rig.ask("arm") == "ok"
        assert rig.told()[0] == "HOLD"
        assert rig.robot.verbs == []

    def test_a_busy_slot_does_not_lose_the_enable(self) -> None:
        rig = Rig()
        rig.robot.slot_busy = True
        rig.ask("arm", 10)
        assert rig.told()[0] == "DISARMED"
        rig.robot.slot_busy = False
        rig.tick(3)
        assert rig.told()[0] == "HOLD"

    def test_drives_that_take_a_second_to_switch_on_are_waited_for(self) -> None:
        """The one driver thread reads no feedback meanwhile, and the call looks hung."""
        rig = Rig()
        rig.robot.enables = False
        rig.tick()
        rig.post("arm")
        rig.tick()
        rig.robot.call_since_ns = rig.robot.feedback_ns = rig.now_ns
        state = rig.tick(100)
        assert (state.state, state.last_command_result) == ("DISARMED", "pending")
        rig.robot.call_since_ns = None
        rig.tick()  # the call is back, the feedback not yet
        rig.robot.drives_on, rig.robot.feedback_ns = True, None
        state = rig.tick()
        assert (state.state, state.last_command_result) == ("HOLD", "ok")

    def test_drives_that_do_not_switch_on_are_told_of_after_three_seconds(self) -> None:
        rig = Rig()
        rig.robot.enables = False
        assert rig.ask("arm", 300) == "pending"
        assert rig.tick(2).last_command_result == "refused: the drives do not switch on"
        assert rig.robot.verbs == [("enable", False)]

    def test_a_robot_that_says_no_is_quoted(self) -> None:
        rig = Rig()
        rig.robot.enables = False
        rig.post("arm")
        rig.tick(2)
        rig.robot.fail("fault", "teach mode is on")
        assert rig.tick().last_command_result == "refused: teach mode is on"

    def test_a_stop_on_the_way_ends_it(self) -> None:
        rig = Rig()
        rig.robot.enables = False
        rig.post("arm")
        rig.tick(2)
        rig.press_stop()
        assert rig.state().last_command_result == "refused: estop"
        rig.robot.drives_on = True
        rig.tick(50)
        assert rig.told() == ("ESTOP_LATCHED", "estop")

    @pytest.mark.parametrize(
        ("trouble", "why"),
        [
            ({"connected": False}, "driver_missing"),
            ({"alive": False}, "driver_missing"),
            ({"feedback": False}, "can_silent"),
            ({"faults": ("joint 3 hot",)}, "fault"),
        ],
    )
    def test_refused_with_the_trouble_that_stands(self, trouble: dict[str, Any], why: str) -> None:
        rig = Rig()
        for name, value in trouble.items():
            setattr(rig.robot, name, value)
        assert rig.ask("arm") == f"refused: {why}"
        assert rig.told() == ("DISARMED", why)

    def test_auto_arm_arms_by_itself_and_tries_again_once_trouble_is_over(self) -> None:
        rig = Rig(arm={"auto_arm": True})
        rig.robot.connected = False
        rig.tick(200)
        assert rig.told() == ("DISARMED", "driver_missing")
        rig.robot.connected = True
        rig.tick(3)
        assert rig.told()[0] == "HOLD"
        rig.robot.feedback = False
        rig.tick(2)
        assert rig.told() == ("FAULT", "can_silent")
        rig.robot.feedback = True
        rig.tick(3)
        assert rig.told()[0] == "HOLD"

    def test_a_stopping_process_switches_nothing_on(self) -> None:
        rig = Rig(arm={"auto_arm": True})
        rig.core.stopping = True
        rig.tick(20)
        assert rig.robot.verbs == []
        assert rig.ask("arm") == "refused: the arm's process is stopping"


class TestDisarm:
    def test_nothing_more_is_sent_and_the_drives_stay_on(self) -> None:
        rig = Rig().hold()
        assert rig.ask("disarm") == "ok"
        sent = len(rig.robot.poses)
        rig.tick(50)
        assert len(rig.robot.poses) == sent
        assert rig.told() == ("DISARMED", "not_armed")
        assert rig.robot.verbs == []
        assert rig.robot.drives_on

    def test_only_a_confirmed_one_switches_them_off(self) -> None:
        rig = Rig(**DROPS).hold()
        assert rig.ask("disarm", 2, confirm_drop=True) == "ok"
        assert rig.robot.verbs == [("disable", True)]
        assert not rig.robot.drives_on
        assert rig.told()[0] == "DISARMED"

    def test_a_pose_in_the_slot_does_not_swallow_the_order(self) -> None:
        rig = Rig().hold()
        rig.robot.slot_busy = True
        assert rig.ask("disarm", 10, confirm_drop=True) == "pending"
        rig.robot.slot_busy = False
        rig.tick(2)
        assert rig.robot.verbs == [("disable", True)]

    def test_armed_again_it_is_not_hit_by_what_still_waited(self) -> None:
        rig = Rig().hold()
        rig.robot.slot_busy = True
        rig.post("disarm", confirm_drop=True)
        rig.tick(2)
        assert rig.ask("arm") == "ok"
        rig.robot.slot_busy = False
        rig.tick(50)
        assert rig.robot.verbs == []
        assert rig.told()[0] == "HOLD"

    def test_a_stop_overtakes_it(self) -> None:
        rig = Rig().hold()
        rig.robot.slot_busy = True
        rig.post("disarm", confirm_drop=True)
        rig.tick(2)
        rig.press_stop()
        assert rig.state().last_command_result == "refused: estop"
        rig.robot.slot_busy = False
        rig.tick(50)
        assert rig.robot.verbs == []


class TestClear:
    def faulty(self, **info: Any) -> Rig:
        rig = Rig(**info).hold()
        rig.robot.faults = ("joint 3 hot",)
        rig.tick()
        assert rig.told() == ("FAULT", "fault")
        assert rig.state().reason_detail == "joint 3 hot"
        return rig

    def test_a_fault_that_the_robot_reports_is_cleared_at_the_robot(self) -> None:
        rig = self.faulty()
        assert rig.ask("clear") == "pending"
        assert rig.robot.verbs == [("clear", False)]
        rig.robot.faults = ()
        state = rig.tick()
        assert (state.state, state.last_command_result) == ("DISARMED", "ok")
        assert rig.told() == ("DISARMED", "not_armed")
        assert rig.ask("arm") == "ok"

    def test_what_the_robot_answers_is_the_answer(self) -> None:
        rig = self.faulty()
        rig.robot.does_verbs = False
        rig.ask("clear")
        rig.robot.finish("clear", False, "fault still stands: joint 3 hot")
        state = rig.tick()
        assert state.last_command_result == "refused: fault still stands: joint 3 hot"
        assert rig.told() == ("DISARMED", "fault")
        assert rig.ask("arm") == "refused: fault"

    def test_where_it_lets_the_arm_drop_it_must_be_confirmed(self) -> None:
        rig = self.faulty(**DROPS)
        assert rig.ask("clear") == (
            "refused: clear lets the arm drop: support it, then add --confirm-drop"
        )
        assert rig.told()[0] == "FAULT"
        assert rig.robot.verbs == []
        rig.ask("clear", confirm_drop=True)
        assert rig.robot.verbs == [("clear", True)]

    @pytest.mark.parametrize(
        ("trouble", "reason"),
        [({"connected": False}, "driver_missing"), ({"feedback": False}, "can_silent")],
    )
    def test_refused_while_any_other_fault_stands(
        self, trouble: dict[str, Any], reason: str
    ) -> None:
        rig = Rig().hold()
        for name, value in trouble.items():
            setattr(rig.robot, name, value)
        rig.tick()
        assert rig.told() == ("FAULT", reason)
        assert rig.ask("clear") == f"refused: {reason}"

    def test_drives_that_dropped_out_are_a_fault_and_it_leads_to_disarmed(self) -> None:
        rig = Rig().hold()
        rig.robot.drives_on = False
        rig.tick()
        assert rig.told() == ("FAULT", "fault")
        assert rig.state().reason_detail == "the drives are off"
        assert rig.ask("clear", 2) == "ok"
        assert rig.told()[0] == "DISARMED"
        assert rig.ask("arm", 3) == "ok"


class TestHome:
    def away(self, **arm: Any) -> Rig:
        home = {"home_p_m": vadd(HELD[0], (0.0, 0.1, 0.0)), "home_rpy_deg": (0.0, 10.0, 0.0)}
        return Rig(arm={**home, **arm}).hold()

    def test_slowly_and_straight_to_the_home_pose(self) -> None:
        rig = self.away()
        assert rig.ask("home") == "ok"
        assert rig.told() == ("HOMING", "homing")
        ticks = rig.reaches("HOLD", 400)
        assert ticks * 0.01 == pytest.approx(0.1 / 0.050, abs=0.05)
        assert vsub(rig.command[0], HELD[0]) == pytest.approx((0.0, 0.1, 0.0), abs=1e-9)
        assert {target.p_base_tool_m[0] for target in rig.sent()} == {HELD[0][0]}
        assert rig.core.motion.gate_blocks == 0

    def test_a_streaming_hand_does_not_end_it(self) -> None:
        rig = self.away()
        rig.ask("home")
        rig.stream(50, (0.3, 0.0, 0.0))
        assert rig.told() == ("HOMING", "homing")

    @pytest.mark.parametrize("verb", ["arm", "disarm", "engage", "release", "reset", "clear"])
    def test_any_other_command_ends_it(self, verb: str) -> None:
        rig = self.away()
        rig.ask("home", 20)
        answer = rig.ask(verb)
        assert rig.told()[0] == "HOLD"
        assert answer.startswith("refused") is (verb == "disarm")  # which waits for rest
        rig.tick(5)
        rig.until_still()
        assert rig.stands(50)
        assert vnorm(vsub(rig.command[0], HELD[0])) < 0.02

    def test_a_rising_enable_bit_ends_it(self) -> None:
        rig = self.away()
        rig.sending, rig.enable = True, False
        rig.ask("home", 20)
        assert rig.told()[0] == "HOMING"
        rig.enable = True
        rig.tick(2)
        assert rig.told()[0] == "HOLD"

    def test_an_estop_ends_it(self) -> None:
        rig = self.away()
        rig.ask("home", 20)
        rig.press_stop()
        assert rig.told() == ("ESTOP_LATCHED", "estop")

    def test_the_end_of_the_process_ends_it(self) -> None:
        rig = self.away()
        rig.ask("home", 20)
        rig.core.stopping = True
        rig.tick()
        assert rig.told()[0] == "HOLD"

    def test_refused_outside_the_workspace(self) -> None:
        rig = self.away(home_p_m=(0.5, 0.0, 0.25))
        assert rig.ask("home") == "refused: the home pose is outside the workspace"
        assert rig.told()[0] == "HOLD"

    def test_a_lost_robot_stops_it(self) -> None:
        rig = self.away()
        rig.ask("home", 20)
        rig.robot.feedback_ns = rig.now_ns
        rig.tick(11)
        assert rig.told() == ("PROTECTIVE_STOP", "can_silent")


class TestReleaseAndAnswers:
    def test_release_brakes_and_only_an_engage_goes_on_in_every_mode(self) -> None:
        rig = Rig(engage_on="tracking").hold().engage()
        rig.stream(30, (0.2, 0.0, 0.0))
        assert rig.ask("release") == "ok"
        rig.clutch = None
        assert rig.told() == ("HOLD", "not_engaged")
        assert rig.state().reason_detail == "needs an engage command"
        rig.until_still()
        rig.stream(100, (0.2, 0.0, 0.0))
        assert rig.state().clutch_offer is None
        assert rig.stands(10)
        rig.post("engage")
        rig.tick()
        assert rig.state().clutch_offer is not None

    @pytest.mark.parametrize(
        ("changes", "why"),
        [
            ({"to_boot": 2}, "meant for another run of this arm; try again"),
            ({"max_age_ms": None}, "too old; try again"),
            ({"verb": "fly"}, "unknown command 'fly'"),
        ],
    )
    def test_what_is_not_for_this_arm_now_is_answered_and_not_obeyed(
        self, changes: dict[str, Any], why: str
    ) -> None:
        rig = Rig().hold()
        facts = {"verb": "home", "id": 99, "t_mono_ns": rig.now_ns}
        assert not rig.core.on_command(order(**{**facts, **changes}), rig.now_ns)
        state = rig.tick()
        assert (state.last_command_id, state.last_command_result) == (99, f"refused: {why}")
        assert state.state == "HOLD"

    def test_one_command_a_step_in_order(self) -> None:
        rig = Rig().hold()
        numbers = [rig.post(verb) for verb in ("disarm", "release", "arm")]
        seen = [(rig.tick().last_command_id, rig.told()[0]) for _ in numbers]
        assert seen == list(zip(numbers, ("DISARMED", "DISARMED", "HOLD"), strict=True))
