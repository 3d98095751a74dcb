"""services.arm.errands: operators' verbs on their way to the driver."""

from __future__ import annotations

from typing import cast

import pytest

from services.arm.driver_thread import DriverThread
from services.arm.errands import Errands, Ordered
from tests.unit.arm.fakes import FakeClock
from tests.unit.arm.stand_in import StandIn


class Way:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.driver = StandIn(self.clock)
        self.errands = Errands(cast(DriverThread, self.driver))

    def step(self, *, enable: bool = False) -> str:
        self.clock.advance_s(0.01)
        return self.errands.step(self.driver.report(), self.clock.now_ns(), enable=enable)

    def order(self, verb: Ordered, *, confirmed: bool = False) -> None:
        self.errands.order(verb, confirmed, self.clock.now_ns())


@pytest.mark.parametrize("verb", ["clear", "disable"])
@pytest.mark.parametrize("confirmed", [False, True])
def test_an_order_is_handed_over_once_and_its_end_is_told(verb: Ordered, confirmed: bool) -> None:
    way = Way()
    way.order(verb, confirmed=confirmed)
    assert [way.step() for _ in range(4)] == ["", "ok", "", ""]
    assert way.driver.verbs == [(verb, confirmed)]


def test_a_pose_in_the_slot_does_not_swallow_it() -> None:
    way = Way()
    way.driver.slot_busy = True
    way.order("clear")
    assert [way.step() for _ in range(5)] == [""] * 5
    way.driver.slot_busy = False
    assert [way.step() for _ in range(2)] == ["", "ok"]


def test_what_the_robot_refuses_is_told() -> None:
    way = Way()
    way.driver.does_verbs = False
    way.order("clear")
    way.step()
    way.driver.finish("enable", True)  # somebody else's
    assert way.step() == ""
    way.driver.finish("clear", False, "joint 3 still hot")
    assert way.step() == "refused: joint 3 still hot"


@pytest.mark.parametrize("busy", [True, False], ids=["waiting", "in flight"])
def test_it_waits_for_a_second(busy: bool) -> None:
    way = Way()
    way.driver.slot_busy, way.driver.does_verbs = busy, False
    way.order("disable")
    assert [way.step() for _ in range(99)] == [""] * 99
    assert way.step() == "refused: the driver does not answer"
    way.driver.slot_busy = False
    way.step()
    assert len(way.driver.verbs) == (0 if busy else 1)


def test_without_a_driver_it_is_refused_at_once() -> None:
    way = Way()
    way.driver.connected = False
    way.order("clear")
    assert way.step() == "refused: driver_missing"
    assert way.step() == ""


def test_an_arm_that_moved_on_is_not_hit_by_a_late_order() -> None:
    way = Way()
    assert not way.errands.drop()
    way.driver.slot_busy = True
    way.order("disable")
    way.step()
    assert not way.errands.drop("clear")
    assert way.errands.drop("disable")
    way.order("clear")
    assert way.errands.drop()
    way.driver.slot_busy = False
    way.step()
    assert way.driver.verbs == []


def test_what_is_on_its_way_to_the_robot_is_not_dropped() -> None:
    way = Way()
    way.order("clear")
    way.step()
    assert not way.errands.drop()
    assert way.step() == "ok"


class TestEnable:
    def test_asked_for_once_while_wanted(self) -> None:
        way = Way()
        for wanted in (True, True, False, True):
            way.step(enable=wanted)
        assert way.driver.verbs == [("enable", False)] * 2

    def test_asked_for_again_while_the_slot_is_taken(self) -> None:
        way = Way()
        way.driver.slot_busy = True
        way.step(enable=True)
        way.driver.slot_busy = False
        way.step(enable=True)
        assert way.driver.verbs == [("enable", False)]

    def test_only_after_a_clear_has_ended(self) -> None:
        way = Way()
        way.order("clear")
        for _ in range(3):
            way.step(enable=True)
        assert way.driver.verbs == [("clear", False), ("enable", False)]
