"""What engages the clutch and what lets go: pedal, enable bit, absolute approach."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from runtime.se3 import vsub
from tests.unit.arm.make import HELD
from tests.unit.arm.rig import FIRST_OFFER, MS, Rig

UNFIT = "refused: the hand must be tracked and slower than 0.3 m/s for 0.5 s"


def offer(rig: Rig) -> int | None:
    return rig.state().clutch_offer


class TestPedal:
    def press(self, rig: Rig, ticks: int) -> None:
        """Repeats every 50 ms."""
        for tick in range(ticks):
            if tick % 5 == 0:
                rig.post("engage", hold_ms=200)
            rig.tick()

    def engaged(self, **settings: Any) -> Rig:
        rig = Rig(**settings).hold()
        rig.sending = True
        self.press(rig, 3)
        rig.take_offer()
        assert rig.told() == ("ENGAGED", "")
        return rig

    def test_engaged_only_while_it_is_repeated(self) -> None:
        rig = self.engaged()
        self.press(rig, 300)
        assert rig.told() == ("ENGAGED", "")
        rig.post("engage", hold_ms=200)
        rig.tick(20)
        assert rig.told()[0] == "ENGAGED"
        rig.tick()
        assert rig.told() == ("HOLD", "not_engaged")

    def test_after_it_only_a_new_press_engages(self) -> None:
        rig = self.engaged()
        rig.reaches("HOLD")
        rig.clutch = None
        rig.tick(100)
        assert offer(rig) is None
        self.press(rig, 10)
        assert offer(rig) == FIRST_OFFER + 1

    def test_released_before_anything_took_it(self) -> None:
        rig = Rig().hold()
        rig.post("engage", hold_ms=200)
        rig.tick(21)
        assert rig.state().last_command_result == f"{UNFIT} (the pedal came up)"

    def test_repeated_every_tick_it_keeps_nothing_waiting(self) -> None:
        """At 20 Hz a pedal's 50 ms are every tick."""
        rig = Rig().hold()
        for _ in range(3):
            rig.post("engage", hold_ms=200)
            rig.tick()
        rig.clutch = offer(rig)
        rig.send()
        rig.post("engage", hold_ms=200)
        rig.tick()
        assert rig.told()[0] == "ENGAGED"
        rig.clock.ns += 10 * MS
        rig.send(engaged=False)
        rig.post("engage", hold_ms=200)
        rig.tick()
        assert rig.told()[0] == "HOLD"

    def test_a_stop_in_tracking_mode_does_not_make_free_run_of_it(self) -> None:
        rig = self.engaged(engage_on="tracking")
        rig.sending = False
        self.press(rig, 90)
        rig.reaches("PROTECTIVE_STOP")
        rig.clutch = None
        rig.tick(30)
        rig.sending = True
        rig.reaches("HOLD")
        rig.tick(100)
        assert offer(rig) is None


class TestEnableBit:
    def held(self) -> Rig:
        rig = Rig(engage_on="enable_bit").hold()
        rig.sending, rig.enable = True, False
        return rig

    def test_offered_once_it_was_low_for_200_ms(self) -> None:
        rig = self.held()
        rig.tick(20)
        assert offer(rig) is None
        rig.tick(4)
        assert offer(rig) == FIRST_OFFER
        rig.enable = True
        rig.tick(2)
        rig.take_offer()
        assert rig.told() == ("ENGAGED", "")

    def test_held_all_along_it_offers_nothing(self) -> None:
        rig = self.held()
        rig.enable = True
        rig.tick(100)
        assert offer(rig) is None

    @pytest.mark.parametrize("released", [False, None])
    def test_its_fall_lets_go(self, released: bool | None) -> None:
        rig = self.held()
        rig.tick(25)
        rig.enable = True
        rig.tick(2)
        rig.take_offer()
        rig.stream(50, (0.1, 0.0, 0.0))
        rig.enable = released
        rig.tick(2)
        assert rig.told() == ("HOLD", "not_engaged")
        rig.until_still()
        assert rig.stands(50)

    def test_seen_low_it_leads_out_of_a_protective_stop_for_any_cause(self) -> None:
        rig = self.held()
        rig.tick(25)
        rig.enable = True
        rig.tick(2)
        rig.take_offer()
        rig.source = {"session": 6}
        rig.reaches("PROTECTIVE_STOP")
        rig.tick(50)
        assert rig.told() == ("PROTECTIVE_STOP", "session_changed")
        rig.clutch, rig.enable = None, False
        rig.tick(3)
        assert rig.told() == ("HOLD", "not_engaged")


class TestAbsolute:
    def engaging(self, dx_m: float, **changes: Any) -> Rig:
        rig = Rig("absolute").hold()
        rig.post("engage")
        rig.tick()
        rig.clutch, rig.p_m = offer(rig), (dx_m, 0.0, 0.0)
        rig.send(**changes)
        rig.tick()
        return rig

    def test_refused_with_the_reason_and_for_good(self) -> None:
        rig = self.engaging(0.0, outside_mm=51.0)
        refused = "outside_box (the hand points 51 mm outside)"
        assert rig.state().last_command_result == f"refused: {refused}"
        assert rig.state().reason_detail == refused
        rig.sending = True
        rig.tick(50)
        assert rig.told() == ("HOLD", "not_engaged")
        assert offer(rig) is None

    def test_a_refusal_is_shown_for_two_seconds(self) -> None:
        rig = Rig("absolute", engage_on="tracking").hold()
        rig.sending = True
        rig.clutch, rig.p_m = offer(rig), (0.0, 0.31, 0.0)
        rig.tick(2)
        assert "310 mm away" in rig.state().reason_detail
        rig.clutch = None
        rig.tick(201)
        assert rig.state().reason_detail == ""

    def test_it_approaches_at_50_mm_a_second_and_then_follows(self) -> None:
        rig = self.engaging(0.1)
        rig.sending = True
        state = rig.tick(30)
        assert (state.state, state.reason) == ("ENGAGED", "approach")
        assert state.rest_mm == pytest.approx(100.0 - 0.3 * 50.0, abs=1.5)
        steps = [vsub(b.p_base_tool_m, a.p_base_tool_m)[0] for a, b in pairwise(rig.sent())]
        assert max(steps) == pytest.approx(0.0005)
        rig.tick(300)
        assert rig.told() == ("ENGAGED", "")
        assert vsub(rig.command[0], HELD[0]) == pytest.approx((0.1, 0.0, 0.0), abs=1e-9)
        assert rig.core.motion.gate_blocks == 0

    def test_a_hand_in_haste_ends_it_in_hold(self) -> None:
        rig = self.engaging(0.1)
        rig.stream(20, (0.4, 0.0, 0.0))
        rig.reaches("HOLD", 5)
        rig.clutch = None
        rig.until_still()
        assert rig.stands(50)
