"""One three-component velocity under acceleration limits: translation or rotation of a tool. Pure.

Velocities are means over a tick (what anyone sees who looks at the commands). Over any two
neighbouring ticks they differ by at most a * (dt1 + dt2) / 2, which is what sampling a motion of
acceleration <= a gives, so ticks of uneven length neither break a limit nor lengthen a brake.
Knows no pose and no wall.
"""

from __future__ import annotations

from math import sqrt
from typing import Final, NamedTuple, Protocol

from runtime.se3 import ZERO, Vec3, vadd, vnorm, vscale, vsub

# Rounding of a few additions; a stream that runs exactly at a limit must pass.
SLACK: Final = 1.0 + 1e-9
_TINY: Final = 1e-12


class Bounds(NamedTuple):
    """Velocity, acceleration and its build-up, in m or rad and s."""

    v: float
    a: float
    j: float


class Chosen(NamedTuple):
    """The velocity of a tick; exact: it ends on the target."""

    v: Vec3
    exact: bool


class Walls(Protocol):
    """What may forbid a velocity."""

    def has(self, v: Vec3, /) -> bool:
        """Whether v leaves room to stop."""

    def most_of(self, wish: Vec3, now: Vec3, braked: Vec3, reach: float, /) -> Vec3:
        """The allowed velocity nearest to `wish` within `reach` of `now`; at worst `braked`."""


def brake_speed(distance: float, a: float, dt_s: float) -> float:
    """Fastest mean speed over this tick after which braking at `a` still ends within distance.

    With s the mean speed, s - a dt/2 is left at the tick's end, and needs (s - a dt/2)^2 / 2a.
    """
    if distance < 0.5 * a * dt_s * dt_s:
        return max(distance, 0.0) / dt_s
    return sqrt(2.0 * a * distance) - 0.5 * a * dt_s


def stop_distance(speed: float, a: float, dt_s: float) -> float:
    """How far braking at `a` goes on after a tick of dt_s at that mean speed."""
    rest = max(0.0, speed - 0.5 * a * dt_s)
    return rest * rest / (2.0 * a)


class Slew:
    """Three components of translation, or of rotation: the mean velocity of the last tick."""

    def __init__(self) -> None:
        self.v: Vec3 = ZERO
        self._dt_s = 0.0
        self._gain = 0.0  # acceleration of the last tick if it sped up

    def choose(
        self, error: Vec3, target_v: Vec3, dt_s: float, bounds: Bounds, room: Walls | None
    ) -> Chosen:
        """The velocity of this tick towards a target `error` away that moves at target_v."""
        exact = vscale(error, 1.0 / dt_s)
        if self._passes(exact, target_v, dt_s, bounds) and (room is None or room.has(exact)):
            return self._take(exact, dt_s, True)
        behind = vsub(error, vscale(target_v, dt_s))  # error before the target moved
        wish = clipped(vadd(target_v, self._closing(behind, dt_s, bounds.a)), bounds.v)
        v = vadd(self.v, clipped(vsub(wish, self.v), self._build_up(wish, dt_s, bounds)))
        if room is not None and not room.has(v):
            v = room.most_of(v, self.v, self.braked(dt_s, bounds.a), bounds.a * self._h_s(dt_s))
        return self._take(v, dt_s, False)

    def brake(self, dt_s: float, a: float) -> Vec3:
        """One tick of braking along the present direction."""
        return self._take(self.braked(dt_s, a), dt_s, False).v

    def braked(self, dt_s: float, a: float) -> Vec3:
        """What brake() would give."""
        speed = vnorm(self.v)
        rest = speed - 0.5 * a * self._dt_s  # at the end of the last tick
        if rest <= 0.0:
            return ZERO
        mean = rest - 0.5 * a * dt_s if rest >= a * dt_s else rest * rest / (2.0 * a * dt_s)
        return vscale(self.v, mean / speed)

    def _take(self, v: Vec3, dt_s: float, exact: bool) -> Chosen:
        gain = vnorm(vsub(v, self.v)) / self._h_s(dt_s)
        self._gain = gain if vnorm(v) > vnorm(self.v) else 0.0
        self.v, self._dt_s = v, dt_s
        return Chosen(v, exact)

    def _h_s(self, dt_s: float) -> float:
        """Time between the middles of the last tick and this one; before the first: standing."""
        return 0.5 * (dt_s + (self._dt_s or dt_s))

    def _passes(self, v: Vec3, target_v: Vec3, dt_s: float, bounds: Bounds) -> bool:
        """Whether v keeps the limits, and the target can be kept company or stood on after it."""
        reach = self._build_up(v, dt_s, bounds)
        stop = 0.5 * bounds.a * dt_s
        return (
            vnorm(v) <= bounds.v * SLACK
            and vnorm(vsub(v, self.v)) <= reach * SLACK + _TINY
            and vnorm(vsub(v, target_v)) <= stop * SLACK + _TINY
        )

    def _build_up(self, v: Vec3, dt_s: float, bounds: Bounds) -> float:
        """How far the velocity may change towards v in this tick."""
        h_s = self._h_s(dt_s)
        if vnorm(v) <= vnorm(self.v):
            return bounds.a * h_s
        return min(bounds.a, self._gain + bounds.j * h_s) * h_s

    @staticmethod
    def _closing(error: Vec3, dt_s: float, a: float) -> Vec3:
        """Velocity against the target: straight at it, as fast as a stop on it allows."""
        distance = vnorm(error)
        if distance == 0.0:
            return ZERO
        return vscale(error, brake_speed(distance, a, dt_s) / distance)


def clipped(v: Vec3, length: float) -> Vec3:
    """v, no longer than length."""
    norm = vnorm(v)
    return v if norm <= length else vscale(v, length / norm)
