"""The body of a simulated hand: its packets over time, cue by cue."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proto.rctp import HandPacket, decode, encode
from runtime.se3 import vnorm, vsub
from sim.hand import ESTOP_TAIL_PACKETS, Hand
from sim.motion import REST_M, Circle, Motion, Replay, Still
from sim.recordings import ARM_MOTION, load_track

START_S = 1000.0


class Player:
    """A hand and a frame clock that only this test moves."""

    def __init__(self, motion: Motion, hz: float = 72.0) -> None:
        self.hand = Hand("right", motion)
        self.step_s = 1.0 / hz
        self.now_s = START_S
        self.packets: list[HandPacket | None] = []

    def play(self, length_s: float, move: bool = True) -> list[HandPacket]:
        """The packets of the next `length_s`; silence is left out."""
        got = []
        for _ in range(round(length_s / self.step_s)):
            got.append(self.hand.sample(self.now_s, move))
            self.now_s += self.step_s
        self.packets += got
        return [packet for packet in got if packet is not None]


def places(packets: list[HandPacket]) -> set[tuple[float, float, float]]:
    return {packet.p_vr_hand_m for packet in packets}


@pytest.mark.parametrize("hz", [50.0, 72.0, 90.0])
def test_replay_stands_still_for_a_second_at_the_rest_point_then_moves(hz: float) -> None:
    player = Player(Replay(load_track(ARM_MOTION)), hz)
    assert places(player.play(1.0)) == {REST_M}
    assert len(places(player.play(3.0))) > 2 * hz


def test_stands_while_it_does_not_want_to_move() -> None:
    player = Player(Circle(0.1, 0.25))
    assert places(player.play(5.0, move=False)) == {REST_M}


def test_every_packet_is_one_a_receiver_takes() -> None:
    player = Player(Replay(load_track(ARM_MOTION)))
    for packet in player.play(20.0):
        again = decode(encode(packet))
        assert again.tracking_valid
        assert again.p_vr_hand_m == pytest.approx(packet.p_vr_hand_m, abs=1e-6)


def test_stamps_count_from_the_first_frame_in_frame_time() -> None:
    player = Player(Still(), 50.0)
    stamps = [packet.t_send_s for packet in player.play(1.0)]
    assert stamps == pytest.approx([k / 50.0 for k in range(50)])


def test_lost_tracking_repeats_the_last_pose_and_the_hand_moves_on_unseen() -> None:
    player = Player(Circle(0.1, 0.25))
    before = player.play(4.0)[-1]
    player.hand.lose_tracking(player.now_s, 0.5)
    lost = player.play(0.5)
    assert all(not packet.tracking_valid for packet in lost)
    assert places(lost) == {before.p_vr_hand_m}
    after = player.play(0.1)[0]
    assert after.tracking_valid
    moved_m = vnorm(vsub(after.p_vr_hand_m, before.p_vr_hand_m))
    assert moved_m == pytest.approx(0.157 * 0.5, rel=0.1)


def test_estop_is_in_every_packet_while_pressed_and_at_least_fifteen_after() -> None:
    player = Player(Still())
    assert not any(packet.estop for packet in player.play(0.5))
    player.hand.press_estop()
    assert all(packet.estop for packet in player.play(2.0))
    player.hand.release_estop(player.now_s)
    tail = [packet.estop for packet in player.play(2.0)]
    count = sum(tail)
    assert tail == [True] * count + [False] * (len(tail) - count)
    assert count == 22  # 0.3 s at 72 Hz


def test_the_estop_tail_counts_packets_that_were_sent() -> None:
    player = Player(Still(), 20.0)
    player.hand.press_estop()
    player.play(0.2)
    player.hand.release_estop(player.now_s)
    player.hand.fall_silent(player.now_s, 1.0)
    assert player.play(1.0) == []
    assert sum(packet.estop for packet in player.play(3.0)) == ESTOP_TAIL_PACKETS


def test_releasing_what_was_not_pressed_sends_no_estop_and_pressing_again_starts_over() -> None:
    player = Player(Still())
    player.hand.release_estop(player.now_s)
    assert not any(packet.estop for packet in player.play(1.0))
    player.hand.press_estop()
    player.hand.release_estop(player.now_s)
    player.hand.press_estop()
    assert all(packet.estop for packet in player.play(3.0))


def test_silence_sends_nothing_for_its_time() -> None:
    player = Player(Still(), 64.0)  # exact in binary
    player.play(0.5)
    player.hand.fall_silent(player.now_s, 1.0)
    player.play(2.0)
    silent = [packet is None for packet in player.packets]
    assert silent == [False] * 32 + [True] * 64 + [False] * 64


def test_reclutch_is_out_of_sight_longer_than_a_resume_then_still_in_sight() -> None:
    player = Player(Circle(0.1, 0.25))
    player.play(4.0)
    player.hand.reclutch(player.now_s)
    untracked = player.play(1.19)
    assert not any(packet.tracking_valid for packet in untracked)
    player.play(0.05)
    in_sight = player.play(0.9)
    assert all(packet.tracking_valid for packet in in_sight)
    assert len(places(in_sight)) == 1
    assert len(places(player.play(2.0))) > 100


def test_still_and_go_ease_out_and_in() -> None:
    player = Player(Circle(0.1, 0.25))
    player.play(4.0)
    player.hand.hold(True)
    player.play(0.35)
    assert len(places(player.play(1.0))) == 1
    player.hand.hold(False)
    assert len(places(player.play(1.0))) > 60


def test_jump_is_one_step_and_the_next_one_takes_it_back() -> None:
    player = Player(Still())
    player.play(1.0)
    player.hand.recentre(0.3)
    (there,) = places(player.play(0.5))
    player.hand.recentre(0.3)
    (back,) = places(player.play(0.5))
    assert vsub(there, REST_M) == pytest.approx((0.3, 0.0, 0.0))
    assert back == REST_M


def test_clock_restart_and_leap_touch_only_the_stamp() -> None:
    player = Player(Still(), 50.0)
    player.play(1.0)
    player.hand.restart_app(player.now_s)
    assert player.play(0.1)[0].t_send_s == 0.0
    player.hand.leap_clock(3600.0)
    packet = player.play(0.1)[0]
    assert packet.t_send_s == pytest.approx(3600.1)
    assert packet.tracking_valid
    assert packet.p_vr_hand_m == REST_M


def test_a_stopped_program_goes_on_where_the_hand_was() -> None:
    player = Player(Circle(0.1, 0.25))
    before = player.play(5.0)[-1]
    player.now_s += 30.0
    after = player.play(0.05)[0]
    assert vnorm(vsub(after.p_vr_hand_m, before.p_vr_hand_m)) <= 0.157 * 0.1 + 1e-6


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([50.0, 72.0, 90.0]), st.lists(st.booleans(), min_size=3, max_size=8))
def test_motion_is_continuous_in_speed_whatever_the_will(hz: float, wills: list[bool]) -> None:
    """Half-second spells of moving and standing: bounds of the motion plus those of the easing."""
    motion = Circle(0.1, 0.25)
    player = Player(motion, hz)
    p_m = [packet.p_vr_hand_m for will in wills for packet in player.play(0.5, will)]
    velocities = [vsub(b, a) for a, b in pairwise(p_m)]
    assert max(map(vnorm, velocities)) <= motion.speed_bound_mps * player.step_s + 1e-9
    # 0.7 m/s^2 of the circle, and a standstill eased in 0.3 s: 5 /s of its speed.
    hardest_mps2 = max(vnorm(vsub(b, a)) for a, b in pairwise(velocities)) * hz * hz
    assert hardest_mps2 <= 0.7 + 5.0 * motion.speed_bound_mps
