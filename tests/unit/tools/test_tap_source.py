"""What counts as a message of the tap, and which topics a prefix names."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.tap_source import Item, parse, topics_under


def test_a_message() -> None:
    assert parse([b"arm_state/right", b'{"a": 1}']) == Item("arm_state/right", {"a": 1})


@pytest.mark.parametrize(
    "frames",
    [
        [],
        [b"arm_state/right"],
        [b"t", b"{}", b"1.0"],
        [b"t", b""],
        [b"t", b"[1]"],
        [b"t", b"{"],
        [b"t", b"\xff"],
        [b"\xff", b"{}"],
        [b"t", b"[" * 100_000],
    ],
)
def test_anything_else_is_none(frames: list[bytes]) -> None:
    assert parse(frames) is None


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=40), max_size=4))
def test_any_bytes(frames: list[bytes]) -> None:
    item = parse(frames)
    assert item is None or json.loads(frames[1]) == item.shape


def test_prefixes() -> None:
    assert [topic.name for topic in topics_under("arm_state/")] == [
        "arm_state.right",
        "arm_state.left",
    ]
    assert topics_under("arm_state.right") == []
    assert len(topics_under("")) > 10
