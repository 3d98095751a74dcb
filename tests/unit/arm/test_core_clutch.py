"""The arm's half of the clutch, with all its parts together."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.se3 import vadd, vsub
from tests.unit.arm.make import HELD, untracked
from tests.unit.arm.rig import FIRST_OFFER, MS, Rig

UNFIT = "refused: the hand must be tracked and slower than 0.3 m/s for 0.5 s"


def offer(rig: Rig) -> int | None:
    return rig.state().clutch_offer


class TestOffer:
    def test_in_command_mode_only_for_two_seconds_after_an_engage(self) -> None:
        rig = Rig().hold()
        rig.tick(50)
        assert offer(rig) is None
        assert rig.ask("engage") == "pending"
        assert offer(rig) == FIRST_OFFER
        rig.tick(199)
        assert offer(rig) == FIRST_OFFER
        rig.tick()
        assert offer(rig) is None

    def test_in_tracking_mode_after_two_ticks_at_rest(self) -> None:
        rig = Rig(engage_on="tracking")
        rig.robot.drives_on = True
        rig.tick()
        rig.ask("arm")
        assert offer(rig) is None
        rig.tick()
        assert offer(rig) == FIRST_OFFER

    def test_it_comes_with_the_held_pose_which_stands(self) -> None:
        rig = Rig(engage_on="tracking").hold()
        state = rig.state()
        assert (state.cmd_p_base_tool_m, state.cmd_q_base_tool_xyzw) == HELD
        assert rig.stands(20)

    def test_each_stay_in_hold_has_its_own_and_clutch_id_shows_only_engaged(self) -> None:
        rig = Rig(engage_on="tracking").hold().engage()
        assert (rig.state().clutch_id, offer(rig)) == (FIRST_OFFER, None)
        rig.clutch = None
        rig.reaches("HOLD")
        assert rig.state().clutch_id is None
        rig.tick(3)
        assert offer(rig) == FIRST_OFFER + 1

    def test_an_old_clutch_takes_nothing(self) -> None:
        """A restarted mapper, an old stream and a swapped arm all come with another number."""
        rig = Rig(engage_on="tracking").hold()
        for number in (FIRST_OFFER - 1, FIRST_OFFER + 1, 0):
            rig.clutch = number
            rig.stream(10, (0.1, 0.0, 0.0))
        assert rig.told() == ("HOLD", "not_engaged")
        assert len(set(rig.sent())) == 1

    @pytest.mark.parametrize(
        "changes",
        [
            {"target_p_base_tool_m": vadd(HELD[0], (0.0011, 0.0, 0.0))},
            {"jump": True},
            {"mode": "absolute"},
            {"engaged": False},
        ],
    )
    def test_a_first_target_that_is_not_the_held_pose_takes_nothing(
        self, changes: dict[str, Any]
    ) -> None:
        rig = Rig(engage_on="tracking").hold()
        rig.clutch = FIRST_OFFER
        rig.send(**changes)
        rig.tick()
        assert rig.told() == ("HOLD", "not_engaged")


class TestEngage:
    def test_the_first_command_is_the_held_pose_and_then_it_follows(self) -> None:
        rig = Rig().hold()
        held = rig.command
        rig.engage()
        rig.tick(2)
        assert rig.command == held
        rig.stream(100, (0.1, 0.0, 0.0))
        assert rig.command[0][0] - held[0][0] == pytest.approx(0.1, abs=0.002)
        assert rig.core.motion.gate_blocks == 0
        assert set(rig.sent()[:6]) == {rig.sent()[0]}

    def test_targets_of_the_same_drain_count_in_order(self) -> None:
        rig = Rig().hold()
        rig.post("engage")
        rig.tick()
        rig.clutch = offer(rig)
        rig.send()
        rig.clock.ns += 5 * MS
        rig.p_m = (0.004, 0.0, 0.0)
        rig.send()
        rig.clock.ns += 5 * MS
        rig.tick(10)
        assert vsub(rig.command[0], HELD[0]) == pytest.approx((0.004, 0.0, 0.0), abs=1e-9)

    def test_a_let_go_in_the_same_drain_counts(self) -> None:
        rig = Rig().hold()
        rig.post("engage")
        rig.tick()
        rig.clutch = offer(rig)
        rig.send()
        rig.clock.ns += MS
        rig.send(engaged=False)
        rig.tick(2)
        assert rig.told() == ("HOLD", "not_engaged")

    def test_a_stopping_process_is_not_taken(self) -> None:
        rig = Rig().hold()
        rig.post("engage")
        rig.tick()
        rig.clutch = offer(rig)
        rig.core.stopping = True
        rig.send()
        assert rig.tick().clutch_offer is None
        assert rig.told() == ("HOLD", "not_engaged")

    def test_the_pending_answer_becomes_ok(self) -> None:
        rig = Rig().hold().engage()
        assert rig.state().last_command_result == "ok"
        assert rig.ask("engage") == "ok"  # it is
        assert rig.told()[0] == "ENGAGED"

    def test_an_engage_is_good_for_one_clutch(self) -> None:
        rig = Rig().hold().engage()
        rig.clutch = None
        rig.reaches("HOLD")
        rig.tick(20)
        assert offer(rig) is None


def absent(rig: Rig) -> None:
    rig.sending = False


def lost(rig: Rig) -> None:
    rig.sending, rig.tracked = True, False


def unfit(rig: Rig) -> None:
    rig.sending = True


def foreign(rig: Rig) -> None:
    rig.core.on_foreign_host(rig.now_ns + 1_500 * MS)


class TestRefusedEngage:
    @pytest.mark.parametrize(
        ("hand", "why"),
        [
            (absent, "no_packets"),
            (lost, "untracked"),
            (unfit, "moving or settling"),
            (foreign, "clock_domain"),
        ],
    )
    @pytest.mark.parametrize("engage_on", ["command", "tracking"])
    def test_after_two_seconds_with_the_reason(self, hand: Any, why: str, engage_on: str) -> None:
        rig = Rig(engage_on=engage_on).hold()
        hand(rig)
        assert rig.ask("engage", 200) == "pending"
        assert rig.tick().last_command_result == f"{UNFIT} ({why})"

    @pytest.mark.parametrize("engage_on", ["command", "tracking"])
    def test_what_was_on_its_way_does_not_take_it_any_more(self, engage_on: str) -> None:
        rig = Rig(engage_on=engage_on).hold()
        rig.post("release")
        rig.tick()
        rig.post("engage")
        rig.tick(202)
        rig.clutch = FIRST_OFFER
        rig.send()
        rig.tick(30)
        assert rig.told() == ("HOLD", "not_engaged")
        assert offer(rig) is None

    def test_in_tracking_mode_a_needless_engage_that_is_refused_takes_nothing_away(self) -> None:
        rig = Rig(engage_on="tracking").hold()
        rig.post("engage")
        rig.tick(210)
        assert rig.state().last_command_result.startswith("refused")
        rig.take_offer()
        assert rig.told() == ("ENGAGED", "")

    def test_by_what_ends_the_hold(self) -> None:
        rig = Rig().hold()
        rig.post("engage")
        rig.tick()
        rig.robot.feedback_ns = rig.now_ns
        rig.reaches("PROTECTIVE_STOP")
        assert rig.state().last_command_result == "refused: can_silent"

    def test_a_release_overrules_it(self) -> None:
        rig = Rig().hold()
        rig.post("engage")
        rig.tick()
        assert rig.ask("release") == "ok"
        assert offer(rig) is None
        rig.tick(250)
        assert rig.state().last_command_result == "ok"


def test_an_untracked_target_with_the_right_number_takes_nothing() -> None:
    rig = Rig(engage_on="tracking").hold()
    lost_hand = untracked(clutch_id=FIRST_OFFER, t_recv_ns=rig.now_ns)
    rig.core.on_target(lost_hand, rig.now_ns)
    rig.tick()
    assert rig.told() == ("HOLD", "not_engaged")


def test_a_copy_of_a_target_is_not_heard() -> None:
    rig = Rig().hold().engage()
    rig.stream(10)
    let_go = rig.sample(engaged=False, t_recv_ns=rig.now_ns - 50 * MS)
    rig.core.on_target(let_go, rig.now_ns)
    rig.tick()
    assert rig.told() == ("ENGAGED", "")
