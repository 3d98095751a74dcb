"""The workspace as geometry: nearest point, inside, idempotent, and never further out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from runtime.se3 import Vec3, vdot, vnorm, vsub
from runtime.workspace import Workspace, Zone, outside_m, project

PIPER = Zone((-0.4, -0.4, 0.05), (0.4, 0.4, 0.7))
MERCURY = Zone((-0.4, -0.4, -0.2), (0.4, 0.4, 0.45), reach_max_m=0.45)
# The base's origin outside the box, shell cutting three of its corners.
AHEAD = Zone((0.2, -0.1, 0.1), (0.6, 0.3, 0.5), reach_max_m=0.5)
FLAT = Zone((-0.3, 0.0, -0.3), (0.3, 0.0, 0.3), reach_max_m=0.31)  # a plane: min = max is allowed
ZONES = [PIPER, MERCURY, AHEAD, FLAT]

near = st.floats(-1.0, 1.0)
points = st.one_of(
    st.tuples(near, near, near),
    st.tuples(*[st.floats(-1e3, 1e3)] * 3),
    st.tuples(*[st.sampled_from([-0.4, 0.0, 0.05, 0.2, 0.3, 0.4, 0.45, 0.5, 0.7])] * 3),
)
zones = st.sampled_from(ZONES)


def excess_m(p: Vec3, zone: Zone) -> list[float]:
    """How far p stands beyond each wall, 0 where it does not: two per axis, and the shell."""
    low = [max(a - x, 0.0) for a, x in zip(zone.box_min_m, p, strict=True)]
    high = [max(x - b, 0.0) for b, x in zip(zone.box_max_m, p, strict=True)]
    shell = 0.0 if zone.reach_max_m is None else max(vnorm(p) - zone.reach_max_m, 0.0)
    return [*low, *high, shell]


@given(zones, points)
@settings(max_examples=300)
def test_the_result_is_inside_and_stays_there(zone: Zone, p: Vec3) -> None:
    inside = project(p, zone)
    assert max(excess_m(inside, zone)) < 1e-12
    assert project(inside, zone) == inside
    assert outside_m(inside, zone) == 0.0


@given(zones, st.tuples(*[st.floats(0.0, 1.0)] * 3))
def test_inside_points_are_untouched(zone: Zone, u: Vec3) -> None:
    low, high = np.asarray(zone.box_min_m), np.asarray(zone.box_max_m)
    x, y, z = np.clip(low + (high - low) * np.asarray(u), low, high).tolist()
    assume(excess_m((x, y, z), zone)[-1] == 0.0)
    assert project((x, y, z), zone) == (x, y, z)


@given(zones, points, points)
@settings(max_examples=300)
def test_the_result_is_the_nearest_point(zone: Zone, p: Vec3, other: Vec3) -> None:
    """Variational inequality: from the nearest point, every other one lies at >= 90 deg to p."""
    x, y = project(p, zone), project(other, zone)
    assert vdot(vsub(p, x), vsub(y, x)) <= 1e-7 * (1.0 + vnorm(p))


def test_no_point_of_the_zone_is_nearer() -> None:
    """By brute force: a dense cloud of zone points; some come close, none comes closer."""
    rng = np.random.RandomState(1)
    for zone in (MERCURY, AHEAD):
        cloud = rng.uniform(zone.box_min_m, zone.box_max_m, (200_000, 3))
        cloud = cloud[np.linalg.norm(cloud, axis=1) <= (zone.reach_max_m or math.inf)]
        for x, y, z in rng.uniform(-0.9, 0.9, (20, 3)).tolist():
            nearest_m = float(np.linalg.norm(cloud - (x, y, z), axis=1).min())
            assert outside_m((x, y, z), zone) <= nearest_m + 1e-12
            assert outside_m((x, y, z), zone) >= nearest_m - 0.03


@given(zones, points, points)
@settings(max_examples=300)
def test_the_result_never_moves_further_than_the_target(zone: Zone, a: Vec3, b: Vec3) -> None:
    moved_m = vnorm(vsub(project(a, zone), project(b, zone)))
    # + 1 um: at a point where shell and wall touch tangentially, rounding counts by its root.
    assert moved_m <= vnorm(vsub(a, b)) + 1e-6


@pytest.mark.parametrize(
    ("zone", "p", "expected", "flags", "outside_mm"),
    [
        (PIPER, (0.1, 0.2, 0.3), (0.1, 0.2, 0.3), "", 0.0),
        (PIPER, (0.5, 0.2, 0.3), (0.4, 0.2, 0.3), "x", 100.0),
        (PIPER, (0.1, -0.43, 0.01), (0.1, -0.4, 0.05), "yz", 50.0),
        (PIPER, (0.4, 0.4, 0.7), (0.4, 0.4, 0.7), "", 0.0),
        (MERCURY, (0.3, 0.4, 0.0), (0.27, 0.36, 0.0), "xy", 50.0),  # shell alone: radially
        (MERCURY, (0.0, 0.0, 0.5), (0.0, 0.0, 0.45), "z", 50.0),
        # Wall and shell: slides along the wall x = 0.4, then on the circle of both.
        (MERCURY, (0.8, 0.4, 0.0), (0.4, math.sqrt(0.45**2 - 0.4**2), 0.0), "xy", None),
    ],
)
def test_table(zone: Zone, p: Vec3, expected: Vec3, flags: str, outside_mm: float | None) -> None:
    result = Workspace(zone).clamp(p)
    assert result.p_m == pytest.approx(expected, abs=1e-12)
    assert "".join(a for a, on in zip("xyz", result.clamped, strict=True) if on) == flags
    distance_mm = 1000.0 * math.dist(p, expected) if outside_mm is None else outside_mm
    assert result.outside_mm == pytest.approx(distance_mm, abs=1e-9)


def test_reversing_on_a_wall_moves_at_once() -> None:
    """Sliding is sideways only: the other axes follow the hand exactly while one is clamped."""
    workspace = Workspace(PIPER)
    for step in range(100):
        y = -0.3 + 0.006 * step
        assert workspace.clamp((0.9, y, 0.3)).p_m == (0.4, y, 0.3)


# --- an arm that stands outside may only move inward ---------------------------------------------


@given(zones, points, points)
@example(AHEAD, (0.0, 0.0, 0.0), (0.9, 0.9, 0.9))
def test_where_the_arm_stands_is_always_allowed(zone: Zone, stands: Vec3, target: Vec3) -> None:
    workspace = Workspace(zone)
    workspace.admit(stands)
    assert workspace.clamp(stands).p_m == stands
    assert workspace.clamp(stands).clamped == (False, False, False)
    assert workspace.clamp(stands).outside_mm == pytest.approx(1000.0 * outside_m(stands, zone))
    result = workspace.clamp(target).p_m
    for now, start in zip(excess_m(result, zone), excess_m(stands, zone), strict=True):
        assert now <= start + 1e-12 * (1.0 + vnorm(stands))


@given(zones, points, st.lists(points, min_size=1, max_size=8))
def test_walls_follow_inwards_and_never_back(zone: Zone, stands: Vec3, targets: list[Vec3]) -> None:
    workspace = Workspace(zone)
    workspace.admit(stands)
    best = excess_m(stands, zone)
    for target in targets:
        stands = workspace.clamp(target).p_m
        workspace.ratchet(stands)
        now = excess_m(stands, zone)
        assert all(a <= b + 1e-9 for a, b in zip(now, best, strict=True))
        best = [min(a, b) for a, b in zip(now, best, strict=True)]
        assert project(stands, workspace.allowed) == pytest.approx(stands, abs=1e-12)


def test_once_inside_the_zone_is_the_wall_again() -> None:
    workspace = Workspace(PIPER)
    workspace.admit((0.5, 0.0, 0.8))
    assert workspace.clamp((0.6, 0.1, 0.9)).p_m == (0.5, 0.1, 0.8)
    workspace.ratchet((0.45, 0.0, 0.8))
    assert workspace.clamp((0.6, 0.1, 0.9)).p_m == (0.45, 0.1, 0.8)
    workspace.ratchet((0.48, 0.0, 0.6))  # an overshoot outwards does not push a wall back
    assert workspace.clamp((0.6, 0.1, 0.9)).p_m == (0.45, 0.1, 0.7)
    workspace.ratchet((0.1, 0.0, 0.6))
    assert workspace.allowed is PIPER
    workspace.ratchet((0.5, 0.0, 0.8))
    assert workspace.allowed is PIPER


def test_admit_follows_an_arm_that_was_moved_by_hand() -> None:
    workspace = Workspace(MERCURY)
    workspace.admit((0.0, 0.0, 0.6))
    assert workspace.allowed.reach_max_m == 0.6
    workspace.admit((0.0, 0.0, 0.3))
    assert workspace.allowed == MERCURY


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("axis", range(3))
def test_a_position_that_is_not_finite_is_refused(bad: float, axis: int) -> None:
    values = [0.1, 0.1, 0.1]
    values[axis] = bad
    p: Vec3 = (values[0], values[1], values[2])
    workspace = Workspace(MERCURY)
    with pytest.raises(ValueError, match="not finite"):
        workspace.clamp(p)
    with pytest.raises(ValueError, match="not finite"):
        workspace.admit(p)
    workspace.admit((0.0, 0.0, 0.6))
    with pytest.raises(ValueError, match="not finite"):
        workspace.ratchet(p)


@pytest.mark.parametrize(
    ("low", "high", "reach", "words"),
    [
        ((0.1, 0.0, 0.0), (0.0, 1.0, 1.0), None, "workspace x: min 0.1 m must not exceed max"),
        ((0.0, 0.0, 0.0), (1.0, 1.0, math.nan), None, "workspace z"),
        ((0.0, -math.inf, 0.0), (1.0, 1.0, 1.0), None, "workspace y"),
        ((0.3, 0.0, 0.4), (1.0, 1.0, 1.0), 0.5, "must exceed 0.500 m"),
        ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), math.nan, "reach_max"),
        ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), -0.1, "reach_max"),
    ],
)
def test_an_empty_zone_is_refused(low: Vec3, high: Vec3, reach: float | None, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Zone(low, high, reach)
