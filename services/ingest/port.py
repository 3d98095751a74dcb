"""One hand's sockets and bus topic: datagrams in, hand_pose out, feedback back to the owner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from proto import feedback
from proto.messages import HandPose
from proto.reasons import Side
from proto.views import ArmFeedback
from runtime.clock import Clock
from runtime.histogram import Histogram
from runtime.udp import UdpReceiver
from services.ingest.feedback import FeedbackMaker
from services.ingest.hand import Hand, Sample, Stop

GAP_NS: Final = 1_000_000_000  # a pause, not jitter


class HandPort:
    """Owns the receivers of one side (one per listen address)."""

    def __init__(
        self,
        side: Side,
        hand: Hand,
        receivers: Sequence[UdpReceiver],
        publish: Callable[[HandPose], None],
        clock: Clock,
        kernel_filter: bool,
    ) -> None:
        self.side: Side = side
        self.hand = hand
        self.receivers = receivers
        self.jitter = Histogram()
        self.heard = False
        self._publish = publish
        self._clock = clock
        self._kernel_filter = kernel_filter
        self._filtered: tuple[str, int] | None = None
        self._owner_socket = receivers[0]
        self._feedback = FeedbackMaker()
        self._last: tuple[float, int] | None = None

    def drain(self, receiver: UdpReceiver) -> None:
        """All that waits on one socket, in order."""
        for data, address, t_recv_ns in receiver.drain():
            now_ns = self._clock.now_ns()
            result = self.hand.receive(data, address, t_recv_ns, now_ns)
            if isinstance(result, Sample):
                self._owner_socket = receiver
                self._publish(self._sample(result, now_ns))
                self._note_jitter(result)
            elif isinstance(result, Stop):
                self._publish(self._stop(result))
        self.keep_filter()

    def _sample(self, sample: Sample, now_ns: int) -> HandPose:
        packet, trailer = sample.packet, sample.packet.trailer
        supported = trailer is not None and trailer.enable_supported
        self.heard = True
        return HandPose(
            side=self.side,
            session=sample.session,
            t_send_s=packet.t_send_s,
            t_recv_ns=sample.t_recv_ns,
            p_vr_hand_m=packet.p_vr_hand_m,
            q_vr_hand_xyzw=packet.q_vr_hand_xyzw,
            gripper_ratio=packet.gripper_ratio,
            tracking_valid=packet.tracking_valid,
            enable=trailer.enable_held if trailer is not None and supported else None,
            estop=self.hand.estop.level(now_ns),
            estop_count=self.hand.estop.count,
            authenticated=False,
            jump=sample.jump,
        )

    def _stop(self, stop: Stop) -> HandPose:
        return HandPose(
            side=self.side,
            session=self.hand.lease.session,
            t_send_s=None,
            t_recv_ns=stop.t_recv_ns,
            p_vr_hand_m=None,
            q_vr_hand_xyzw=None,
            gripper_ratio=None,
            tracking_valid=False,
            enable=None,
            estop=True,
            estop_count=self.hand.estop.count,
            authenticated=False,
            jump=False,
        )

    def _note_jitter(self, sample: Sample) -> None:
        """How unevenly packets arrive, measured against the sender's own clock."""
        t_send_s, t_recv_ns = sample.packet.t_send_s, sample.t_recv_ns
        if self._last is not None:
            sent_ns = (t_send_s - self._last[0]) * 1e9
            if 0 < sent_ns < GAP_NS:
                self.jitter.add(int(abs(t_recv_ns - self._last[1] - sent_ns)))
        self._last = (t_send_s, t_recv_ns)

    def expire(self, now_ns: int) -> None:
        """Ends a lease whose owner is silent."""
        if self.hand.lease.expire(now_ns):
            self._last = None
        self.keep_filter()

    def keep_filter(self) -> None:
        """The kernel drops what is not the owner's while a distant owner has the hand."""
        wanted = self.hand.lease.filter_owner() if self._kernel_filter else None
        if wanted == self._filtered:
            return
        for receiver in self.receivers:
            if wanted is None:
                receiver.let_everyone_in()
            else:
                receiver.let_only_owner_in(wanted)
        self._filtered = wanted

    def answer(self, state: ArmFeedback) -> None:
        """Tells the hand's owner about its arm."""
        owner = self.hand.lease.owner
        if owner is None:
            return
        packet = self._feedback.make(state, self.hand.newest_t_send_s, self._clock.now_ns())
        self._owner_socket.send(feedback.encode(packet), owner)

    def counters(self) -> dict[str, int]:
        """Every count of this hand, named `<what>_<side>`."""
        hand = self.hand
        counts = {
            "accepted": hand.accepted,
            "jumps": hand.jumps,
            "stops": hand.stops,
            "kernel_drops": sum(r.kernel_drops() or 0 for r in self.receivers),
            "send_errors": sum(r.errors for r in self.receivers),
            **{str(reason): count for reason, count in hand.rejected.items()},
        }
        return {f"{name}_{self.side}": count for name, count in counts.items()}
