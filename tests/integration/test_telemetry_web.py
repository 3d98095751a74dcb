"""/health and /metrics of a real telemetry process, and callers that mean no good."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from proto.reasons import SIDES
from proto.registry import HEALTH_FAMILIES
from proto.topics import ARM_STATES, health_topic
from tests import samples
from tests.integration.telemetry_process import Station, station

pytestmark = pytest.mark.integration

OTHERS = tuple(family for family in HEALTH_FAMILIES if family != "telemetry")


@pytest.fixture(scope="module")
def live() -> Iterator[Station]:
    """One telemetry process for the tests that leave it as it was."""
    with station() as found:
        yield found


@pytest.fixture
def own() -> Iterator[Station]:
    """A telemetry process for one test alone."""
    with station() as found:
        yield found


def test_health_follows_arms_and_services(own: Station) -> None:
    code, body = own.health()
    assert (code, body["status"]) == (503, "unhealthy")

    def healthy(state: str = "HOLD") -> int:
        for side, topic in zip(SIDES, ARM_STATES, strict=True):
            own.publish(topic, samples.arm_state(side=side, state=state, reason="not_engaged"))
        for family in OTHERS:
            own.publish(health_topic(family), samples.service_health(name=family))
        return own.health()[0]

    own.until(lambda: healthy() == 200, "a healthy stack")
    assert own.health()[1]["reasons"] == []
    own.until(lambda: healthy("FAULT") == 503, "the fault to show")
    assert own.health()[1]["reasons"][0] == "right: FAULT: not_engaged"
    text = own.get("/metrics")[1].decode()
    assert 'farhand_arm_state{side="left",state="FAULT"} 1.0' in text
    assert 'farhand_service_count_total{counter="short",service="ingest"} 1.0' in text


def test_repeated_exits_are_told(own: Station) -> None:
    entry = {
        "exits_60s": 5,
        "hang_kills": 0,
        "last_exit": "unexpected",
        "t_last_exit_ns": 1,
        "reason": "repeated_exits",
    }
    (own.run_dir / "exits.json").write_text(json.dumps({"mapper": entry}))

    def told() -> bool:
        return any("mapper: repeated_exits" in line for line in own.health()[1]["reasons"])

    own.until(told, "the exits to show")


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (b"POST /health HTTP/1.1\r\nContent-Length: 3\r\n\r\n", b"405"),
        (b"DELETE /health HTTP/1.0\r\n\r\n", b"405"),
        (b"GET /nothing HTTP/1.0\r\n\r\n", b"404"),
        (b"GET /health?x=1 HTTP/1.0\r\n\r\n", b"503"),
        (b"GET /" + b"a" * 200 + b" HTTP/1.0\r\n\r\n", b"414"),
        (b"GET /../../etc/passwd HTTP/1.0\r\n\r\n", b"404"),
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET /health HTTP/9.9\r\n\r\n", b"505"),
    ],
)
def test_http_answers(live: Station, request_head: bytes, status: bytes) -> None:
    with socket.create_connection(("127.0.0.1", live.http_port), timeout=5) as caller:
        caller.sendall(request_head)
        assert caller.recv(100).split()[1] == status


@pytest.mark.parametrize("head", [b"\r\n\r\n", b"GET /x HTTP/1.0\r\nA: " + b"b" * 9000, b""])
def test_http_closes_what_makes_no_sense(live: Station, head: bytes) -> None:
    with socket.create_connection(("127.0.0.1", live.http_port), timeout=5) as caller:
        answer = b""
        with suppress(OSError):  # a reset: what it did not read
            caller.sendall(head)
            caller.shutdown(socket.SHUT_WR)
            answer = caller.recv(100)
    assert answer == b""
    assert live.get("/metrics")[0] == 200


def test_callers_that_dawdle_hold_no_more_than_their_slots(own: Station) -> None:
    """Sixteen idle callers fill the server; one leaves, and it answers again at once."""
    idle = [socket.create_connection(("127.0.0.1", own.http_port), timeout=5) for _ in range(40)]
    try:
        own.until(lambda: sum(map(_was_closed, idle)) == 24, "the callers beyond the limit to go")
        for caller in idle:
            caller.close()
        own.until(lambda: _ok(own), "an answer")
    finally:
        for caller in idle:
            caller.close()


def _was_closed(caller: socket.socket) -> bool:
    caller.setblocking(False)
    try:
        return caller.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def _ok(found: Station) -> bool:
    try:
        return found.get("/metrics")[0] == 200
    except OSError:
        return False
