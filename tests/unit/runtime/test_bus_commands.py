"""Operator commands: stops first, never stored for nobody, garbage and floods harmless."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import zmq

from runtime import bus
from tests import samples
from tests.unit.runtime.bus_bench import PATIENCE_MS, US, Bus, private_bus


@pytest.fixture
def here() -> Iterator[Bus]:
    """A bus of one test alone."""
    with private_bus() as found:
        yield found


class Desk:
    """A command server and a client of it."""

    def __init__(self, here: Bus) -> None:
        self.server = here.server()
        self.client = here.client()

    def read(self, count: int) -> list[Any]:
        """Commands, in the order that drains give them, until `count` arrived."""
        found: list[Any] = []
        while len(found) < count:
            assert self.server.socket.poll(PATIENCE_MS), f"{len(found)} of {count} came"
            found += self.server.drain()
        return found


def test_a_command_arrives_with_its_header(here: Bus) -> None:
    desk = Desk(here)
    assert desk.client.send(samples.operator_command(), PATIENCE_MS)
    expected = samples.operator_command(
        seq=1, boot=US.boot, host=US.host, t_mono_ns=here.clock.now_ns()
    )
    assert desk.read(1) == [expected]


def test_stops_come_first_and_the_rest_in_order(here: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(here)
    verbs = ("arm", "home", "estop", "engage", "estop")
    for number, verb in enumerate(verbs):
        assert desk.client.send(samples.operator_command(id=number, verb=verb), PATIENCE_MS)
    waiting: list[list[bytes]] = []
    while len(waiting) < len(verbs):
        assert desk.server.socket.poll(PATIENCE_MS)
        waiting.append(desk.server.socket.recv_multipart())
    monkeypatch.setattr(bus, "_waiting", lambda *_: waiting)
    assert [command.id for command in desk.server.drain()] == [2, 4, 0, 1, 3]


def test_a_command_to_nobody_is_refused_and_never_stored(here: Bus) -> None:
    client = here.client()
    assert not client.send(samples.operator_command(id=1), timeout_ms=20)
    server = here.server()
    assert client.send(samples.operator_command(id=2), PATIENCE_MS)
    assert server.socket.poll(PATIENCE_MS)
    assert [command.id for command in server.drain()] == [2]


def test_a_command_to_one_who_left_is_refused(here: Bus) -> None:
    desk = Desk(here)
    assert desk.client.send(samples.operator_command(), PATIENCE_MS)
    desk.server.close()
    while desk.client.socket.poll(1, zmq.POLLOUT):  # until the client has seen it go
        pass
    assert not desk.client.send(samples.operator_command(), timeout_ms=20)


def test_one_who_leaves_between_the_look_and_the_sending_is_a_refusal(
    here: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = here.client()
    monkeypatch.setattr(client.socket, "poll", lambda *_: zmq.POLLOUT)
    assert not client.send(samples.operator_command())


def test_garbage_among_commands_is_counted(here: Bus) -> None:
    desk = Desk(here)
    assert desk.client.send(samples.operator_command(id=1), PATIENCE_MS)
    for frames in ([b"x"], [b"a", b"b", b"c"], [b"a", b"\xc1"], [b"a", b"\x80"]):
        desk.client.socket.send_multipart(frames)
    assert desk.client.send(samples.operator_command(id=2), PATIENCE_MS)
    assert [command.id for command in desk.read(2)] == [1, 2]
    assert desk.server.counters == {"bad_frames": 2, "bad_msgpack": 1, "missing_field": 1}


def test_an_oversized_command_costs_its_sender_the_connection_and_nobody_else(here: Bus) -> None:
    desk = Desk(here)
    other = here.client()
    assert desk.client.send(samples.operator_command(id=1), PATIENCE_MS)
    assert other.send(samples.operator_command(id=2), PATIENCE_MS)
    desk.client.socket.send_multipart((b"a", bytes(bus.MAX_COMMAND_BYTES + 1)))
    assert other.send(samples.operator_command(id=3), PATIENCE_MS)
    assert sorted(command.id for command in desk.read(3)) == [1, 2, 3]
    assert here.client().send(samples.operator_command(id=4), PATIENCE_MS)
    assert desk.read(1)[0].id == 4
    assert not desk.server.counters


def test_a_flood_of_commands_is_read_a_portion_at_a_time(here: Bus) -> None:
    desk = Desk(here)
    assert desk.client.send(samples.operator_command(id=0), PATIENCE_MS)
    for _ in range(300):
        desk.client.socket.send(b"x")
    assert desk.client.send(samples.operator_command(id=1), PATIENCE_MS)
    before = 0
    commands: list[int] = []
    while len(commands) < 2:
        assert desk.server.socket.poll(PATIENCE_MS)
        commands += [command.id for command in desk.server.drain()]
        after = desk.server.counters["bad_frames"] + len(commands)
        assert after - before <= bus.COMMAND_DRAIN_LIMIT
        before = after
    assert commands == [0, 1]
    assert desk.server.counters["bad_frames"] == 300
