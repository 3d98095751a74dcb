"""The arm at the end of a pipe where everything goes wrong: what must hold, holds throughout."""

from __future__ import annotations

import hashlib

import pytest

from services.arm.situation import EngageOn
from tests.unit.arm.closed_loop.checks import Checks
from tests.unit.arm.closed_loop.director import Director
from tests.unit.arm.closed_loop.world import World


class Run:
    """One seed; `digest` is over every byte of every state."""

    def __init__(
        self,
        seed: int,
        ticks: int,
        mode: str = "relative",
        engage_on: EngageOn = "tracking",
        *,
        driver_faults: bool = False,
        replays: bool = False,
    ) -> None:
        self.world = World(seed, mode, engage_on, replays)
        self.director = Director(self.world, driver_faults=driver_faults)
        self.checks = Checks(self.world)
        for _ in range(ticks):
            self.director.run(1)
            self.checks.look()

    def digest(self) -> str:
        whole = hashlib.sha256()
        for state in self.world.states:
            whole.update(repr(state).encode())
        return whole.hexdigest()

    def share(self, state: str) -> float:
        states = self.world.states
        return sum(s.state == state for s in states) / len(states)

    @property
    def gate_blocks(self) -> int:
        return max(s.gate_blocks for s in self.world.states)

    def states(self) -> set[str]:
        return {s.state for s in self.world.states}

    def reasons(self) -> set[str]:
        return {s.reason for s in self.world.states}


ALL_STATES = {"DISARMED", "HOLD", "HOMING", "ENGAGED", "PROTECTIVE_STOP", "ESTOP_LATCHED"}
WAYS: list[tuple[str, EngageOn]] = [
    ("relative", "tracking"),
    ("relative", "command"),
    ("absolute", "tracking"),
]


@pytest.mark.parametrize(("seed", "way"), list(enumerate(WAYS, start=1)))
def test_a_bad_day(seed: int, way: tuple[str, EngageOn]) -> None:
    run = Run(seed, 8_000, *way)
    assert run.gate_blocks == 0
    # The checks looked at every step; this is that they had something to look at.
    assert run.states() >= ALL_STATES
    assert run.share("ENGAGED") > 0.03
    assert run.checks.moved > 300
    assert len(run.reasons()) > 9


@pytest.mark.parametrize(("seed", "mode"), [(1, "relative"), (2, "absolute")])
def test_a_bad_day_with_a_bad_robot(seed: int, mode: str) -> None:
    run = Run(seed, 3_000, mode, driver_faults=True)
    assert run.states() >= {"FAULT", "ENGAGED"}
    assert run.checks.moved > 50


def test_the_same_seed_is_the_same_run_to_the_last_byte() -> None:
    first = Run(5, 1_500, driver_faults=True)
    assert first.digest() == Run(5, 1_500, driver_faults=True).digest()
    assert first.digest() != Run(6, 1_500, driver_faults=True).digest()


def test_copies_on_a_detour_change_nothing() -> None:
    """The mapper's targets again, once or twice, now or later, in any order."""
    plain = Run(7, 2_000)
    assert plain.share("ENGAGED") > 0.1
    assert plain.digest() == Run(7, 2_000, replays=True).digest()
