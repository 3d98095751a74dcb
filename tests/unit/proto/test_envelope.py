"""Any bytes give a message or a named reason; what is decoded has the types that it claims."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proto.envelope import (
    MAX_DEPTH,
    MAX_ITEMS,
    MAX_MESSAGE_BYTES,
    EnvelopeError,
    decode,
    encode,
    encode_stamped,
)
from proto.messages import (
    ArmState,
    ArmTarget,
    HandPose,
    Message,
    OperatorCommand,
    ServiceHealth,
)
from tests import samples

KINDS: tuple[type[Message], ...] = (HandPose, ArmTarget, ArmState, OperatorCommand, ServiceHealth)
REASONS = {"too_long", "bad_msgpack", "not_a_map", "missing_field", "bad_field"}
QUICK = settings(max_examples=100)


def packed(message: Message, **changes: Any) -> bytes:
    """The payload with fields changed to whatever a sender might put there."""
    shape = {field.name: getattr(message, field.name) for field in fields(message)}
    data: bytes = msgpack.packb({**shape, **changes})
    return data


def reason_of(kind: type[Message], payload: bytes) -> str:
    """Why `payload` is refused."""
    with pytest.raises(EnvelopeError) as caught:
        decode(kind, payload)
    assert str(caught.value).startswith(f"{caught.value.reason}: ")
    return caught.value.reason


@pytest.mark.parametrize("message", samples.ONE_OF_EACH, ids=lambda m: type(m).__name__)
def test_every_message_survives(message: Message) -> None:
    assert decode(type(message), encode(message)) == message


def test_a_header_is_put_over_the_message() -> None:
    header = {"seq": 9, "boot": 2**64 - 1, "host": 3, "t_mono_ns": 4}
    message = samples.hand_pose(seq=1, boot=1)
    stamped = decode(HandPose, encode_stamped(message, header))
    assert stamped == samples.hand_pose(seq=9, boot=2**64 - 1, host=3, t_mono_ns=4)
    assert message.seq == 1


def padded(size: int) -> bytes:
    """A good HandPose with an unknown field, `size` bytes in all."""
    empty = len(packed(samples.hand_pose(), x="y" * 60_000)) - 60_000
    return packed(samples.hand_pose(), x="y" * (size - empty))


def test_the_limit_of_size() -> None:
    # A shorter text has a shorter length field, so the pad is aimed at and then counted.
    fits = next(p for p in map(padded, range(16_370, 16_400)) if len(p) == MAX_MESSAGE_BYTES)
    assert decode(HandPose, fits).side == "right"
    assert reason_of(HandPose, fits + b"\x00") == "too_long"
    assert reason_of(HandPose, bytes(65_536)) == "too_long"


def nested(depth: int, around: Any) -> Any:
    """Lists in lists."""
    for _ in range(depth):
        around = [around]
    return around


BAD_BYTES = {
    "nothing": b"",
    "never used": b"\xc1",
    "cut": packed(samples.hand_pose())[:-1],
    "one more": packed(samples.hand_pose()) + b"\xc0",
    "two maps": packed(samples.hand_pose()) * 2,
    "4 billion entries": b"\xdf\xff\xff\xff\xff",
    "4 billion items": b"\xdd\xff\xff\xff\xff",
    "4 GB of text": b"\xdb\xff\xff\xff\xff",
    "15 000 lists deep": b"\x91" * 15_000,
    "a list as a key": b"\x81\x90\x01",
    "a number as a key": msgpack.packb({1: 1}),
    "null as a key": b"\x81\xc0\x01",
    "not UTF-8": b"\x81\xa1v\xa1\xff",
    "a key that is not UTF-8": b"\x81\xa1\xff\x01",
    "an extension": b"\x81\xa1v\xc7\x03\x01abc",
    "a timestamp": b"\x81\xa1v\xd6\xff\x00\x00\x00\x00",
    "a list too long": msgpack.packb({"x": [0] * (MAX_ITEMS + 1)}),
    "a map too long": msgpack.packb({str(n): 0 for n in range(MAX_ITEMS + 1)}),
}


@pytest.mark.parametrize("payload", BAD_BYTES.values(), ids=BAD_BYTES)
def test_bytes_that_are_no_message(payload: bytes) -> None:
    assert reason_of(HandPose, payload) == "bad_msgpack"


@pytest.mark.parametrize("value", [None, True, 1, 1.5, "x", [], [{}]])
def test_a_value_that_is_no_map(value: Any) -> None:
    assert reason_of(HandPose, msgpack.packb(value)) == "not_a_map"


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_map_lacks_a_field(kind: type[Message]) -> None:
    assert reason_of(kind, b"\x80") == "missing_field"


@pytest.mark.parametrize("name", [field.name for field in fields(HandPose)][5:])
def test_each_required_field(name: str) -> None:
    shape = msgpack.unpackb(packed(samples.hand_pose()))
    del shape[name]
    with pytest.raises(EnvelopeError, match=f"missing_field: HandPose.{name}$"):
        decode(HandPose, msgpack.packb(shape))


def test_a_missing_optional_field_has_its_default_and_an_unknown_one_is_ignored() -> None:
    shape = {"side": "left", "driver": "sim", "simulated": True, "state": "HOLD", "reason": ""}
    message = decode(ArmState, msgpack.packb({**shape, "t_tick_ns": 5, "later": {"a": [1]}}))
    assert message == ArmState(
        side="left", driver="sim", simulated=True, state="HOLD", reason="", t_tick_ns=5
    )


def test_byte_keys_are_not_the_names_of_fields() -> None:
    shape = {
        key.encode(): value for key, value in msgpack.unpackb(packed(samples.hand_pose())).items()
    }
    assert reason_of(HandPose, msgpack.packb(shape)) == "missing_field"


def test_of_a_field_given_twice_the_last_counts() -> None:
    """msgpack allows it; both values are checked types, so nothing unchecked gets through."""
    payload = packed(samples.hand_pose())
    count = len(fields(HandPose)) + 1
    assert payload[0] == 0xDE
    twice = b"\xde" + count.to_bytes(2, "big") + payload[3:] + msgpack.packb("estop") + b"\xc3"
    assert decode(HandPose, twice).estop is True


WRONG: list[tuple[Message, str, Any]] = [
    (samples.hand_pose(), "side", "up"),
    (samples.hand_pose(), "side", None),
    (samples.hand_pose(), "side", ["right"]),
    (samples.hand_pose(), "side", {"right": 1}),
    (samples.hand_pose(), "session", 1.0),
    (samples.hand_pose(), "session", True),
    (samples.hand_pose(), "session", "1"),
    (samples.hand_pose(), "session", None),
    (samples.hand_pose(), "estop", 1),
    (samples.hand_pose(), "estop", "true"),
    (samples.hand_pose(), "estop", None),
    (samples.hand_pose(), "enable", 0),
    (samples.hand_pose(), "t_send_s", "12"),
    (samples.hand_pose(), "t_send_s", math.nan),
    (samples.hand_pose(), "t_send_s", math.inf),
    (samples.hand_pose(), "t_send_s", -math.inf),
    (samples.hand_pose(), "t_send_s", False),
    (samples.hand_pose(), "p_vr_hand_m", [0.0, 0.0]),
    (samples.hand_pose(), "p_vr_hand_m", [0.0, 0.0, 0.0, 0.0]),
    (samples.hand_pose(), "p_vr_hand_m", [0.0, 0.0, math.nan]),
    (samples.hand_pose(), "p_vr_hand_m", [0.0, 0.0, None]),
    (samples.hand_pose(), "p_vr_hand_m", [0.0, 0.0, True]),
    (samples.hand_pose(), "p_vr_hand_m", [[0.0], [0.0], [0.0]]),
    (samples.hand_pose(), "p_vr_hand_m", {"0": 0.0, "1": 0.0, "2": 0.0}),
    (samples.hand_pose(), "p_vr_hand_m", 0.0),
    (samples.hand_pose(), "p_vr_hand_m", b"\x00\x00\x00"),
    (samples.arm_target(), "mode", b"relative"),
    (samples.arm_target(), "reason", "because"),
    (samples.arm_target(), "clamped", [True, False]),
    (samples.arm_target(), "clamped", [1, 0, 0]),
    (samples.arm_state(), "state", "hold"),
    (samples.arm_state(), "faults", ["a", 1]),
    (samples.arm_state(), "faults", "a"),
    (samples.arm_state(), "meas_q_rad", [0.0, math.inf]),
    (samples.arm_state(), "slip_p_m", None),
    (samples.service_health(), "counters", {"a": 1.5}),
    (samples.service_health(), "counters", {"a": None}),
    (samples.service_health(), "counters", {b"a": 1}),
    (samples.service_health(), "counters", [1]),
    (samples.service_health(), "counters", None),
    (samples.service_health(), "rates", {"a": math.nan}),
    (samples.service_health(), "details", {"a": math.nan}),
    (samples.service_health(), "details", {"a": b"x"}),
    (samples.service_health(), "details", {"a": {b"b": 1}}),
    (samples.service_health(), "details", {"a": [math.inf]}),
    (samples.operator_command(), "args", {"a": nested(MAX_DEPTH, 1)}),
    (samples.operator_command(), "args", []),
    (samples.operator_command(), "to_boot", "any"),
]


@pytest.mark.parametrize(
    ("message", "name", "value"),
    WRONG,
    ids=[f"{type(message).__name__}.{name}={value!r}" for message, name, value in WRONG],
)
def test_a_field_of_the_wrong_type_or_value(message: Message, name: str, value: Any) -> None:
    payload = packed(message, **{name: value})
    with pytest.raises(EnvelopeError, match=rf"^bad_field: {type(message).__name__}.{name}: "):
        decode(type(message), payload)


def test_whole_numbers_are_numbers_and_come_out_as_floats() -> None:
    message = decode(HandPose, packed(samples.hand_pose(), t_send_s=3, p_vr_hand_m=[1, 2, 2**63]))
    assert (message.t_send_s, message.p_vr_hand_m) == (3.0, (1.0, 2.0, 2.0**63))
    assert {type(value) for value in message.p_vr_hand_m or ()} == {float}


@pytest.mark.parametrize("value", [0, 2**63, 2**64 - 1, -(2**63)])
def test_all_64_bits_of_a_whole_number(value: int) -> None:
    assert decode(HandPose, packed(samples.hand_pose(), session=value)).session == value


def test_json_like_data_of_bounded_depth_passes_as_it_is() -> None:
    args = {"a": nested(MAX_DEPTH - 1, 1), "b": {"c": [None, True, 1, 1.5, "x"]}}
    assert decode(OperatorCommand, packed(samples.operator_command(), args=args)).args == args


@QUICK
@given(st.sampled_from(KINDS), st.binary(max_size=200))
def test_any_bytes(kind: type[Message], payload: bytes) -> None:
    assert reason_of(kind, payload) in REASONS


words = st.text(max_size=6)
plain = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | words
json_like = st.recursive(
    plain | st.binary(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)


@QUICK
@given(st.sampled_from(samples.ONE_OF_EACH), st.data())
def test_any_value_in_any_field_is_refused_or_survives(
    message: Message, data: st.DataObject
) -> None:
    """What is accepted encodes to what decodes to itself: nothing half-checked gets through."""
    name = data.draw(st.sampled_from([field.name for field in fields(message)]))
    payload = packed(message, **{name: data.draw(json_like)})
    try:
        found = decode(type(message), payload)
    except EnvelopeError as error:
        assert error.reason in REASONS
    else:
        assert decode(type(message), encode(found)) == found


@QUICK
@given(st.sampled_from(samples.ONE_OF_EACH), st.data())
def test_any_byte_changed(message: Message, data: st.DataObject) -> None:
    payload = bytearray(encode(message))
    place = data.draw(st.integers(0, len(payload) - 1))
    payload[place] = data.draw(st.integers(0, 255))
    try:
        found = decode(type(message), bytes(payload))
    except EnvelopeError as error:
        assert error.reason in REASONS
    else:
        assert decode(type(message), encode(found)) == found


finite = st.floats(allow_nan=False, allow_infinity=False)


@QUICK
@given(st.tuples(finite, finite, finite), st.none() | finite, st.integers(0, 2**64 - 1))
def test_finite_numbers_are_exact(
    position: tuple[float, float, float], sent: float | None, session: int
) -> None:
    message = samples.hand_pose(p_vr_hand_m=position, t_send_s=sent, session=session)
    assert decode(HandPose, encode(message)) == message
