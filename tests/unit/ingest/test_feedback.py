"""What the headset is told of its arm."""

from __future__ import annotations

from typing import Any

import pytest

from proto.views import ArmFeedback
from services.ingest.feedback import FeedbackMaker

MS = 1_000_000


def told(**changes: Any) -> ArmFeedback:
    values: dict[str, Any] = {
        "side": "left",
        "simulated": True,
        "state": "ENGAGED",
        "reason": "",
        "meas_q_rad": tuple(float(i) for i in range(10)),
        "latency_ms": 4.5,
    }
    values.update(changes)
    return ArmFeedback(**values)


def test_packets_are_numbered_from_one_and_carry_the_arms_word() -> None:
    maker = FeedbackMaker()
    first = maker.make(told(reason="clamped"), 7.5, 0)
    second = maker.make(told(state="HOMING", reason="homing"), None, 40 * MS)
    assert (first.seq, second.seq) == (1, 2)
    assert (first.side, first.state, first.reason, first.engaged) == (
        "left",
        "ENGAGED",
        "clamped",
        True,
    )
    assert (first.t_send_s_echo, second.t_send_s_echo) == (7.5, None)
    assert (second.homing, second.engaged) == (True, False)
    assert first.q_rad == tuple(float(i) for i in range(8))


@pytest.mark.parametrize(
    ("changes", "ratio"),
    [({}, 0.0), ({"reason": "clamped"}, 0.3), ({"braking": True, "reason": "stale"}, 0.6)],
)
def test_the_hand_feels_walls_and_braking(changes: dict[str, Any], ratio: float) -> None:
    assert FeedbackMaker().make(told(**changes), None, 0).haptic_ratio == ratio


@pytest.mark.parametrize("state", ["PROTECTIVE_STOP", "ESTOP_LATCHED", "FAULT"])
def test_a_stop_is_felt_for_300_ms(state: str) -> None:
    maker = FeedbackMaker()
    maker.make(told(), None, 0)
    felt = [
        maker.make(told(state=state, reason="estop"), None, t_ms * MS).haptic_ratio
        for t_ms in (10, 200, 309, 310)
    ]
    assert felt == [1.0, 1.0, 1.0, 0.0]
