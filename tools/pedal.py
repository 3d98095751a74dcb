"""Hold-to-run with the space bar: the arm follows the hand while the key is held, and no longer."""

from __future__ import annotations

import sys
from typing import Final

import zmq

from proto.messages import ArmState
from proto.reasons import Side
from runtime.clock import NS_PER_MS, NS_PER_S, Clock, MonotonicClock
from tools.advice import advice
from tools.link import ArmLink
from tools.pedal_key import HOLD_MS, Order, PedalKey
from tools.terminal import ending_signals, read_key, show, single_keys

IDLE_WAIT_MS: Final = 500
SILENT_NS: Final = NS_PER_S


def run_pedal(side: Side) -> int:
    """Runs until another key, the end of the terminal or a signal; returns the exit code."""
    with ArmLink(side) as link:
        state = link.state()
        if state is None:
            print(link.nobody(), file=sys.stderr)
            return 1
        fd = sys.stdin.fileno()
        with single_keys(fd), ending_signals() as signals:
            print(f"{side}: hold the space bar to follow the hand; any other key ends")
            Pedal(link, state, MonotonicClock()).run(fd, signals.fileno())
    print()
    return 0


class Pedal:
    """The key, the arm and the line that a person looks at."""

    def __init__(self, link: ArmLink, state: ArmState, clock: Clock) -> None:
        self._link = link
        self._clock = clock
        self._key = PedalKey()
        self._state = state
        self._heard_ns = clock.now_ns()
        self._shown = ""

    def run(self, keys_fd: int, ending_fd: int) -> None:
        """Until the key is finished or `ending_fd` is readable; leaves the arm released."""
        poller = zmq.Poller()
        for source in (keys_fd, ending_fd, self._link.incoming):
            poller.register(source, zmq.POLLIN)
        try:
            while not self._key.finished:
                ready = {source for source, _ in poller.poll(self._wait_ms())}
                if ending_fd in ready:
                    break
                self._look(read_key(keys_fd) if keys_fd in ready else None)
        finally:
            self._send("release")

    def _look(self, typed: bytes | None) -> None:
        now_ns = self._clock.now_ns()
        state = self._link.newest()
        if state is not None:
            self._state, self._heard_ns = state, now_ns
            self._key.on_arm(state.state, state.boot, now_ns)
        if typed is not None:
            self._key.on_input(typed, now_ns)
        order = self._key.order(now_ns)
        if order is not None:
            self._send(order)
        self._show(now_ns)

    def _send(self, order: Order) -> None:
        if order == "engage":  # one that waited longer than it holds means nothing any more
            self._link.post(order, {"hold_ms": HOLD_MS}, self._state.boot, HOLD_MS)
        else:
            self._link.post(order, {}, self._state.boot)

    def _show(self, now_ns: int) -> None:
        held = "held" if self._key.held else "up  "
        silent = now_ns - self._heard_ns > SILENT_NS
        text = f"[{held}] {self._link.nobody() if silent else advice(self._state)}"
        if text != self._shown:
            self._shown = text
            show(text)

    def _wait_ms(self) -> int:
        """Rounded up, so that a due moment has come when the wait is over."""
        due_ns = self._key.next_ns()
        if due_ns is None:
            return IDLE_WAIT_MS
        return max(0, -(-(due_ns - self._clock.now_ns()) // NS_PER_MS))
