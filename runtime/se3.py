"""Rotations, poses and Euler angles in plain floats: the one place that does pose algebra.

Quaternions are unit, xyzw; vectors are metres unless said otherwise. T_a_b = (p, q) is the pose
of b in a. Never imports numpy (start-up time is recovery time) and never holds state.
"""

from __future__ import annotations

from math import atan2, cos, degrees, hypot, isfinite, pi, radians, remainder, sin
from typing import Final

Vec3 = tuple[float, float, float]
Quat = tuple[float, float, float, float]
Mat3 = tuple[Vec3, Vec3, Vec3]
Pose = tuple[Vec3, Quat]

ZERO: Final[Vec3] = (0.0, 0.0, 0.0)
IDENTITY: Final[Quat] = (0.0, 0.0, 0.0, 1.0)

# Below this half angle (rad) the quadratic series is exact to the last bit (next term < 1e-18).
_SERIES_RAD: Final = 1e-4
# Gimbal lock: closer than this (a ratio of quaternion components, about 1e-4 deg of pitch) the
# split between roll and yaw is float32 noise of the sender; choosing it freely turns the
# reconstructed rotation by at most 4e-6 rad = 0.00023 deg.
_LOCK_RATIO: Final = 1e-6


def vadd(a: Vec3, b: Vec3) -> Vec3:
    """a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def vsub(a: Vec3, b: Vec3) -> Vec3:
    """a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def vscale(a: Vec3, factor: float) -> Vec3:
    """a * factor."""
    return (a[0] * factor, a[1] * factor, a[2] * factor)


def vlerp(a: Vec3, b: Vec3, u: float) -> Vec3:
    """a at u = 0, b at u = 1, both exactly; u is not limited."""
    v = 1.0 - u
    return (v * a[0] + u * b[0], v * a[1] + u * b[1], v * a[2] + u * b[2])


def vdot(a: Vec3, b: Vec3) -> float:
    """Scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def vcross(a: Vec3, b: Vec3) -> Vec3:
    """Vector product."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def vnorm(a: Vec3) -> float:
    """Length, free of overflow."""
    return hypot(a[0], a[1], a[2])


def quat_mul(a: Quat, b: Quat) -> Quat:
    """a after b: rotates by b first, then by a (R_a @ R_b)."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def quat_conj(q: Quat) -> Quat:
    """The inverse rotation of a unit quaternion."""
    return (-q[0], -q[1], -q[2], q[3])


def quat_normalize(q: Quat) -> Quat:
    """q scaled to length 1.

    Raises:
        ValueError: the length is zero or not finite, so q names no rotation.
    """
    norm = hypot(*q)
    if not 0.0 < norm < float("inf"):
        raise ValueError(f"quaternion {q} names no rotation (length {norm})")
    return (q[0] / norm, q[1] / norm, q[2] / norm, q[3] / norm)


def quat_rotate(q: Quat, v: Vec3) -> Vec3:
    """v turned by the unit quaternion q."""
    axis: Vec3 = (q[0], q[1], q[2])
    t = vscale(vcross(axis, v), 2.0)
    u = vcross(axis, t)
    w = q[3]
    return (v[0] + w * t[0] + u[0], v[1] + w * t[1] + u[1], v[2] + w * t[2] + u[2])


def quat_from_rotvec(rotvec_rad: Vec3) -> Quat:
    """Exponential map: a turn of |rotvec| rad about rotvec."""
    half = 0.5 * vnorm(rotvec_rad)
    # sin(half) / (2 half)
    k = 0.5 - half * half / 12.0 if half < _SERIES_RAD else 0.5 * sin(half) / half
    return (rotvec_rad[0] * k, rotvec_rad[1] * k, rotvec_rad[2] * k, cos(half))


def quat_to_rotvec(q: Quat) -> Vec3:
    """Logarithm: the shortest turn as axis * angle, rad, length <= pi."""
    x, y, z, w = q if q[3] >= 0.0 else (-q[0], -q[1], -q[2], -q[3])
    s = hypot(x, y, z)
    # angle / s; below: 2 atan(s/w) / s in series
    k = 2.0 * atan2(s, w) / s if s > _SERIES_RAD else (2.0 - s * s / (1.5 * w * w)) / w
    return (x * k, y * k, z * k)


def quat_angle_rad(a: Quat, b: Quat) -> float:
    """Geodesic angle between two rotations, 0..pi rad, full precision near 0 and near pi."""
    x, y, z, w = quat_mul(quat_conj(a), b)
    return 2.0 * atan2(hypot(x, y, z), abs(w))


def quat_slerp(a: Quat, b: Quat, u: float) -> Quat:
    """Shortest constant-speed turn from a (u = 0) to b (u = 1, up to sign); u is not limited."""
    bx, by, bz, bw = b if _quat_dot(a, b) >= 0.0 else (-b[0], -b[1], -b[2], -b[3])
    # The angle between a and b on the 3-sphere (<= pi/2), by atan2 since acos fails near 0.
    theta = 2.0 * atan2(
        hypot(bx - a[0], by - a[1], bz - a[2], bw - a[3]),
        hypot(bx + a[0], by + a[1], bz + a[2], bw + a[3]),
    )
    if theta < _SERIES_RAD:
        ka, kb = 1.0 - u, u
    else:
        ka, kb = sin((1.0 - u) * theta) / sin(theta), sin(u * theta) / sin(theta)
    return quat_normalize(
        (ka * a[0] + kb * bx, ka * a[1] + kb * by, ka * a[2] + kb * bz, ka * a[3] + kb * bw)
    )


def _quat_dot(a: Quat, b: Quat) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


def quat_to_matrix(q: Quat) -> Mat3:
    """Rotation matrix, rows first, of a unit quaternion."""
    x, y, z, w = q
    return (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
        (2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
        (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
    )


def quat_from_matrix(R: Mat3) -> Quat:
    """Quaternion of a proper rotation matrix (rows first), by its largest component.

    Raises:
        ValueError: R is no rotation (a mirror, a scaling or not finite).
    """
    (a, b, c), (d, e, f), (g, h, i) = R
    det = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    if not abs(det - 1.0) < 1e-3:
        raise ValueError(f"matrix is no rotation: determinant {det:.6g}, must be +1")
    # Four times the squares of x, y, z, w; dividing by the largest never loses precision.
    squares = (1.0 + a - e - i, 1.0 - a + e - i, 1.0 - a - e + i, 1.0 + a + e + i)
    k = squares.index(max(squares))
    columns: tuple[Quat, Quat, Quat, Quat] = (
        (squares[0], b + d, c + g, h - f),
        (b + d, squares[1], f + h, c - g),
        (c + g, f + h, squares[2], d - b),
        (h - f, c - g, d - b, squares[3]),
    )
    return quat_normalize(columns[k])


def quat_from_rpy_rad(roll_rad: float, pitch_rad: float, yaw_rad: float) -> Quat:
    """Extrinsic XYZ: R = Rz(yaw) @ Ry(pitch) @ Rx(roll), angles in rad."""
    sr, cr = sin(0.5 * roll_rad), cos(0.5 * roll_rad)
    sp, cp = sin(0.5 * pitch_rad), cos(0.5 * pitch_rad)
    sy, cy = sin(0.5 * yaw_rad), cos(0.5 * yaw_rad)
    return (
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )


def quat_from_rpy_deg(rpy_deg: Vec3) -> Quat:
    """`quat_from_rpy_rad` of (roll, pitch, yaw) in degrees."""
    return quat_from_rpy_rad(radians(rpy_deg[0]), radians(rpy_deg[1]), radians(rpy_deg[2]))


def quat_to_euler(q_xyzw: Quat, nearest_rpy_deg: Vec3 | None = None) -> Vec3:
    """(roll, pitch, yaw) in degrees, extrinsic XYZ: R = Rz(yaw) @ Ry(pitch) @ Rx(roll).

    Total and exact everywhere, gimbal lock included: with p = pitch/2 the quaternion obeys
      (w - y, x + z) = (cos p - sin p) * (cos, sin)((roll + yaw) / 2)
      (w + y, x - z) = (cos p + sin p) * (cos, sin)((roll - yaw) / 2)
    so pitch and both half angles come from atan2 and no asin loses half its digits near 90 deg.
    The length of q_xyzw does not matter.

    Args:
        q_xyzw: the rotation.
        nearest_rpy_deg: of all triples of the same rotation, return the one nearest to this one
            (both branches, whole turns; at lock roll and yaw share the change), so the result may
            leave +-180. Without it: pitch in [-90, 90], roll and yaw in (-180, 180], at lock yaw 0.

    Returns:
        Three finite angles in degrees; for a zero or non-finite quaternion `nearest_rpy_deg`
        ("no change"), else zeros.
    """
    x, y, z, w = q_xyzw
    near_up, near_down = hypot(x + z, w - y), hypot(x - z, w + y)
    if not (near_up + near_down > 0.0 and isfinite(near_up + near_down)):
        return nearest_rpy_deg or ZERO
    pitch_deg = degrees(2.0 * atan2(near_down, near_up) - 0.5 * pi)
    half_sum_deg = degrees(atan2(x + z, w - y))
    half_diff_deg = degrees(atan2(x - z, w + y))
    wish = nearest_rpy_deg
    if near_up < _LOCK_RATIO * near_down:
        half_sum_deg = half_diff_deg if wish is None else 0.5 * (wish[0] + wish[2])
    elif near_down < _LOCK_RATIO * near_up:
        half_diff_deg = half_sum_deg if wish is None else 0.5 * (wish[0] - wish[2])
    rpy_deg = (half_sum_deg + half_diff_deg, pitch_deg, half_sum_deg - half_diff_deg)
    return _principal(rpy_deg) if wish is None else _nearest(rpy_deg, wish)


def _principal(rpy_deg: Vec3) -> Vec3:
    roll_deg, pitch_deg, yaw_deg = rpy_deg
    return (_wrap_deg(roll_deg), pitch_deg, _wrap_deg(yaw_deg))


def _wrap_deg(angle_deg: float) -> float:
    wrapped_deg = remainder(angle_deg, 360.0)
    return 180.0 if wrapped_deg == -180.0 else wrapped_deg + 0.0  # + 0.0: no "-0.0" for people


def _nearest(rpy_deg: Vec3, wish_deg: Vec3) -> Vec3:
    """The branch and the whole turns that bring the same rotation closest to wish_deg."""
    roll_deg, pitch_deg, yaw_deg = rpy_deg
    branches = (rpy_deg, (roll_deg + 180.0, 180.0 - pitch_deg, yaw_deg + 180.0))
    # Differences, not angles, are compared: each lies within half a turn of the wish.
    changes = [
        (
            remainder(branch[0] - wish_deg[0], 360.0),
            remainder(branch[1] - wish_deg[1], 360.0),
            remainder(branch[2] - wish_deg[2], 360.0),
        )
        for branch in branches
    ]
    return vadd(wish_deg, min(changes, key=lambda change: vdot(change, change)))


def pose_mul(T_a_b: Pose, T_b_c: Pose) -> Pose:
    """T_a_c."""
    return vadd(T_a_b[0], quat_rotate(T_a_b[1], T_b_c[0])), quat_mul(T_a_b[1], T_b_c[1])


def pose_inv(T_a_b: Pose) -> Pose:
    """T_b_a."""
    q_b_a = quat_conj(T_a_b[1])
    p = quat_rotate(q_b_a, T_a_b[0])
    return (-p[0], -p[1], -p[2]), q_b_a
