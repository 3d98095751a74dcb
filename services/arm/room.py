"""The room a tool has before the walls of its zone: which velocities still allow a stop. Pure."""

from __future__ import annotations

from math import hypot
from typing import Final

from runtime.se3 import Vec3, vadd, vnorm, vscale, vsub
from runtime.workspace import Zone, project
from services.arm.slew import SLACK, brake_speed, stop_distance

# A stop point this far (m) beyond a wall is rounding: targets lie on walls to the last bit.
_ON_WALL_M: Final = 1e-9
# Halvings of the search for the most of a wish that the walls allow: 2 % of it.
_HALVINGS: Final = 6


class Room:
    """The walls about the tool: a velocity has room if braking straight after it stays inside.

    The zone is convex, so the whole way lies inside with its end; and braking straight now always
    keeps the end that was promised before, so room once had is never lost.
    """

    def __init__(self, zone: Zone, p_m: Vec3, dt_s: float, a_mps2: float) -> None:
        self._zone, self._p_m, self._dt_s, self._a_mps2 = zone, p_m, dt_s, a_mps2

    def has(self, v_mps: Vec3) -> bool:
        """Whether the tool can still stop inside after this tick at v_mps."""
        return _inside(self._stop_m(v_mps), self._zone)

    def _stop_m(self, v_mps: Vec3) -> Vec3:
        speed_mps = vnorm(v_mps)
        if speed_mps == 0.0:
            return self._p_m
        way_m = speed_mps * self._dt_s + stop_distance(speed_mps, self._a_mps2, self._dt_s)
        return vadd(self._p_m, vscale(v_mps, way_m / speed_mps))

    def most_of(self, wish_mps: Vec3, now_mps: Vec3, braked_mps: Vec3, reach_mps: float) -> Vec3:
        """As near to wish_mps as walls and acceleration allow: along the walls, not stuck at them.

        Searches from braking, which always has room, to the velocity that would stop at the
        point of the zone next to where the wish would stop.
        """
        way = vsub(project(self._stop_m(wish_mps), self._zone), self._p_m)
        length_m = vnorm(way)
        if length_m < _ON_WALL_M:
            return braked_mps
        speed_mps = min(vnorm(wish_mps), brake_speed(length_m, self._a_mps2, self._dt_s))
        change = vsub(vscale(way, speed_mps / length_m), braked_mps)
        best, low, high = braked_mps, 0.0, 2.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            v_mps = vadd(braked_mps, vscale(change, middle))
            if vnorm(vsub(v_mps, now_mps)) <= reach_mps * SLACK and self.has(v_mps):
                best, low = v_mps, middle
                if middle == 1.0:
                    break
            else:
                high = middle
        return best


def _inside(p_m: Vec3, zone: Zone) -> bool:
    low_m, high_m, reach_m = zone.box_min_m, zone.box_max_m, zone.reach_max_m
    slack_m = _ON_WALL_M
    return (
        low_m[0] - slack_m <= p_m[0] <= high_m[0] + slack_m
        and low_m[1] - slack_m <= p_m[1] <= high_m[1] + slack_m
        and low_m[2] - slack_m <= p_m[2] <= high_m[2] + slack_m
        and (reach_m is None or hypot(*p_m) <= reach_m + slack_m)
    )
