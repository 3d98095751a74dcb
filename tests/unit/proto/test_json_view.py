"""The JSON shape of the tap: names, exact numbers, nothing that JSON lacks."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from proto.json_view import MAX_TRUSTED_AGE_NS, encode_json, json_fields, sent_at_s, slashed
from proto.messages import Message
from proto.topics import TOPICS
from tests import samples


def strict(payload: bytes) -> dict[str, Any]:
    """Parses as a strict reader does: no NaN, no Infinity."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    shape = json.loads(payload, parse_constant=refuse)
    assert isinstance(shape, dict)
    return shape


@pytest.mark.parametrize("message", samples.ONE_OF_EACH, ids=lambda m: type(m).__name__)
def test_every_message_keeps_its_names_and_values(message: Message) -> None:
    shape = strict(encode_json(message, 1.5))
    assert shape.pop("timestamp") == 1.5
    for name in message.__dataclass_fields__:
        value = getattr(message, name)
        if value is None:
            assert name not in shape
        elif isinstance(value, tuple):
            assert shape.pop(name) == list(value)
        elif not isinstance(value, dict):
            assert shape.pop(name) == value
    assert set(shape) <= {"args", "counters", "rates", "details"}


def test_u64_values_are_exact() -> None:
    shape = strict(encode_json(samples.hand_pose(boot=2**64 - 1), 0.0))
    assert (shape["session"], shape["boot"]) == (2**64 - 1, 2**64 - 1)


def test_null_entries_of_maps_are_absent_and_lists_keep_their_positions() -> None:
    details = {"owner": None, "inner": {"a": None, "b": 1}, "list": [1, None]}
    shape = json_fields(samples.service_health(details=details))
    assert shape["details"] == {"inner": {"b": 1}, "list": [1, None]}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_an_error_not_bad_json(value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode_json(samples.arm_state(latency_ms=value), 0.0)


@pytest.mark.parametrize(
    ("age_ns", "expected_s"),
    [
        (0, 1000.0),
        (250_000_000, 999.75),
        (MAX_TRUSTED_AGE_NS, 940.0),
        (MAX_TRUSTED_AGE_NS + 1, 1000.0),
        (-1, 1000.0),
    ],
)
def test_the_stamp_is_when_it_was_sent(age_ns: int, expected_s: float) -> None:
    now_ns = 10**15
    assert sent_at_s(now_ns - age_ns, now_ns, 1000.0) == expected_s


def test_topics_are_written_with_slashes_and_none_begins_another() -> None:
    names = [slashed(topic.name) for topic in TOPICS]
    assert "arm_state/right" in names
    assert not [(a, b) for a in names for b in names if a != b and b.startswith(a)]
