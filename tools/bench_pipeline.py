"""Latency from a headset's send call to the arm: our processes, one loop, and threads with a queue.

Spans: UDP send call → arm holds the decoded target; kernel receive → driver call returned. The
three designs are measured in turn, block by block, so that they share the machine's moods.
"""

from __future__ import annotations

import contextlib
import math
import queue
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import zmq

from proto.messages import ArmState
from proto.rctp import HandPacket, decode, encode
from proto.topics import ARM_STATES
from runtime.bus import Subscriber
from runtime.clock import MonotonicClock
from runtime.service import identity
from tools.progress import say
from tools.stack import PrivateStack, free_udp_ports

NS_PER_US: Final = 1000.0
ENGAGE_WAIT_S: Final = 8.0
SCALE: Final = 0.75
PROGRAMS: Final = ("ingest", "mapper", "arm-right", "arm-left")
# samples a hand, blocks: default ≤ 3 minutes in all
PLAN: Final = {50: (500, 3), 1000: (4000, 3)}
PLAN_FULL: Final = {50: (1500, 6), 1000: (20000, 6)}


def rows(full: bool) -> list[dict[str, Any]]:
    """One row per rate; keys as documented in docs/benchmarks.md."""
    return [_row(rate_hz, *plan) for rate_hz, plan in (PLAN_FULL if full else PLAN).items()]


def _row(rate_hz: int, samples: int, blocks: int) -> dict[str, Any]:
    ours: list[Sample] = []
    floor_ns: list[float] = []
    threads_ns: list[float] = []
    for block in range(blocks):
        say(f"pipeline {rate_hz} Hz: block {block + 1} of {blocks}")
        ours += _ours(rate_hz, samples)
        floor_ns += _rival("floor", rate_hz, samples)
        threads_ns += _rival("threads", rate_hz, samples)
    total = [s.send_to_target_ns for s in ours]
    to_target = [s.recv_to_target_ns for s in ours]
    driver = [s.recv_to_driver_ns for s in ours if s.recv_to_driver_ns is not None]
    return {
        "rate_hz": rate_hz,
        "n": len(total),
        "p50_us": us(total, 50),
        "p99_us": us(total, 99),
        "p999_us": us(total, 99.9),
        "recv_to_target_p50_us": us(to_target, 50),
        "floor_n": len(floor_ns),
        "floor_p50_us": us(floor_ns, 50),
        "floor_p99_us": us(floor_ns, 99),
        "threads_p50_us": us(threads_ns, 50),
        "threads_p99_us": us(threads_ns, 99),
        "ratio_floor": round(us(total, 50) / us(floor_ns, 50), 2),
        "driver_p50_us": us(driver, 50),
        "driver_p99_us": us(driver, 99),
    }


def us(values_ns: list[float], percent: float) -> float:
    """Percentile (nearest rank) in microseconds."""
    if not values_ns:
        return math.nan
    ordered = sorted(values_ns)
    rank = max(0, math.ceil(percent / 100 * len(ordered)) - 1)
    return round(ordered[rank] / NS_PER_US, 1)


class Sample:
    """The spans of one hand sample that an arm told of."""

    __slots__ = ("recv_to_driver_ns", "recv_to_target_ns", "send_to_target_ns")

    def __init__(self, state: ArmState, target_ns: int, send_s: float, recv_ns: int) -> None:
        self.send_to_target_ns = target_ns - send_s * 1e9
        self.recv_to_target_ns = float(target_ns - recv_ns)
        latency_ms = state.latency_ms
        self.recv_to_driver_ns = None if latency_ms is None else latency_ms * 1e6


class _States(threading.Thread):
    """Collects arm_state of both sides while the sender sends."""

    def __init__(self, stack: PrivateStack) -> None:
        super().__init__(daemon=True)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._subscriber = Subscriber(
            self._context, stack.run_dir, ARM_STATES, identity(), MonotonicClock(), None
        )
        self.samples: list[Sample] = []
        self.engaged: set[str] = set()
        self.counting = threading.Event()
        self._seen: dict[str, int] = {}
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.is_set():
            if self._subscriber.socket.poll(100):
                for received in self._subscriber.drain():
                    if isinstance(received.message, ArmState):
                        self._take(received.message)
        self._context.destroy(linger=0)

    def _take(self, state: ArmState) -> None:
        if state.state == "ENGAGED":
            self.engaged.add(state.side)
        else:
            self.engaged.discard(state.side)
        target_ns, send_s, recv_ns = state.t_target_ns, state.t_send_s, state.t_recv_ns
        if target_ns is None or send_s is None or recv_ns is None:
            return
        if self._seen.get(state.side) == recv_ns:
            return
        self._seen[state.side] = recv_ns
        if self.counting.is_set():
            self.samples.append(Sample(state, target_ns, send_s, recv_ns))

    def close(self) -> None:
        self._ended.set()
        self.join()


def _ours(rate_hz: int, samples: int) -> list[Sample]:
    env = {"FARHAND_SIM_OPERATOR__ENABLED": "false", "FARHAND_ARM__CONTROL_HZ": "100"}
    with PrivateStack(PROGRAMS, env) as stack:
        states = _States(stack)
        states.start()
        sender = Sender(stack.ports, rate_hz)
        deadline_s = time.monotonic() + ENGAGE_WAIT_S
        while len(states.engaged) < 2 and time.monotonic() < deadline_s:
            sender.send(rate_hz // 10)
        if len(states.engaged) < 2:
            raise RuntimeError("the arms did not engage:\n" + stack.log("arm-right")[-600:])
        states.counting.set()
        sender.send(samples)
        time.sleep(0.1)
        states.close()
        sender.close()
        return states.samples


class Sender:
    """Sends both hands' packets at a steady rate; t_s is the moment of the send call."""

    def __init__(self, ports: list[int], rate_hz: int) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._ports = ports
        self._period_s = 1.0 / rate_hz
        self._next_s = time.monotonic()
        self._phase = 0.0

    def send(self, count: int) -> None:
        """`count` packets a hand on absolute deadlines; a slow circle of 2 cm."""
        for _ in range(count):
            self._next_s = max(self._next_s + self._period_s, time.monotonic() - 0.1)
            wait_s = self._next_s - time.monotonic()
            if wait_s > 0:
                time.sleep(wait_s)
            self._phase += 2 * math.pi * 0.25 * self._period_s
            x_m, y_m = 0.02 * math.cos(self._phase), 0.02 * math.sin(self._phase)
            for port in self._ports:
                packet = HandPacket(
                    t_send_s=time.monotonic(),
                    p_vr_hand_m=(x_m, y_m, -0.3),
                    q_vr_hand_xyzw=(0.0, 0.0, 0.0, 1.0),
                    gripper_ratio=0.5,
                    tracking_valid=True,
                    estop=False,
                )
                self._socket.sendto(encode(packet), ("127.0.0.1", port))

    def close(self) -> None:
        """Frees the socket."""
        self._socket.close()


def _rival(name: str, rate_hz: int, samples: int) -> list[float]:
    """Runs a rival in a process of its own and returns its send-to-target spans in ns."""
    ports = free_udp_ports(2)
    command = [sys.executable, "-m", "tools.bench_pipeline", name, *map(str, ports), str(samples)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    if child.stdout is None or child.stdout.readline().strip() != "ready":
        raise RuntimeError(f"rival {name} did not start")
    sender = Sender(ports, rate_hz)
    sender.send(samples)
    sender.close()
    out, _ = child.communicate(timeout=30)
    return [float(word) for word in out.split()]


# --- the rivals, each a whole receiver in one process --------------------------------------------


def _sockets(ports: list[int]) -> list[socket.socket]:
    made = []
    for port in ports:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind(("127.0.0.1", port))
        made.append(sock)
    return made


def _handle(data: bytes, spans_ns: list[float]) -> None:
    """Decode and map, as little as a receiver must do."""
    packet = decode(data)
    x_m, y_m, z_m = packet.p_vr_hand_m
    _ = (-z_m * SCALE, -x_m * SCALE, y_m * SCALE)
    spans_ns.append(time.monotonic_ns() - packet.t_send_s * 1e9)


def floor(ports: list[int], wanted: int) -> list[float]:
    """One process, one loop: the least that Python can do."""
    spans_ns: list[float] = []
    sockets = _sockets(ports)
    print("ready", flush=True)
    while len(spans_ns) < wanted:
        ready, _, _ = select.select(sockets, [], [], 2.0)
        if not ready:
            break
        for sock in ready:
            _handle(sock.recv(128), spans_ns)
    return spans_ns


def threads(ports: list[int], wanted: int) -> list[float]:
    """The source article's design: receiver thread, queue.Queue(3), controller thread."""
    spans_ns: list[float] = []
    waiting: queue.Queue[bytes] = queue.Queue(3)
    sockets = _sockets(ports)
    stop = threading.Event()

    def receive() -> None:
        while not stop.is_set():
            for sock in select.select(sockets, [], [], 0.2)[0]:
                data = sock.recv(128)
                with contextlib.suppress(queue.Empty):
                    while waiting.full():
                        waiting.get_nowait()
                waiting.put(data)

    receiver = threading.Thread(target=receive)
    receiver.start()
    print("ready", flush=True)
    while len(spans_ns) < wanted:
        try:
            _handle(waiting.get(timeout=2.0), spans_ns)
        except queue.Empty:
            break
    stop.set()
    receiver.join()
    return spans_ns


RIVALS: Final[dict[str, Callable[[list[int], int], list[float]]]] = {
    "floor": floor,
    "threads": threads,
}


def main(argv: list[str]) -> None:
    """A rival's own process: NAME PORT PORT SAMPLES; prints `ready`, then the spans."""
    name, right, left, samples = argv
    print(*RIVALS[name]([int(right), int(left)], 2 * int(samples)))


if __name__ == "__main__":
    main(sys.argv[1:])
