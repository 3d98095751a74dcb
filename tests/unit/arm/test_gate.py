"""services.arm.gate: each limit is swept around its boundary, and normal use is never cut."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proto.reasons import REASONS, STATES, State
from runtime.se3 import IDENTITY, Quat, Vec3, quat_from_rotvec, quat_mul, quat_normalize, vadd
from runtime.workspace import Zone, project
from services.arm.driver import DriverState, Target
from services.arm.drivers.sim import SimDriver
from services.arm.drivers.sim_options import SimOptions
from services.arm.gate import Gate, GateLimits, GateVerdict
from services.arm.limits import Limits, PoseLimiter
from tests.unit.arm.fakes import FakeClock

MS = 1_000_000
TICK_NS = 10 * MS
ZONE = Zone((-0.4, -0.4, 0.05), (0.4, 0.4, 0.7), reach_max_m=0.6)
LIMITS = GateLimits(v_mps=0.25, w_radps=1.5, zone=ZONE, servo_lag_s=0.02, feedback_age_s=0.1)
START: Vec3 = (0.2, 0.0, 0.3)


def target(p: Vec3 = START, q: Quat = IDENTITY, gripper: float = 0.5) -> Target:
    return Target(p, q, gripper)


def x(dx_m: float) -> Vec3:
    return vadd(START, (dx_m, 0.0, 0.0))


class Bench:
    """A gate that has passed START in HOLD; the robot is where it was told unless given."""

    def __init__(self, limits: GateLimits = LIMITS) -> None:
        self.gate = Gate(limits)
        self.now_ns = 100 * 1000 * MS
        self.last = target()
        assert self.send(self.last, "HOLD").ok

    def feedback(self, p: Vec3, q: Quat = IDENTITY, age_ns: int = 0) -> DriverState:
        return DriverState(self.now_ns - age_ns, p, q, 0.5, None, True)

    def send(
        self,
        command: Target,
        state: State = "ENGAGED",
        measured: DriverState | None = None,
        *,
        braking: bool = False,
        dt_ns: int = TICK_NS,
    ) -> GateVerdict:
        """One tick later; by default the robot measured the last passed command."""
        self.now_ns += dt_ns
        if measured is None:
            here = self.last
            measured = self.feedback(here.p_base_tool_m, here.q_base_tool_xyzw)
        else:
            measured = replace(measured, t_feedback_ns=measured.t_feedback_ns + dt_ns)
        verdict = self.gate.check(self.now_ns, command, state, measured, braking=braking)
        if verdict.ok:
            self.last = command
        return verdict

    def run(
        self,
        v_mps: float,
        w_radps: float,
        ticks: int,
        state: State = "ENGAGED",
        *,
        braking: bool = False,
    ) -> list[GateVerdict]:
        """Steady motion from the last passed command on."""
        verdicts = []
        for _ in range(ticks):
            p = vadd(self.last.p_base_tool_m, (0.0, v_mps * 0.01, 0.0))
            turn = quat_from_rotvec((0.0, 0.0, w_radps * 0.01))
            q = _mul(turn, self.last.q_base_tool_xyzw)
            verdicts.append(self.send(target(p, q), state, braking=braking))
        return verdicts


def moving(v_mps: float, w_radps: float, ticks: int = 5) -> Bench:
    """An engaged arm in steady motion."""
    bench = Bench()
    assert all(verdict.ok for verdict in bench.run(v_mps, w_radps, ticks))
    return bench


def _mul(a: Quat, b: Quat) -> Quat:
    return quat_normalize(quat_mul(a, b))


def cut(verdict: GateVerdict) -> str:
    """Which check cut, "" for none; its reason is one of the wire."""
    assert verdict.reason in REASONS
    assert verdict.ok == (verdict.reason == "") == (verdict.which == "")
    return verdict.which


# --- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "which"),
    [
        (target((math.nan, 0.0, 0.3)), "not finite"),
        (target((0.2, math.inf, 0.3)), "not finite"),
        (target(q=(0.0, 0.0, math.nan, 1.0)), "not finite"),
        (target(gripper=math.nan), "not finite"),
        (target(q=(0.0, 0.0, 0.0, 1.0011)), "quaternion"),
        (target(q=(0.0, 0.0, 0.0, 0.9989)), "quaternion"),
        (target(q=(0.0, 0.0, 0.0, 0.0)), "quaternion"),
        (target(gripper=-0.001), "gripper"),
        (target(gripper=1.001), "gripper"),
        (target(gripper=0.0), ""),
        (target(gripper=1.0), ""),
    ],
)
@pytest.mark.parametrize("state", STATES)
def test_numbers_are_checked_in_every_state(command: Target, which: str, state: State) -> None:
    assert cut(Bench().send(command, state)) == which


def test_a_rotation_may_be_rounded_on_its_way() -> None:
    assert cut(Bench().send(target(q=(0.0, 0.0, 0.0, 1.0009)))) == ""


# --- the first command ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "q", "age_ns", "which"),
    [
        (x(0.0), IDENTITY, 0, ""),
        (x(0.0299), IDENTITY, 100 * MS, ""),
        (x(0.0301), IDENTITY, 0, "first command"),
        (START, quat_from_rotvec((0.099, 0.0, 0.0)), 0, ""),
        (START, quat_from_rotvec((0.101, 0.0, 0.0)), 0, "first command"),
        ((math.nan, 0.0, 0.3), IDENTITY, 0, "first command"),
        (START, (math.nan, 0.0, 0.0, 1.0), 0, "first command"),
        (x(0.0), IDENTITY, 100 * MS + 1, "feedback age"),
    ],
)
def test_the_first_command_is_where_the_arm_is(p: Vec3, q: Quat, age_ns: int, which: str) -> None:
    gate, now_ns = Gate(LIMITS), 10**12
    measured = DriverState(now_ns - age_ns, p, q, 0.5, None, True)
    assert cut(gate.check(now_ns, target(), "HOLD", measured)) == which


def test_nothing_is_sent_to_a_robot_that_never_measured_anything() -> None:
    gate = Gate(LIMITS)
    assert gate.check(10**12, target(), "ENGAGED", None) == (
        False,
        "can_silent",
        "feedback age",
        False,
    )
    assert cut(gate.check(10**12, target((math.nan, 0.0, 0.0)), "HOLD", None)) == "not finite"


def test_after_reset_the_next_command_is_a_first_one() -> None:
    bench = Bench()
    bench.gate.reset()
    assert cut(bench.send(target(x(0.1)), "HOLD")) == "first command"
    assert cut(bench.send(target(x(0.1)), "HOLD", bench.feedback(x(0.1)))) == ""


# --- states --------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", STATES)
def test_only_two_states_allow_motion(state: State) -> None:
    moving = state in ("ENGAGED", "HOMING")
    assert cut(Bench().send(target(x(0.0001)), state)) == ("" if moving else "state")
    assert cut(Bench().send(target(q=quat_from_rotvec((0.0001, 0.0, 0.0))), state)) == (
        "" if moving else "state"
    )
    assert cut(Bench().send(target(gripper=0.51), state)) == ""
    assert cut(Bench().send(target(), state)) == ""


def test_what_was_cut_changed_nothing() -> None:
    bench = Bench()
    assert cut(bench.send(target(x(0.001)), "HOLD")) == "state"
    assert cut(bench.send(target(), "HOLD")) == ""
    assert cut(bench.send(target(x(0.001)), "HOLD")) == "state"


def test_a_standing_command_needs_neither_feedback_nor_a_robot_nearby() -> None:
    bench = Bench()
    assert cut(bench.send(target(), "HOLD", bench.feedback(x(0.5), age_ns=900 * MS))) == ""
    assert cut(bench.send(target(), "ENGAGED", bench.feedback(x(0.5), age_ns=900 * MS))) == ""


# --- speed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "which"), [(1.0, ""), (1.04, ""), (1.10, "speed"), (1.5, "speed"), (-1.1, "speed")]
)
def test_speed_over_a_window(share: float, which: str) -> None:
    verdicts = Bench().run(share * LIMITS.v_mps, 0.0, 60)
    assert {cut(v) for v in verdicts} - {""} == ({which} if which else set())


@pytest.mark.parametrize(("share", "which"), [(1.0, ""), (1.04, ""), (1.10, "turn rate")])
def test_turn_rate_over_a_window(share: float, which: str) -> None:
    verdicts = Bench().run(0.0, share * LIMITS.w_radps, 60)
    assert {cut(v) for v in verdicts} - {""} == ({which} if which else set())


@pytest.mark.parametrize(("step_m", "which"), [(0.0051, ""), (0.0052, "speed")])
def test_one_step_is_bounded_too(step_m: float, which: str) -> None:
    """0.25 m/s * (10 ms * 1.05 + 10 ms) = 5.125 mm."""
    assert cut(Bench().send(target(x(step_m)))) == which


@pytest.mark.parametrize(("step_rad", "which"), [(0.0307, ""), (0.0308, "turn rate")])
def test_one_turn_is_bounded_too(step_rad: float, which: str) -> None:
    bench = Bench()
    assert cut(bench.send(target(q=quat_from_rotvec((0.0, step_rad, 0.0))))) == which


def test_trembling_counts_as_way() -> None:
    """Back and forth by 4 mm a tick gets nowhere at 0.4 m/s."""
    bench = Bench()
    cuts = [cut(bench.send(target(x(0.004 * (k % 2))))) for k in range(60)]
    assert "speed" in cuts


@pytest.mark.parametrize("pause_ns", [40 * MS, 2000 * MS])
def test_a_pause_saves_up_no_more_than_one_window_of_way(pause_ns: int) -> None:
    bench = Bench()
    allowed_m = LIMITS.v_mps * (min(pause_ns, 350 * MS) * 1e-9 * 1.05 + 0.010)
    assert cut(bench.send(target(x(allowed_m + 0.0001)), dt_ns=pause_ns)) == "speed"
    bench = Bench()
    assert cut(bench.send(target(x(allowed_m - 0.0001)), dt_ns=pause_ns)) == ""


def test_two_commands_in_one_instant_are_not_a_division_by_zero() -> None:
    bench = Bench()
    assert cut(bench.send(target(x(0.001)), dt_ns=0)) == ""
    assert cut(bench.send(target(x(0.006)), dt_ns=0)) == "speed"


# --- walls ---------------------------------------------------------------------------------------

WALLS: list[tuple[Vec3, Vec3]] = [
    ((0.4, 0.0, 0.3), (1.0, 0.0, 0.0)),
    ((-0.4, 0.0, 0.3), (-1.0, 0.0, 0.0)),
    ((0.0, 0.4, 0.3), (0.0, 1.0, 0.0)),
    ((0.0, -0.4, 0.3), (0.0, -1.0, 0.0)),
    ((0.1, 0.0, 0.05), (0.0, 0.0, -1.0)),
    ((0.36, 0.0, 0.48), (0.6, 0.0, 0.8)),  # the shell
]


def at_wall(wall: Vec3, out: Vec3, beyond_m: float) -> Vec3:
    return (
        wall[0] + out[0] * beyond_m,
        wall[1] + out[1] * beyond_m,
        wall[2] + out[2] * beyond_m,
    )


def seated(p: Vec3) -> Bench:
    bench = Bench()
    bench.gate.reset()
    assert bench.send(target(p), "HOLD", bench.feedback(p)).ok
    return bench


@pytest.mark.parametrize(("wall", "out"), WALLS)
def test_no_command_beyond_a_wall(wall: Vec3, out: Vec3) -> None:
    for beyond_m, which in ((0.0, ""), (0.00099, ""), (0.00101, "workspace")):
        bench = seated(at_wall(wall, out, -0.002))
        assert cut(bench.send(target(at_wall(wall, out, beyond_m)))) == which


@pytest.mark.parametrize(("wall", "out"), WALLS)
def test_outside_only_inward(wall: Vec3, out: Vec3) -> None:
    for beyond_m, which in ((0.0501, "workspace"), (0.0499, "")):
        bench = seated(at_wall(wall, out, 0.05))
        assert cut(bench.send(target(at_wall(wall, out, beyond_m)))) == which


def test_a_zone_without_a_shell_has_none() -> None:
    bench = Bench(replace(LIMITS, zone=Zone((-0.4, -0.4, 0.05), (0.4, 0.4, 0.7))))
    bench.gate.reset()
    p = (0.39, 0.39, 0.69)
    assert bench.send(target(p), "HOLD", bench.feedback(p)).ok
    assert cut(bench.send(target((0.391, 0.39, 0.69)))) == ""


# --- feedback ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("age_ns", "which"), [(100 * MS, ""), (100 * MS + 1, "feedback age")])
@pytest.mark.parametrize("state", ["ENGAGED", "HOMING"])
def test_no_motion_on_old_feedback(age_ns: int, which: str, state: State) -> None:
    bench = Bench()
    measured = bench.feedback(START, age_ns=age_ns)
    assert cut(bench.send(target(x(0.001)), state, measured)) == which


def test_no_motion_without_feedback() -> None:
    bench = Bench()
    verdict = bench.gate.check(bench.now_ns + TICK_NS, target(x(0.001)), "ENGAGED", None)
    assert cut(verdict) == "feedback age"


@pytest.mark.parametrize(
    ("p", "q", "which"),
    [
        (x(0.0299), IDENTITY, ""),
        (x(-0.0301), IDENTITY, "lead"),
        (START, quat_from_rotvec((0.0, 0.099, 0.0)), ""),
        (START, quat_from_rotvec((0.0, 0.101, 0.0)), "lead"),
        ((math.nan, 0.0, 0.0), IDENTITY, "lead"),
    ],
)
def test_no_motion_of_a_robot_that_is_elsewhere(p: Vec3, q: Quat, which: str) -> None:
    bench = Bench()
    assert cut(bench.send(target(x(0.001)), measured=bench.feedback(p, q))) == which


def test_the_robot_is_compared_with_what_it_was_told_one_lag_ago() -> None:
    """At 0.25 m/s, 20 ms of lag and 90 ms of feedback age are 27.5 mm that are no lead at all."""
    bench = Bench(replace(LIMITS, servo_lag_s=0.2))
    for k in range(1, 120):
        behind_m = 0.0025 * max(0, k - 1 - 29)  # 200 ms of lag, 90 ms of age, one tick
        measured = replace(bench.feedback(x(0.0)), p_base_tool_m=(0.2, behind_m, 0.3))
        measured = replace(measured, t_feedback_ns=bench.now_ns - 90 * MS)
        p = (0.2, 0.0025 * k, 0.3)
        assert cut(bench.send(target(p), measured=measured)) == ""
        if p[1] > 0.35:
            break


@pytest.mark.parametrize(
    ("ahead_m", "which"), [(0.0324, ""), (0.0326, "lead"), (-0.0324, ""), (-0.0326, "lead")]
)
def test_the_neighbours_of_that_command_count_too(ahead_m: float, which: str) -> None:
    """A stamp is good to a tick of 2.5 mm, on either side, and to no more."""
    bench = moving(0.25, 0.0, ticks=12)
    y_m = 0.0025 * (12 - 6) + ahead_m  # told 70 ms before the check: 20 of lag, 50 of age
    measured = bench.feedback((0.2, y_m, 0.3), age_ns=50 * MS)
    assert cut(bench.send(target((0.2, 0.0325, 0.3)), measured=measured)) == which


def test_lead_for_200_ms_on_end_is_not_following() -> None:
    bench, stuck = Bench(), x(-0.031)
    flags = []
    for _ in range(24):
        verdict = bench.send(target(x(0.001)), measured=bench.feedback(stuck))
        assert cut(verdict) == "lead"
        flags.append(verdict.not_following)
    assert flags == [False] * 20 + [True] * 4


def test_not_following_is_told_even_if_nothing_is_cut() -> None:
    bench, stuck = Bench(), x(-0.031)
    flags = [bench.send(target(), measured=bench.feedback(stuck)).not_following for _ in range(22)]
    assert flags == [False] * 20 + [True] * 2


@pytest.mark.parametrize("end", ["near", "state"])
def test_the_200_ms_begin_anew_when_the_robot_was_near_or_need_not_follow(end: str) -> None:
    bench, stuck = Bench(), x(-0.031)
    for k in range(40):
        near = k == 15 and end == "near"
        state: State = "HOLD" if k == 15 and end == "state" else "ENGAGED"
        measured = bench.feedback(START if near else stuck)
        assert bench.send(target(), state, measured).not_following == (k >= 36)


# --- braking -------------------------------------------------------------------------------------


def brake(bench: Bench, a_mps2: float, alpha_radps2: float, v_mps: float, w_radps: float) -> str:
    """A brake in PROTECTIVE_STOP; the first cut."""
    while v_mps > 0.0 or w_radps > 0.0:
        v_mps = max(0.0, v_mps - a_mps2 * 0.01)
        w_radps = max(0.0, w_radps - alpha_radps2 * 0.01)
        (verdict,) = bench.run(v_mps, w_radps, 1, "PROTECTIVE_STOP", braking=True)
        if not verdict.ok:
            return cut(verdict)
    return ""


@pytest.mark.parametrize(
    ("a_mps2", "alpha_radps2", "which"),
    [
        (0.5, 1.0, ""),
        (2.0, 12.0, ""),
        (50.0, 500.0, ""),
        (0.3, 12.0, "brake"),
        (2.0, 0.6, "brake"),
    ],
)
def test_a_brake_may_end_in_any_state_if_it_brakes(
    a_mps2: float, alpha_radps2: float, which: str
) -> None:
    assert brake(moving(0.25, 1.4), a_mps2, alpha_radps2, 0.25, 1.4) == which


def test_a_brake_has_to_be_said() -> None:
    bench = moving(0.2, 0.0)
    assert [cut(v) for v in bench.run(0.15, 0.0, 1, "ESTOP_LATCHED")] == ["state"]


@pytest.mark.parametrize(("v_mps", "w_radps"), [(0.12, 0.0), (0.0, 0.6)])
def test_nothing_speeds_up_under_the_name_of_a_brake(v_mps: float, w_radps: float) -> None:
    bench = moving(0.1, 0.5)
    (verdict,) = bench.run(v_mps, w_radps, 1, "HOLD", braking=True)
    assert cut(verdict) == "brake"


def test_nothing_starts_under_the_name_of_a_brake() -> None:
    assert [cut(v) for v in Bench().run(0.01, 0.0, 1, "HOLD", braking=True)] == ["brake"]


def test_nothing_creeps_on_under_the_name_of_a_brake() -> None:
    bench = moving(0.1, 0.0)
    cuts = [cut(v) for v in bench.run(0.01, 0.0, 300, "HOLD", braking=True)]
    assert "brake" in cuts
    assert bench.last.p_base_tool_m[1] < 0.1**2 / (2.0 * 0.45) + 0.1 * 0.05 + 0.001


def test_a_brake_is_measured_from_the_fastest_of_the_last_ticks() -> None:
    """After a stalled tick the last speed looks small; the brake must not be cut for that."""
    bench = moving(0.2, 0.0)
    p = vadd(bench.last.p_base_tool_m, (0.0, 0.002, 0.0))
    assert bench.send(target(p), dt_ns=60 * MS).ok
    assert [cut(v) for v in bench.run(0.18, 0.0, 1, "HOLD", braking=True)] == [""]


@pytest.mark.parametrize(("v_mps", "w_radps"), [(0.2, 0.0), (0.0, 1.0)])
@pytest.mark.parametrize(("held", "which"), [(2, ""), (3, "brake")])
def test_an_arm_that_was_held_has_no_speed_to_brake_from(
    v_mps: float, w_radps: float, held: int, which: str
) -> None:
    bench = moving(v_mps, w_radps)
    for _ in range(held):
        assert cut(bench.send(target((math.nan, 0.0, 0.0)))) == "not finite"
    (verdict,) = bench.run(0.9 * v_mps, 0.9 * w_radps, 1, "HOLD", braking=True)
    assert cut(verdict) == which


def test_each_brake_is_measured_anew() -> None:
    bench = moving(0.25, 0.0)
    assert brake(bench, 2.0, 12.0, 0.25, 0.0) == ""
    assert all(v.ok for v in bench.run(0.05, 0.0, 5))
    (verdict,) = bench.run(0.2, 0.0, 1, "HOLD", braking=True)
    assert cut(verdict) == "brake"


def test_a_brake_needs_no_robot_that_follows() -> None:
    bench = moving(0.2, 0.0)
    p = vadd(bench.last.p_base_tool_m, (0.0, 0.0018, 0.0))
    measured = bench.feedback(x(0.3), age_ns=600 * MS)
    assert cut(bench.send(target(p), "PROTECTIVE_STOP", measured, braking=True)) == ""


def test_the_past_is_bounded() -> None:
    bench = Bench()
    for _ in range(1000):
        bench.send(target(), "HOLD")
    assert len(bench.gate._history) == 73  # 720 ms of ticks and the one in force before
    assert len(bench.gate._window) == 26


# --- normal use ----------------------------------------------------------------------------------

HAND = st.tuples(*[st.floats(0.3, 9.0)] * 6)


@pytest.mark.parametrize("fast", [False, True], ids=["hardware", "sim"])
@pytest.mark.parametrize("servo", ["first_order", "delay"])
@settings(max_examples=8, deadline=None)
@given(
    f=HAND,
    late_ms=st.lists(st.sampled_from([0.0, 0.1, 0.3, 4.0]), min_size=3, max_size=9),
    lost=st.lists(st.integers(0, 400), max_size=3),
)
def test_normal_use_is_never_cut(
    fast: bool, servo: str, f: tuple[float, ...], late_ms: list[float], lost: list[int]
) -> None:
    """A hand that races along and beyond the walls, late and missed ticks, losses of the hand."""
    limits = Limits(1.0, 20.0, 6.0, 120.0) if fast else Limits(0.25, 5.0, 1.5, 30.0)
    clock = FakeClock()
    options = SimOptions(servo="delay" if servo == "delay" else "first_order", v_max_mps=3.0)
    driver = SimDriver(options, clock)
    driver.open()
    driver.enable()
    gate = Gate(GateLimits(limits.v_mps, limits.w_radps, ZONE, 0.02, 0.1))
    start = driver.state()
    assert start is not None
    limiter = PoseLimiter(start.p_base_tool_m, start.q_base_tool_xyzw)
    deadline_ns = last_ns = clock.ns
    for k in range(400):
        deadline_ns += TICK_NS * (2 if k % 37 == 0 else 1)
        clock.ns = deadline_ns + round(late_ms[k % len(late_ms)] * MS)
        dt_s, last_ns = (clock.ns - last_ns) * 1e-9, clock.ns
        braking = any(j <= k < j + 40 for j in lost)
        if braking:
            pose = limiter.brake(dt_s, 2.0, 12.0, limits, ZONE)
        else:
            s = [math.sin(a * 0.01 * k) for a in f]
            hand = (0.25 + 0.4 * s[0], 0.6 * s[1], 0.25 + 0.6 * s[2])
            turn = quat_from_rotvec((1.5 * s[3], 1.5 * s[4], 1.5 * s[5]))
            pose = limiter.step(
                project(hand, ZONE), _mul(turn, start.q_base_tool_xyzw), dt_s, limits, ZONE
            )
        state: State = "PROTECTIVE_STOP" if braking else "ENGAGED"
        command = target(pose.p_m, pose.q_xyzw)
        verdict = gate.check(clock.ns, command, state, driver.state(), braking=braking)
        assert verdict == (True, "", "", False), f"tick {k}"
        driver.command(command)
