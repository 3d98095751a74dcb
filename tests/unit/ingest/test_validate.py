"""Order of samples, and what counts as a leap of the hand."""

from __future__ import annotations

from dataclasses import replace
from math import cos, radians, sin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proto.rctp import HandPacket
from services.ingest.validate import SampleOrder, is_jump, sample_dt_s

MS = 1_000_000
HERE = HandPacket(100.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 0.5, True, False)


def after(
    dt_ms: float, *, x_mm: float = 0.0, turn_deg: float = 0.0, tracked: bool = True
) -> HandPacket:
    """A sample `dt_ms` after HERE by the sender's clock, moved along x and turned about y."""
    half_rad = radians(turn_deg) / 2
    return replace(
        HERE,
        t_send_s=HERE.t_send_s + dt_ms / 1000,
        p_vr_hand_m=(x_mm / 1000, 0.0, 0.0),
        q_vr_hand_xyzw=(0.0, sin(half_rad), 0.0, cos(half_rad)),
        tracking_valid=tracked,
    )


@pytest.mark.parametrize(
    ("t_send_s", "order"),
    [
        (100.0, "duplicate"),
        (100.0001, ""),
        (1e300, ""),
        (99.9999, "old"),
        (99.0, "old"),
        (98.9999, "restart"),
        (0.0, "restart"),
        (-1e300, "restart"),
    ],
)
def test_order_by_the_senders_clock(t_send_s: float, order: str) -> None:
    samples = SampleOrder()
    assert samples.judge(t_send_s) == ""
    samples.accept(HERE, 0)
    assert samples.judge(t_send_s) == order
    samples.reset()
    assert samples.judge(t_send_s) == ""


def test_a_packet_without_a_pose_advances_the_order_only() -> None:
    samples = SampleOrder()
    samples.accept(HERE, 0)
    samples.advance(100.5)
    assert samples.judge(100.5) == "duplicate"
    assert samples.accept(after(520, x_mm=1500), 520 * MS) is False  # 520 ms since the last pose


def test_clocks_at_the_end_of_their_range_stay_finite() -> None:
    samples = SampleOrder()
    samples.accept(replace(HERE, t_send_s=-1.7e308), 0)
    assert samples.accept(replace(after(0, x_mm=300), t_send_s=1.7e308), 0) is True


@pytest.mark.parametrize(
    ("sender_ms", "receive_ms", "dt_ms"),
    [
        (20, 20, 20),
        (20, 0, 20),  # delivered together
        (20, 400, 20),  # delivered late
        (60, 0, 50),
        (60, 10, 60),
        (3_600_000, 20, 70),  # the sender's clock leaps an hour
        (0.001, 20, 1),
        (20, -5, 20),
    ],
)
def test_dt_is_the_senders_bounded_by_ours(
    sender_ms: float, receive_ms: float, dt_ms: float
) -> None:
    assert sample_dt_s(HERE, after(sender_ms), receive_ms / 1000) == pytest.approx(dt_ms / 1000)


@pytest.mark.parametrize(
    ("dt_ms", "x_mm", "turn_deg", "jump"),
    [
        (20, 69.9, 0.0, False),
        (20, 70.1, 0.0, True),
        (20, -70.1, 0.0, True),
        (20, 0.0, 14.45, False),
        (20, 0.0, 14.47, True),
        (20, 0.0, -14.47, True),
        (20, 0.0, 180.0, True),
        (20, 0.0, 359.0, False),
        (1, 12.9, 0.0, False),
        (1, 13.1, 0.0, True),
        (1000, 3009.0, 0.0, False),
    ],
)
def test_jump_threshold(dt_ms: float, x_mm: float, turn_deg: float, jump: bool) -> None:
    assert is_jump(HERE, after(dt_ms, x_mm=x_mm, turn_deg=turn_deg), dt_ms / 1000) is jump


def test_a_leaping_sender_clock_opens_no_gate() -> None:
    samples = SampleOrder()
    samples.accept(HERE, 0)
    assert samples.accept(after(3_600_000, x_mm=230), 20 * MS) is True
    samples = SampleOrder()
    samples.accept(HERE, 0)
    assert samples.accept(after(3_600_000, x_mm=210), 20 * MS) is False


def test_only_the_leap_itself_is_flagged() -> None:
    samples = SampleOrder()
    flags = [
        samples.accept(after(20 * index, x_mm=1000 if index >= 3 else 0), 20 * index * MS)
        for index in range(6)
    ]
    assert flags == [False, False, False, True, False, False]


def test_untracked_samples_are_neither_flagged_nor_compared_with() -> None:
    samples = SampleOrder()
    samples.accept(HERE, 0)
    assert samples.accept(after(20, x_mm=5000, tracked=False), 20 * MS) is False
    assert samples.accept(after(40, x_mm=10), 40 * MS) is False
    assert samples.accept(after(60, x_mm=5000), 60 * MS) is True


def test_the_first_sample_of_a_session_is_no_jump() -> None:
    samples = SampleOrder()
    samples.accept(HERE, 0)
    samples.reset()
    assert samples.accept(after(20, x_mm=5000), 20 * MS) is False


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(st.floats(0.0001, 1e6), st.integers(0, 40), st.floats(-500, 500)),
        min_size=1,
        max_size=60,
    )
)
def test_unflagged_motion_is_bounded_by_our_clock(steps: list[tuple[float, int, float]]) -> None:
    """Whatever the sender's clock does, n unflagged steps go no further than our time allows."""
    samples = SampleOrder()
    samples.accept(HERE, 0)
    t_ms, recv_ms, x_mm = 0.0, 0, 0.0
    for dt_ms, dt_recv_ms, dx_mm in steps:
        t_ms, recv_ms, x_mm = t_ms + dt_ms, recv_ms + dt_recv_ms, x_mm + dx_mm
        jump = samples.accept(after(t_ms, x_mm=x_mm), recv_ms * MS)
        if not jump:
            assert abs(dx_mm) <= 3.0 * (dt_recv_ms + 50.0) + 10.0 + 1e-6
