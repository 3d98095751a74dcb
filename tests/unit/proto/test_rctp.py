"""The hand packet codec: layout, checks in order, trailer, totality."""

from __future__ import annotations

import math
import struct
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proto import rctp
from proto.rctp import HandPacket, RctpError, RejectReason, Trailer

GOOD = HandPacket(
    t_send_s=12.5,
    p_vr_hand_m=(0.25, -0.5, 1.75),
    q_vr_hand_xyzw=(0.5, -0.5, 0.5, 0.5),
    gripper_ratio=0.75,
    tracking_valid=True,
    estop=False,
)
TRAILER = Trailer(
    key_id=3,
    enable_held=True,
    enable_supported=True,
    left_hand=False,
    session=0x0102030405060708,
    seq=77,
    tag=bytes(range(16)),
)
FLOAT_OFFSETS = (12, 16, 20, 24, 28, 32, 36, 40)


def patched(offset: int, fmt: str, value: float) -> bytes:
    """The good packet with one field overwritten."""
    data = bytearray(rctp.encode(GOOD))
    struct.pack_into(fmt, data, offset, value)
    return bytes(data)


def reason_of(data: bytes) -> RejectReason:
    """The reason `data` is refused for."""
    with pytest.raises(RctpError) as caught:
        rctp.decode(data)
    assert str(caught.value).startswith(f"{caught.value.reason}: ")
    return caught.value.reason


def test_layout_is_the_published_byte_table() -> None:
    data = rctp.encode(replace(GOOD, estop=True))
    assert len(data) == 45
    assert data[0:4] == b"RCTP"
    assert struct.unpack_from("<d", data, 4) == (12.5,)
    values = [struct.unpack_from("<f", data, offset)[0] for offset in FLOAT_OFFSETS]
    assert values == [0.25, -0.5, 1.75, 0.5, -0.5, 0.5, 0.5, 0.75]
    assert data[44] == 0b11


def test_flags_are_independent_and_reserved_bits_ignored() -> None:
    for flags in range(256):
        packet = rctp.decode(patched(44, "<B", flags))
        assert packet.tracking_valid is bool(flags & 1)
        assert packet.estop is bool(flags & 2)
        assert rctp.estop_bit(patched(44, "<B", flags)) is bool(flags & 2)


@pytest.mark.parametrize("length", range(45))
def test_every_shorter_length_is_short(length: int) -> None:
    data = patched(44, "<B", 3)[:length]
    assert reason_of(data) == "short"
    assert rctp.header_reason(data) == "short"
    assert rctp.estop_bit(data) is False


@pytest.mark.parametrize("index", range(4))
def test_each_byte_of_the_magic_counts(index: int) -> None:
    data = bytearray(patched(44, "<B", 3))
    data[index] ^= 0x20
    assert reason_of(bytes(data)) == "bad_magic"
    assert rctp.estop_bit(bytes(data)) is False


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("offset", (4, *FLOAT_OFFSETS))
def test_no_field_may_be_nan_or_infinite(offset: int, value: float) -> None:
    data = patched(offset, "<d" if offset == 4 else "<f", value)
    assert reason_of(data) == "not_finite"


@pytest.mark.parametrize(
    ("length", "accepted"), [(0.0, False), (0.89, False), (0.91, True), (1.09, True), (1.11, False)]
)
def test_quaternion_within_ten_percent_is_normalised(length: float, accepted: bool) -> None:
    quat = [0.5 * length] * 4
    data = bytearray(rctp.encode(GOOD))
    struct.pack_into("<4f", data, 24, *quat)
    if accepted:
        assert rctp.decode(bytes(data)).q_vr_hand_xyzw == pytest.approx((0.5,) * 4, abs=1e-15)
    else:
        assert reason_of(bytes(data)) == "bad_quat"


@pytest.mark.parametrize("offset", (12, 16, 20))
@pytest.mark.parametrize(
    ("value", "accepted"), [(10.0, True), (-10.0, True), (10.00001, False), (-1e38, False)]
)
def test_position_limit(offset: int, value: float, accepted: bool) -> None:
    data = patched(offset, "<f", value)
    if accepted:
        assert value in rctp.decode(data).p_vr_hand_m
    else:
        assert reason_of(data) == "out_of_range"


@pytest.mark.parametrize(
    ("sent", "taken"), [(-0.0, 0.0), (-3.0, 0.0), (0.5, 0.5), (1.0, 1.0), (1e38, 1.0)]
)
def test_gripper_is_clamped(sent: float, taken: float) -> None:
    assert rctp.decode(patched(40, "<f", sent)).gripper_ratio == taken


def test_checks_run_in_the_documented_order() -> None:
    data = bytearray(rctp.encode(GOOD))
    struct.pack_into("<f", data, 12, 1e38)
    assert reason_of(bytes(data)) == "out_of_range"
    struct.pack_into("<4f", data, 24, 0.0, 0.0, 0.0, 0.0)
    assert reason_of(bytes(data)) == "bad_quat"
    struct.pack_into("<f", data, 40, math.nan)
    assert reason_of(bytes(data)) == "not_finite"
    data[0:4] = b"RTCP"
    assert reason_of(bytes(data)) == "bad_magic"
    assert reason_of(bytes(data[:44])) == "short"


def test_estop_bit_stands_whatever_else_is_wrong() -> None:
    data = bytearray(b"\xff" * 60)
    data[:4] = b"RCTP"
    assert reason_of(bytes(data)) == "not_finite"
    assert rctp.estop_bit(bytes(data)) is True


def test_trailing_bytes_are_ignored_unless_they_are_a_whole_trailer() -> None:
    body = rctp.encode(GOOD)
    signed = rctp.encode(replace(GOOD, trailer=TRAILER))
    assert len(signed) == 77
    assert rctp.decode(signed).trailer == TRAILER
    assert rctp.decode(signed + b"more").trailer == TRAILER
    for data in (body + b"\0", body + b"S1", signed[:-1], body + b"S2" + signed[47:], body * 1000):
        assert rctp.decode(data) == GOOD


def test_trailer_layout_is_the_documented_one() -> None:
    trailer = rctp.encode(replace(GOOD, trailer=TRAILER))[45:]
    assert trailer == b"S1\x03\x03" + bytes(range(8, 0, -1)) + b"\x4d\0\0\0" + bytes(range(16))


@pytest.mark.parametrize("tflags", range(16))
def test_trailer_flags(tflags: int) -> None:
    data = bytearray(rctp.encode(replace(GOOD, trailer=TRAILER)))
    data[48] = tflags | 0xF0
    trailer = rctp.decode(bytes(data)).trailer
    assert trailer is not None
    flags = (trailer.enable_held, trailer.enable_supported, trailer.left_hand)
    assert flags == (bool(tflags & 1), bool(tflags & 2), bool(tflags & 4))
    sent = rctp.encode(replace(GOOD, trailer=replace(trailer)))
    assert sent[48] == tflags & 0x07


@pytest.mark.parametrize(
    "wrong",
    [
        replace(TRAILER, tag=b"short"),
        replace(TRAILER, tag=bytes(17)),
        replace(TRAILER, key_id=256),
        replace(TRAILER, seq=1 << 32),
        replace(TRAILER, session=-1),
    ],
)
def test_a_trailer_that_does_not_fit_is_a_value_error(wrong: Trailer) -> None:
    with pytest.raises(ValueError, match="trailer"):
        rctp.encode(replace(GOOD, trailer=wrong))


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (replace(GOOD, t_send_s=math.nan), "not_finite"),
        (replace(GOOD, gripper_ratio=math.inf), "not_finite"),
        (replace(GOOD, q_vr_hand_xyzw=(0.0, 0.0, 0.0, 0.0)), "bad_quat"),
        (replace(GOOD, p_vr_hand_m=(0.0, 1e39, 0.0)), "out_of_range"),
    ],
)
def test_encode_refuses_what_decode_would(wrong: HandPacket, reason: str) -> None:
    with pytest.raises(RctpError) as caught:
        rctp.encode(wrong)
    assert caught.value.reason == reason


def test_codec_reasons_are_known_reasons() -> None:
    assert len(set(rctp.REJECT_REASONS)) == len(rctp.REJECT_REASONS) == 11


COORDINATES_M = st.floats(-10.0, 10.0)
COMPONENTS = st.floats(-1.0, 1.0)
QUATS = st.tuples(COMPONENTS, COMPONENTS, COMPONENTS, COMPONENTS).filter(
    lambda q: math.hypot(*q) > 0.1
)
TRAILERS = st.builds(
    Trailer,
    key_id=st.integers(0, 255),
    enable_held=st.booleans(),
    enable_supported=st.booleans(),
    left_hand=st.booleans(),
    session=st.integers(0, 2**64 - 1),
    seq=st.integers(0, 2**32 - 1),
    tag=st.binary(min_size=16, max_size=16),
)
PACKETS = st.builds(
    HandPacket,
    t_send_s=st.floats(allow_nan=False, allow_infinity=False),
    p_vr_hand_m=st.tuples(COORDINATES_M, COORDINATES_M, COORDINATES_M),
    q_vr_hand_xyzw=QUATS.map(lambda q: (*(c / math.hypot(*q) for c in q),)),
    gripper_ratio=st.floats(0.0, 1.0),
    tracking_valid=st.booleans(),
    estop=st.booleans(),
    trailer=st.none() | TRAILERS,
)


@settings(max_examples=200)
@given(PACKETS)
def test_round_trip(packet: HandPacket) -> None:
    back = rctp.decode(rctp.encode(packet))
    assert back.p_vr_hand_m == pytest.approx(packet.p_vr_hand_m, abs=1e-6)
    assert back.q_vr_hand_xyzw == pytest.approx(packet.q_vr_hand_xyzw, abs=1e-7)
    assert back.gripper_ratio == pytest.approx(packet.gripper_ratio, abs=1e-7)
    exact = replace(
        back,
        p_vr_hand_m=packet.p_vr_hand_m,
        q_vr_hand_xyzw=packet.q_vr_hand_xyzw,
        gripper_ratio=packet.gripper_ratio,
    )
    assert exact == packet


def is_sound(packet: HandPacket) -> bool:
    """Whether every promise of `decode` holds for what it returned."""
    floats = (packet.t_send_s, *packet.p_vr_hand_m, *packet.q_vr_hand_xyzw, packet.gripper_ratio)
    return (
        all(map(math.isfinite, floats))
        and abs(math.hypot(*packet.q_vr_hand_xyzw) - 1.0) < 1e-12
        and max(map(abs, packet.p_vr_hand_m)) <= 10.0
        and 0.0 <= packet.gripper_ratio <= 1.0
    )


def survives(data: bytes) -> bool:
    """Whether `data` is decoded soundly, or refused under a known reason."""
    try:
        return is_sound(rctp.decode(data))
    except RctpError as err:
        return err.reason in rctp.REJECT_REASONS


@settings(max_examples=300)
@given(st.binary(max_size=120), st.booleans())
def test_any_bytes_are_decoded_or_refused(data: bytes, with_magic: bool) -> None:
    data = rctp.MAGIC + data if with_magic else data
    assert survives(data)
    assert rctp.estop_bit(data) is (with_magic and len(data) >= 45 and bool(data[44] & 2))


@settings(max_examples=300)
@given(st.integers(0, 76), st.integers(1, 255))
def test_one_byte_mutations_are_decoded_or_refused(index: int, flip: int) -> None:
    data = bytearray(rctp.encode(replace(GOOD, trailer=TRAILER)))
    data[index] ^= flip
    assert survives(bytes(data))
