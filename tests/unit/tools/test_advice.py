"""What a person is told for each reason."""

from __future__ import annotations

from typing import get_args

import pytest

from proto.messages import ArmState
from proto.reasons import REASONS, SIDES, Reason
from tools.advice import ADVICE, advice
from tools.arm import build_parser

# Reasons that end by themselves or by what the hand does: nothing to type.
NOTHING_TO_TYPE = {
    "",
    "driver_missing",
    "clock_domain",
    "not_configured",
    "homing",
    "approach",
    "stale",
    "untracked",
    "outside_box",
    "clamped",
    "speed_limited",
    "unreachable",
}


def state(reason: Reason, detail: str = "") -> ArmState:
    return ArmState(
        side="left",
        driver="sim",
        simulated=True,
        state="HOLD",
        reason=reason,
        reason_detail=detail,
        t_tick_ns=1,
    )


def test_every_reason_has_advice_and_no_other() -> None:
    assert set(ADVICE) == set(REASONS) == set(get_args(Reason))


@pytest.mark.parametrize("reason", REASONS)
def test_advice_is_one_line_with_state_reason_and_side(reason: Reason) -> None:
    line = advice(state(reason, "x=1"))
    assert line.startswith(f"left: HOLD {reason or 'ok'} (x=1): ")
    assert "\n" not in line
    assert "{" not in line


@pytest.mark.parametrize("reason", sorted(set(REASONS) - NOTHING_TO_TYPE))
def test_a_reason_that_needs_a_person_names_the_command(reason: Reason) -> None:
    assert "python -m tools." in advice(state(reason)) or "supervisorctl" in advice(state(reason))


@pytest.mark.parametrize("reason", REASONS)
def test_every_tools_arm_command_in_advice_exists(reason: Reason) -> None:
    for command in advice(state(reason)).split("python -m tools.arm ")[1:]:
        words = command.replace(",", " ").split()[:2]
        if len(words) < 2 or words[1] not in SIDES:
            words = words[:1]
        assert build_parser().parse_args(words).verb == words[0]
