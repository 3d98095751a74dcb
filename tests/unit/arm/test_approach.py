"""services.arm.approach: absolute mode's way from the held pose to the hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from runtime.se3 import Pose, Quat, quat_from_rotvec
from services.arm.approach import APPROACH_MPS, APPROACH_RADPS, Approach, refusal
from tests.unit.arm.make import HELD, target, untracked

S = 1_000_000_000
MS = 1_000_000


def turned(angle_deg: float) -> Quat:
    return quat_from_rotvec((0.0, math.radians(angle_deg), 0.0))


def off(dx_m: float, angle_deg: float = 0.0) -> Pose:
    """A wish so far from the held pose."""
    (x, y, z), _ = HELD
    return (x, y + dx_m, z), turned(angle_deg)


def absolute(dx_m: float = 0.0, angle_deg: float = 0.0, **changes: Any) -> Any:
    p_m, q_xyzw = off(dx_m, angle_deg)
    pose = {"target_p_base_tool_m": p_m, "target_q_base_tool_xyzw": q_xyzw}
    return target(**{"mode": "absolute", **pose, **changes})


@pytest.mark.parametrize(
    ("wish", "refused"),
    [
        (absolute(0.299), ""),
        (absolute(0.3001), "approach (the hand points 300 mm away, 300 mm at most)"),
        (absolute(0.45), "approach (the hand points 450 mm away, 300 mm at most)"),
        (absolute(angle_deg=44.9), ""),
        (absolute(angle_deg=50.0), "approach (the hand is turned 50°, 45° at most)"),
        (absolute(outside_mm=50.0), ""),
        (absolute(outside_mm=120.4), "outside_box (the hand points 120 mm outside)"),
        (untracked(mode="absolute"), "untracked"),
    ],
)
def test_refused_beyond_300_mm_45_degrees_or_50_mm_outside(wish: Any, refused: str) -> None:
    assert refusal(wish, HELD) == refused


def test_the_limits_of_an_approach() -> None:
    assert (APPROACH_MPS, APPROACH_RADPS) == (0.050, 0.3)


@pytest.mark.parametrize(
    ("wish", "verdict", "rest_mm"),
    [
        (off(0.0199, 2.9), "follow", 19.9),
        (off(0.0201), "approach", 20.1),
        (off(0.0, 3.1), "approach", 0.0),
        (off(0.2, 40.0), "approach", 200.0),
    ],
)
def test_within_20_mm_and_3_degrees_it_follows(wish: Pose, verdict: str, rest_mm: float) -> None:
    told, told_mm = Approach(0, 1.0).judge(MS, wish, HELD)
    assert told == verdict
    assert told_mm == pytest.approx(rest_mm)


def test_given_up_after_ten_seconds() -> None:
    approach = Approach(S, 1.0)
    assert approach.judge(11 * S, off(0.1), HELD)[0] == "approach"
    assert approach.judge(11 * S + 1, off(0.1), HELD)[0] == "abort"


def test_given_up_when_the_hand_walks_off_by_100_mm() -> None:
    approach = Approach(0, 1.0)
    rests_m = (0.15, 0.10, 0.19, 0.12, 0.199)
    assert {approach.judge(MS, off(rest_m), HELD)[0] for rest_m in rests_m} == {"approach"}
    assert approach.judge(MS, off(0.201), HELD)[0] == "abort"


@pytest.mark.parametrize(
    ("hand_mps", "scale", "verdict"),
    [
        (0.29, 1.0, "approach"),
        (0.31, 1.0, "abort"),
        (0.29, 0.75, "approach"),
        (0.31, 0.75, "abort"),
    ],
)
def test_given_up_when_the_hand_is_faster_than_300_mm_a_second(
    hand_mps: float, scale: float, verdict: str
) -> None:
    """The hand, not the target that the mapping has scaled."""
    approach = Approach(0, scale)
    for k in range(8):
        t_ns = k * 20 * MS
        approach.on_sample(t_ns, (hand_mps * scale * t_ns * 1e-9, 0.0, 0.0))
    assert approach.judge(200 * MS, off(0.1), HELD)[0] == verdict


def test_one_noisy_sample_is_no_fast_hand_and_a_moment_of_haste_is_remembered() -> None:
    approach = Approach(0, 1.0)
    for k in range(10):
        approach.on_sample(k * 20 * MS, (0.002 if k == 5 else 0.0, 0.0, 0.0))
    assert approach.judge(S, off(0.1), HELD)[0] == "approach"
    for k in range(10, 30):
        approach.on_sample(k * 20 * MS, (0.04 if k > 12 else 0.0, 0.0, 0.0))
    assert approach.judge(S, off(0.1), HELD)[0] == "abort"
