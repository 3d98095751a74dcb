"""One direction of an impaired link: decides the fate of each packet and holds it until it is due.

Pure: no sockets, no clock of its own. The same seed, settings and sequence of (time, packet) give
the same decisions. Never holds more than `queue_limit` packets.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, fields
from typing import Final, Generic, TypeVar

from sim.impair import Settings
from sim.rng import Rng

Tag = TypeVar("Tag")

MAX_FLIPS: Final = 3  # bytes changed in a corrupted packet: 1 to 3
DUPLICATE_SPREAD_MS: Final = (
    5.0  # a second copy arrives within this: before or after the next frame
)


@dataclass(slots=True)
class Counters:
    """What happened to the packets of one direction since the start."""

    received: int = 0
    delivered: int = 0
    lost: int = 0
    lost_burst: int = 0
    blackholed: int = 0
    queue_full: int = 0
    corrupted: int = 0
    duplicated: int = 0
    reordered: int = 0
    stalled: int = 0

    def as_dict(self) -> dict[str, int]:
        """Name to count, in declaration order."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


class Link(Generic[Tag]):
    """Impairs packets one way. `Tag` travels with a packet untouched (the client's address)."""

    def __init__(
        self, settings: Settings, seed: int, name: str, now_s: float, queue_limit: int = 1000
    ) -> None:
        """Args: name: keeps the draws of two links of one seed apart. now_s: the start."""
        self.settings = settings
        self.counters = Counters()
        self._queue_limit = queue_limit
        self._queue: list[tuple[float, int, bytes, Tag]] = []
        self._serial = 0
        self._start_s = now_s
        self._line_free_s = now_s
        self._last_due_s = now_s
        self._in_burst = False
        self._stall_from_s = self._stall_to_s = now_s
        self._hold_until_s = now_s
        # One stream per impairment, drawn for every packet: changing one setting shifts no other.
        self._loss = Rng(seed, f"{name}/loss")
        self._burst = Rng(seed, f"{name}/burst")
        self._jitter = Rng(seed, f"{name}/jitter")
        self._duplicate = Rng(seed, f"{name}/duplicate")
        self._reorder = Rng(seed, f"{name}/reorder")
        self._corrupt = Rng(seed, f"{name}/corrupt")
        self._stall = Rng(seed, f"{name}/stall")

    def __len__(self) -> int:
        """Packets held."""
        return len(self._queue)

    def hold(self, now_s: float, length_ms: float) -> None:
        """Stalls the link from now on: packets that arrive within `length_ms` leave at its end."""
        self._hold_until_s = max(self._hold_until_s, now_s + length_ms * 1e-3)

    def offer(self, now_s: float, data: bytes, tag: Tag) -> None:
        """Takes one packet that arrived at `now_s` (never earlier than the one before)."""
        self.counters.received += 1
        lost_as = self._draw_loss()
        payload = self._draw_corruption(data)
        jitter_s = self.settings.jitter.draw_ms(self._jitter) * 1e-3
        copy_after_s = self._draw_copy_after_s()
        held_s = self._draw_reorder_s()
        dropped_as = "blackholed" if self._blackholed(now_s) else lost_as
        if not dropped_as and len(self._queue) >= self._queue_limit:
            dropped_as = "queue_full"
        if dropped_as:
            self._count(dropped_as)
            return
        due_s = self._due_s(now_s, len(data), jitter_s)
        if held_s > 0.0:
            self._count("reordered")
        else:
            self._last_due_s = due_s  # a link delivers in order, but for packets held on purpose
        if payload != data:
            self._count("corrupted")
        self._push(due_s + held_s, payload, tag)
        if copy_after_s > 0.0 and len(self._queue) < self._queue_limit:
            self._count("duplicated")
            self._push(due_s + held_s + copy_after_s, payload, tag)

    def next_due_s(self) -> float | None:
        """When the next packet leaves; None if none is held."""
        return self._queue[0][0] if self._queue else None

    def pop_due(self, now_s: float) -> list[tuple[bytes, Tag]]:
        """The packets that leave by `now_s`, in order."""
        out: list[tuple[bytes, Tag]] = []
        while self._queue and self._queue[0][0] <= now_s:
            _, _, data, tag = heapq.heappop(self._queue)
            out.append((data, tag))
        self.counters.delivered += len(out)
        return out

    def _count(self, name: str) -> None:
        setattr(self.counters, name, getattr(self.counters, name) + 1)

    def _push(self, due_s: float, data: bytes, tag: Tag) -> None:
        heapq.heappush(self._queue, (due_s, self._serial, data, tag))
        self._serial += 1

    def _draw_loss(self) -> str:
        """The counter to lose this packet under; "" if it passes."""
        burst = self.settings.burst
        change, lost_bad = self._burst.random(), self._burst.random()
        lost_good = self._loss.random() < self.settings.loss_ratio
        if burst is None:
            self._in_burst = False
            return "lost" if lost_good else ""
        if self._in_burst:
            self._in_burst = change >= burst.exit_ratio
        else:
            self._in_burst = change < burst.enter_ratio
        if self._in_burst:
            return "lost_burst" if lost_bad < burst.loss_ratio else ""
        return "lost" if lost_good else ""

    def _draw_corruption(self, data: bytes) -> bytes:
        """`data`, or a copy with one to three bytes flipped."""
        chance, count = self._corrupt.random(), 1 + self._corrupt.below(MAX_FLIPS)
        flips = [(self._corrupt.next_u64(), 1 + self._corrupt.below(255)) for _ in range(MAX_FLIPS)]
        if chance >= self.settings.corrupt_ratio or not data:
            return data
        changed = bytearray(data)
        # Keyed by place, so that two flips of one byte never cancel.
        for place, mask in {place % len(data): mask for place, mask in flips[:count]}.items():
            changed[place] ^= mask
        return bytes(changed)

    def _draw_copy_after_s(self) -> float:
        """How much later a second copy arrives, in s; 0 = no second copy."""
        chance, later = self._duplicate.random(), 1.0 - self._duplicate.random()
        if chance >= self.settings.duplicate_ratio:
            return 0.0
        return later * DUPLICATE_SPREAD_MS * 1e-3

    def _draw_reorder_s(self) -> float:
        """How long this packet is held so that later ones overtake it, in s; 0 = not."""
        if self._reorder.random() >= self.settings.reorder_ratio:
            return 0.0
        return self.settings.reorder_ms * 1e-3

    def _blackholed(self, now_s: float) -> bool:
        since_s = now_s - self._start_s
        windows = self.settings.windows_s
        return self.settings.blackhole or any(low <= since_s < high for low, high in windows)

    def _due_s(self, now_s: float, size_bytes: int, jitter_s: float) -> float:
        """When an in-order packet of this size leaves the far end."""
        leave_s = now_s
        if self.settings.rate_kbps > 0.0:
            start_s = max(now_s, self._line_free_s)
            leave_s = start_s + size_bytes * 8e-3 / self.settings.rate_kbps
            self._line_free_s = leave_s
        leave_s = max(leave_s, self._stalled_until_s(now_s))
        return max(leave_s + self.settings.delay_ms * 1e-3 + jitter_s, self._last_due_s)

    def _stalled_until_s(self, now_s: float) -> float:
        """The end of the stall that `now_s` falls in, else `now_s`."""
        until_s = max(now_s, self._hold_until_s)
        stall = self.settings.stall
        while stall is not None and self._stall_to_s <= now_s:
            gap_s = self._stall.uniform(*stall.every_s)
            self._stall_from_s += gap_s
            self._stall_to_s = self._stall_from_s + self._stall.uniform(*stall.length_ms) * 1e-3
        if stall is not None and self._stall_from_s <= now_s:
            until_s = max(until_s, self._stall_to_s)
        self.counters.stalled += until_s > now_s
        return until_s
