"""A scripted hand and the network behind it: bytes with the instant at which they arrive."""

from __future__ import annotations

import math

from proto import rctp
from proto.rctp import HandPacket
from runtime.se3 import ZERO, Quat, Vec3, quat_from_rotvec, vadd, vnorm, vscale, vsub
from tests.unit.arm.closed_loop.dice import Dice

FRAME_NS = 20_000_000
NS_PER_S = 1_000_000_000
REACH_M = 0.45  # furthest from the middle: some of it lies beyond the walls


class Headset:
    """Moves, loses tracking, jumps and presses stop when told; sends 50 packets a second."""

    def __init__(self, rng: Dice, now_ns: int) -> None:
        self._rng = rng
        self._next_ns = now_ns
        self._clock_ns = -now_ns + 5 * NS_PER_S
        self._p_m: Vec3 = ZERO
        self._goal_m: Vec3 = ZERO
        self._speed_mps = 0.0
        self._turn_rad = 0.0
        self._turn_goal_rad = 0.0
        self._away_m: Vec3 = ZERO
        self._away_until_ns = 0
        self._untracked_until_ns = 0
        self._stop_until_ns = 0
        self._gripper_ratio = 1.0
        self.network = Network(rng)

    # --- what it can be told ---------------------------------------------------------------------

    def go(self, speed_mps: float) -> None:
        """To a random place, turning on the way."""
        x, y, z = (self._rng.uniform(-REACH_M, REACH_M) for _ in range(3))
        self._goal_m = (x, y, z)
        self._speed_mps = speed_mps
        self._turn_goal_rad = self._rng.uniform(-1.0, 1.0)
        self._gripper_ratio = self._rng.random()

    def still(self) -> None:
        self._speed_mps = 0.0

    def jump(self, by_m: Vec3, until_ns: int) -> None:
        self._away_m, self._away_until_ns = by_m, until_ns

    def lose(self, until_ns: int) -> None:
        self._untracked_until_ns = until_ns

    def press_stop(self, until_ns: int) -> None:
        self._stop_until_ns = until_ns

    def restart_app(self, now_ns: int) -> None:
        """Its clock starts anew."""
        self._clock_ns = -now_ns

    def leap_clock(self) -> None:
        self._clock_ns += 3600 * NS_PER_S

    # --- what it sends ---------------------------------------------------------------------------

    def frames_until(self, now_ns: int) -> None:
        """Captures and sends what is due."""
        while self._next_ns <= now_ns:
            self._move(FRAME_NS / NS_PER_S)
            self.network.send(self._packet(self._next_ns), self._next_ns)
            self._next_ns += FRAME_NS

    def _move(self, dt_s: float) -> None:
        way = vsub(self._goal_m, self._p_m)
        step_m = min(vnorm(way), self._speed_mps * dt_s)
        if step_m > 0.0:
            self._p_m = vadd(self._p_m, vscale(way, step_m / vnorm(way)))
            self._turn_rad += max(-0.05, min(0.05, self._turn_goal_rad - self._turn_rad))

    def _packet(self, t_ns: int) -> bytes:
        p_m = self._p_m
        if t_ns < self._away_until_ns:
            p_m = vadd(p_m, self._away_m)
        q_xyzw: Quat = quat_from_rotvec((0.0, self._turn_rad, 0.3 * math.sin(self._turn_rad)))
        return rctp.encode(
            HandPacket(
                t_send_s=(t_ns + self._clock_ns) / NS_PER_S,
                p_vr_hand_m=p_m,
                q_vr_hand_xyzw=q_xyzw,
                gripper_ratio=self._gripper_ratio,
                tracking_valid=t_ns >= self._untracked_until_ns,
                estop=t_ns < self._stop_until_ns,
            )
        )


class Network:
    """Delays each packet by itself, so that they overtake each other; loses and doubles some."""

    def __init__(self, rng: Dice) -> None:
        self._rng = rng
        self._flying: list[tuple[int, int, bytes]] = []
        self._count = 0
        self.loss = self.doubles = 0.0
        self.jitter_ns = 0
        self.dead_until_ns = 0

    def send(self, data: bytes, now_ns: int) -> None:
        if now_ns < self.dead_until_ns or self._rng.random() < self.loss:
            return
        for _ in range(2 if self._rng.random() < self.doubles else 1):
            self._count += 1
            arrival_ns = now_ns + 1_000_000 + int(self._rng.random() * self.jitter_ns)
            self._flying.append((arrival_ns, self._count, data))

    def arrived(self, now_ns: int) -> list[tuple[int, bytes]]:
        """What has come by now, in the order of arrival."""
        due = sorted(packet for packet in self._flying if packet[0] <= now_ns)
        self._flying = [packet for packet in self._flying if packet[0] > now_ns]
        return [(arrival_ns, data) for arrival_ns, _, data in due]
