"""services.arm.limits: what anyone sees who looks at the poses, over any targets and any ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.se3 import (
    IDENTITY,
    Quat,
    Vec3,
    quat_angle_rad,
    quat_conj,
    quat_from_rotvec,
    quat_mul,
    quat_to_rotvec,
    vadd,
    vnorm,
    vscale,
    vsub,
)
from runtime.workspace import Workspace, Zone, outside_m, project
from services.arm.limits import Limits, PoseLimiter

HARDWARE = Limits(v_mps=0.25, a_mps2=5.0, w_radps=1.5, alpha_radps2=30.0)
SIM = Limits(v_mps=1.0, a_mps2=20.0, w_radps=6.0, alpha_radps2=120.0)
SLOW = Limits(v_mps=0.6, a_mps2=2.0, w_radps=2.0, alpha_radps2=6.0)
BOTH = pytest.mark.parametrize("limits", [HARDWARE, SIM, SLOW], ids=["hardware", "sim", "slow"])
BOX = Zone((-0.4, -0.4, 0.05), (0.4, 0.4, 0.7))
SHELL = Zone((-0.4, -0.4, -0.2), (0.4, 0.4, 0.7), reach_max_m=0.45)
ZONES = pytest.mark.parametrize("zone", [BOX, SHELL], ids=["box", "shell"])
START: Vec3 = (0.2, 0.0, 0.3)

points = st.tuples(st.floats(-0.7, 0.7), st.floats(-0.7, 0.7), st.floats(-0.3, 1.0))
turns = st.tuples(st.floats(-2.0, 2.0), st.floats(-2.0, 2.0), st.floats(-2.0, 2.0))
# Ticks of 10 ms, some missed, some jittered; targets that stand for a while, then leap.
ticks_s = st.lists(
    st.sampled_from([0.01, 0.01, 0.01, 0.01, 0.008, 0.012, 0.02, 0.05]), min_size=1, max_size=12
)
walks = st.lists(st.tuples(points, turns, st.integers(1, 40)), min_size=1, max_size=6)


@dataclass
class Watch:
    """Differences of poses, as an outsider takes them."""

    limiter: PoseLimiter
    v: Vec3 = (0.0, 0.0, 0.0)
    w: Vec3 = (0.0, 0.0, 0.0)
    dt_s: float = 0.0  # before the first tick it stood as long as that tick lasts
    p: Vec3 = field(init=False)
    q: Quat = field(init=False)
    speed: float = 0.0
    accel: float = 0.0
    rate: float = 0.0
    turn_accel: float = 0.0

    def __post_init__(self) -> None:
        self.p, self.q = self.limiter.p_m, self.limiter.q_xyzw

    def look(self, dt_s: float) -> None:
        v = vscale(vsub(self.limiter.p_m, self.p), 1.0 / dt_s)
        turn = quat_to_rotvec(quat_mul(self.limiter.q_xyzw, quat_conj(self.q)))
        w = vscale(turn, 1.0 / dt_s)
        h_s = 0.5 * (dt_s + (self.dt_s or dt_s))
        self.speed = vnorm(v)
        self.accel = vnorm(vsub(v, self.v)) / h_s
        self.rate = vnorm(w)
        self.turn_accel = vnorm(vsub(w, self.w)) / h_s
        self.v, self.w, self.dt_s = v, w, dt_s
        self.p, self.q = self.limiter.p_m, self.limiter.q_xyzw

    def keeps(self, limits: Limits) -> None:
        assert self.speed <= limits.v_mps * (1.0 + 1e-6) + 1e-9
        assert self.accel <= limits.a_mps2 * (1.0 + 1e-6) + 1e-6
        assert self.rate <= limits.w_radps * (1.0 + 1e-6) + 1e-9
        assert self.turn_accel <= limits.alpha_radps2 * (1.0 + 1e-6) + 1e-6


@BOTH
@settings(max_examples=30, deadline=None)
@given(walk=walks, ticks=ticks_s)
def test_no_limit_is_ever_exceeded(
    limits: Limits, walk: list[tuple[Vec3, Vec3, int]], ticks: list[float]
) -> None:
    limiter = PoseLimiter(START, IDENTITY)
    watch, k = Watch(limiter), 0
    for point, turn, repeats in walk:
        for _ in range(repeats):
            dt_s = ticks[k % len(ticks)]
            limiter.step(point, quat_from_rotvec(turn), dt_s, limits)
            watch.look(dt_s)
            watch.keeps(limits)
            k += 1


@BOTH
@settings(max_examples=30, deadline=None)
@given(point=points, turn=turns, ticks=ticks_s)
def test_a_standing_target_is_reached_exactly_without_overshoot(
    limits: Limits, point: Vec3, turn: Vec3, ticks: list[float]
) -> None:
    q = quat_from_rotvec(turn)
    limiter = PoseLimiter(START, IDENTITY)
    left_m, left_rad, t_s, k = vnorm(vsub(point, START)), quat_angle_rad(q, IDENTITY), 0.0, 0
    bound_s = _time_bound_s(left_m, limits.v_mps, limits.a_mps2) + _time_bound_s(
        left_rad, limits.w_radps, limits.alpha_radps2
    )
    while not (limiter.p_m == point and limiter.q_xyzw == q and limiter.at_rest):
        dt_s = ticks[k % len(ticks)]
        limiter.step(point, q, dt_s, limits)
        now_m, now_rad = vnorm(vsub(point, limiter.p_m)), quat_angle_rad(q, limiter.q_xyzw)
        assert now_m <= left_m + 1e-12  # on a straight line, so an overshoot would grow again
        assert now_rad <= left_rad + 1e-12
        way_m = vnorm(vsub(limiter.p_m, START)) + now_m
        assert way_m == pytest.approx(vnorm(vsub(point, START)), abs=1e-9)
        left_m, left_rad, t_s, k = now_m, now_rad, t_s + dt_s, k + 1
        assert t_s < bound_s


def _time_bound_s(distance: float, v: float, a: float) -> float:
    """Trapezoid or triangle profile, and some ticks of 50 ms."""
    ideal_s = distance / v + v / a if distance > v * v / a else 2.0 * math.sqrt(distance / a)
    return 1.15 * ideal_s + 0.3


@BOTH
def test_a_stream_within_the_limits_passes_to_the_last_bit(limits: Limits) -> None:
    """A hand on a circle and a swing, at 90 % of speed and 80 % of acceleration, eased in."""
    limiter = PoseLimiter(START, IDENTITY)
    r_m = (0.9 * limits.v_mps) ** 2 / (0.8 * limits.a_mps2)
    w_radps = 0.9 * limits.v_mps / r_m
    swing_rad = (0.9 * limits.w_radps) ** 2 / (0.8 * limits.alpha_radps2)
    swing_radps = 0.9 * limits.w_radps / swing_rad
    for k in range(2000):
        t_s = 0.01 * k
        ease = math.sin(0.5 * math.pi * min(1.0, t_s / 15.0)) ** 2
        x_m, y_m = r_m * ease * math.cos(w_radps * t_s), r_m * ease * math.sin(w_radps * t_s)
        p = vadd(START, (x_m, y_m, 0.0))
        q = quat_from_rotvec((0.0, swing_rad * ease * math.sin(swing_radps * t_s), 0.0))
        pose = limiter.step(p, q, 0.01, limits)
        assert pose == (p, q, True), f"tick {k}"
        assert (limiter.p_m, limiter.q_xyzw) == (p, q)


def test_the_first_small_step_from_rest_is_exact() -> None:
    limiter = PoseLimiter(START, IDENTITY)
    assert limiter.step(START, IDENTITY, 0.01, HARDWARE).exact
    p = vadd(START, (0.0004, 0.0, 0.0))  # 0.04 m/s from rest, 4 m/s^2
    assert limiter.step(p, IDENTITY, 0.01, HARDWARE) == (p, IDENTITY, True)
    assert limiter.step(p, IDENTITY, 0.01, HARDWARE) == (p, IDENTITY, True)
    assert limiter.at_rest


def test_a_target_that_moves_on_is_caught_and_kept() -> None:
    """Half the speed limit, with a head start: caught without a rest, then exact."""
    limiter, limits = PoseLimiter(START, IDENTITY), SLOW
    exact = []
    for k in range(400):
        p = vadd(START, (0.05 + 0.3 * 0.01 * k, 0.0, 0.0))
        exact.append(limiter.step(p, IDENTITY, 0.01, limits).exact)
    first = exact.index(True)
    assert first < 100
    assert all(exact[first:])


def test_speed_limit_lowered_in_motion_brakes_within_acceleration() -> None:
    limiter = PoseLimiter(START, IDENTITY)
    watch = Watch(limiter)
    for k in range(100):
        limits = SIM if k < 50 else replace(SIM, v_mps=0.05, a_mps2=5.0)
        limiter.step((50.0, 0.0, 0.3), IDENTITY, 0.01, limits)
        watch.look(0.01)
        assert watch.accel <= limits.a_mps2 * (1.0 + 1e-6)
    assert watch.speed == pytest.approx(0.05)


@ZONES
@BOTH
@settings(max_examples=25, deadline=None)
@given(walk=walks, ticks=ticks_s)
def test_walls_are_never_crossed_and_limits_still_hold(
    limits: Limits, zone: Zone, walk: list[tuple[Vec3, Vec3, int]], ticks: list[float]
) -> None:
    limiter = PoseLimiter(START, IDENTITY)
    watch, k = Watch(limiter), 0
    for point, _, repeats in walk:
        for _ in range(repeats):
            dt_s = ticks[k % len(ticks)]
            limiter.step(project(point, zone), IDENTITY, dt_s, limits, zone)
            watch.look(dt_s)
            watch.keeps(limits)
            assert outside_m(limiter.p_m, zone) < 1e-8
            k += 1


@ZONES
@settings(max_examples=25, deadline=None)
@given(
    seed=st.tuples(st.floats(0.5, 8.0), st.floats(0.5, 8.0), st.floats(0.5, 8.0)),
    brake_at=st.integers(20, 300),
    a_mps2=st.floats(0.5, 30.0),
)
def test_a_hand_that_races_along_the_walls_and_is_lost(
    zone: Zone, seed: Vec3, brake_at: int, a_mps2: float
) -> None:
    """A continuous hand far beyond the walls, slid along them; then the brake of a loss."""
    limiter = PoseLimiter(START, IDENTITY)
    watch = Watch(limiter)
    for k in range(brake_at):
        hand = (
            0.2 + 0.6 * math.sin(seed[0] * 0.01 * k),
            0.6 * math.sin(seed[1] * 0.01 * k),
            0.3 + 0.6 * math.sin(seed[2] * 0.01 * k),
        )
        limiter.step(project(hand, zone), IDENTITY, 0.01, SIM, zone)
        watch.look(0.01)
        watch.keeps(SIM)
        assert outside_m(limiter.p_m, zone) < 1e-8
    for _ in range(1000):
        if limiter.at_rest:
            break
        limiter.brake(0.01, a_mps2, 12.0, SIM, zone)
        watch.look(0.01)
        assert watch.accel <= max(SIM.a_mps2, a_mps2) * (1.0 + 1e-6)
        assert outside_m(limiter.p_m, zone) < 1e-8
    assert limiter.at_rest


def test_along_a_wall_it_goes_on_at_speed() -> None:
    """Pressed against x = 0.4, the hand runs along y: the tool must not stick to the wall."""
    limiter = PoseLimiter((0.4, -0.35, 0.3), IDENTITY)
    for k in range(120):
        hand = (0.6, -0.35 + 0.5 * 0.01 * k, 0.3)
        limiter.step(project(hand, BOX), IDENTITY, 0.01, SIM, BOX)
        if k == 60:
            assert limiter.v_mps == pytest.approx((0.0, 0.5, 0.0), abs=1e-9)
    assert limiter.p_m[1] == pytest.approx(0.2451, abs=0.02)


def test_along_the_shell_it_keeps_up_with_a_slow_hand() -> None:
    shell = Zone((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0), reach_max_m=0.45)
    limiter = PoseLimiter((0.45, 0.0, 0.0), IDENTITY)
    p = limiter.p_m
    for k in range(150):
        angle = 0.3 / 0.45 * 0.01 * k
        hand = (0.6 * math.cos(angle), 0.6 * math.sin(angle), 0.0)
        target = project(hand, shell)
        p = limiter.step(target, IDENTITY, 0.01, SIM, shell).p_m
        assert vnorm(vsub(p, target)) < 0.01
    assert math.atan2(p[1], p[0]) > 0.9


def test_an_arm_outside_comes_in_and_never_goes_further_out() -> None:
    workspace = Workspace(SHELL)
    start = (0.55, 0.1, 0.0)
    workspace.admit(start)
    limiter = PoseLimiter(start, IDENTITY)
    before_m = outside_m(start, SHELL)
    for k in range(300):
        hand = (0.8, 0.3, 0.0) if k < 50 else (0.3, 0.0, 0.1)
        target = workspace.clamp(hand).p_m
        limiter.step(target, IDENTITY, 0.01, HARDWARE, workspace.allowed)
        workspace.ratchet(limiter.p_m)
        now_m = outside_m(limiter.p_m, SHELL)
        assert now_m <= before_m + 1e-9
        before_m = now_m
    assert limiter.p_m == (0.3, 0.0, 0.1)


def test_a_target_beyond_the_wall_that_nobody_slid_is_not_followed_out() -> None:
    limiter = PoseLimiter((0.4, 0.0, 0.3), IDENTITY)
    for _ in range(20):
        limiter.step((0.5, 0.0, 0.3), IDENTITY, 0.01, SIM, BOX)
    assert limiter.p_m == (0.4, 0.0, 0.3)


def test_outside_a_zone_that_was_not_opened_for_it_the_tool_stays() -> None:
    limiter = PoseLimiter((0.6, 0.0, 0.3), IDENTITY)
    for _ in range(20):
        limiter.step((0.7, 0.0, 0.3), IDENTITY, 0.01, SIM, BOX)
    assert limiter.p_m == (0.6, 0.0, 0.3)


@BOTH
@pytest.mark.parametrize("a_mps2", [2.0, 5.0])
def test_brake_ends_on_the_line_of_motion_after_v2_over_2a(limits: Limits, a_mps2: float) -> None:
    limiter = PoseLimiter(START, IDENTITY)
    for _ in range(200):
        limiter.step((50.0, 0.0, 0.3), quat_from_rotvec((0.0, 3.0, 0.0)), 0.01, limits)
    v_mps = vnorm(limiter.v_mps)
    at_m, speeds = limiter.p_m, []
    watch = Watch(limiter, v=limiter.v_mps)
    while not limiter.at_rest:
        limiter.brake(0.01, a_mps2, 12.0)
        watch.look(0.01)
        speeds.append(watch.speed)
        assert watch.accel <= a_mps2 * (1.0 + 1e-6)
    way_m = limiter.p_m[0] - at_m[0]
    assert limiter.p_m[1:] == at_m[1:]
    # The first tick still runs at up to the last speed: at most half a tick more than v^2 / 2a.
    assert v_mps**2 / (2.0 * a_mps2) - 0.5 * v_mps * 0.01 <= way_m <= v_mps**2 / (2.0 * a_mps2)
    assert speeds == sorted(speeds, reverse=True)


def test_brake_turns_to_rest_too() -> None:
    limiter = PoseLimiter(START, IDENTITY)
    for k in range(100):
        limiter.step(START, quat_from_rotvec((0.0, 0.0, 0.012 * k)), 0.01, HARDWARE)
    w_radps = limiter.w_radps[2]
    before, watch = limiter.q_xyzw, Watch(limiter, w=limiter.w_radps)
    while not limiter.at_rest:
        limiter.brake(0.01, 2.0, 12.0)
        watch.look(0.01)
        assert watch.turn_accel <= 12.0 * (1.0 + 1e-6)
    turned_rad = quat_angle_rad(before, limiter.q_xyzw)
    ideal_rad = w_radps**2 / (2.0 * 12.0)
    assert ideal_rad - 0.5 * w_radps * 0.01 <= turned_rad <= ideal_rad
    assert limiter.p_m == START


def test_a_brake_at_rest_changes_nothing() -> None:
    limiter = PoseLimiter(START, IDENTITY)
    assert limiter.brake(0.01, 2.0, 12.0) == (START, IDENTITY, False)
    assert limiter.at_rest


def test_reset_stands_elsewhere_at_once() -> None:
    limiter = PoseLimiter(START, IDENTITY)
    limiter.step((0.3, 0.0, 0.3), IDENTITY, 0.01, SIM)
    assert limiter.p_m != START
    q = quat_from_rotvec((0.1, 0.0, 0.0))
    limiter.reset((0.0, 0.1, 0.4), q)
    assert limiter.at_rest
    assert limiter.step((0.0, 0.1, 0.4), q, 0.01, SIM) == ((0.0, 0.1, 0.4), q, True)


def test_a_negated_quaternion_is_the_same_rotation() -> None:
    limiter = PoseLimiter(START, IDENTITY)
    limiter.step(START, IDENTITY, 0.01, SIM)
    assert limiter.step(START, (0.0, 0.0, 0.0, -1.0), 0.01, SIM).exact
    assert limiter.at_rest


def test_jerk_limits_the_build_up_of_speed_and_not_the_brake() -> None:
    limits = replace(SIM, j_mps3=100.0)
    limiter = PoseLimiter(START, IDENTITY)
    watch, accel = Watch(limiter), [0.0]
    for _ in range(400):
        limiter.step((2.0, 0.0, 0.3), IDENTITY, 0.01, limits)
        before = watch.speed
        watch.look(0.01)
        watch.keeps(limits)
        if watch.speed > before:
            accel.append(watch.accel)
            assert accel[-1] - accel[-2] <= 100.0 * 0.01 * (1.0 + 1e-6)
    assert max(accel) > 10.0
    assert limiter.p_m == (2.0, 0.0, 0.3)
