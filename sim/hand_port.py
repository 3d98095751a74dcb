"""One hand on the wire: sends its packets, reads what the robot answers. Owns its UDP socket."""

from __future__ import annotations

import socket
from typing import Final

from proto import feedback, rctp
from proto.feedback import FeedbackPacket
from proto.reasons import Side
from sim.endpoints import Address, udp_socket
from sim.performers import Performer

READ_BATCH: Final = 64  # feedback comes at 30 Hz: more than this at once is a flood


class HandPort:
    """A connected socket (only the receiver's own answers come in) and the performer behind it."""

    def __init__(self, side: Side, performer: Performer, receiver: Address) -> None:
        """Opens the socket; nothing is sent before `send_frame`."""
        self.side: Side = side
        self.performer = performer
        self.receiver = receiver
        self.sent = 0
        self.received = 0
        self.refused = 0  # no listener at the receiver's port
        self.send_errors = 0
        self.bad_feedback = 0
        self.latest: FeedbackPacket | None = None
        self.round_trip_ms: float | None = None
        self.sock: socket.socket = udp_socket()
        self.sock.connect(receiver)

    def close(self) -> None:
        """Closes the socket."""
        self.sock.close()

    def send_frame(self, frame_s: float) -> None:
        """Sends the packet of the frame at `frame_s`, if there is one."""
        packet = self.performer.sample(frame_s)
        if packet is None:
            return
        try:
            self.sock.send(rctp.encode(packet))
        except ConnectionRefusedError:  # the answer to an earlier packet: this one was not sent
            self.refused += 1
        except OSError:
            self.send_errors += 1
        else:
            self.sent += 1

    def read_feedback(self, now_s: float) -> list[FeedbackPacket]:
        """The feedback that waits, in order; each was shown to the performer."""
        packets = []
        for _ in range(READ_BATCH):
            try:
                data = self.sock.recv(2048)
            except BlockingIOError:
                break
            except ConnectionRefusedError:
                self.refused += 1
                continue
            try:
                packet = feedback.decode(data)
            except feedback.FeedbackError:
                self.bad_feedback += 1
                continue
            self._take(packet, now_s)
            packets.append(packet)
        return packets

    def _take(self, packet: FeedbackPacket, now_s: float) -> None:
        self.received += 1
        self.latest = packet
        if packet.t_send_s_echo is not None:
            age_s = self.performer.hand.t_send_s(now_s) - packet.t_send_s_echo
            self.round_trip_ms = age_s * 1e3
        self.performer.on_feedback(packet, now_s)
