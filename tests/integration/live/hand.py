"""A scripted hand on the wire: packs RCTP by itself, so that it can also send what no codec would.

Owns one UDP socket. Sends only when `frame` is called; knows nothing of the bus.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from typing import Final

from proto import feedback
from proto.feedback import FeedbackError, FeedbackPacket
from runtime.se3 import ZERO, Quat, Vec3, quat_from_rotvec, quat_mul, vadd, vscale

# docs/specs/rctp.md: magic, t_s, position, quaternion, gripper, flags.
PACKET: Final = struct.Struct("<4sd8fB")
MAGIC: Final = b"RCTP"
TRACKED: Final = 1
ESTOP: Final = 2
REST_M: Final[Vec3] = (0.15, -0.20, -0.40)
UPRIGHT: Final[Quat] = (0.0, 0.0, 0.0, 1.0)


def packet(
    t_s: float,
    p_m: Vec3 = REST_M,
    q_xyzw: Quat = UPRIGHT,
    gripper_ratio: float = 1.0,
    flags: int = TRACKED,
    magic: bytes = MAGIC,
) -> bytes:
    """45 bytes, whatever the values."""
    return PACKET.pack(magic, t_s, *p_m, *q_xyzw, gripper_ratio, flags)


@dataclass(frozen=True, slots=True)
class _Glide:
    """A smooth way from one pose to another, at rest on both ends."""

    start_s: float
    over_s: float
    p_m: Vec3
    by_m: Vec3
    q_xyzw: Quat
    turn_rad: Vec3

    def at(self, now_s: float) -> tuple[Vec3, Quat]:
        u = min(max((now_s - self.start_s) / self.over_s, 0.0), 1.0)
        share = u * u * (3.0 - 2.0 * u)
        turn = quat_from_rotvec(vscale(self.turn_rad, share))
        return vadd(self.p_m, vscale(self.by_m, share)), quat_mul(turn, self.q_xyzw)


class Hand:
    """One hand of one sender.

    Attributes:
        sending: whether `frame` sends at all.
        t_offset_s: added to the headset's clock.
        answers: feedback packets received.
    """

    def __init__(self, port: int, source: str = "127.0.0.1") -> None:
        self._to = ("127.0.0.1", port)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.bind((source, 0))
        self._glide: _Glide | None = None
        self.sending = False
        self.answers: list[FeedbackPacket] = []
        self.p_m: Vec3 = REST_M
        self.q_xyzw: Quat = UPRIGHT
        self.behave()

    def behave(self) -> None:
        """Tracked, at rest where it is, gripper open, no e-stop, clock as it should be."""
        self._glide = None
        self.gripper_ratio = 1.0
        self.tracked = True
        self.estop = False
        self.t_offset_s = 0.0
        self._rests_s = 0.0

    @property
    def rests_t_s(self) -> float:
        """From when on it is at rest, by the headset's clock; 0 if it never moved."""
        return self._rests_s + self.t_offset_s

    def glide(self, now_s: float, by_m: Vec3, over_s: float, turn_rad: Vec3 = ZERO) -> None:
        """Starts a smooth motion from here."""
        self._rests_s = now_s + over_s
        self._glide = _Glide(now_s, over_s, self.p_m, by_m, self.q_xyzw, turn_rad)

    def packet(self, now_s: float) -> bytes:
        """The packet of this moment."""
        if self._glide is not None:
            self.p_m, self.q_xyzw = self._glide.at(now_s)
        flags = TRACKED * self.tracked | ESTOP * self.estop
        t_s = now_s + self.t_offset_s
        return packet(t_s, self.p_m, self.q_xyzw, self.gripper_ratio, flags)

    def frame(self, now_s: float) -> None:
        """Sends the packet of this moment, if this hand sends, and reads what was answered."""
        if self.sending:
            self.send(self.packet(now_s))
        self._read()

    def send(self, data: bytes) -> None:
        """Sends any bytes."""
        self._socket.sendto(data, self._to)

    def close(self) -> None:
        self._socket.close()

    def _read(self) -> None:
        while True:
            try:
                data = self._socket.recv(2048)
            except BlockingIOError:
                return
            try:
                self.answers.append(feedback.decode(data))
            except FeedbackError as error:
                raise AssertionError(f"feedback that is none: {error}") from error
