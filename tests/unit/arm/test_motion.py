"""services.arm.motion: one commanded pose behind walls, limits and gate."""

from __future__ import annotations

import math
from typing import Any

import pytest

from proto.reasons import State
from runtime.se3 import (
    Pose,
    Vec3,
    quat_angle_rad,
    quat_from_rotvec,
    quat_from_rpy_deg,
    vadd,
    vnorm,
    vsub,
)
from services.arm.driver import DriverState, Target
from services.arm.motion import Motion, limits_of
from tests.unit.arm.make import HELD
from tests.unit.arm.settings import arm_settings, driver_info, measured

DT_S = 0.01
DT_NS = 10_000_000
HOME: Pose = ((0.25, 0.1, 0.3), quat_from_rpy_deg((0.0, 30.0, 0.0)))


class Arm:
    """A motion with a robot that is where it is told; measures once a tick."""

    def __init__(self, start: Vec3 = HELD[0], **settings: Any) -> None:
        facts = {"home_p_m": HOME[0], "home_rpy_deg": (0.0, 30.0, 0.0), **settings}
        self.motion = Motion(arm_settings(**facts), driver_info())
        self.now_ns = 1_000_000_000
        self.robot: DriverState = measured(p_base_tool_m=start)
        self.feedback_ns: int | None = None
        self.follows = True
        self.sent: list[Target] = []
        self.learn()
        self.motion.start()

    def learn(self) -> None:
        self.motion.learn(
            DriverState(
                self.now_ns if self.feedback_ns is None else self.feedback_ns,
                self.robot.p_base_tool_m,
                self.robot.q_base_tool_xyzw,
                self.robot.gripper_ratio,
                None,
                True,
            )
        )

    def send(self, state: State) -> Target | None:
        target = self.motion.gated(self.now_ns, state)
        if target is not None:
            self.sent.append(target)
            if self.follows:
                self.robot = measured(
                    p_base_tool_m=target.p_base_tool_m, q_base_tool_xyzw=target.q_base_tool_xyzw
                )
        return target

    def follow(self, wish: Pose, ticks: int = 1, *, slow: bool = False) -> Target | None:
        target = None
        for _ in range(ticks):
            self.now_ns += DT_NS
            self.learn()
            self.motion.follow(wish, DT_S, slow=slow)
            target = self.send("ENGAGED")
        return target

    def brake(self, ticks: int = 1, *, hard: bool = False, state: State = "HOLD") -> int:
        """Ticks until at rest."""
        for tick in range(ticks):
            if self.motion.at_rest:
                return tick
            self.now_ns += DT_NS
            self.learn()
            self.motion.brake(DT_S, hard=hard)
            self.send(state)
        return ticks

    @property
    def command(self) -> Pose:
        assert self.motion.command is not None
        return self.motion.command

    def speed_mps(self) -> float:
        a, b = self.sent[-2:]
        return vnorm(vsub(b.p_base_tool_m, a.p_base_tool_m)) / DT_S


def far(x: float = 0.2, y: float = 0.0, z: float = 0.0) -> Pose:
    return vadd(HELD[0], (x, y, z)), HELD[1]


class TestStart:
    def test_the_first_command_is_the_measured_pose(self) -> None:
        arm = Arm()
        assert arm.send("HOLD") == Target(HELD[0], HELD[1], 0.5)
        assert arm.command == arm.motion.limited == HELD
        assert arm.motion.at_rest
        assert arm.motion.gripper_ratio == 0.5

    def test_without_feedback_nothing_is_sent(self) -> None:
        motion = Motion(arm_settings(), driver_info())
        motion.start()
        assert motion.gated(0, "HOLD") is None
        assert motion.command is motion.limited is None
        assert motion.gripper_ratio is None
        assert motion.at_rest
        assert not motion.homed
        assert not motion.astray
        motion.brake(DT_S, hard=False)
        motion.home(DT_S)
        assert motion.follow(HELD, DT_S, slow=False).limited == HELD
        assert motion.command is None

    def test_a_pose_that_stands_is_not_replaced_by_the_measured_one(self) -> None:
        """Seeding anew would drop the arm by what gravity makes it lag."""
        arm = Arm()
        arm.send("HOLD")
        arm.robot = measured(p_base_tool_m=vadd(HELD[0], (0.0, 0.0, -0.002)))
        arm.learn()
        arm.motion.start()
        assert arm.command == HELD

    def test_after_its_end_it_starts_where_the_arm_is_then(self) -> None:
        arm = Arm()
        arm.follow(far(), 10)
        arm.motion.end()
        assert arm.send("DISARMED") is None
        assert arm.motion.command is None
        arm.robot = measured()
        arm.learn()
        arm.motion.start()
        assert arm.command == HELD
        assert arm.send("HOLD") is not None


class TestFollow:
    def test_a_pose_within_the_limits_is_met_exactly(self) -> None:
        arm = Arm()
        wish = (vadd(HELD[0], (0.0005, 0.0, 0.0)), HELD[1])
        arm.follow(wish, 5)
        assert arm.command == wish

    def test_never_faster_than_the_limit_and_there_in_the_end(self) -> None:
        arm = Arm(tcp_max_mps=0.25, tcp_max_mps2=5.0)
        wish = (vadd(HELD[0], (0.1, 0.0, 0.0)), quat_from_rotvec((0.0, 0.0, 0.5)))
        speeds = []
        for _ in range(100):
            arm.follow(wish)
            speeds.append(arm.speed_mps() if len(arm.sent) > 1 else 0.0)
        assert max(speeds) == pytest.approx(0.25, rel=1e-6)
        assert arm.command == wish
        assert arm.motion.gate_blocks == 0

    def test_slow_is_50_mm_and_0_3_rad_a_second(self) -> None:
        arm = Arm()
        arm.follow((far()[0], quat_from_rotvec((0.0, 0.0, 1.0))), 100, slow=True)
        before = arm.command
        arm.follow((far()[0], quat_from_rotvec((0.0, 0.0, 1.0))), slow=True)
        assert arm.speed_mps() == pytest.approx(0.050)
        assert quat_angle_rad(before[1], arm.command[1]) / DT_S == pytest.approx(0.3)

    def test_slow_is_never_faster_than_the_robots_own_limit(self) -> None:
        arm = Arm(tcp_max_mps=0.02)
        arm.follow(far(), 50, slow=True)
        assert arm.speed_mps() == pytest.approx(0.02)

    def test_along_a_wall_it_slides_and_says_what_the_wall_made_of_the_wish(self) -> None:
        arm = Arm()
        wish = far(0.3, 0.05)  # the wall is at x = 0.4
        made = arm.motion.follow(wish, DT_S, slow=False)
        assert made.inside == ((0.4, 0.05, 0.25), HELD[1])
        arm.follow(wish, 100)
        assert arm.command[0] == pytest.approx((0.4, 0.05, 0.25), abs=1e-9)
        assert max(t.p_base_tool_m[0] for t in arm.sent) <= 0.4 + 1e-9
        assert arm.motion.gate_blocks == 0

    def test_outside_it_only_comes_in(self) -> None:
        arm = Arm(start=(0.45, 0.0, 0.25))
        arm.send("HOLD")
        arm.follow(((0.6, 0.0, 0.25), HELD[1]), 20)
        assert arm.command[0] == pytest.approx((0.45, 0.0, 0.25), abs=1e-9)
        arm.follow(((0.43, 0.0, 0.25), HELD[1]), 50)
        assert arm.command[0][0] == pytest.approx(0.43, abs=1e-6)
        arm.follow(((0.6, 0.0, 0.25), HELD[1]), 50)
        assert arm.command[0][0] == pytest.approx(0.43, abs=1e-6)

    def test_no_time_no_motion(self) -> None:
        arm = Arm()
        assert arm.motion.follow(far(), 0.0, slow=False).limited == HELD


class TestBrake:
    @pytest.mark.parametrize(("hard", "a_mps2"), [(False, 2.0), (True, 5.0)])
    def test_along_the_motion_at_its_deceleration(self, hard: bool, a_mps2: float) -> None:
        arm = Arm(tcp_max_mps=0.5, brake_mps2=2.0, estop_brake_mps2=5.0)
        arm.follow(far(0.14), 15)
        speed = arm.speed_mps()
        assert speed == pytest.approx(0.5)
        start_m = arm.command[0]
        ticks = arm.brake(100, hard=hard)
        assert ticks * DT_S == pytest.approx(speed / a_mps2, abs=2 * DT_S)
        way_m = vnorm(vsub(arm.command[0], start_m))
        assert way_m == pytest.approx(speed * speed / (2 * a_mps2), rel=0.1)
        assert arm.command[0][1:] == HELD[0][1:]
        assert arm.motion.gate_blocks == 0

    def test_at_rest_it_stands_to_the_last_bit(self) -> None:
        arm = Arm()
        arm.follow(far(), 10)
        arm.brake(100)
        held = arm.command
        for _ in range(50):
            arm.now_ns += DT_NS
            arm.motion.brake(DT_S, hard=False)
            arm.learn()
            arm.send("PROTECTIVE_STOP")
        assert arm.command == held

    def test_no_time_no_braking(self) -> None:
        arm = Arm()
        arm.follow(far(), 10)
        before = arm.motion.limited
        arm.motion.brake(0.0, hard=True)
        assert arm.motion.limited == before


class TestHome:
    def test_straight_and_slow(self) -> None:
        arm = Arm(home_p_m=(0.35, 0.1, 0.2))
        arm.send("HOLD")
        line = vsub((0.35, 0.1, 0.2), HELD[0])
        for _ in range(1000):
            arm.now_ns += DT_NS
            arm.learn()
            arm.motion.home(DT_S)
            arm.send("HOMING")
            off = vsub(arm.command[0], HELD[0])
            along = sum(a * b for a, b in zip(off, line, strict=True)) / vnorm(line)
            assert math.sqrt(max(0.0, vnorm(off) ** 2 - along**2)) < 1e-7
            assert arm.speed_mps() <= 0.050 * (1 + 1e-9)
            if arm.motion.homed:
                break
        assert arm.motion.homed
        assert arm.command == ((0.35, 0.1, 0.2), HOME[1])
        assert arm.motion.gate_blocks == 0

    @pytest.mark.parametrize(
        ("changes", "can"),
        [
            ({"home_p_m": (0.4, 0.0, 0.25)}, True),
            ({"home_p_m": (0.41, 0.0, 0.25)}, False),
            ({"home_p_m": (0.25, 0.0, 0.25), "reach_max_mm": 300.0}, False),
        ],
    )
    def test_only_into_the_workspace(self, changes: dict[str, Any], can: bool) -> None:
        assert Arm(**changes).motion.can_home() is can

    def test_the_pose_counts_with_its_rotation_and_at_rest(self) -> None:
        arm = Arm(home_p_m=HELD[0])
        assert not arm.motion.homed  # turned by 30°
        arm = Arm(home_p_m=HELD[0], home_rpy_deg=(0.0, 0.0, 0.0))
        assert arm.motion.homed
        arm.follow(far(), 3)
        assert not arm.motion.homed


class TestGate:
    def test_what_it_cuts_is_counted_and_the_last_that_passed_is_sent_again(self) -> None:
        arm = Arm()
        passed = arm.follow(far(), 10)
        arm.follows = False
        arm.feedback_ns = arm.now_ns - 200_000_000
        for _ in range(5):
            assert arm.follow(far()) == passed
        assert arm.motion.gate_blocks == 5
        assert (arm.motion.cut_reason, arm.motion.cut_by) == ("can_silent", "feedback age")

    def test_after_a_cut_the_limits_go_on_from_what_the_robot_was_given(self) -> None:
        arm = Arm()
        arm.follow(far(), 10)
        arm.feedback_ns = arm.now_ns - 200_000_000
        arm.follow(far(), 20)
        arm.feedback_ns = None
        before = arm.command
        arm.follow(far())
        assert arm.motion.limited == arm.command
        # as from rest: half of a dt² at 20 m/s², twice that by the mean of a tick
        assert 0.0 < vnorm(vsub(arm.command[0], before[0])) <= 20.0 * DT_S * DT_S * (1 + 1e-6)
        assert arm.motion.cut_reason == ""

    def test_before_anything_passed_a_cut_sends_nothing(self) -> None:
        arm = Arm()
        arm.feedback_ns = arm.now_ns - 200_000_000
        arm.learn()
        assert arm.send("HOLD") is None
        assert arm.motion.gate_blocks == 1
        assert arm.command == HELD

    def test_a_cut_holds_the_gripper_too(self) -> None:
        arm = Arm()
        arm.send("HOLD")
        arm.feedback_ns = arm.now_ns - 200_000_000
        arm.motion.grip(0.5, DT_S)
        arm.motion.grip(1.0, DT_S)
        target = arm.follow(far())
        assert target is not None
        assert target.gripper_ratio == 0.5

    def test_a_robot_that_does_not_follow_is_told_of_after_200_ms(self) -> None:
        arm = Arm(tcp_max_mps=0.25)
        arm.send("HOLD")
        arm.follows = False
        ticks = 0
        while not arm.motion.not_following:
            arm.follow(far())
            ticks += 1
            lead_m = vnorm(vsub(arm.command[0], HELD[0]))
            assert lead_m <= 0.030 + 0.25 * DT_S * 2
        assert arm.motion.astray
        assert 20 <= ticks <= 50
        arm.motion.end()
        assert not arm.motion.not_following

    def test_astray_counts_turns(self) -> None:
        arm = Arm()
        assert not arm.motion.astray
        arm.robot = measured(q_base_tool_xyzw=quat_from_rotvec((0.0, 0.11, 0.0)))
        arm.learn()
        assert arm.motion.astray


class TestGripper:
    def test_it_is_led_by_a_hand_that_met_it_and_holds_without_one(self) -> None:
        arm = Arm()
        arm.motion.grip(0.9, DT_S)
        assert (arm.motion.gripper_ratio, arm.motion.gripper_follows) == (0.5, False)
        arm.motion.grip(0.5, DT_S)
        arm.motion.grip(0.9, DT_S)
        assert arm.motion.gripper_ratio == pytest.approx(0.52)
        assert arm.motion.gripper_follows
        arm.motion.grip(None, DT_S)
        assert not arm.motion.gripper_follows


@pytest.mark.parametrize(
    ("period_s", "v_mps", "w_radps"),
    [(0.040, 1.0, 6.0), (0.2, 0.030 / 0.55, 0.10 / 0.55), (0.041, 0.030 / 0.1525, 0.1 / 0.1525)],
)
def test_rare_feedback_slows_the_arm_so_that_the_lead_holds(
    period_s: float, v_mps: float, w_radps: float
) -> None:
    limits = limits_of(arm_settings(), driver_info(servo_lag_s=0.05, feedback_period_s=period_s))
    assert limits.v_mps == pytest.approx(v_mps)
    assert limits.w_radps == pytest.approx(w_radps)
    slow = limits_of(arm_settings(tcp_max_mps=0.01, rotation_max_radps=0.05), driver_info())
    assert (slow.v_mps, slow.w_radps) == (0.01, 0.05)
