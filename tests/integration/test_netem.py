"""The network impairment as a real process between real loopback sockets."""

from __future__ import annotations

import json
import socket
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from tests.integration.sim_process import PATIENCE_S, Program, port_of, udp

pytestmark = pytest.mark.integration


class Rig:
    """A target socket, the relay in front of it and as many clients as asked for."""

    def __init__(self, stack: ExitStack, *args: str) -> None:
        self._stack = stack
        self.target = stack.enter_context(udp())
        to = f"127.0.0.1:{port_of(self.target)}"
        self.process = stack.enter_context(
            Program("sim.netem", "--listen", "127.0.0.1:0", "--to", to, *args)
        )
        self.port = listening_port(self.process)

    def client(self) -> socket.socket:
        sock = self._stack.enter_context(udp())
        sock.connect(("127.0.0.1", self.port))
        return sock

    def control(self, line: str) -> str:
        self.process.tell(line)
        return self.process.log_line()

    def end(self) -> dict[str, Any]:
        """SIGTERM, a clean exit, and the counters."""
        out, _ = self.process.terminated()
        (relay,) = json.loads(out.splitlines()[-1])["netem"]
        assert isinstance(relay, dict)
        return relay


def listening_port(process: Program) -> int:
    line = process.log_line()
    assert line.startswith("netem_started "), line
    return int(line.split("listen=127.0.0.1:")[1].split()[0])


def test_answers_reach_the_client_that_asked() -> None:
    with ExitStack() as stack:
        rig = Rig(stack)
        clients = [rig.client() for _ in range(3)]
        for number, client in enumerate(clients):
            client.send(bytes([number]))
            data, source = rig.target.recvfrom(100)
            rig.target.sendto(data + b"!", source)
        assert [client.recv(100) for client in clients] == [b"\x00!", b"\x01!", b"\x02!"]
        report = rig.end()
        assert report["clients"] == 3
        assert report["up"]["delivered"] == report["down"]["delivered"] == 3


def survivors(seed: int) -> list[int]:
    with ExitStack() as stack:
        rig = Rig(stack, "--seed", str(seed), "--loss", "0.5")
        client = rig.client()
        for number in range(60):
            client.send(bytes([number]))
        assert rig.control("loss 0").startswith("netem_control ")
        client.send(b"\xff")
        seen: list[int] = []
        while not seen or seen[-1] != 0xFF:
            seen.append(rig.target.recv(100)[0])
        assert rig.end()["up"]["lost"] == 60 - len(seen) + 1
        return seen


def test_same_seed_loses_the_same_packets() -> None:
    first = survivors(5)
    assert 15 < len(first) < 45
    assert survivors(5) == first
    assert survivors(6) != first


def test_blackhole_on_cue_one_way_and_back() -> None:
    with ExitStack() as stack:
        rig = Rig(stack)
        client = rig.client()
        client.send(b"1")
        _, source = rig.target.recvfrom(100)
        assert rig.control("up blackhole on").startswith("netem_control ")
        client.send(b"2")
        rig.target.sendto(b"down is open", source)
        assert client.recv(100) == b"down is open"
        assert rig.control("blackhole off").startswith("netem_control ")
        client.send(b"3")
        assert rig.target.recv(100) == b"3"
        assert rig.end()["up"]["blackholed"] == 1


def test_a_wrong_control_line_is_refused_by_name_and_changes_nothing() -> None:
    with ExitStack() as stack:
        rig = Rig(stack)
        assert "valid: profile NAME" in rig.control("gremlins 3")
        assert "outside 0...1" in rig.control("loss 7")
        assert "needs a setting" in rig.control("up")
        client = rig.client()
        client.send(b"still here")
        assert rig.target.recv(100) == b"still here"
        assert rig.end()["up"]["lost"] == 0


def test_a_closed_target_port_is_counted_and_survived() -> None:
    with ExitStack() as stack:
        rig = Rig(stack)
        address = rig.target.getsockname()
        rig.target.close()
        client = rig.client()
        refusals = 0
        while not refusals:
            client.send(b"nobody home")
            rig.process.tell("stats")
            (relay,) = json.loads(rig.process.out_line())["netem"]
            refusals = relay["target_refusals"]
            rig.process.log_line()
        revived = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        revived.settimeout(0.05)
        revived.bind(address)
        got = b""
        for _ in range(int(PATIENCE_S / 0.05)):
            client.send(b"hello again")
            with suppress(TimeoutError):
                got = revived.recv(100)
            if got == b"hello again":
                break
        assert got == b"hello again"
        assert rig.end()["send_errors"] == 0


def test_ends_by_itself_after_its_duration_and_on_quit() -> None:
    for last_words, args in ((None, ("--duration-s", "0.05")), ("quit", ())):
        with ExitStack() as stack:
            rig = Rig(stack, *args)
            if last_words is not None:
                rig.process.tell(last_words)
            out, _ = rig.process.stopped()
            assert rig.process.returncode == 0
            assert json.loads(out)["netem"][0]["up"]["received"] == 0


def test_two_hands_through_one_process() -> None:
    with ExitStack() as stack:
        targets = [stack.enter_context(udp()) for _ in range(2)]
        args = []
        for target in targets:
            args += ["--listen", "127.0.0.1:0", "--to", f"127.0.0.1:{port_of(target)}"]
        process = stack.enter_context(Program("sim.netem", *args))
        sender = stack.enter_context(udp())
        for number, target in enumerate(targets):
            sender.sendto(bytes([number]), ("127.0.0.1", listening_port(process)))
            assert target.recv(10) == bytes([number])


@pytest.mark.parametrize(
    ("args", "names"),
    [
        (("--profile", "wifi9"), "wifi6, wifi5, wan, bad"),
        (("--loss", "2"), "outside 0...1"),
        (("--listen", "127.0.0.1:0"), "as many --to as --listen"),
        (("--blackhole", "3"), "FROM-TO"),
        (("--to", "nowhere"), "HOST:PORT"),
    ],
)
def test_bad_options_refuse_to_start_and_name_the_valid_ones(
    args: tuple[str, ...], names: str
) -> None:
    base = ("--listen", "127.0.0.1:0", "--to", "127.0.0.1:9")
    with Program("sim.netem", *base, *args) as process:
        _, err = process.stopped()
        assert process.returncode == 2
        assert names in err.splitlines()[-1]


def test_a_taken_port_is_named_with_the_way_to_find_its_holder() -> None:
    with udp() as holder:
        listen = f"127.0.0.1:{port_of(holder)}"
        with Program("sim.netem", "--listen", listen, "--to", "127.0.0.1:9") as process:
            _, err = process.stopped()
            assert process.returncode == 2
            assert listen in err
            assert "ss -lunp" in err
