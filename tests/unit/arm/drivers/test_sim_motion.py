"""services.arm.drivers.sim_motion: speed limits, lag, braking, all without being asked."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.clock import NS_PER_S
from runtime.se3 import Vec3, quat_angle_rad, quat_from_rpy_deg, vnorm, vsub
from services.arm.drivers.sim_motion import SimMotion, SimPose, SimServo

T0_NS = 5 * NS_PER_S
START = SimPose((0.2, 0.0, 0.3), quat_from_rpy_deg((0.0, 85.0, 0.0)), 1.0)
DELAY = SimServo(servo="delay", lag_s=0.03, v_max_mps=0.5)
FIRST_ORDER = SimServo(servo="first_order", lag_s=0.02, v_max_mps=0.5)
BOTH = pytest.mark.parametrize("servo", [DELAY, FIRST_ORDER], ids=["delay", "first_order"])


def at(motion: SimMotion, t_s: float) -> SimPose:
    return motion.pose_at(T0_NS + round(t_s * NS_PER_S))


def moved_m(a: SimPose, b: SimPose) -> float:
    return vnorm(vsub(a.p_base_tool_m, b.p_base_tool_m))


def shifted(pose: SimPose, dx_m: float) -> SimPose:
    x, y, z = pose.p_base_tool_m
    return replace(pose, p_base_tool_m=(x + dx_m, y, z))


@BOTH
def test_without_a_target_it_stands(servo: SimServo) -> None:
    motion = SimMotion(START, servo, T0_NS)
    assert at(motion, -1.0) == at(motion, 0.0) == at(motion, 100.0) == START


def test_delay_starts_late_and_then_runs_at_the_speed_limit() -> None:
    motion = SimMotion(START, DELAY, T0_NS)
    motion.pursue(shifted(START, 0.1), T0_NS)
    assert at(motion, 0.03) == START
    assert moved_m(at(motion, 0.13), START) == pytest.approx(0.05, abs=1e-12)
    assert at(motion, 0.23).p_base_tool_m == pytest.approx((0.3, 0.0, 0.3), abs=1e-12)
    assert at(motion, 9.0) == shifted(START, 0.1) == at(motion, 0.24)


def test_first_order_runs_at_the_limit_then_decays_with_its_time_constant() -> None:
    motion = SimMotion(START, FIRST_ORDER, T0_NS)
    motion.pursue(shifted(START, 0.1), T0_NS)
    tail_m = 0.5 * 0.02  # speed limit * time constant
    t_tail_s = (0.1 - tail_m) / 0.5
    assert moved_m(at(motion, 0.1), START) == pytest.approx(0.05, abs=1e-12)
    rest_m = 0.1 - moved_m(at(motion, t_tail_s + 0.04), START)
    assert rest_m == pytest.approx(tail_m * math.exp(-2.0), rel=1e-9)
    assert at(motion, 1.0) == shifted(START, 0.1)


@BOTH
def test_a_steady_ramp_is_followed_one_lag_behind(servo: SimServo) -> None:
    motion, period_s, v_mps = SimMotion(START, servo, T0_NS), 0.001, 0.2
    for k in range(500):
        motion.pursue(shifted(START, v_mps * k * period_s), T0_NS + round(k * period_s * NS_PER_S))
    lag_m = v_mps * 0.499 - moved_m(at(motion, 0.499), START)
    assert lag_m / v_mps == pytest.approx(servo.lag_s, abs=period_s)


@BOTH
def test_rotation_and_gripper_have_their_own_limits(servo: SimServo) -> None:
    servo = replace(servo, w_max_radps=1.0, gripper_max_per_s=2.0)
    motion = SimMotion(START, servo, T0_NS)
    goal = SimPose(START.p_base_tool_m, quat_from_rpy_deg((0.0, 0.0, 0.0)), 0.0)
    motion.pursue(goal, T0_NS)
    a, b = at(motion, 0.1), at(motion, 0.2)
    assert quat_angle_rad(a.q_base_tool_xyzw, b.q_base_tool_xyzw) == pytest.approx(0.1, abs=1e-9)
    assert a.gripper_ratio - b.gripper_ratio == pytest.approx(0.2, abs=1e-9)
    end = at(motion, 10.0)
    assert quat_angle_rad(end.q_base_tool_xyzw, goal.q_base_tool_xyzw) < 1e-9
    assert (end.p_base_tool_m, end.gripper_ratio) == (START.p_base_tool_m, 0.0)


@BOTH
def test_stop_brakes_at_the_declared_deceleration_and_holds(servo: SimServo) -> None:
    motion = SimMotion(START, servo, T0_NS)
    goal = SimPose((1.0, 0.0, 0.3), quat_from_rpy_deg((0.0, -85.0, 0.0)), 0.0)
    motion.pursue(goal, T0_NS)
    t_s = 0.2
    motion.stop(T0_NS + round(t_s * NS_PER_S))
    acts_s = t_s + (servo.lag_s if servo.servo == "delay" else 0.0)
    before, end = at(motion, acts_s), at(motion, 60.0)
    v2_over_2a = servo.v_max_mps**2 / (2.0 * servo.a_stop_mps2)
    assert moved_m(before, end) == pytest.approx(v2_over_2a, rel=1e-6)
    w2_over_2a = servo.w_max_radps**2 / (2.0 * servo.alpha_stop_radps2)
    turned_rad = quat_angle_rad(before.q_base_tool_xyzw, end.q_base_tool_xyzw)
    assert turned_rad == pytest.approx(w2_over_2a, rel=1e-6)
    assert at(motion, acts_s + servo.v_max_mps / servo.a_stop_mps2).p_base_tool_m == pytest.approx(
        end.p_base_tool_m, abs=1e-12
    )


@BOTH
def test_stop_at_rest_stays(servo: SimServo) -> None:
    motion = SimMotion(START, servo, T0_NS)
    motion.stop(T0_NS)
    assert at(motion, 10.0).p_base_tool_m == START.p_base_tool_m
    assert quat_angle_rad(at(motion, 10.0).q_base_tool_xyzw, START.q_base_tool_xyzw) == 0.0


@BOTH
def test_a_frozen_arm_takes_targets_and_goes_to_the_last_one_when_freed(servo: SimServo) -> None:
    motion = SimMotion(START, servo, T0_NS)
    motion.pursue(shifted(START, 0.2), T0_NS)
    motion.freeze(True, T0_NS + NS_PER_S // 10)
    stuck = at(motion, 0.1)
    motion.pursue(shifted(START, 0.3), T0_NS + NS_PER_S // 5)
    assert at(motion, 5.0) == stuck
    motion.freeze(True, T0_NS + 6 * NS_PER_S)  # twice is once
    motion.freeze(False, T0_NS + 6 * NS_PER_S)
    assert at(motion, 6.0) == stuck
    assert at(motion, 20.0).p_base_tool_m == pytest.approx((0.5, 0.0, 0.3))


def test_freezing_cancels_what_has_not_begun_and_a_frozen_stop_forgets_the_target() -> None:
    motion = SimMotion(START, DELAY, T0_NS)
    motion.pursue(shifted(START, 0.2), T0_NS)
    motion.freeze(True, T0_NS)
    assert at(motion, 3.0) == START
    motion.stop(T0_NS + NS_PER_S)
    motion.freeze(False, T0_NS + 2 * NS_PER_S)
    assert at(motion, 9.0) == START


@BOTH
@settings(max_examples=30, deadline=None)
@given(
    points=st.lists(
        st.tuples(st.floats(-0.5, 0.5), st.floats(-0.5, 0.5), st.floats(0.0, 0.6)),
        min_size=1,
        max_size=8,
    ),
    step_ms=st.integers(1, 200),
)
def test_never_faster_than_the_limit_and_never_a_leap(
    servo: SimServo, points: list[Vec3], step_ms: int
) -> None:
    motion = SimMotion(START, servo, T0_NS)
    for k, point in enumerate(points):
        motion.pursue(SimPose(point, START.q_base_tool_xyzw, 0.5), T0_NS + k * step_ms * 1_000_000)
    times_s = [0.003 * k for k in range(600)]
    poses = [at(motion, t_s) for t_s in times_s]
    for a, b in pairwise(poses):
        assert moved_m(a, b) <= servo.v_max_mps * 0.003 + 2e-7
