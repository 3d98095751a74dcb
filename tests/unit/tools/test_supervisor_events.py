"""The listener protocol: any cut, any garbage, always in step again with the next event."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.supervisor_events import HEADER_MAX_BYTES, Event, EventParser, tokens


def notification(name: str, payload: bytes) -> bytes:
    """As supervisord 4.3 sends it."""
    header = f"ver:3.0 server:supervisor serial:21 pool:hangcheck poolserial:10 eventname:{name}"
    return f"{header} len:{len(payload)}\n".encode() + payload


EXITED = notification(
    "PROCESS_STATE_EXITED",
    b"processname:arm-right groupname:arm-right from_state:RUNNING expected:0 pid:2766",
)
TICK = notification("TICK_5", b"when:1201063880")


def test_an_event_has_its_name_and_fields() -> None:
    parser = EventParser()
    assert parser.feed(EXITED) == [
        Event(
            "PROCESS_STATE_EXITED",
            {
                "processname": "arm-right",
                "groupname": "arm-right",
                "from_state": "RUNNING",
                "expected": "0",
                "pid": "2766",
            },
        )
    ]
    assert parser.feed(TICK) == [Event("TICK_5", {"when": "1201063880"})]
    assert parser.bad_headers == 0


@given(st.lists(st.integers(0, len(EXITED + TICK)), max_size=8))
def test_the_cut_of_the_stream_does_not_matter(cuts: list[int]) -> None:
    stream = EXITED + TICK
    edges = [0, *sorted(cuts), len(stream)]
    parser = EventParser()
    found = [event for start, end in pairwise(edges) for event in parser.feed(stream[start:end])]
    assert [event.name for event in found if event] == ["PROCESS_STATE_EXITED", "TICK_5"]
    assert parser.bad_headers == 0


def test_only_the_first_payload_line_holds_fields() -> None:
    payload = b"processname:a pid:1\nnot:a field"
    header = b"eventname:PROCESS_LOG len:%d\n" % len(payload)
    assert EventParser().feed(header + payload) == [
        Event("PROCESS_LOG", {"processname": "a", "pid": "1"})
    ]


def test_an_empty_payload_is_an_event() -> None:
    assert EventParser().feed(b"eventname:X len:0\n") == [Event("X", {})]


@pytest.mark.parametrize(
    "header",
    [
        b"\n",
        b"nonsense\n",
        b"eventname:X\n",
        b"len:5\n",
        b"eventname:X len:\n",
        b"eventname:X len:-1\n",
        b"eventname:X len:1e3\n",
        b"eventname:X len:9999999\n",
        b"eventname:X len:99999999999999999999\n",
        "eventname:X len:٣\n".encode(),
        b"\xff\xfe\x00\n",
        b"x" * (HEADER_MAX_BYTES + 1),
    ],
)
def test_a_bad_header_is_answered_once_and_the_next_event_is_whole(header: bytes) -> None:
    parser = EventParser()
    assert parser.feed(header + b"its payload") == [None]
    assert parser.bad_headers == 1
    assert parser.feed(TICK) == [Event("TICK_5", {"when": "1201063880"})]


def test_a_long_header_still_coming_is_waited_for() -> None:
    parser = EventParser()
    assert parser.feed(b"x" * HEADER_MAX_BYTES) == []


@given(st.lists(st.binary(max_size=200), max_size=10))
def test_any_bytes_are_survived(chunks: list[bytes]) -> None:
    parser = EventParser()
    for chunk in chunks:
        for event in parser.feed(chunk):
            assert event is None or event.name


def test_tokens_keep_colons_in_values_and_leave_out_other_words() -> None:
    assert tokens(b"a:1 word b:x:y :v c:") == {"a": "1", "b": "x:y", "": "v", "c": ""}
