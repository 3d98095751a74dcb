"""Bus payloads of every version so far decode to what they always meant, and encode again."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgpack
import pytest

from proto import messages, topics
from proto.envelope import EnvelopeError, decode, encode
from proto.messages import ArmTarget, Message

FOLDER = Path(messages.__file__).parent / "bus_vectors"
FILES = sorted(FOLDER.glob("messages_v*.json"))
BOOKS: dict[str, Any] = {path.stem: json.loads(path.read_text()) for path in FILES}
GOOD = [
    pytest.param(vector, id=f"{name}-{vector['message']}-{vector['what']}")
    for name, book in BOOKS.items()
    for vector in book["good"]
]
BAD = [
    pytest.param(vector, id=f"{name}-{vector['what']}")
    for name, book in BOOKS.items()
    for vector in book["bad"]
]


def listed(value: object) -> object:
    """Tuples as the lists of JSON."""
    return list(value) if isinstance(value, tuple) else value


def decoded(vector: dict[str, Any]) -> Message:
    kind: type[Message] = getattr(messages, vector["message"])
    return decode(kind, bytes.fromhex(vector["hex"]))


@pytest.mark.parametrize("vector", GOOD)
def test_good_payloads_decode_to_their_fields_and_defaults(vector: dict[str, Any]) -> None:
    message = decoded(vector)
    expected: dict[str, Any] = vector["expect"]
    for field in fields(message):
        value = getattr(message, field.name)
        if field.name in expected:
            assert listed(value) == expected[field.name], field.name
        else:
            assert value == field.default, field.name


@pytest.mark.parametrize("vector", GOOD)
def test_every_message_round_trips(vector: dict[str, Any]) -> None:
    message = decoded(vector)
    payload = encode(message)
    assert decode(type(message), payload) == message
    assert encode(decode(type(message), payload)) == payload


def test_the_same_fields_give_the_same_bytes() -> None:
    """Byte for byte what another msgpack writer makes of the same map, in our order of fields."""
    exact = [book for book in BOOKS["messages_v1"]["good"] if "ignored" not in book["what"]]
    complete = [v for v in exact if len(v["expect"]) == len(fields(decoded(v)))]
    assert len(complete) >= 6
    for vector in complete:
        mine = msgpack.unpackb(encode(decoded(vector)))
        assert mine == msgpack.unpackb(bytes.fromhex(vector["hex"]))


@pytest.mark.parametrize("vector", BAD)
def test_bad_payloads_are_refused_for_their_reason(vector: dict[str, Any]) -> None:
    with pytest.raises(EnvelopeError) as caught:
        decode(ArmTarget, bytes.fromhex(vector["hex"]))
    assert caught.value.reason == vector["reject"]


def test_every_message_of_the_tables_has_a_vector() -> None:
    kinds = {topic.message.__name__ for topic in (*topics.TOPICS, topics.health_topic("x"))}
    kinds.add(topics.COMMAND_MESSAGE.__name__)
    assert {vector["message"] for vector in BOOKS["messages_v1"]["good"]} == kinds
