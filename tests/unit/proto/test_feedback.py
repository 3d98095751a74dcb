"""The feedback packet codec: layout, presence bits, codes, totality."""

from __future__ import annotations

import math
import struct
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proto import feedback
from proto.feedback import FeedbackError, FeedbackPacket, FeedbackRejectReason
from proto.reasons import REASONS, SIDES, STATES

FULL = FeedbackPacket(
    seq=7,
    side="left",
    state="ENGAGED",
    reason="speed_limited",
    t_send_s_echo=12.5,
    engaged=True,
    gripper_follows=True,
    gripper_ratio=0.25,
    p_base_tool_m=(0.5, -0.125, 0.25),
    q_base_tool_xyzw=(0.5, 0.5, -0.5, 0.5),
    q_rad=(0.0, 0.5, -1.0, 1.5, -2.0, 2.5),
    haptic_ratio=0.5,
    latency_ms=8.5,
)
EMPTY = FeedbackPacket(seq=0, side="right", state="DISARMED")
FLAG_NAMES = ("engaged", "simulated", "gripper_follows", "predicting", "braking", "homing")


def patched(packet: FeedbackPacket, offset: int, fmt: str, value: float) -> bytes:
    """`packet` with one field overwritten."""
    data = bytearray(feedback.encode(packet))
    struct.pack_into(fmt, data, offset, value)
    return bytes(data)


def reason_of(data: bytes) -> FeedbackRejectReason:
    """The reason `data` is refused for."""
    with pytest.raises(FeedbackError) as caught:
        feedback.decode(data)
    assert str(caught.value).startswith(f"{caught.value.reason}: ")
    return caught.value.reason


def test_layout_is_the_documented_one() -> None:
    data = feedback.encode(FULL)
    assert len(data) == 96
    assert data[:8] == b"RCTF\x01\x01\x03\x06"
    assert struct.unpack_from("<HHI", data, 8) == (REASONS.index("speed_limited"), 0x0F05, 7)
    assert struct.unpack_from("<d", data, 16) == (12.5,)
    assert struct.unpack_from("<3f", data, 24) == (0.25, 0.5, 8.5)
    assert struct.unpack_from("<3f", data, 36) == FULL.p_base_tool_m
    assert struct.unpack_from("<4f", data, 48) == FULL.q_base_tool_xyzw
    assert struct.unpack_from("<8f", data, 64) == (*FULL.q_rad, 0.0, 0.0)


@pytest.mark.parametrize("packet", [FULL, EMPTY])
def test_full_and_empty_round_trip_exactly(packet: FeedbackPacket) -> None:
    assert feedback.decode(feedback.encode(packet)) == packet


@pytest.mark.parametrize("bit", range(16))
def test_each_flag_is_its_own_bit_and_reserved_bits_are_ignored(bit: int) -> None:
    plain = feedback.decode(patched(FULL, 10, "<H", 0))
    packet = feedback.decode(patched(FULL, 10, "<H", 1 << bit))
    changed = {name for name in FeedbackPacket.__slots__ if _differs(plain, packet, name)}
    expected = {name: {name} for name in FLAG_NAMES}
    presence = {
        8: {"t_send_s_echo"},
        9: {"p_base_tool_m", "q_base_tool_xyzw"},
        10: {"gripper_ratio"},
        11: {"latency_ms"},
    }
    wanted = expected[FLAG_NAMES[bit]] if bit < len(FLAG_NAMES) else presence.get(bit, set())
    assert changed == wanted


def _differs(a: FeedbackPacket, b: FeedbackPacket, name: str) -> bool:
    return bool(getattr(a, name) != getattr(b, name))


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("side", SIDES)
def test_state_and_side_codes_are_table_positions(state: str, side: str) -> None:
    data = feedback.encode(EMPTY)
    data = data[:5] + bytes([SIDES.index(side), STATES.index(state)]) + data[7:]
    packet = feedback.decode(data)
    assert (packet.side, packet.state) == (side, state)


@pytest.mark.parametrize("code", range(len(REASONS)))
def test_reason_codes_are_table_positions(code: int) -> None:
    assert feedback.decode(patched(EMPTY, 8, "<H", code)).reason == REASONS[code]


@pytest.mark.parametrize(("offset", "code"), [(5, 2), (6, len(STATES)), (8, len(REASONS))])
def test_unknown_codes_are_refused(offset: int, code: int) -> None:
    assert reason_of(patched(EMPTY, offset, "<B", code)) == "unknown_code"


def test_header_is_checked_first_and_longer_packets_are_taken() -> None:
    data = feedback.encode(FULL)
    for length in range(96):
        assert reason_of(data[:length]) == "short"
    assert reason_of(b"RCTP" + data[4:]) == "bad_magic"
    for version in (0, 2, 255):
        assert reason_of(patched(FULL, 4, "<B", version)) == "bad_version"
    assert feedback.decode(data + b"later fields") == FULL


KNOWN_FLOATS = (24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 84)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_known_fields_must_be_finite(value: float) -> None:
    assert reason_of(patched(FULL, 16, "<d", value)) == "not_finite"
    for offset in KNOWN_FLOATS:
        assert reason_of(patched(FULL, offset, "<f", value)) == "not_finite"
    assert reason_of(patched(EMPTY, 28, "<f", value)) == "not_finite"


def test_fields_that_are_not_there_are_never_looked_at() -> None:
    data = bytearray(feedback.encode(EMPTY))
    struct.pack_into("<d", data, 16, math.nan)
    for offset in (24, *range(32, 96, 4)):
        struct.pack_into("<f", data, offset, math.nan)
    assert feedback.decode(bytes(data)) == EMPTY


def test_pose_quaternion_and_joint_count_are_checked() -> None:
    assert reason_of(patched(FULL, 60, "<f", 3.0)) == "bad_quat"
    assert reason_of(patched(FULL, 7, "<B", 9)) == "out_of_range"
    assert feedback.decode(patched(FULL, 7, "<B", 8)).q_rad == (*FULL.q_rad, 0.0, 0.0)


def test_ratios_are_clamped() -> None:
    assert feedback.decode(patched(FULL, 24, "<f", 1.5)).gripper_ratio == 1.0
    assert feedback.decode(patched(FULL, 28, "<f", -0.5)).haptic_ratio == 0.0
    assert feedback.decode(feedback.encode(replace(FULL, haptic_ratio=9.0))).haptic_ratio == 1.0


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (replace(FULL, t_send_s_echo=math.nan), "not_finite"),
        (replace(FULL, latency_ms=math.inf), "not_finite"),
        (replace(FULL, haptic_ratio=math.nan), "not_finite"),
        (replace(FULL, gripper_ratio=math.nan), "not_finite"),
        (replace(FULL, q_rad=(math.nan,)), "not_finite"),
        (replace(FULL, p_base_tool_m=(math.nan, 0.0, 0.0)), "not_finite"),
        (replace(FULL, q_base_tool_xyzw=(0.0, 0.0, 0.0, 0.0)), "bad_quat"),
        (replace(FULL, q_base_tool_xyzw=None), "bad_quat"),
        (replace(FULL, p_base_tool_m=None), "bad_quat"),
        (replace(FULL, p_base_tool_m=(1e39, 0.0, 0.0)), "out_of_range"),
        (replace(FULL, latency_ms=1e300), "out_of_range"),
        (replace(FULL, q_rad=(0.0,) * 9), "out_of_range"),
    ],
)
def test_encode_refuses_what_no_receiver_would_take(wrong: FeedbackPacket, reason: str) -> None:
    with pytest.raises(FeedbackError) as caught:
        feedback.encode(wrong)
    assert caught.value.reason == reason


def test_sequence_number_wraps() -> None:
    assert feedback.decode(feedback.encode(replace(EMPTY, seq=2**32 + 5))).seq == 5


def survives(data: bytes) -> bool:
    """Whether `data` is refused under a known reason, or decoded to something encodable."""
    try:
        packet = feedback.decode(data)
    except FeedbackError as err:
        return err.reason in feedback.FEEDBACK_REJECT_REASONS
    return len(feedback.encode(packet)) == 96


@settings(max_examples=300)
@given(st.binary(min_size=91, max_size=120), st.booleans())
def test_any_bytes_are_decoded_or_refused(data: bytes, with_header: bool) -> None:
    assert survives(b"RCTF\x01" + data if with_header else data)


@settings(max_examples=300)
@given(st.integers(0, 95), st.integers(1, 255))
def test_one_byte_mutations_are_decoded_or_refused(index: int, flip: int) -> None:
    data = bytearray(feedback.encode(FULL))
    data[index] ^= flip
    assert survives(bytes(data))
