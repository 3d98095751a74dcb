"""services.arm.status: what the arm says of itself, and the one reason of several."""

from __future__ import annotations

from typing import Any

import pytest

from proto import envelope
from proto.messages import ArmState
from proto.reasons import Reason
from services.arm.conditions import Conditions
from services.arm.driver import Ack
from tests.unit.arm.make import HELD
from tests.unit.arm.rig import FIRST_OFFER, MS, Rig


def test_disarmed_it_tells_what_it_measures_and_nothing_else() -> None:
    rig = Rig()
    state = rig.tick()
    assert (state.side, state.driver, state.simulated) == ("right", "stand-in", False)
    assert (state.mode, state.engage_on) == ("relative", "command")
    assert (state.meas_p_base_tool_m, state.meas_q_base_tool_xyzw) == HELD
    assert (state.meas_gripper_ratio, state.meas_q_rad) == (0.5, None)
    unknown = (state.cmd_p_base_tool_m, state.limited_p_base_tool_m, state.cmd_gripper_ratio)
    assert unknown == (None, None, None)
    assert (state.t_tick_ns, state.feedback_age_ms) == (rig.now_ns, 0.0)
    assert state.faults == ()


def test_without_feedback_it_measures_nothing() -> None:
    rig = Rig()
    rig.robot.feedback = False
    state = rig.tick()
    assert (state.state, state.reason, state.reason_detail) == (
        "DISARMED",
        "can_silent",
        "no feedback yet",
    )
    assert (state.meas_p_base_tool_m, state.meas_gripper_ratio) == (None, None)
    assert (state.feedback_age_ms, state.faults) == (None, ())


def test_engaged_it_tells_of_the_sample_in_its_command() -> None:
    rig = Rig().hold().engage()
    rig.sending = False
    rig.clock.ns += MS
    sample = rig.send()
    t_target_ns = rig.now_ns
    rig.core.missed_ticks = 3
    state = rig.tick()
    stamps = (state.t_send_s, state.t_recv_ns, state.t_map_ns, state.t_target_ns)
    assert stamps == (sample.t_send_s, sample.t_recv_ns, sample.t_map_ns, t_target_ns)
    assert state.data_age_ms == 15.0
    assert (state.clutch_id, state.clutch_offer) == (FIRST_OFFER, None)
    assert (state.cmd_p_base_tool_m, state.cmd_q_base_tool_xyzw) == HELD
    assert (state.limited_p_base_tool_m, state.limited_q_base_tool_xyzw) == HELD
    assert state.cmd_gripper_ratio == state.limited_gripper_ratio == 0.5
    assert state.missed_ticks == 3
    assert not state.predicting
    assert rig.robot.poses[-1][2] == sample.t_recv_ns


def test_latency_is_of_each_samples_first_command() -> None:
    rig = Rig().hold()
    assert rig.tick().latency_ms is None
    rig.engage()
    rig.sending = False
    rig.clock.ns += MS
    rig.send()
    rig.tick(2)  # handed over 10 ms after it came, and seen a tick later
    assert rig.state().latency_ms == pytest.approx(15.0)
    assert rig.tick(5).latency_ms == pytest.approx(15.0)


def test_it_can_be_sent() -> None:
    rig = Rig().hold().engage()
    state = rig.tick()
    assert envelope.decode(ArmState, envelope.encode(state)) == state


class TestReason:
    """ESTOP > FAULT > PROTECTIVE_STOP > not armed > not engaged > what the hand does."""

    @pytest.mark.parametrize(
        ("conditions", "reason"),
        [
            (Conditions(), "not_armed"),
            (Conditions(protect="can_silent"), "can_silent"),
            (Conditions(fault="driver_missing", protect="can_silent"), "driver_missing"),
            (Conditions(fault="fault", protect="sdk_hung"), "fault"),
        ],
    )
    def test_disarmed(self, conditions: Conditions, reason: Reason) -> None:
        rig = Rig()
        rig.core.conditions = conditions
        assert rig.told() == ("DISARMED", reason)

    @pytest.mark.parametrize(
        ("hand", "detail"),
        [
            ({}, ""),
            ({"tracked": False}, "untracked"),
            ({"sending": False}, "no_packets"),
            ({"mode": "absolute"}, "the mapper runs in absolute mode, this arm in relative"),
        ],
    )
    def test_in_hold_it_says_what_an_engage_lacks(self, hand: dict[str, Any], detail: str) -> None:
        rig = Rig(engage_on="tracking").hold()
        rig.sending = True
        for name, value in hand.items():
            setattr(rig, name, value)
        state = rig.tick(2)
        assert (state.reason, state.reason_detail) == ("not_engaged", detail)

    def test_in_hold_another_hosts_clock_comes_first(self) -> None:
        rig = Rig().hold()
        rig.core.on_foreign_host(rig.now_ns)
        state = rig.tick()
        assert (state.reason, state.reason_detail) == ("clock_domain", "clock_domain")

    @pytest.mark.parametrize("reason", ["outside_box", "clamped"])
    def test_engaged_the_mappers_word_is_passed_on(self, reason: Reason) -> None:
        rig = Rig().hold().engage()
        rig.sending = False
        rig.clock.ns += MS
        rig.send(reason=reason)
        rig.tick()
        assert rig.told() == ("ENGAGED", reason)

    def test_engaged_a_cut_of_the_gate_shows_unless_something_graver_does(self) -> None:
        rig = Rig().hold().engage()
        rig.core.motion.cut_reason, rig.core.motion.cut_by = "speed_limited", "speed"
        assert rig.told() == ("ENGAGED", "speed_limited")
        assert rig.state().reason_detail == "speed"
        rig.sending = False
        rig.clock.ns += MS
        rig.send(reason="clamped")
        assert rig.told() == ("ENGAGED", "clamped")

    def test_engaged_a_pose_that_the_robot_cannot_reach_shows(self) -> None:
        rig = Rig().hold().engage()
        rig.robot.ack = Ack("SENT")
        rig.tick()
        seen = [rig.told()]
        rig.robot.ack = Ack("REJECTED", "out of reach: 0.9 m")
        rig.tick()
        assert [*seen, rig.told()] == [("ENGAGED", ""), ("ENGAGED", "unreachable")]
        assert rig.state().reason_detail == "out of reach: 0.9 m"

    def test_a_stop_keeps_its_cause_whatever_comes_after(self) -> None:
        rig = Rig().hold().engage()
        rig.tick(late_ms=200.0)
        rig.core.on_foreign_host(rig.now_ns)
        rig.stream(10, (0.5, 0.0, 0.0))
        assert rig.told() == ("PROTECTIVE_STOP", "tick_late")
        rig.robot.faults = ("joint 3 hot",)
        rig.tick()
        assert rig.told() == ("FAULT", "fault")
        rig.press_stop()
        assert rig.told() == ("ESTOP_LATCHED", "estop")
