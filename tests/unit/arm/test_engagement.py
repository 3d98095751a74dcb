"""services.arm.engagement: follower, approach and gripper of one clutch, as one."""

from __future__ import annotations

from typing import Any

import pytest

from proto.messages import ArmTarget
from runtime.se3 import Pose, Vec3, vadd
from services.arm.engagement import Engagement
from services.arm.slip import IDENTITY_SLIP
from tests.unit.arm.make import HELD, target, untracked
from tests.unit.arm.settings import arm_settings, mapper_settings

MS = 1_000_000
T0_NS = 1_000_000_000


class Hand:
    """One sample every 20 ms, a tick after each; the arm is where `command` says."""

    def __init__(self, mode: str = "relative", begin: bool = True, **mapper: Any) -> None:
        self.mode = mode
        self.now_ns = T0_NS
        self.p_m: Vec3 = (0.0, 0.0, 0.0)
        self.command: Pose = HELD
        self.engagement = Engagement(arm_settings(), mapper_settings(mode=mode, **mapper))
        if begin:
            self.engagement.begin(self.sample(), self.now_ns, HELD)

    def sample(self, **changes: Any) -> ArmTarget:
        facts = {
            "mode": self.mode,
            "t_recv_ns": self.now_ns,
            "t_send_s": self.now_ns * 1e-9,
            "target_p_base_tool_m": vadd(HELD[0], self.p_m),
        }
        return target(**{**facts, **changes})

    def frame(self, dx_m: float = 0.0, **changes: Any) -> Pose | None:
        self.now_ns += 20 * MS
        self.p_m = vadd(self.p_m, (dx_m, 0.0, 0.0))
        self.engagement.on_target(self.sample(**changes), self.now_ns, self.command)
        return self.tick()

    def tick(self) -> Pose | None:
        return self.engagement.wish(self.now_ns, self.command)

    def wait(self, ms: int) -> Pose | None:
        self.now_ns += ms * MS
        return self.tick()

    def stay(self, behind_m: float) -> None:
        """The arm is so far behind the wish."""
        wish = vadd(HELD[0], self.p_m)
        self.command = (vadd(wish, (-behind_m, 0.0, 0.0)), HELD[1])

    def limited(self) -> None:
        wish = (vadd(HELD[0], self.p_m), HELD[1])
        self.engagement.on_limited(wish, wish, self.command)

    @property
    def reason(self) -> str:
        return self.engagement.reason(self.now_ns)

    def cause(self) -> str:
        return self.engagement.cause

    def lets_go(self) -> bool:
        return self.engagement.let_go

    def slow(self) -> bool:
        return self.engagement.slow


def test_without_a_clutch_there_is_nothing() -> None:
    hand = Hand(begin=False)
    engagement = hand.engagement
    engagement.on_target(hand.sample(), T0_NS, HELD)
    engagement.on_limited(HELD, HELD, HELD)
    assert engagement.wish(T0_NS, HELD) is None
    told = (engagement.newest, engagement.gripper_ratio, engagement.t_recv_ns, engagement.rest_mm)
    assert told == (None, None, None, None)
    flags = (engagement.active, engagement.braking, engagement.predicting, engagement.let_go)
    assert flags == (False, False, False, False)
    assert (engagement.cause, hand.reason, engagement.slip) == ("", "", IDENTITY_SLIP)
    assert (engagement.slow, engagement.playout_delay_ms) == (False, 0.0)


def test_a_clutch_and_its_end() -> None:
    hand = Hand()
    engagement = hand.engagement
    assert hand.tick() == HELD
    assert engagement.wish(hand.now_ns, None) is None
    sent = hand.sample()
    assert engagement.newest == (sent, T0_NS)
    assert (engagement.gripper_ratio, engagement.t_recv_ns) == (0.5, T0_NS)
    assert (engagement.predicting, engagement.playout_delay_ms) == (False, 0.0)
    hand.frame(0.01)
    engagement.end()
    assert not engagement.active
    assert hand.tick() is None
    assert hand.reason == ""


def test_nothing_of_the_last_clutch_is_left_in_the_next() -> None:
    hand = Hand("absolute")
    hand.frame(1.0, engaged=False)
    hand.stay(0.2)
    hand.limited()
    assert hand.lets_go()
    hand.engagement.end()
    assert hand.engagement.rest_mm is None
    hand.p_m = (0.0, 0.0, 0.0)
    hand.command = HELD
    hand.engagement.begin(hand.sample(), hand.now_ns, HELD)
    assert not hand.lets_go()
    assert hand.tick() == HELD
    assert hand.reason == ""


@pytest.mark.parametrize(("mode", "resume_ms"), [("relative", 1000), ("absolute", 300)])
def test_each_mode_resumes_in_its_own_time(mode: str, resume_ms: int) -> None:
    hand = Hand(mode)
    hand.tick()
    hand.wait(resume_ms)
    assert hand.cause() == ""
    hand.wait(1)
    assert hand.cause() == "stale"


def test_losses_are_counted_over_all_clutches() -> None:
    hand = Hand()
    for _ in range(2):
        hand.frame()
        hand.wait(101)
        hand.wait(10)
    assert hand.engagement.losses == 2
    hand.engagement.end()
    hand.engagement.begin(hand.sample(), hand.now_ns, HELD)
    hand.wait(101)
    assert hand.engagement.losses == 3


def test_while_data_are_missing_the_gripper_holds() -> None:
    hand = Hand()
    hand.frame(gripper_ratio=0.8)
    ratios = [hand.engagement.gripper_ratio]
    hand.wait(101)
    ratios.append(hand.engagement.gripper_ratio)
    hand.frame(gripper_ratio=0.7)
    ratios.append(hand.engagement.gripper_ratio)
    assert ratios == [0.8, None, 0.7]


class TestReasons:
    """Of several the gravest, in the order of the table of reasons."""

    def test_missing_data_by_their_kind(self) -> None:
        hand = Hand()
        hand.frame(reason="clamped")
        assert hand.reason == "clamped"
        hand.wait(101)
        assert hand.reason == "stale"
        hand.engagement.on_target(untracked(t_recv_ns=hand.now_ns), hand.now_ns, HELD)
        assert hand.reason == "untracked"

    def test_a_hand_that_is_too_fast(self) -> None:
        hand = Hand()
        hand.tick()
        hand.frame(0.025)
        hand.limited()
        assert hand.reason == ""
        hand.frame(0.025)
        hand.limited()
        assert hand.reason == "speed_limited"
        assert hand.engagement.slip.p_m == pytest.approx((-0.020, 0.0, 0.0))
        assert hand.engagement.rest_mm is None
        hand.frame(reason="outside_box")
        assert hand.reason == "outside_box"

    def test_an_approach(self) -> None:
        hand = Hand("absolute", begin=False)
        hand.p_m = (0.1, 0.0, 0.0)
        hand.engagement.begin(hand.sample(), hand.now_ns, HELD)
        hand.frame(reason="clamped")
        assert hand.reason == "approach"


class TestAbsolute:
    def test_it_approaches_until_it_is_near_and_then_follows(self) -> None:
        hand = Hand("absolute", begin=False)
        hand.p_m = (0.2, 0.0, 0.0)
        hand.engagement.begin(hand.sample(), hand.now_ns, HELD)
        assert hand.tick() == (vadd(HELD[0], (0.2, 0.0, 0.0)), HELD[1])
        assert hand.slow()
        assert hand.engagement.rest_mm == pytest.approx(200.0)
        hand.stay(0.0199)
        hand.frame()
        assert not hand.slow()
        assert hand.reason == ""

    @pytest.mark.parametrize("scale", [1.0, 0.5])
    @pytest.mark.parametrize(("hand_mm", "gives_up"), [(5.8, False), (6.2, True)])
    def test_a_hand_faster_than_300_mm_a_second_ends_it(
        self, hand_mm: float, gives_up: bool, scale: float
    ) -> None:
        hand = Hand("absolute", begin=False, scale=scale)
        hand.p_m = (0.2, 0.0, 0.0)
        hand.engagement.begin(hand.sample(), hand.now_ns, HELD)
        for _ in range(8):
            hand.frame(hand_mm * 1e-3 * scale)
        assert hand.lets_go() is gives_up

    def test_a_sender_that_scales_has_scaled_its_hand_already(self) -> None:
        hand = Hand("absolute", begin=False, scale=0.5, offsets_applied_by="sender")
        hand.p_m = (0.2, 0.0, 0.0)
        hand.engagement.begin(hand.sample(), hand.now_ns, HELD)
        for _ in range(8):
            hand.frame(0.0058)
        assert not hand.lets_go()

    def test_samples_that_do_not_count_are_no_haste(self) -> None:
        hand = Hand("absolute", begin=False)
        hand.p_m = (0.2, 0.0, 0.0)
        hand.engagement.begin(hand.sample(), hand.now_ns, HELD)
        for _ in range(4):
            hand.frame()
        hand.frame(0.3, jump=True)
        hand.frame(-0.3, jump=True)
        for _ in range(4):
            hand.frame()
        assert not hand.lets_go()

    def test_far_behind_it_goes_on_at_the_limit_and_tells_the_rest(self) -> None:
        hand = Hand("absolute")
        hand.tick()
        hand.stay(0.031)
        hand.limited()
        hand.frame()
        assert hand.reason == "speed_limited"
        assert hand.engagement.rest_mm == pytest.approx(31.0)
        assert not hand.slow()
        hand.stay(0.029)
        hand.limited()
        hand.frame()
        assert hand.reason == ""
        assert hand.engagement.rest_mm is None

    def test_beyond_150_mm_it_becomes_an_approach_again(self) -> None:
        hand = Hand("absolute")
        hand.tick()
        hand.stay(0.149)
        hand.frame()
        assert not hand.slow()
        hand.stay(0.151)
        hand.frame()
        assert hand.slow()
        hand.frame()
        assert hand.reason == "approach"
        assert hand.engagement.rest_mm == pytest.approx(151.0)

    def test_what_lies_beyond_a_wall_is_no_lack_of_speed(self) -> None:
        hand = Hand("absolute")
        hand.tick()
        wish = (vadd(HELD[0], (0.1, 0.0, 0.0)), HELD[1])
        hand.engagement.on_limited(wish, HELD, HELD)
        assert hand.reason == ""


def test_glitches_are_counted() -> None:
    hand = Hand()
    for _ in range(4):
        hand.frame()
    hand.frame(0.05)
    hand.frame(-0.05)
    assert hand.engagement.glitches_rejected == 1
