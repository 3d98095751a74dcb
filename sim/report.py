"""What a simulated headset prints: changes of state at once, a summary each second.

One line each, `event key=value ...` or, with `as_json`, one JSON object.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Final

from proto.feedback import FeedbackPacket
from proto.reasons import Side
from sim.hand_port import HandPort

SUMMARY_S: Final = 1.0


class Printer:
    """Writes lines to standard output; a reader that went away ends the program quietly."""

    def __init__(self, as_json: bool, on_closed: Callable[[], None]) -> None:
        """Args: on_closed: called once nobody reads any more."""
        self._as_json = as_json
        self._on_closed = on_closed

    def __call__(self, event: str, **values: object) -> None:
        """One line."""
        try:
            sys.stdout.write(format_line(event, values, self._as_json) + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            self._on_closed()


def format_line(event: str, values: dict[str, object], as_json: bool) -> str:
    """The line for one event; unknown values are `-` in text and null in JSON."""
    if as_json:
        return json.dumps({"event": event, **values})
    return " ".join([event, *(f"{key}={_text(value)}" for key, value in values.items())])


def _text(value: object) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class Report:
    """Follows the hands' feedback and prints what a person wants to know."""

    def __init__(self, emit: Callable[..., None], start_s: float) -> None:
        self._emit = emit
        self._next_summary_s = start_s + SUMMARY_S
        self._told: dict[Side, tuple[str, str]] = {}
        self._refused: dict[Side, int] = {}

    def on_feedback(self, packets: list[FeedbackPacket]) -> None:
        """A line for each change of state or reason."""
        for packet in packets:
            now = (packet.state, packet.reason)
            if self._told.get(packet.side) != now:
                self._told[packet.side] = now
                self._emit("feedback", side=packet.side, state=packet.state, reason=packet.reason)

    def on_time(self, ports: list[HandPort], now_s: float) -> None:
        """The summary, when a second has passed."""
        if now_s < self._next_summary_s:
            return
        self._next_summary_s = max(self._next_summary_s + SUMMARY_S, now_s)
        for port in ports:
            self._emit("status", **status(port))
            self._tell_refused(port)

    def _tell_refused(self, port: HandPort) -> None:
        """Once, when packets begin to bounce."""
        before = self._refused.get(port.side, 0)
        self._refused[port.side] = port.refused
        if port.refused > 0 and before == 0:
            host, number = port.receiver
            self._emit("no_listener", side=port.side, to=f"{host}:{number}", fix="start the stack")


def status(port: HandPort) -> dict[str, object]:
    """What is known of one hand, with the units in the names."""
    packet = port.latest
    p_m = packet.p_base_tool_m if packet else None
    return {
        "side": port.side,
        "state": packet.state if packet else None,
        "reason": packet.reason if packet else None,
        "p_base_tool_m": [round(value, 4) for value in p_m] if p_m else None,
        "latency_ms": _rounded(packet.latency_ms if packet else None),
        "round_trip_ms": _rounded(port.round_trip_ms),
        "sent": port.sent,
        "feedback": port.received,
        "refused": port.refused,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
