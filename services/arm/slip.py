"""The offset by which the arm shifts a stream of targets, so that nothing jumps and nothing chases.

Pure. Position slips by addition, rotation from the right (q * slip): a turn of the hand about an
axis of the base stays a turn of the tool about that axis, whatever has slipped before.
Relative mode only; absolute targets must end where the hand is.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from runtime.se3 import (
    IDENTITY,
    ZERO,
    Pose,
    Quat,
    Vec3,
    quat_conj,
    quat_from_rotvec,
    quat_mul,
    quat_normalize,
    quat_to_rotvec,
    vadd,
    vnorm,
    vscale,
    vsub,
)

# How far a hand may be ahead of the limited command: what the arm still does once the hand stops.
# As much as the robot may lag behind its command: a position target outlives its sender.
LEAD_M: Final = 0.030
LEAD_RAD: Final = 0.10


class Slip(NamedTuple):
    """Added to every target of a clutch."""

    p_m: Vec3
    q_xyzw: Quat


IDENTITY_SLIP: Final = Slip(ZERO, IDENTITY)


def apply_slip(target: Pose, slip: Slip) -> Pose:
    """The target as the arm takes it; the same to the last bit while nothing has slipped."""
    p_m, q_xyzw = target
    if slip.q_xyzw != IDENTITY:
        q_xyzw = quat_normalize(quat_mul(q_xyzw, slip.q_xyzw))
    return vadd(p_m, slip.p_m), q_xyzw


def reseat_slip(target: Pose, command: Pose) -> Slip:
    """The slip with which `target` (without slip) means the present command: no motion."""
    return Slip(
        vsub(command[0], target[0]),
        quat_normalize(quat_mul(quat_conj(target[1]), command[1])),
    )


def grow_slip(wish: Pose, limited: Pose, slip: Slip) -> Slip:
    """The slip that leaves `wish` no further ahead of `limited` than the lead.

    Args:
        wish: this tick's target, slip applied.
        limited: what the limits made of it, same tick.
        slip: the slip that is in `wish`.

    Returns:
        `slip` itself while the lead is kept; else one that brings later targets back to it.
    """
    ahead_m = vsub(wish[0], limited[0])
    distance_m = vnorm(ahead_m)
    if distance_m > LEAD_M:
        slip = slip._replace(p_m=vadd(slip.p_m, vscale(ahead_m, LEAD_M / distance_m - 1.0)))
    turn_rad = quat_to_rotvec(quat_mul(wish[1], quat_conj(limited[1])))
    angle_rad = vnorm(turn_rad)
    if angle_rad > LEAD_RAD:
        kept = quat_mul(quat_from_rotvec(vscale(turn_rad, LEAD_RAD / angle_rad)), limited[1])
        change = quat_mul(quat_conj(wish[1]), kept)
        slip = slip._replace(q_xyzw=quat_normalize(quat_mul(slip.q_xyzw, change)))
    return slip


def slide_slip(wish: Pose, inside_m: Vec3, slip: Slip) -> Slip:
    """The anchor slips along a wall: later targets count from where the wall let this one be.

    Args:
        wish: this tick's target, slip applied.
        inside_m: the same target after the walls (runtime.workspace clamp).
        slip: the slip that is in `wish`.
    """
    beyond_m = vsub(inside_m, wish[0])
    return slip if beyond_m == ZERO else slip._replace(p_m=vadd(slip.p_m, beyond_m))
