"""What must hold between one step of the arm and the next, whatever happens."""

from __future__ import annotations

from math import hypot, isfinite

from proto.messages import ArmState
from runtime.se3 import Pose, quat_angle_rad, vnorm, vsub
from runtime.workspace import outside_m
from runtime.zone import zone_of
from tests.unit.arm.closed_loop.world import TICK_NS, World

STALE_NS = 100_000_000
ROUNDING = 1e-9


def command_of(state: ArmState) -> Pose | None:
    p_m, q_xyzw = state.cmd_p_base_tool_m, state.cmd_q_base_tool_xyzw
    return None if p_m is None or q_xyzw is None else (p_m, q_xyzw)


class Checks:
    """Looks at each new state once, in order; `moved` counts the steps with motion."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._zone = zone_of(world.arm)
        self._seen = 0
        self._before: ArmState | None = None
        self._speed = (0.0, 0.0)
        self._answered: tuple[int | None, str] = (None, "")
        # After an e-stop nothing moves before a reset and then an order to move.
        self._was_reset = self._may_move = True
        self.moved = 0
        self.resumed = 0

    def look(self) -> None:
        """At the states since the last look; hands come in between, so look every tick."""
        for state in self._world.states[self._seen :]:
            self._check(state)
            self._before = state
        self._seen = len(self._world.states)

    def _check(self, state: ArmState) -> None:
        before = self._before
        if before is None or before.boot != state.boot:
            self._may_move = self._was_reset = True  # its own start is a stop, and a disarmed one
            assert command_of(state) is None, "a restarted arm sends nothing"
            self._speed = (0.0, 0.0)
            return
        self._follow_the_law(state)
        self._measure(before, state)

    # --- stops and orders ------------------------------------------------------------------------

    def _follow_the_law(self, state: ArmState) -> None:
        if state.state == "ESTOP_LATCHED":
            self._was_reset = self._may_move = False
        answer = (state.last_command_id, state.last_command_result)
        if answer != self._answered and state.last_command_id is not None:
            self._answered = answer
            verb = self._world.asked[state.last_command_id]
            granted = not answer[1].startswith("refused")
            if verb == "reset" and granted and state.state != "ESTOP_LATCHED":
                self._was_reset = True
            if verb in ("engage", "home") and granted:
                self._may_move |= self._was_reset
        assert self._may_move or state.state not in ("ENGAGED", "HOMING"), state

    # --- motion ----------------------------------------------------------------------------------

    def _measure(self, before: ArmState, state: ArmState) -> None:
        old, new = command_of(before), command_of(state)
        if new is None or old is None:
            self._speed = (0.0, 0.0)
            return
        assert all(map(isfinite, (*new[0], *new[1]))), state
        assert abs(hypot(*new[1]) - 1.0) < 1e-9, state
        assert outside_m(new[0], self._zone) <= 1e-6, state
        # A step that comes late counts as no more than two periods.
        dt_s = min(state.t_tick_ns - before.t_tick_ns, 2 * TICK_NS) * 1e-9
        way_m, way_rad = vnorm(vsub(new[0], old[0])), quat_angle_rad(old[1], new[1])
        arm = self._world.arm
        assert way_m <= arm.tcp_max_mps * dt_s + ROUNDING, state
        assert way_rad <= arm.rotation_max_radps * dt_s + ROUNDING, state
        speed = (way_m / dt_s, way_rad / dt_s) if dt_s > 0.0 else self._speed
        if self._must_brake(state):
            for now, then in zip(speed, self._speed, strict=True):
                assert now <= then + 1e-6, (state, now, then)
        self._first_commands_stand(before, state, old == new)
        self._speed = speed
        self.moved += old != new

    def _must_brake(self, state: ArmState) -> bool:
        if state.state not in ("ENGAGED", "HOMING"):
            return True
        stale = state.t_tick_ns - self._world.newest_hand_ns > STALE_NS
        return state.state == "ENGAGED" and stale

    def _first_commands_stand(self, before: ArmState, state: ArmState, same: bool) -> None:
        """After an engage and after a resume from rest, in relative mode."""
        if state.state != "ENGAGED" or state.mode != "relative":
            return
        engaged = before.state != "ENGAGED"
        resumed = before.braking and not state.braking and self._speed == (0.0, 0.0)
        self.resumed += resumed
        assert same or not (engaged or resumed), state
