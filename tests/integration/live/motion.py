"""What a run of arm_state messages says about motion."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from proto.messages import ArmState, ArmTarget, HandPose
from runtime.se3 import Pose, Vec3, quat_angle_rad, vadd, vnorm, vsub


def command(state: ArmState) -> Pose:
    """The commanded pose; there must be one."""
    p_m, q_xyzw = state.cmd_p_base_tool_m, state.cmd_q_base_tool_xyzw
    assert p_m is not None and q_xyzw is not None, state
    return p_m, q_xyzw


def measured_m(state: ArmState) -> Vec3:
    assert state.meas_p_base_tool_m is not None, state
    return state.meas_p_base_tool_m


def position_m(pose: HandPose) -> Vec3:
    """Of the hand; it must have one."""
    assert pose.p_vr_hand_m is not None, pose
    return pose.p_vr_hand_m


def target_m(target: ArmTarget) -> Vec3:
    assert target.target_p_base_tool_m is not None, target
    return target.target_p_base_tool_m


def apart_m(a: ArmState, b: ArmState) -> float:
    """Between two commands."""
    return vnorm(vsub(command(a)[0], command(b)[0]))


def moved_m(states: Sequence[ArmState]) -> float:
    """Furthest any command lies from the first one."""
    assert states, "nothing was recorded"
    return max(apart_m(states[0], state) for state in states)


def stood_still(states: Sequence[ArmState]) -> bool:
    """Whether the command never changed, to the last bit."""
    assert states, "nothing was recorded"
    return len({command(state) for state in states}) == 1


def fastest_mps(states: Sequence[ArmState]) -> float:
    """Between two commands that follow each other."""
    speeds = [
        apart_m(a, b) / ((b.t_tick_ns - a.t_tick_ns) * 1e-9)
        for a, b in pairwise(states)
        if b.t_tick_ns > a.t_tick_ns
    ]
    return max(speeds)


def fastest_radps(states: Sequence[ArmState]) -> float:
    """As `fastest_mps`, of the rotation."""
    speeds = [
        quat_angle_rad(command(a)[1], command(b)[1]) / ((b.t_tick_ns - a.t_tick_ns) * 1e-9)
        for a, b in pairwise(states)
        if b.t_tick_ns > a.t_tick_ns
    ]
    return max(speeds)


def shifted_m(target: ArmTarget, state: ArmState) -> Vec3:
    """Where a target leads once the arm's slip is added (relative mode)."""
    return vadd(target_m(target), state.slip_p_m)
