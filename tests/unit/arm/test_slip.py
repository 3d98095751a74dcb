"""services.arm.slip: nothing jumps, nothing chases, axes stay."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.se3 import (
    IDENTITY,
    Pose,
    Vec3,
    quat_angle_rad,
    quat_conj,
    quat_from_rotvec,
    quat_mul,
    quat_to_rotvec,
    vadd,
    vnorm,
    vsub,
)
from services.arm.limits import Limits, PoseLimiter
from services.arm.slip import (
    IDENTITY_SLIP,
    LEAD_M,
    LEAD_RAD,
    Slip,
    apply_slip,
    grow_slip,
    reseat_slip,
    slide_slip,
)

vectors = st.tuples(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0), st.floats(-1.0, 1.0))
poses = st.builds(lambda p, turn: (p, quat_from_rotvec(turn)), vectors, vectors)
slips = st.builds(lambda pose: Slip(*pose), poses)


def gap(a: Pose, b: Pose) -> tuple[float, float]:
    return vnorm(vsub(a[0], b[0])), quat_angle_rad(a[1], b[1])


def test_no_slip_changes_no_bit() -> None:
    target = ((0.1, 0.2, 0.3), quat_from_rotvec((0.3, -0.2, 0.1)))
    assert apply_slip(target, IDENTITY_SLIP) == target


@settings(max_examples=40, deadline=None)
@given(sample=poses, command=poses)
def test_a_reseated_sample_means_the_present_command(sample: Pose, command: Pose) -> None:
    far_m, far_rad = gap(apply_slip(sample, reseat_slip(sample, command)), command)
    assert far_m < 1e-15
    assert far_rad < 1e-15


@settings(max_examples=40, deadline=None)
@given(sample=poses, command=poses, step=vectors, turn=vectors)
def test_after_a_reseat_the_hand_moves_the_tool_about_its_own_axes(
    sample: Pose, command: Pose, step: Vec3, turn: Vec3
) -> None:
    slip = reseat_slip(sample, command)
    moved = (vadd(sample[0], step), quat_mul(quat_from_rotvec(turn), sample[1]))
    p_m, q_xyzw = apply_slip(moved, slip)
    assert vsub(p_m, command[0]) == pytest.approx(step, abs=1e-12)
    tool_turn = quat_to_rotvec(quat_mul(q_xyzw, quat_conj(command[1])))
    assert tool_turn == pytest.approx(turn, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(raw=poses, slip=slips, limited=poses)
def test_the_lead_is_kept_and_no_more_is_given_away(raw: Pose, slip: Slip, limited: Pose) -> None:
    wish = apply_slip(raw, slip)
    grown = grow_slip(wish, limited, slip)
    before_m, before_rad = gap(wish, limited)
    after_m, after_rad = gap(apply_slip(raw, grown), limited)
    assert after_m == pytest.approx(min(before_m, LEAD_M), abs=1e-12)
    assert after_rad == pytest.approx(min(before_rad, LEAD_RAD), abs=1e-9)
    if before_m <= LEAD_M:
        assert grown.p_m == slip.p_m
    if before_rad <= LEAD_RAD:
        assert grown.q_xyzw == slip.q_xyzw


def test_within_the_lead_slip_is_the_same_object() -> None:
    slip = Slip((0.1, 0.0, 0.0), IDENTITY)
    wish = ((0.03, 0.0, 0.0), quat_from_rotvec((0.0999, 0.0, 0.0)))
    assert grow_slip(wish, ((0.0, 0.0, 0.0), IDENTITY), slip) is slip


def test_a_racing_hand_that_stops_leaves_a_lead_and_no_chase() -> None:
    """1 m at 2 m/s against a limit of 0.25 m/s: after the stop the tool goes 30 mm, not 0.9 m."""
    limiter, limits = PoseLimiter((0.0, 0.0, 0.0), IDENTITY), Limits(0.25, 5.0, 1.5, 30.0)
    slip, at_stop_m, turned_rad = IDENTITY_SLIP, 0.0, 0.0
    for k in range(300):
        x_m = min(0.02 * k, 1.0)
        wish = apply_slip(((x_m, 0.0, 0.0), quat_from_rotvec((0.0, x_m, 0.0))), slip)
        pose = limiter.step(*wish, 0.01, limits)
        slip = grow_slip(wish, (pose.p_m, pose.q_xyzw), slip)
        assert gap(apply_slip(((x_m, 0.0, 0.0), IDENTITY), slip), (pose.p_m, IDENTITY))[0] < 0.0301
        if k == 50:
            at_stop_m, turned_rad = pose.p_m[0], quat_angle_rad(pose.q_xyzw, IDENTITY)
    assert limiter.p_m[0] - at_stop_m == pytest.approx(0.030, abs=1e-6)
    assert quat_angle_rad(limiter.q_xyzw, IDENTITY) - turned_rad == pytest.approx(0.10, abs=1e-6)
    assert slip.p_m[0] == pytest.approx(limiter.p_m[0] - 1.0)


def test_slip_along_a_wall_lets_the_hand_come_back_at_once() -> None:
    slip = slide_slip(((0.55, 0.1, 0.2), IDENTITY), (0.4, 0.1, 0.2), IDENTITY_SLIP)
    assert slip.p_m == pytest.approx((-0.15, 0.0, 0.0))
    p_m, _ = apply_slip(((0.54, 0.1, 0.2), IDENTITY), slip)
    assert p_m == pytest.approx((0.39, 0.1, 0.2))


def test_no_wall_no_slide() -> None:
    slip = Slip((0.1, 0.0, 0.0), IDENTITY)
    assert slide_slip(((0.1, 0.2, 0.3), IDENTITY), (0.1, 0.2, 0.3), slip) is slip
    assert math.isclose(vnorm(slip.p_m), 0.1)
