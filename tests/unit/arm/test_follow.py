"""services.arm.follow: one clutch, from engage to its end, as the design's §6 has it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from runtime.se3 import Pose, Quat, Vec3, quat_angle_rad, quat_from_rotvec, vadd, vsub
from services.arm.follow import Follower, Rules
from services.arm.pacers import make as make_pacer
from services.arm.pacers.base import PacerOptions, PacerOutput, PacerSample
from services.arm.slip import IDENTITY_SLIP
from tests.unit.arm.make import HELD, target, untracked

S = 1_000_000_000
MS = 1_000_000
T0_NS = 1_000_000_000  # of make.target
FRAME_MS = 20


class Clutch:
    """A follower with its time: samples every 20 ms, 2 ms old when they come, ticks every 10 ms."""

    def __init__(
        self,
        mode: str = "relative",
        response: str = "quick",
        resume_ms: int = 1000,
        scale: float = 1.0,
        held: Pose = HELD,
        **first: Any,
    ) -> None:
        self.now_ms = 0.0
        self.p_m: Vec3 = (0.0, 0.0, 0.0)  # of the hand's target, beside the held pose
        self.q_xyzw: Quat = HELD[1]
        self.command: Pose = held
        rules = Rules(mode, resume_ms * MS, scale)
        pacer = make_pacer(response, PacerOptions())
        self.follower = Follower(rules, pacer, self.target(**first), self.now_ns, held)

    @property
    def now_ns(self) -> int:
        return T0_NS + round(self.now_ms * MS)

    def target(self, **changes: Any) -> Any:
        t_recv_ns = self.now_ns - 2 * MS
        facts = {
            "t_recv_ns": t_recv_ns,
            "t_send_s": t_recv_ns * 1e-9,
            "target_p_base_tool_m": vadd(HELD[0], self.p_m),
            "target_q_base_tool_xyzw": self.q_xyzw,
        }
        return target(**{**facts, **changes})

    def send(self, **changes: Any) -> None:
        self.follower.on_target(self.target(**changes), self.now_ns, self.command)

    def lose(self) -> None:
        """A packet without a hand."""
        lost = untracked(t_recv_ns=self.now_ns - 2 * MS)
        self.follower.on_target(lost, self.now_ns, self.command)

    def tick(self) -> Pose | None:
        """A perfect arm goes where it is wished."""
        wish = self.follower.tick(self.now_ns)
        self.command = self.command if wish is None else wish
        return wish

    def wait(self, ms: float) -> Pose | None:
        """Ticks, no samples."""
        wish = None
        for _ in range(round(ms / 10)):
            self.now_ms += 10
            wish = self.tick()
        return wish

    def stream(self, ms: float, v_mps: Vec3 = (0.0, 0.0, 0.0)) -> Pose | None:
        """Samples and ticks of a moving hand."""
        wish = None
        for _ in range(round(ms / FRAME_MS)):
            self.p_m = vadd(self.p_m, (v_mps[0] * 0.02, v_mps[1] * 0.02, v_mps[2] * 0.02))
            self.now_ms += 10
            self.tick()
            self.now_ms += 10
            self.send()
            wish = self.tick()
        return wish

    @property
    def causes(self) -> tuple[str, bool]:
        return self.follower.cause, self.follower.let_go


NOTHING = ("", False)


class TestEngage:
    def test_the_first_command_is_the_held_pose_to_the_last_bit(self) -> None:
        """Though the first target is only near it: rounding, and a stale copy of the pose."""
        held = ((0.1 + 0.2, 1.0 / 3.0, 0.7), quat_from_rotvec((0.3, -1.2, 0.9)))
        near = quat_from_rotvec((0.301, -1.2, 0.9))
        clutch = Clutch(
            held=held,
            target_p_base_tool_m=vadd(held[0], (0.0004, -0.0003, 0.0002)),
            target_q_base_tool_xyzw=near,
        )
        assert clutch.tick() == held

    def test_motion_counts_from_there(self) -> None:
        clutch = Clutch(target_p_base_tool_m=vadd(HELD[0], (0.0009, 0.0, 0.0)))
        clutch.tick()
        clutch.now_ms += 20
        clutch.p_m = (0.0109, 0.0, 0.0)
        clutch.send()
        wish = clutch.tick()
        assert wish is not None
        assert vsub(wish[0], HELD[0]) == pytest.approx((0.010, 0.0, 0.0), abs=1e-12)

    @pytest.mark.parametrize("response", ["quick", "legacy"])
    def test_absolute_targets_are_wished_as_they_are(self, response: str) -> None:
        clutch = Clutch("absolute", response, target_p_base_tool_m=(0.3, 0.1, 0.2))
        assert clutch.tick() == ((0.3, 0.1, 0.2), HELD[1])
        assert clutch.follower.slip == IDENTITY_SLIP

    def test_a_target_without_a_pose_cannot_begin_a_clutch(self) -> None:
        with pytest.raises(ValueError, match="without a pose"):
            Clutch(target_p_base_tool_m=None)


class TestWhatEndsIt:
    @pytest.mark.parametrize(
        ("changes", "cause"),
        [
            ({"session": 6}, "session_changed"),
            ({"boot": 8}, "upstream_restarted"),
            ({"ingest_boot": 4}, "upstream_restarted"),
            ({"ingest_boot": 4, "session": 6}, "upstream_restarted"),
            ({"session": 6, "engaged": False}, "session_changed"),
        ],
    )
    def test_another_session_or_process_upstream_stops(
        self, changes: dict[str, Any], cause: str
    ) -> None:
        clutch = Clutch()
        clutch.now_ms += 20
        clutch.p_m = (0.5, 0.0, 0.0)
        clutch.send(**changes)
        assert clutch.causes == (cause, False)
        assert clutch.tick() == HELD

    @pytest.mark.parametrize(
        "changes", [{"engaged": False}, {"engaged": False, "clutch_id": None}, {"clutch_id": 12}]
    )
    def test_a_mapper_that_lets_go_lets_go(self, changes: dict[str, Any]) -> None:
        clutch = Clutch()
        clutch.now_ms += 20
        clutch.p_m = (0.5, 0.0, 0.0)
        clutch.send(**changes)
        assert clutch.causes == ("", True)
        assert clutch.tick() == HELD

    def test_the_first_cause_stands(self) -> None:
        clutch = Clutch()
        clutch.send(session=6)
        clutch.send(boot=8)
        assert clutch.causes == ("session_changed", False)


class TestDuplicatesAndReorder:
    def test_they_change_nothing(self) -> None:
        clutch, again = Clutch(), Clutch()
        old = again.target()
        for each in (clutch, again):
            each.stream(200, (0.1, 0.0, 0.0))
        newest = again.target()
        for message in (newest, old, newest):
            again.follower.on_target(message, again.now_ns, again.command)
        assert again.wait(50) == clutch.wait(50)
        assert again.follower.good.t_recv_ns == clutch.follower.good.t_recv_ns


class TestLosingTheHand:
    def test_up_to_100_ms_it_is_just_missing(self) -> None:
        clutch = Clutch()
        clutch.stream(100, (0.1, 0.0, 0.0))
        newest = clutch.command
        assert clutch.wait(90) == newest
        clutch.now_ms += 8
        assert clutch.tick() == newest  # 100 ms old
        assert not clutch.follower.braking
        assert clutch.follower.waiting_reason(clutch.now_ns) == ""

    @pytest.mark.parametrize(
        ("loses", "reason"), [(False, "stale"), (True, "untracked")], ids=["link", "tracking"]
    )
    def test_beyond_100_ms_it_brakes_and_says_why(self, loses: bool, reason: str) -> None:
        clutch = Clutch()
        clutch.stream(100)
        for _ in range(10):
            clutch.wait(10)
            if loses:
                clutch.lose()
        assert clutch.tick() is None
        assert clutch.follower.braking
        assert clutch.follower.waiting_reason(clutch.now_ns) == reason
        assert clutch.causes == NOTHING

    def test_packets_that_stop_after_a_lost_hand_are_a_lost_link(self) -> None:
        clutch = Clutch()
        clutch.lose()
        clutch.wait(200)
        assert clutch.follower.waiting_reason(clutch.now_ns) == "untracked"
        clutch.wait(10)
        assert clutch.follower.waiting_reason(clutch.now_ns) == "stale"

    @pytest.mark.parametrize("response", ["quick", "legacy"])
    @pytest.mark.parametrize("gap_ms", [110, 400, 990])
    def test_a_relative_resume_begins_exactly_where_the_arm_stands(
        self, response: str, gap_ms: int
    ) -> None:
        clutch = Clutch(response=response)
        clutch.stream(400, (0.2, 0.1, 0.0))
        clutch.wait(gap_ms)
        # the arm braked for a while, and the hand went on and turned meanwhile
        p_m, q_xyzw = clutch.command
        clutch.command = (vadd(p_m, (0.004, 0.002, 0.0)), q_xyzw)
        clutch.p_m = vadd(clutch.p_m, (0.05, -0.02, 0.1))
        clutch.q_xyzw = quat_from_rotvec((0.3, -0.2, 0.5))
        held = clutch.command
        clutch.send()
        assert not clutch.follower.braking
        assert clutch.tick() == held
        wish = clutch.stream(200)
        assert wish is not None
        assert vsub(wish[0], held[0]) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)
        assert quat_angle_rad(wish[1], held[1]) < 1e-12

    def test_after_a_resume_every_further_target_is_shifted_alike(self) -> None:
        clutch = Clutch()
        clutch.wait(300)
        clutch.p_m = (0.1, 0.0, 0.0)
        clutch.send()
        held = clutch.command
        clutch.stream(100)
        wish = clutch.stream(200, (0.1, 0.0, 0.0))
        assert wish is not None
        assert vsub(wish[0], held[0]) == pytest.approx((0.02, 0.0, 0.0), abs=1e-12)
        assert clutch.follower.slip.p_m == pytest.approx((-0.1, 0.0, 0.0), abs=1e-12)

    def test_the_first_fresh_sample_and_not_a_later_one_of_the_drain_is_the_seat(self) -> None:
        clutch = Clutch()
        clutch.wait(300)
        held = clutch.command
        clutch.p_m = (0.1, 0.0, 0.0)
        clutch.send()
        clutch.now_ms += 5
        clutch.p_m = (0.101, 0.0, 0.0)
        clutch.send()
        assert clutch.tick() == held
        clutch.now_ms += 10
        wish = clutch.tick()
        assert wish is not None
        assert vsub(wish[0], held[0]) == pytest.approx((0.001, 0.0, 0.0), abs=1e-12)

    def test_an_absolute_resume_goes_on_where_the_hand_is(self) -> None:
        clutch = Clutch("absolute", resume_ms=300)
        clutch.wait(250)
        clutch.p_m = (0.1, 0.0, 0.0)
        clutch.send()
        assert clutch.tick() == (vadd(HELD[0], (0.1, 0.0, 0.0)), HELD[1])
        assert clutch.follower.slip == IDENTITY_SLIP

    @pytest.mark.parametrize(("mode", "resume_ms"), [("relative", 1000), ("absolute", 300)])
    def test_later_than_resume_ms_it_stops(self, mode: str, resume_ms: int) -> None:
        clutch = Clutch(mode, resume_ms=resume_ms)
        clutch.wait(resume_ms - 10)
        assert clutch.causes == NOTHING
        clutch.wait(10)
        assert clutch.causes == ("stale", False)

    def test_a_sample_that_comes_too_late_between_two_ticks_does_not_resume(self) -> None:
        clutch = Clutch()
        clutch.wait(990)
        clutch.now_ms += 9
        clutch.send()
        assert clutch.causes == ("stale", False)
        assert clutch.tick() is None

    def test_what_waited_behind_a_stalled_stage_is_not_played(self) -> None:
        clutch = Clutch()
        clutch.wait(300)
        clutch.p_m = (0.1, 0.0, 0.0)
        clutch.send(t_recv_ns=clutch.now_ns - 101 * MS)
        assert clutch.follower.braking
        assert clutch.wait(10) is None
        clutch.send(t_recv_ns=clutch.now_ns - 100 * MS)
        assert not clutch.follower.braking

    def test_a_stream_that_is_always_late_stops_like_a_lost_one(self) -> None:
        clutch = Clutch()
        for _ in range(101):
            clutch.wait(10)
            clutch.send(t_recv_ns=clutch.now_ns - 150 * MS)
        assert clutch.causes == ("stale", False)

    def test_the_sixth_loss_in_ten_seconds_stops(self) -> None:
        clutch = Clutch()
        for loss in range(6):
            assert clutch.causes == NOTHING
            clutch.stream(100)
            clutch.wait(200)
            assert clutch.follower.braking
            assert (clutch.follower.cause == "tracking_unstable") is (loss == 5)
            clutch.send()

    def test_losses_older_than_ten_seconds_do_not_count(self) -> None:
        clutch = Clutch()
        for _ in range(12):
            clutch.stream(2000)
            clutch.wait(200)
            clutch.send()
        assert clutch.causes == NOTHING


def leap(clutch: Clutch, by_m: Vec3, **changes: Any) -> None:
    """The next frame is flagged."""
    clutch.p_m = vadd(clutch.p_m, by_m)
    clutch.now_ms += 20
    clutch.send(jump=True, **changes)


class TestJump:
    """From a flagged sample on nothing counts until samples return to the old track."""

    @pytest.mark.parametrize("frames", [1, 2, 4])
    def test_back_within_100_ms_it_goes_on_and_nothing_moved(self, frames: int) -> None:
        clutch = Clutch()
        clutch.stream(100)
        leap(clutch, (0.5, 0.0, 0.0))
        for _ in range(frames - 1):
            assert clutch.tick() == HELD
            clutch.now_ms += 20
            clutch.send()
        assert clutch.tick() == HELD
        leap(clutch, (-0.5, 0.0, 0.0))
        assert clutch.tick() == HELD
        wish = clutch.stream(100, (0.1, 0.0, 0.0))
        assert wish is not None
        assert vsub(wish[0], HELD[0]) == pytest.approx((0.01, 0.0, 0.0), abs=1e-12)
        clutch.stream(1000)
        assert clutch.causes == NOTHING

    @pytest.mark.parametrize("by_m", [(0.5, 0.0, 0.0), (0.0, 0.15, 0.0), (0.0, 0.0, -0.0701)])
    def test_not_back_in_100_ms_it_stops(self, by_m: Vec3) -> None:
        """0.15 m is within 3 m/s x 100 ms: no hand may take its time to get there."""
        clutch = Clutch()
        clutch.stream(100)
        leap(clutch, by_m)
        for _ in range(4):
            clutch.tick()
            clutch.now_ms += 20
            clutch.send()
        clutch.tick()
        assert clutch.causes == NOTHING
        assert clutch.follower.braking  # the last good sample is 100 ms old
        clutch.now_ms += 20
        clutch.send()
        clutch.tick()
        assert clutch.causes == ("jump", False)
        assert clutch.command == HELD

    def test_a_turn_is_a_jump_too(self) -> None:
        clutch = Clutch()
        clutch.stream(100)
        clutch.q_xyzw = quat_from_rotvec((0.0, math.radians(20.0), 0.0))
        leap(clutch, (0.0, 0.0, 0.0))
        clutch.stream(120)
        assert clutch.command == HELD
        assert clutch.causes == ("jump", False)

    def test_a_second_leap_elsewhere_is_not_the_way_back(self) -> None:
        clutch = Clutch()
        clutch.stream(100)
        leap(clutch, (0.5, 0.0, 0.0))
        leap(clutch, (0.0, 0.5, 0.0))
        clutch.stream(120)
        assert clutch.command == HELD
        assert clutch.causes == ("jump", False)

    def test_the_leap_itself_is_not_the_way_back_however_late_it_was_received(self) -> None:
        """By our clock 50 ms passed, in which a hand goes 160 mm; by the sender's only 20 ms."""
        clutch = Clutch()
        clutch.stream(100)
        sent_s = clutch.follower.good.target.t_send_s
        assert sent_s is not None
        clutch.now_ms += 30
        leap(clutch, (0.1, 0.0, 0.0), t_send_s=sent_s + 0.02)
        for k in range(2, 8):
            clutch.now_ms += 20
            clutch.send(t_send_s=sent_s + 0.02 * k)
            clutch.tick()
        assert clutch.command == HELD
        assert clutch.causes == ("jump", False)

    def test_held_back_packets_that_come_together_may_lead_back(self) -> None:
        """Captured 20 ms apart, received 1 ms apart; the hand moved at 1 m/s."""
        clutch = Clutch()
        clutch.stream(100)
        sent_s = clutch.follower.good.target.t_send_s
        assert sent_s is not None
        clutch.now_ms += 1
        clutch.p_m = (0.5, 0.0, 0.0)
        clutch.send(jump=True, t_send_s=sent_s + 0.02)
        clutch.now_ms += 1
        clutch.p_m = (0.04, 0.0, 0.0)
        clutch.send(jump=True, t_send_s=sent_s + 0.04)
        clutch.stream(200)
        assert clutch.causes == NOTHING

    def test_a_sender_without_a_clock_is_judged_by_ours(self) -> None:
        clutch = Clutch(t_send_s=None)
        leap(clutch, (0.5, 0.0, 0.0), t_send_s=None)
        clutch.now_ms += 20
        clutch.p_m = (0.12, 0.0, 0.0)
        clutch.send(jump=True, t_send_s=None)
        clutch.stream(200)
        assert clutch.causes == NOTHING

    def test_the_hand_is_judged_not_the_scaled_target(self) -> None:
        """60 mm of target are 240 mm of a hand at scale 0.25."""
        clutch = Clutch(scale=0.25)
        clutch.stream(100)
        leap(clutch, (0.06, 0.0, 0.0))
        clutch.stream(120)
        assert clutch.causes == ("jump", False)

    def test_what_a_wall_cut_off_counts_as_way(self) -> None:
        """Beyond the wall both targets lie on it, 800 mm of hand apart."""
        clutch = Clutch(outside_mm=100.0)
        leap(clutch, (0.0, 0.0, 0.0), outside_mm=900.0)
        for _ in range(6):
            clutch.now_ms += 20
            clutch.send(outside_mm=900.0)
            clutch.tick()
        assert clutch.causes == ("jump", False)

    def test_the_100_ms_pass_without_samples_too(self) -> None:
        clutch = Clutch()
        leap(clutch, (0.5, 0.0, 0.0))
        clutch.now_ms += 98
        clutch.tick()
        assert clutch.causes == NOTHING
        clutch.now_ms += 1
        clutch.tick()
        assert clutch.causes == ("jump", False)

    def test_a_hand_untracked_in_between_is_not_back(self) -> None:
        """Seen again after 80 ms it has had time to get anywhere within 0.25 m."""
        clutch = Clutch()
        clutch.stream(100)
        leap(clutch, (0.2, 0.0, 0.0))
        for _ in range(3):
            clutch.now_ms += 20
            clutch.lose()
            clutch.tick()
        clutch.stream(60)
        assert clutch.command == HELD
        assert clutch.causes == ("jump", False)

    def test_untracked_in_between_and_seen_where_it_was_it_goes_on(self) -> None:
        clutch = Clutch()
        clutch.stream(100)
        leap(clutch, (0.2, 0.0, 0.0))
        clutch.now_ms += 40
        clutch.lose()
        clutch.p_m = (0.005, 0.0, 0.0)
        clutch.stream(1000)
        assert clutch.causes == NOTHING
        assert clutch.command[0] == pytest.approx(vadd(HELD[0], (0.005, 0.0, 0.0)), abs=1e-12)

    def test_a_hand_that_is_another_after_a_loss_does_not_resume(self) -> None:
        clutch = Clutch()
        clutch.wait(300)
        leap(clutch, (1.2, 0.0, 0.0))  # in 320 ms no hand gets further than 0.97 m
        assert clutch.follower.braking
        clutch.stream(120)
        assert clutch.command == HELD
        assert clutch.causes == ("jump", False)


class TestSlip:
    def test_a_hand_that_outruns_the_limits_leads_by_30_mm_at_most(self) -> None:
        clutch = Clutch()
        wish = clutch.stream(200, (0.5, 0.0, 0.0))
        assert wish is not None
        assert clutch.follower.outran(wish, wish, HELD)
        again = clutch.stream(20)
        assert again is not None
        assert vsub(again[0], HELD[0]) == pytest.approx((0.030, 0.0, 0.0), abs=1e-12)

    def test_within_it_nothing_slips(self) -> None:
        clutch = Clutch()
        clutch.tick()
        wish = clutch.stream(20, (1.0, 0.0, 0.0))
        assert wish is not None
        before = clutch.follower.slip
        assert not clutch.follower.outran(wish, wish, HELD)
        assert clutch.follower.slip is before

    def test_a_turn_leads_by_a_tenth_of_a_radian(self) -> None:
        clutch = Clutch()
        clutch.tick()
        clutch.q_xyzw = quat_from_rotvec((0.25, 0.0, 0.0))
        wish = clutch.stream(20)
        assert wish is not None
        assert clutch.follower.outran(wish, wish, HELD)
        again = clutch.stream(20)
        assert again is not None
        assert quat_angle_rad(again[1], HELD[1]) == pytest.approx(0.10, abs=1e-9)

    def test_along_a_wall_it_slips_and_that_is_no_lack_of_speed(self) -> None:
        """The hand that turns back from beyond the wall moves the arm at once."""
        clutch = Clutch()
        clutch.tick()
        wish = clutch.stream(20, (1.0, 0.0, 0.0))
        assert wish is not None
        inside = (vadd(HELD[0], (0.005, 0.0, 0.0)), wish[1])
        assert not clutch.follower.outran(wish, inside, inside)
        back = clutch.stream(20, (-0.1, 0.0, 0.0))
        assert back is not None
        assert vsub(back[0], HELD[0]) == pytest.approx((0.003, 0.0, 0.0), abs=1e-12)


class Predicting:
    """A pacer that says it predicts, 30 ms late; before the first sample it has nothing."""

    glitches_rejected = 0

    def __init__(self) -> None:
        self.samples: list[PacerSample] = []
        self.silent = False

    def reset(self) -> None:
        self.samples = []

    def reseat(self, sample: PacerSample, /) -> None:
        self.samples = [sample]

    def push(self, sample: PacerSample, /) -> None:
        self.samples.append(sample)

    def tick(self, now_ns: int, /) -> PacerOutput | None:
        newest = self.samples[-1]
        return None if self.silent else PacerOutput(newest.p_m, newest.q_xyzw, True, 30.0)


def test_what_the_pacer_tells_is_passed_on_and_what_it_is_told_is_whole() -> None:
    pacer = Predicting()
    follower = Follower(Rules("absolute", S, 1.0), pacer, target(), T0_NS, HELD)
    second = target(t_recv_ns=T0_NS + 20 * MS, t_send_s=None)
    follower.on_target(second, T0_NS + 21 * MS, HELD)
    assert follower.tick(T0_NS + 21 * MS) == HELD
    assert (follower.predicting, follower.playout_delay_ms) == (True, 30.0)
    assert [(s.t_send_s, s.t_recv_ns) for s in pacer.samples] == [
        (1.0, T0_NS),
        (pytest.approx(1.02), T0_NS + 20 * MS),
    ]
    assert (follower.good.target, follower.good.t_target_ns) == (second, T0_NS + 21 * MS)


def test_a_pacer_with_nothing_to_say_brakes() -> None:
    pacer = Predicting()
    follower = Follower(Rules("absolute", S, 1.0), pacer, target(), T0_NS, HELD)
    pacer.silent = True
    assert follower.tick(T0_NS) is None
