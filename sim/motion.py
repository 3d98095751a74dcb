"""Ways a hand can move: offsets from a rest point in the vr frame as pure functions of time.

OpenXR axes: x right, y up, -z forward. Described for the right hand; `mirrored` gives the left one.
Every motion begins at rest in the middle and has continuous velocity.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple, Protocol

from proto.reasons import Side
from runtime.se3 import ZERO, Vec3, vadd, vscale, vsub
from sim.recordings import Track
from sim.rng import Rng

# An arm's length in front of the chest, a little right: with the published Piper mapping (scale
# 0.75, offset 0.3 m up) this is (0.30, -0.11, 0.15) m in the robot base, inside its box.
REST_M: Final[Vec3] = (0.15, -0.20, -0.40)

OPENING_S: Final = 2.0  # circle and replay open from their middle over this long
TILT_RAD: Final = math.radians(30.0)  # of the circle, so that all three axes move
REACH_LEGS: Final = 32
REACH_MOVE_RATIO: Final = 0.7  # of a leg; the rest is dwell
WRIST_RAD: Final[Vec3] = (0.10, 0.15, 0.08)
WRIST_HZ: Final[Vec3] = (0.11, 0.07, 0.13)
GRIPPER_PERIOD_S: Final = 8.0


class HandPose(NamedTuple):
    """Offset from the rest point, rotation from upright, gripper 0 closed ... 1 open."""

    p_m: Vec3
    rotvec_rad: Vec3
    gripper_ratio: float


class Motion(Protocol):
    """One way to move."""

    @property
    def speed_bound_mps(self) -> float:
        """No faster than this at full rate."""
        ...

    def at(self, phase_s: float) -> HandPose:
        """Where the hand is after `phase_s` of motion."""
        ...


class Still:
    """No motion at all: open hand, upright, at the rest point."""

    speed_bound_mps = 0.0

    def at(self, _phase_s: float) -> HandPose:
        """Always the same."""
        return HandPose(ZERO, ZERO, 1.0)


class Circle:
    """A tilted circle around the rest point, reached on a spiral."""

    def __init__(self, amplitude_m: float, freq_hz: float) -> None:
        """Args: amplitude_m: radius. freq_hz: turns per second."""
        self._amplitude_m = amplitude_m
        self._omega_radps = 2.0 * math.pi * freq_hz
        opening_mps = 1.5 * amplitude_m / OPENING_S
        self.speed_bound_mps = math.hypot(amplitude_m * self._omega_radps, opening_mps)

    def at(self, phase_s: float) -> HandPose:
        """The pose after `phase_s`."""
        radius_m = self._amplitude_m * _smoothstep(phase_s / OPENING_S)
        angle = self._omega_radps * phase_s
        across_m, up_m = radius_m * math.cos(angle), radius_m * math.sin(angle)
        p_m = (across_m, up_m * math.cos(TILT_RAD), -up_m * math.sin(TILT_RAD))
        return HandPose(p_m, _wrist(phase_s), _gripper(phase_s))


class Reach:
    """Point-to-point reaches with minimum jerk (Flash and Hogan 1985) and a dwell after each."""

    def __init__(self, amplitude_m: float, freq_hz: float, seed: int) -> None:
        """Args: amplitude_m: all targets lie within this of the rest point. freq_hz: reaches/s."""
        self._leg_s = 1.0 / freq_hz
        targets = _targets(amplitude_m, Rng(seed, "reach"))
        self._targets_m = [*targets, ZERO]
        self.speed_bound_mps = 1.875 * 2.0 * amplitude_m / (REACH_MOVE_RATIO * self._leg_s)

    def at(self, phase_s: float) -> HandPose:
        """The pose after `phase_s`."""
        leg, done_s = divmod(phase_s, self._leg_s)
        count = len(self._targets_m)
        a_m, b_m = self._targets_m[int(leg - 1) % count], self._targets_m[int(leg) % count]
        u = min(done_s / (REACH_MOVE_RATIO * self._leg_s), 1.0)
        way = u * u * u * (10.0 - 15.0 * u + 6.0 * u * u)
        p_m = vadd(a_m, vscale(vsub(b_m, a_m), way))
        return HandPose(p_m, _wrist(phase_s), _gripper(phase_s))


class Replay:
    """Recorded positions at the recorded speed, with the same gentle wrist as the others.

    The recording never passes its own middle, where the hand starts: it grows to full size.
    """

    def __init__(self, track: Track) -> None:
        self._track = track
        opening_mps = 1.5 * track.reach_m / OPENING_S
        self.speed_bound_mps = track.speed_bound_mps + opening_mps

    def at(self, phase_s: float) -> HandPose:
        """The pose after `phase_s`."""
        p_m = vscale(self._track.at(phase_s), _smoothstep(phase_s / OPENING_S))
        return HandPose(p_m, _wrist(phase_s), _gripper(phase_s))


def mirrored(pose: HandPose, side: Side) -> HandPose:
    """The pose for this hand: as it is for the right, mirrored across the body for the left."""
    if side == "right":
        return pose
    (x, y, z), (rx, ry, rz) = pose.p_m, pose.rotvec_rad
    return HandPose((-x, y, z), (rx, -ry, -rz), pose.gripper_ratio)


def rest_m(side: Side) -> Vec3:
    """Where this hand rests."""
    return REST_M if side == "right" else (-REST_M[0], REST_M[1], REST_M[2])


def _smoothstep(u: float) -> float:
    u = min(max(u, 0.0), 1.0)
    return u * u * (3.0 - 2.0 * u)


def _wrist(phase_s: float) -> Vec3:
    """A slow wave about each axis, from upright: at most 0.2 rad and 0.15 rad/s."""
    x, y, z = (
        size_rad * math.sin(2.0 * math.pi * hz * phase_s)
        for size_rad, hz in zip(WRIST_RAD, WRIST_HZ, strict=True)
    )
    return (x, y, z)


def _gripper(phase_s: float) -> float:
    """Slowly closes and opens, from open."""
    return 0.5 + 0.5 * math.cos(2.0 * math.pi * phase_s / GRIPPER_PERIOD_S)


def _targets(amplitude_m: float, rng: Rng) -> list[Vec3]:
    """Random places between 0.4 and 1 amplitudes from the middle, in every direction."""
    targets = []
    for _ in range(REACH_LEGS - 1):
        direction = (rng.normal(), rng.normal(), rng.normal())
        length = math.sqrt(math.fsum(c * c for c in direction)) or 1.0
        targets.append(vscale(direction, amplitude_m * rng.uniform(0.4, 1.0) / length))
    return targets
