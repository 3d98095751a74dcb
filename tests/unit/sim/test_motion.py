"""The motions of a simulated hand: continuity, bounds, sides."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from itertools import pairwise

import pytest

from runtime.se3 import ZERO, Vec3, vnorm, vsub
from sim.motion import (
    REST_M,
    Circle,
    HandPose,
    Motion,
    Reach,
    Replay,
    Still,
    mirrored,
    rest_m,
)
from sim.recordings import ARM_MOTION, load_track

STEP_S = 0.002


@functools.cache
def replay() -> Motion:
    return Replay(load_track(ARM_MOTION))


MOTIONS: dict[str, Callable[[], Motion]] = {
    "circle": lambda: Circle(0.10, 0.25),
    "reach": lambda: Reach(0.10, 0.5, 1),
    "replay": replay,
    "still": Still,
}
named = pytest.mark.parametrize("make", MOTIONS.values(), ids=MOTIONS)


@named
def test_begins_at_the_rest_point_upright_and_open(make: Callable[[], Motion]) -> None:
    assert make().at(0.0) == HandPose(ZERO, ZERO, 1.0)


@named
def test_never_faster_than_it_says(make: Callable[[], Motion]) -> None:
    motion = make()
    places = [motion.at(k * STEP_S).p_m for k in range(30_000)]
    fastest_mps = max(vnorm(vsub(b, a)) for a, b in pairwise(places)) / STEP_S
    assert fastest_mps <= motion.speed_bound_mps + 1e-9


@named
def test_wrist_and_gripper_stay_gentle(make: Callable[[], Motion]) -> None:
    motion = make()
    poses = [motion.at(k * STEP_S) for k in range(10_000)]
    assert max(vnorm(pose.rotvec_rad) for pose in poses) <= 0.2
    assert all(0.0 <= pose.gripper_ratio <= 1.0 for pose in poses)
    for a, b in pairwise(poses):
        assert vnorm(vsub(b.rotvec_rad, a.rotvec_rad)) <= 0.15 * STEP_S
        assert abs(b.gripper_ratio - a.gripper_ratio) <= 0.4 * STEP_S


@pytest.mark.parametrize(
    ("make", "most_mps2"),
    # Circle: A w^2 and the opening; reach: 5.77 L / T^2 of a minimum-jerk move of 0.2 m in 1.4 s.
    [(MOTIONS["circle"], 0.7), (MOTIONS["reach"], 0.6)],
    ids=["circle", "reach"],
)
def test_acceleration_is_bounded(make: Callable[[], Motion], most_mps2: float) -> None:
    motion = make()
    places = [motion.at(k * STEP_S).p_m for k in range(35_000)]  # all legs of the reach, and again
    velocities = [vsub(b, a) for a, b in pairwise(places)]
    hardest = max(vnorm(vsub(b, a)) for a, b in pairwise(velocities)) / STEP_S**2
    assert hardest <= most_mps2


def test_circle_is_a_circle_of_its_radius_and_moves_on_all_axes() -> None:
    places = [Circle(0.10, 0.25).at(2.0 + k * 0.01).p_m for k in range(400)]
    assert [vnorm(p) for p in places] == pytest.approx([0.10] * 400)
    for axis in range(3):
        values = [p[axis] for p in places]
        assert max(values) - min(values) >= 0.0999


def test_reach_stays_within_its_amplitude_dwells_and_repeats_its_seed() -> None:
    first, again, other = Reach(0.10, 0.5, 1), Reach(0.10, 0.5, 1), Reach(0.10, 0.5, 2)
    times_s = [k * 0.05 for k in range(1400)]
    places = [first.at(t_s).p_m for t_s in times_s]
    assert max(map(vnorm, places)) <= 0.10 + 1e-12
    assert places == [again.at(t_s).p_m for t_s in times_s]
    assert places != [other.at(t_s).p_m for t_s in times_s]
    assert all(
        first.at(2.0 * leg - 0.5).p_m == first.at(2.0 * leg - 0.01).p_m for leg in range(1, 9)
    )
    assert first.at(64.0 - 0.01).p_m == ZERO  # the last of the 32 legs ends where the first began


def test_replay_is_the_recording_once_it_has_opened() -> None:
    track = load_track(ARM_MOTION)
    motion = Replay(track)
    assert motion.at(1.0).p_m == pytest.approx(tuple(0.5 * value for value in track.at(1.0)))
    assert motion.at(7.77).p_m == track.at(7.77)


def test_left_hand_mirrors_the_right() -> None:
    pose = HandPose((0.1, 0.2, 0.3), (0.01, 0.02, 0.03), 0.5)
    assert mirrored(pose, "right") == pose
    assert mirrored(pose, "left") == HandPose((-0.1, 0.2, 0.3), (0.01, -0.02, -0.03), 0.5)
    assert rest_m("left") == (-REST_M[0], REST_M[1], REST_M[2])


def test_published_piper_mapping_puts_the_default_circle_inside_its_box() -> None:
    def base_mm(p: Vec3) -> Vec3:
        """openxr to base: (-z, -x, y); scale 0.75; 0.3 m up."""
        x, y, z = (REST_M[axis] + p[axis] for axis in range(3))
        return (-750.0 * z, -750.0 * x, 750.0 * y + 300.0)

    for k in range(100):
        angle = 2.0 * math.pi * k / 100.0
        x, y, z = base_mm((0.1 * math.cos(angle), 0.1 * math.sin(angle), 0.1))
        assert abs(x) <= 400.0
        assert abs(y) <= 400.0
        assert 50.0 <= z <= 700.0
