"""services.arm.stream: the newest target, and what an engage lacks."""

from __future__ import annotations

from typing import Any

import pytest

from services.arm.stream import Stream
from tests.unit.arm.make import target, untracked
from tests.unit.arm.settings import mapper_settings

MS = 1_000_000
T0_NS = 1_000_000_000  # of make.target


def stream(**changes: Any) -> Stream:
    return Stream(mapper_settings(**changes))


class TestNewest:
    def test_a_newer_one_of_the_same_source_takes_the_place(self) -> None:
        seen = stream()
        assert seen.take(target())
        assert seen.take(target(t_recv_ns=T0_NS + 1))
        assert seen.target == target(t_recv_ns=T0_NS + 1)

    @pytest.mark.parametrize("changes", [{}, {"t_recv_ns": T0_NS - 1, "engaged": False}])
    def test_a_copy_on_a_detour_is_no_news(self, changes: dict[str, Any]) -> None:
        seen = stream()
        seen.take(target())
        assert not seen.take(target(**changes))
        assert seen.target == target()

    def test_two_that_came_at_once_are_two(self) -> None:
        seen = stream()
        seen.take(target())
        assert seen.take(target(engaged=False))

    @pytest.mark.parametrize("source", ["boot", "ingest_boot", "session"])
    def test_another_source_has_stamps_of_its_own(self, source: str) -> None:
        seen = stream()
        seen.take(target())
        assert seen.take(target(t_recv_ns=T0_NS - 1, **{source: 99}))


class TestEnableBit:
    def test_its_rise_is_told_once(self) -> None:
        seen = stream()
        rises = []
        for number, enable in enumerate((True, None, True, False, False, True, True, None)):
            seen.take(target(t_recv_ns=T0_NS + number, enable=enable))
            rises.append(seen.take_enable_rise())
        assert rises == [False, False, False, False, False, True, False, False]

    @pytest.mark.parametrize(
        ("engage_on", "enable", "low", "let_go"),
        [
            ("enable_bit", True, False, False),
            ("enable_bit", False, True, True),
            ("enable_bit", None, False, True),  # nobody says that it is pressed
            ("command", False, True, False),
            ("tracking", False, True, False),
            ("command", None, False, False),
        ],
    )
    def test_a_deadmans_switch_counts_only_where_it_is_in_use(
        self, engage_on: str, enable: bool | None, low: bool, let_go: bool
    ) -> None:
        seen = stream(engage_on=engage_on)
        assert not seen.enable_low
        assert not seen.enable_let_go
        seen.take(target(enable=enable))
        assert (seen.enable_low, seen.enable_let_go) == (low, let_go)


class TestHere:
    def test_a_fresh_tracked_hand_is_here(self) -> None:
        seen = stream()
        assert not seen.is_here(T0_NS)
        seen.take(target())
        assert seen.is_here(T0_NS + 199 * MS)
        assert not seen.is_here(T0_NS + 200 * MS)
        seen.take(untracked(t_recv_ns=T0_NS + 100 * MS))
        assert not seen.is_here(T0_NS + 100 * MS)

    def test_what_an_engage_lacks(self) -> None:
        seen = stream()
        assert seen.lacks(T0_NS) == "no_packets"
        seen.take(target())
        assert seen.lacks(T0_NS + 199 * MS) == ""
        assert seen.lacks(T0_NS + 200 * MS) == "no_packets"
        seen.take(untracked(t_recv_ns=T0_NS + 1))
        assert seen.lacks(T0_NS) == "untracked"
        seen.take(target(t_recv_ns=T0_NS + 2, mode="absolute"))
        assert seen.lacks(T0_NS) == "the mapper runs in absolute mode, this arm in relative"

    def test_another_machines_clock_matters_for_a_second(self) -> None:
        seen = stream()
        assert not seen.clock_foreign(T0_NS)
        seen.on_foreign_host(T0_NS)
        assert seen.clock_foreign(T0_NS + 999 * MS)
        assert seen.lacks(T0_NS) == "clock_domain"
        assert not seen.clock_foreign(T0_NS + 1000 * MS)
