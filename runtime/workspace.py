"""Where a tool may be: a box and an optional shell about the arm's base, and sliding along them.

Pure geometry in metres, used by the mapper for comfort and by the arm for safety, so that both
mean the same wall. Never decides what to do about a target outside; it only says where the
nearest allowed point is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Final, NamedTuple

from runtime.se3 import Vec3, vnorm, vscale, vsub

# A point this little beyond the shell (ratio) counts as on it: a projected point has rounding
# errors of some 1e-16 and must stay where it is when projected again.
_ON_SHELL_RATIO: Final = 1.0 + 1e-12
# An axis is flagged when the target moved by more than this along it; below it is rounding.
_FLAG_M: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Zone:
    """The set of points inside a box and, where reach_max_m is given, within that of the origin.

    Attributes:
        box_min_m, box_max_m: opposite corners, axes of the arm's base.
        reach_max_m: radius of the shell about the base's origin, or None for no shell.

    Raises:
        ValueError: the zone is empty, or a number is not finite.
    """

    box_min_m: Vec3
    box_max_m: Vec3
    reach_max_m: float | None = None

    def __post_init__(self) -> None:
        """Refuse an empty zone in words that name the fix."""
        for axis, low_m, high_m in zip("xyz", self.box_min_m, self.box_max_m, strict=True):
            if not (isfinite(low_m) and isfinite(high_m) and low_m <= high_m):
                raise ValueError(f"workspace {axis}: min {low_m} m must not exceed max {high_m} m")
        if self.reach_max_m is None:
            return
        nearest_m = vnorm(_into_box((0.0, 0.0, 0.0), self))
        if not (isfinite(self.reach_max_m) and self.reach_max_m > nearest_m):
            raise ValueError(
                f"workspace reach_max {self.reach_max_m} m must exceed {nearest_m:.3f} m,"
                " the distance of the box from the base"
            )


class Clamp(NamedTuple):
    """What became of a target.

    Attributes:
        p_m: the nearest allowed point.
        clamped: per axis (x, y, z), whether the target was moved along it.
        outside_mm: how far the target lies outside the zone itself, 0 inside.
    """

    p_m: Vec3
    clamped: tuple[bool, bool, bool]
    outside_mm: float


class Workspace:
    """A zone, and the larger set that lets an arm outside it come back but never go further out.

    The allowed set is the zone with each wall pushed out to a tool that stands beyond it. As the
    tool comes in the walls follow, and never retreat.
    """

    def __init__(self, zone: Zone) -> None:
        """Start with exactly the zone."""
        self.zone = zone
        self._allowed = zone

    @property
    def allowed(self) -> Zone:
        """The set that clamp() keeps to."""
        return self._allowed

    def admit(self, p_m: Vec3) -> None:
        """Push each wall out to p_m, where the arm stands now: at rest, or when engaging.

        Raises:
            ValueError: p_m is not finite.
        """
        self._allowed = _stretched(self.zone, _finite(p_m))

    def ratchet(self, p_m: Vec3) -> None:
        """Let pushed-out walls follow the arm, now at p_m, towards the zone.

        Raises:
            ValueError: p_m is not finite.
        """
        if self._allowed is not self.zone:
            self._allowed = _tightened(self._allowed, _stretched(self.zone, _finite(p_m)))
            if self._allowed == self.zone:
                self._allowed = self.zone

    def clamp(self, p_m: Vec3) -> Clamp:
        """The nearest allowed point to p_m, and what that changed.

        Raises:
            ValueError: p_m is not finite.
        """
        inside_m = project(p_m, self._allowed)
        dx, dy, dz = vsub(p_m, inside_m)
        flags = (abs(dx) > _FLAG_M, abs(dy) > _FLAG_M, abs(dz) > _FLAG_M)
        rest_m = vnorm((dx, dy, dz))
        if self._allowed is not self.zone:
            rest_m = outside_m(p_m, self.zone)
        return Clamp(inside_m, flags, 1000.0 * rest_m)


def outside_m(p_m: Vec3, zone: Zone) -> float:
    """Distance of p_m from the zone, 0 inside it.

    Raises:
        ValueError: p_m is not finite.
    """
    return vnorm(vsub(p_m, project(p_m, zone)))


def project(p_m: Vec3, zone: Zone) -> Vec3:
    """The point of the zone nearest to p_m: a hand outside slides along the walls.

    The zone is convex, so the result is unique, moves no further than p_m moves, and stays put
    when projected again. By the optimality conditions it is into_box(s * p_m) for the largest
    s <= 1 that lies within the shell; its length grows with s, piecewise in closed form.

    Raises:
        ValueError: p_m is not finite (a min/max clamp would turn NaN into an end stop).
    """
    boxed_m = _into_box(_finite(p_m), zone)
    reach_m = zone.reach_max_m
    if reach_m is None or vnorm(boxed_m) <= reach_m * _ON_SHELL_RATIO:
        return boxed_m
    return _into_box(vscale(p_m, _shell_ratio(p_m, zone, reach_m)), zone)


def _shell_ratio(p_m: Vec3, zone: Zone, reach_m: float) -> float:
    """The s in (0, 1) for which into_box(s * p_m) lies on the shell."""
    # Between two of these values of s each axis is either free (s * p) or fixed (at a wall).
    walls = zip((*p_m, *p_m), (*zone.box_min_m, *zone.box_max_m), strict=True)
    ratios = sorted(wall / p for p, wall in walls if p != 0.0 and 0.0 < wall / p < 1.0)
    before, after = 0.0, 1.0
    for ratio in ratios:
        if vnorm(_into_box(vscale(p_m, ratio), zone)) >= reach_m:
            after = ratio
            break
        before = ratio
    middle_m = vscale(p_m, 0.5 * (before + after))
    free_m2 = fixed_m2 = 0.0
    for p, middle, boxed in zip(p_m, middle_m, _into_box(middle_m, zone), strict=True):
        if middle == boxed:
            free_m2 += p * p
        else:
            fixed_m2 += boxed * boxed
    # Rounding may leave a hair's interval with no free axis, or a root a hair outside it.
    root = sqrt(max(reach_m * reach_m - fixed_m2, 0.0) / free_m2) if free_m2 > 0.0 else before
    return min(max(root, before), after)


def _finite(p_m: Vec3) -> Vec3:
    if not (isfinite(p_m[0]) and isfinite(p_m[1]) and isfinite(p_m[2])):
        raise ValueError(f"position {p_m} is not finite")
    return p_m


def _into_box(p_m: Vec3, zone: Zone) -> Vec3:
    (x0, y0, z0), (x1, y1, z1) = zone.box_min_m, zone.box_max_m
    return (
        min(max(p_m[0], x0), x1),
        min(max(p_m[1], y0), y1),
        min(max(p_m[2], z0), z1),
    )


def _stretched(zone: Zone, p_m: Vec3) -> Zone:
    """The zone with each wall pushed out to p_m."""
    reach_m = zone.reach_max_m
    return Zone(
        _each(min, zone.box_min_m, p_m),
        _each(max, zone.box_max_m, p_m),
        None if reach_m is None else max(reach_m, vnorm(p_m)),
    )


def _tightened(a: Zone, b: Zone) -> Zone:
    """Of each pair of walls the inner one."""
    return Zone(
        _each(max, a.box_min_m, b.box_min_m),
        _each(min, a.box_max_m, b.box_max_m),
        min((r for r in (a.reach_max_m, b.reach_max_m) if r is not None), default=None),
    )


def _each(choose: Callable[[float, float], float], a: Vec3, b: Vec3) -> Vec3:
    return (choose(a[0], b[0]), choose(a[1], b[1]), choose(a[2], b[2]))
