"""runtime.se3 against scipy and against itself; 0, pi and gimbal lock are swept densely."""

from __future__ import annotations

import math
import runpy
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from runtime import se3
from runtime.se3 import Quat, Vec3

Array = NDArray[np.float64]
MAX_EULER_ERROR_RAD = math.radians(0.002)  # the promise; what we reach is asserted tighter below

component = st.floats(-1.0, 1.0)
vectors = st.tuples(component, component, component)
angles_deg = st.floats(-720.0, 720.0)


def norm4(q: Quat) -> float:
    return math.hypot(*q)


unit_quats = (
    st.tuples(component, component, component, component)
    .filter(lambda q: norm4(q) > 1e-3)
    .map(se3.quat_normalize)
)


def quats(array: Array) -> list[Quat]:
    return [(x, y, z, w) for x, y, z, w in array.tolist()]


def random_quats(count: int, seed: int) -> list[Quat]:
    return quats(Rotation.random(count, random_state=np.random.RandomState(seed)).as_quat())


def geodesic_rad(a: Array, b: Array) -> Array:
    """Angle between rotations by scipy, independent of the code under test."""
    relative = Rotation.from_quat(a).inv() * Rotation.from_quat(b)
    angle: Array = relative.magnitude()
    return angle


def reconstruct(rpy_deg: list[Vec3]) -> Array:
    result: Array = Rotation.from_euler("xyz", np.asarray(rpy_deg), degrees=True).as_quat()
    return result


# --- algebra ------------------------------------------------------------------------------------


def test_products_rotations_and_matrices_agree_with_scipy() -> None:
    a, b = random_quats(2000, 1), random_quats(2000, 2)
    v = np.random.RandomState(3).uniform(-2, 2, (2000, 3))
    ra, rb = Rotation.from_quat(np.asarray(a)), Rotation.from_quat(np.asarray(b))
    product = [se3.quat_mul(p, q) for p, q in zip(a, b, strict=True)]
    assert geodesic_rad(np.asarray(product), (ra * rb).as_quat()).max() < 1e-14
    turned = [se3.quat_rotate(q, (x, y, z)) for q, (x, y, z) in zip(a, v.tolist(), strict=True)]
    assert np.abs(np.asarray(turned) - ra.apply(v)).max() < 1e-14
    matrices = np.asarray([se3.quat_to_matrix(q) for q in a])
    assert np.abs(matrices - ra.as_matrix()).max() < 1e-14
    angles = [se3.quat_angle_rad(p, q) for p, q in zip(a, b, strict=True)]
    assert np.abs(np.asarray(angles) - (ra.inv() * rb).magnitude()).max() < 1e-12


@given(unit_quats, unit_quats, unit_quats, vectors)
def test_quaternions_form_a_group_acting_on_vectors(a: Quat, b: Quat, c: Quat, v: Vec3) -> None:
    left = se3.quat_mul(se3.quat_mul(a, b), c)
    right = se3.quat_mul(a, se3.quat_mul(b, c))
    assert left == pytest.approx(right, abs=1e-14)
    assert se3.quat_mul(a, se3.quat_conj(a)) == pytest.approx(se3.IDENTITY, abs=1e-14)
    one_by_one = se3.quat_rotate(a, se3.quat_rotate(b, v))
    assert se3.quat_rotate(se3.quat_mul(a, b), v) == pytest.approx(one_by_one, abs=1e-14)
    assert se3.vnorm(se3.quat_rotate(a, v)) == pytest.approx(se3.vnorm(v), abs=1e-14)


@given(vectors, vectors, component)
def test_vector_helpers(a: Vec3, b: Vec3, u: float) -> None:
    na, nb = np.asarray(a), np.asarray(b)
    assert se3.vadd(a, b) == tuple((na + nb).tolist())
    assert se3.vsub(a, b) == tuple((na - nb).tolist())
    assert se3.vscale(a, u) == tuple((na * u).tolist())
    assert se3.vcross(a, b) == pytest.approx(np.cross(na, nb).tolist(), abs=1e-15)
    assert se3.vdot(a, b) == pytest.approx(float(na @ nb), abs=1e-15)
    assert se3.vnorm(a) == pytest.approx(float(np.linalg.norm(na)), rel=1e-15)
    assert se3.vlerp(a, b, u) == pytest.approx((na + (nb - na) * u).tolist(), abs=1e-15)
    assert se3.vlerp(a, b, 0.0) == a
    assert se3.vlerp(a, b, 1.0) == b


@given(unit_quats, unit_quats, vectors, vectors)
def test_pose_product_and_inverse_cancel(qa: Quat, qb: Quat, pa: Vec3, pb: Vec3) -> None:
    T_a_b, T_b_c = (pa, qa), (pb, qb)
    T_a_c = se3.pose_mul(T_a_b, T_b_c)
    p, q = se3.pose_mul(se3.pose_inv(T_a_b), T_a_c)
    assert p == pytest.approx(pb, abs=1e-14)
    assert se3.quat_angle_rad(q, qb) < 1e-14


@pytest.mark.parametrize(
    "q",
    [(0.0, 0.0, 0.0, 0.0), (math.nan, 0.0, 0.0, 1.0), (0.0, math.inf, 0.0, 1.0)],
)
def test_normalize_refuses_what_names_no_rotation(q: Quat) -> None:
    with pytest.raises(ValueError, match="names no rotation"):
        se3.quat_normalize(q)


@pytest.mark.parametrize("scale", [1e-300, 1e-6, 3.0, 1e200])
def test_normalize_of_any_length(scale: float) -> None:
    q = (0.5 * scale, -0.5 * scale, 0.5 * scale, 0.5 * scale)
    assert se3.quat_normalize(q) == pytest.approx((0.5, -0.5, 0.5, 0.5), abs=1e-15)


# --- logarithm, exponential, angle, slerp -------------------------------------------------------


@pytest.mark.parametrize("exponent", range(-20, 1))
def test_exp_and_log_keep_full_relative_precision_for_small_turns(exponent: int) -> None:
    angle_rad = 3.0 * 10.0**exponent
    for axis in [(1.0, 0.0, 0.0), (0.6, 0.0, -0.8), (1 / 3, 2 / 3, 2 / 3)]:
        rotvec_rad = se3.vscale(axis, angle_rad)
        q = se3.quat_from_rotvec(rotvec_rad)
        assert norm4(q) == pytest.approx(1.0, abs=1e-15)
        back_rad = se3.quat_to_rotvec(q)
        assert back_rad == pytest.approx(rotvec_rad, rel=1e-14, abs=1e-14 * angle_rad)
        assert se3.quat_angle_rad(se3.IDENTITY, q) == pytest.approx(angle_rad, rel=1e-14)


@pytest.mark.parametrize("short_of_pi_rad", [0.0, 1e-15, 1e-12, 1e-8, 1e-4, 0.1])
def test_log_and_angle_near_half_a_turn(short_of_pi_rad: float) -> None:
    angle_rad = math.pi - short_of_pi_rad
    q = se3.quat_from_rotvec((0.0, 0.6 * angle_rad, 0.8 * angle_rad))
    for same in (q, (-q[0], -q[1], -q[2], -q[3])):
        assert se3.quat_angle_rad(se3.IDENTITY, same) == pytest.approx(angle_rad, abs=1e-15)
        length_rad = se3.vnorm(se3.quat_to_rotvec(same))
        assert length_rad == pytest.approx(angle_rad, abs=1e-15)
        assert length_rad <= math.pi


@given(vectors.map(lambda v: se3.vscale(v, 6.0)))
def test_log_is_the_shortest_turn(rotvec_rad: Vec3) -> None:
    q = se3.quat_from_rotvec(rotvec_rad)
    short_rad = se3.quat_to_rotvec(q)
    assert se3.vnorm(short_rad) <= math.pi + 1e-12
    # The angle of q against the identity cannot tell +pi from -pi; the rotation itself can.
    assert se3.quat_angle_rad(se3.quat_from_rotvec(short_rad), q) < 1e-14


@given(unit_quats, unit_quats, st.floats(0.0, 1.0))
def test_slerp_turns_at_constant_speed_the_short_way(a: Quat, b: Quat, u: float) -> None:
    total_rad = se3.quat_angle_rad(a, b)
    middle = se3.quat_slerp(a, b, u)
    assert se3.quat_angle_rad(a, middle) == pytest.approx(u * total_rad, abs=1e-13)
    assert se3.quat_angle_rad(middle, b) == pytest.approx((1.0 - u) * total_rad, abs=1e-13)
    assert norm4(middle) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("angle_rad", [0.0, 1e-12, 1e-6, 0.99e-4, 1.01e-4, 2e-4, 1e-2])
def test_slerp_of_close_rotations(angle_rad: float) -> None:
    b = se3.quat_from_rotvec((angle_rad, 0.0, 0.0))
    quarter = se3.quat_slerp(se3.IDENTITY, b, 0.25)
    expected_rad = 0.25 * angle_rad
    assert se3.quat_to_rotvec(quarter)[0] == pytest.approx(expected_rad, rel=1e-8, abs=1e-20)


# --- matrices -----------------------------------------------------------------------------------


def test_matrix_round_trip_in_every_branch() -> None:
    half_turns: list[Quat] = [
        (1.0, 0.0, 0.0, 0.0),
        (0.0, 1.0, 0.0, 0.0),
        (0.0, 0.0, 1.0, 0.0),
        (0.0, 0.0, 0.0, 1.0),
        (0.5, 0.5, 0.5, 0.5),
        (-0.5, 0.5, 0.5, 0.5),
    ]
    for q in [*half_turns, *random_quats(2000, 4)]:
        assert se3.quat_angle_rad(se3.quat_from_matrix(se3.quat_to_matrix(q)), q) < 1e-14


@pytest.mark.parametrize("diagonal", [(-1.0, 1.0, 1.0), (0.0, 0.0, 0.0), (math.nan, 1.0, 1.0)])
def test_a_mirror_is_no_rotation(diagonal: Vec3) -> None:
    a, b, c = diagonal
    with pytest.raises(ValueError, match=r"must be \+1"):
        se3.quat_from_matrix(((a, 0.0, 0.0), (0.0, b, 0.0), (0.0, 0.0, c)))


# --- Euler --------------------------------------------------------------------------------------


def lock_sweep() -> list[Vec3]:
    """Roll, pitch, yaw around both locks: the lock itself and 1e-12 to 1 deg beside it."""
    beside_deg = [0.0] + [s * 10.0**e for e in np.arange(-12, 0.01, 0.25) for s in (1.0, -1.0)]
    turns_deg = [-180.0, -135.0, -90.0, -31.7, 0.0, 1e-6, 45.0, 90.0, 133.3, 179.999]
    return [
        (roll, lock + beside, yaw)
        for lock in (90.0, -90.0)
        for beside in beside_deg
        for roll in turns_deg
        for yaw in turns_deg
    ]


def test_rpy_to_quaternion_is_extrinsic_xyz() -> None:
    rpy_rad = np.random.RandomState(5).uniform(-math.pi, math.pi, (2000, 3))
    ours = np.asarray([se3.quat_from_rpy_rad(r, p, y) for r, p, y in rpy_rad.tolist()])
    oracle = Rotation.from_euler("xyz", rpy_rad).as_quat()
    assert geodesic_rad(ours, oracle).max() < 1e-14
    # The order in words: roll about the fixed x first, yaw about the fixed z last.
    q = se3.quat_from_rpy_deg((90.0, 0.0, 90.0))
    assert se3.quat_rotate(q, (0.0, 1.0, 0.0)) == pytest.approx((0.0, 0.0, 1.0), abs=1e-15)
    assert se3.quat_rotate(q, (1.0, 0.0, 0.0)) == pytest.approx((0.0, 1.0, 0.0), abs=1e-15)


def test_euler_reconstructs_random_rotations() -> None:
    q = random_quats(20_000, 6)
    rpy_deg = [se3.quat_to_euler(each) for each in q]
    assert geodesic_rad(reconstruct(rpy_deg), np.asarray(q)).max() < 1e-13


@pytest.mark.parametrize("nearest", [None, (12.0, 88.0, -100.0), (-170.0, -91.0, 3.0)])
def test_euler_reconstructs_around_gimbal_lock(nearest: Vec3 | None) -> None:
    q = [se3.quat_from_rpy_deg(rpy) for rpy in lock_sweep()]
    rpy_deg = [se3.quat_to_euler(each, nearest) for each in q]
    assert np.isfinite(np.asarray(rpy_deg)).all()
    error_rad = geodesic_rad(reconstruct(rpy_deg), np.asarray(q))
    assert error_rad.max() < 4.01e-6 < MAX_EULER_ERROR_RAD


def test_euler_of_float32_quaternions_at_lock() -> None:
    """What the wire delivers: components rounded to 24 bits, length not quite 1."""
    exact = np.asarray([se3.quat_from_rpy_deg(rpy) for rpy in lock_sweep()])
    rounded = exact.astype(np.float32).astype(np.float64)
    rpy_deg = [se3.quat_to_euler(q) for q in quats(rounded)]
    assert geodesic_rad(reconstruct(rpy_deg), rounded).max() < MAX_EULER_ERROR_RAD


def test_euler_without_a_wish_is_the_principal_triple() -> None:
    for q in random_quats(2000, 7):
        roll, pitch, yaw = se3.quat_to_euler(q)
        assert -180.0 < roll <= 180.0
        assert -90.0 <= pitch <= 90.0
        assert -180.0 < yaw <= 180.0


@pytest.mark.parametrize(
    ("rpy_deg", "expected_deg"),
    [
        ((0.0, 90.0, 0.0), (0.0, 90.0, 0.0)),
        ((30.0, 90.0, 10.0), (20.0, 90.0, 0.0)),  # at +90 only roll - yaw exists
        ((30.0, -90.0, 10.0), (40.0, -90.0, 0.0)),  # at -90 only roll + yaw exists
        ((180.0, 0.0, -180.0), (180.0, 0.0, 180.0)),
        ((0.0, 120.0, 0.0), (180.0, 60.0, 180.0)),
    ],
)
def test_euler_table(rpy_deg: Vec3, expected_deg: Vec3) -> None:
    result = se3.quat_to_euler(se3.quat_from_rpy_deg(rpy_deg))
    assert result == pytest.approx(expected_deg, abs=1e-9)


def test_no_minus_zero_for_people() -> None:
    assert "-" not in str(se3.quat_to_euler((-0.0, -0.0, -0.0, 1.0)))


@given(st.tuples(angles_deg, angles_deg, angles_deg), st.tuples(angles_deg, angles_deg, angles_deg))
@settings(max_examples=200)
def test_nearest_euler_is_the_nearest_of_all_equal_triples(rpy: Vec3, wish: Vec3) -> None:
    q = se3.quat_from_rpy_deg(rpy)
    result = se3.quat_to_euler(q, wish)
    roll, pitch, yaw = se3.quat_to_euler(q)

    def distance(a: Vec3) -> float:
        return se3.vnorm(se3.vsub(a, wish))

    # By brute force over both branches and more whole turns than 720 deg can need.
    every = [
        (r + 360.0 * i, p + 360.0 * j, y + 360.0 * k)
        for r, p, y in ((roll, pitch, yaw), (roll + 180.0, 180.0 - pitch, yaw + 180.0))
        for i in range(-4, 5)
        for j in range(-4, 5)
        for k in range(-4, 5)
    ]
    assert distance(result) <= min(map(distance, every)) + 1e-9
    assert se3.quat_angle_rad(se3.quat_from_rpy_deg(result), q) < 4.01e-6


@pytest.mark.parametrize("lock_deg", [90.0, -90.0, 270.0])
@given(wish=st.tuples(angles_deg, angles_deg), turn_deg=st.floats(-170.0, 170.0))
def test_at_lock_roll_and_yaw_share_the_change(
    lock_deg: float, wish: tuple[float, float], turn_deg: float
) -> None:
    roll, yaw = wish
    moved = se3.quat_from_rpy_deg((roll + turn_deg, lock_deg, yaw))
    result = se3.quat_to_euler(moved, (roll, lock_deg, yaw))
    sign = -1.0 if math.sin(math.radians(lock_deg)) > 0.0 else 1.0
    expected = (roll + 0.5 * turn_deg, lock_deg, yaw + sign * 0.5 * turn_deg)
    assert result == pytest.approx(expected, abs=1e-6)


@given(vectors.map(lambda v: se3.vscale(v, 400.0)))
def test_nearest_to_itself_changes_nothing(rpy: Vec3) -> None:
    again = se3.quat_to_euler(se3.quat_from_rpy_deg(rpy), rpy)
    # Close to lock the split of a float64 quaternion has few digits left, but stays small.
    assert again == pytest.approx(rpy, abs=1e-4)


@pytest.mark.parametrize(
    "q",
    [
        (0.0, 0.0, 0.0, 0.0),
        (math.nan, 0.0, 0.0, 1.0),
        (0.0, math.inf, 0.0, 0.0),
        (math.nan, math.nan, math.nan, math.nan),
        (1e308, 1e308, 1e308, 1e308),
    ],
)
def test_euler_is_total(q: Quat) -> None:
    assert se3.quat_to_euler(q) == (0.0, 0.0, 0.0)
    assert se3.quat_to_euler(q, (1.0, 2.0, 3.0)) == (1.0, 2.0, 3.0)


@given(unit_quats, st.sampled_from([1e-9, 0.9, 1.1, 1e9]))
def test_euler_ignores_the_length(q: Quat, scale: float) -> None:
    longer = (q[0] * scale, q[1] * scale, q[2] * scale, q[3] * scale)
    a, b = se3.quat_to_euler(q), se3.quat_to_euler(longer)
    same_rad = se3.quat_angle_rad(se3.quat_from_rpy_deg(a), se3.quat_from_rpy_deg(b))
    assert same_rad < 8.02e-6


# --- start-up -----------------------------------------------------------------------------------


def test_se3_needs_no_numeric_library(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("numpy", "scipy"):
        monkeypatch.setitem(sys.modules, name, None)  # any import of it now raises
    assert "quat_to_euler" in runpy.run_path(se3.__file__)
