"""The simulated headset as a real process, seen from the robot's side of real loopback sockets."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import pytest

from proto import feedback, rctp
from proto.feedback import FeedbackPacket
from proto.rctp import HandPacket
from proto.reasons import Reason, State
from tests.integration.sim_process import Program, Python, port_of, udp

pytestmark = pytest.mark.integration

MOST_PACKETS = 2000  # 20 s at 100 Hz: only bounds a failing test


class Robot:
    """The receiving end of one hand, and the headset that sends to it."""

    def __init__(self, stack: ExitStack, *args: str) -> None:
        self.sock = stack.enter_context(udp())
        port = str(port_of(self.sock))
        command = ("--port-right", port, "--hz", "100", "--json", *args)
        self.headset = stack.enter_context(Program("sim.headset", *command))
        self.source = ("", 0)
        self._seq = 0

    def receive(self) -> HandPacket:
        try:
            data, self.source = self.sock.recvfrom(200)
        except TimeoutError:
            code = self.headset.poll()
            self.headset.kill()
            pytest.fail(f"no packet; exit code {code}, output {self.headset.stopped()}")
        assert len(data) == rctp.PACKET_BYTES
        return rctp.decode(data)

    def receive_until(self, wanted: Callable[[HandPacket], bool]) -> list[HandPacket]:
        """All packets up to and with the first wanted one."""
        packets = []
        for _ in range(MOST_PACKETS):
            packets.append(self.receive())
            if wanted(packets[-1]):
                return packets
        raise AssertionError(f"never came; last was {packets[-1]}")

    def say(self, state: State, reason: Reason = "", echo_s: float | None = None) -> None:
        packet = FeedbackPacket(
            seq=self._seq,
            side="right",
            state=state,
            reason=reason,
            t_send_s_echo=echo_s,
            simulated=True,
            p_base_tool_m=(0.3, -0.1, 0.25),
            q_base_tool_xyzw=(0.0, 0.0, 0.0, 1.0),
            latency_ms=3.5,
        )
        self._seq += 1
        self.sock.sendto(feedback.encode(packet), self.source)

    def listen_and_say(
        self, length_s: float, state: State, reason: Reason = ""
    ) -> list[HandPacket]:
        """The packets of the next `length_s` of sender time, each answered."""
        packets = [self.receive()]
        while packets[-1].t_send_s - packets[0].t_send_s < length_s:
            self.say(state, reason, packets[-1].t_send_s)
            packets.append(self.receive())
        return packets


def events(out: str, name: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in out.splitlines()]
    return [line for line in lines if line["event"] == name]


def still(packets: list[HandPacket]) -> bool:
    return len({packet.p_vr_hand_m for packet in packets}) == 1


def test_both_hands_mirrored_stamped_on_the_frame_grid() -> None:
    with udp() as right, udp() as left:
        ports = ("--port-right", str(port_of(right)), "--port-left", str(port_of(left)))
        args = ("--hands", "both", "--hz", "50", "--duration-s", "1.8", *ports)
        with Program("sim.headset", *args) as headset:
            headset.stopped()
            assert headset.returncode == 0
        packets = [drain(right), drain(left)]
    assert [packet.t_send_s for packet in packets[0]] == [packet.t_send_s for packet in packets[1]]
    for mine, other in zip(*packets, strict=True):
        x, y, z = mine.p_vr_hand_m
        assert other.p_vr_hand_m == (-x, y, z)
        assert mine.t_send_s * 50.0 == pytest.approx(round(mine.t_send_s * 50.0), abs=1e-6)
    assert all(b.t_send_s > a.t_send_s for a, b in pairwise(packets[0]))
    assert not still(packets[0])


def drain(sock: socket.socket) -> list[HandPacket]:
    sock.setblocking(False)
    packets = []
    while True:
        try:
            packets.append(rctp.decode(sock.recv(200)))
        except BlockingIOError:
            return packets


def test_replay_of_the_shipped_recording_stands_a_second_then_moves() -> None:
    with ExitStack() as stack:
        robot = Robot(stack, "--motion", "replay", "sim/data/arm_motion.csv")
        packets = robot.receive_until(lambda packet: packet.t_send_s > 1.9)
        assert still([packet for packet in packets if packet.t_send_s < 1.0])
        assert not still([packet for packet in packets if packet.t_send_s > 1.5])
        steps_s = [b.t_send_s - a.t_send_s for a, b in pairwise(packets)]
        assert max(steps_s) - min(steps_s) > 1e-4  # the Quest's own frame times, not an even grid
        robot.headset.terminated()


def test_waits_for_the_arm_to_engage_and_tells_what_it_hears() -> None:
    with ExitStack() as stack:
        robot = Robot(stack)
        assert still(robot.listen_and_say(1.4, "HOLD", "not_engaged"))
        assert not still(robot.listen_and_say(1.0, "ENGAGED"))
        robot.listen_and_say(0.3, "ESTOP_LATCHED", "estop")
        out, _ = robot.headset.terminated()
    heard = [(line["state"], line["reason"]) for line in events(out, "feedback")]
    assert heard == [("HOLD", "not_engaged"), ("ENGAGED", ""), ("ESTOP_LATCHED", "estop")]
    summary = events(out, "status")[-1]
    assert summary["p_base_tool_m"] == [0.3, -0.1, 0.25]
    assert summary["latency_ms"] == 3.5
    assert summary["round_trip_ms"] > 0.0
    done = events(out, "headset_done")[-1]
    assert done["state"] == "ESTOP_LATCHED"
    assert done["feedback"] > 50


def test_operator_mode_stands_until_engaged_and_whenever_it_is_not() -> None:
    with ExitStack() as stack:
        robot = Robot(stack, "--operator")
        assert still(robot.receive_until(lambda packet: packet.t_send_s > 1.4))
        assert not still(robot.listen_and_say(1.0, "ENGAGED"))
        robot.listen_and_say(0.5, "PROTECTIVE_STOP", "stale")
        assert still(robot.listen_and_say(0.5, "PROTECTIVE_STOP", "stale"))


def test_estop_and_its_release_from_standard_input() -> None:
    with ExitStack() as stack:
        robot = Robot(stack)
        assert not robot.receive().estop
        robot.headset.tell("estop")
        robot.receive_until(lambda packet: packet.estop)
        pressed = [robot.receive() for _ in range(50)]
        assert all(packet.estop for packet in pressed)
        robot.headset.tell("release")
        tail = robot.receive_until(lambda packet: not packet.estop)
        assert len(tail) > 15
        assert not any(robot.receive().estop for _ in range(20))


def test_timed_cues_from_the_command_line() -> None:
    with ExitStack() as stack:
        timed = ("--at", "0.5", "untracked", "0.3", "--at", "1.0", "leap", "3600", "--at", "1.2")
        robot = Robot(stack, *timed, "quit")
        packets = robot.receive_until(lambda packet: packet.t_send_s > 3600.0)
        lost = [packet.t_send_s for packet in packets if not packet.tracking_valid]
        assert min(lost) >= 0.5 - 1e-6  # frame times are sums of 0.01
        assert max(lost) - min(lost) <= 0.3 + 1e-6
        out, _ = robot.headset.stopped()
        assert robot.headset.returncode == 0
    assert [line["name"] for line in events(out, "cue")] == ["untracked", "leap", "quit"]


def test_wrong_cues_are_refused_by_name_and_change_nothing() -> None:
    with ExitStack() as stack:
        robot = Robot(stack)
        robot.receive()
        robot.headset.tell("dance")
        robot.headset.tell("left estop")
        robot.headset.tell("quit")
        out, _ = robot.headset.stopped()
        assert robot.headset.returncode == 0
    why = [line["why"] for line in events(out, "cue_refused")]
    assert "untracked [S]" in why[0]
    assert "--hands both" in why[1]


def test_garbage_for_feedback_is_survived() -> None:
    with ExitStack() as stack:
        robot = Robot(stack)
        robot.receive()
        for data in (b"", b"RCTF", b"RCTF" + bytes(92), bytes(2000)):
            robot.sock.sendto(data, robot.source)
        robot.listen_and_say(0.5, "HOLD", "not_engaged")
        out, _ = robot.headset.terminated()
    assert events(out, "feedback")[0]["state"] == "HOLD"


def test_a_receiver_that_comes_late_is_found_and_its_absence_told() -> None:
    with ExitStack() as stack:
        robot = Robot(stack)
        address = robot.sock.getsockname()
        robot.sock.close()
        line = ""
        while "no_listener" not in line:
            line = robot.headset.out_line()
            assert line, "ended without a word about the missing receiver"
        late = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        late.settimeout(10.0)
        late.bind(address)
        assert rctp.decode(late.recv(200)).tracking_valid
        robot.headset.terminated()


def test_through_a_bad_network_and_back() -> None:
    with ExitStack() as stack:
        robot = Robot(stack, "--duration-s", "0")  # only its socket is wanted
        robot.headset.stopped()
        to = f"127.0.0.1:{port_of(robot.sock)}"
        netem = stack.enter_context(
            Program("sim.netem", "--listen", "127.0.0.1:0", "--to", to, "--profile", "wifi5")
        )
        port = netem.log_line().split("listen=127.0.0.1:")[1].split()[0]
        args = ("--port-right", port, "--json")
        robot.headset = stack.enter_context(Program("sim.headset", *args))
        robot.listen_and_say(1.0, "HOLD", "not_engaged")
        out, _ = robot.headset.terminated()
        report, _ = netem.terminated()
    assert events(out, "feedback")[0]["reason"] == "not_engaged"
    (relay,) = json.loads(report)["netem"]
    assert relay["up"]["delivered"] >= 50
    assert relay["down"]["delivered"] >= 50


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ends_cleanly_on_a_signal(number: signal.Signals) -> None:
    with ExitStack() as stack:
        robot = Robot(stack)
        robot.receive()
        robot.headset.send_signal(number)
        out, err = robot.headset.stopped()
        assert robot.headset.returncode == 0
        assert err == ""
        assert len(events(out, "headset_done")) == 1


def test_ends_quietly_when_nobody_reads_its_output() -> None:
    with ExitStack() as stack:
        robot = Robot(stack)
        robot.receive()
        assert robot.headset.stdout is not None
        robot.headset.stdout.close()
        robot.headset.stdout = None
        _, err = robot.headset.stopped()
        assert robot.headset.returncode == 0
        assert err == ""


@pytest.mark.parametrize(
    ("args", "names"),
    [
        (("--motion", "dance"), "circle, reach, still, replay"),
        (("--motion", "circle", "file.csv"), "only replay takes a file"),
        (("--motion", "replay", "nowhere.csv"), "nowhere.csv: cannot be read"),
        (("--motion", "replay", "sim/data/README.md"), "needs t_s, x_m, y_m, z_m"),
        (("--at", "1.0", "dance"), "untracked [S]"),
        (("--at", "soon", "estop"), "'soon' is not a time"),
        (("--hz", "0"), "outside 1...2000"),
        (("--port-right", "70000"), "outside 1...65535"),
        (("--hands", "three"), "right, left, both"),
    ],
)
def test_bad_options_refuse_to_start_and_name_the_valid_ones(
    args: tuple[str, ...], names: str
) -> None:
    with Program("sim.headset", *args) as headset:
        _, err = headset.stopped()
        assert headset.returncode == 2
        assert names in err.splitlines()[-1].replace("'right', 'left', 'both'", "right, left, both")


def test_starts_without_numpy() -> None:
    """A headset takes over from a running one within a second: its start is on the clock."""
    code = "import sim.headset, sim.netem, sys; sys.exit('numpy' in sys.modules)"
    with Python("-c", code) as probe:
        probe.stopped()
        assert probe.returncode == 0
