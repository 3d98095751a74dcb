"""The live table of a tap: one row a topic. Pure but for the rich objects it makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from proto.json_view import slashed
from runtime.flow import Flow
from tools.tap_source import KNOWN, Item

Row = dict[str, str]

# Headings are short so that a terminal of 80 columns shows the reason too; the title explains.
COLUMNS: Final[dict[str, str]] = {
    "topic": "topic",
    "rate_hz": "Hz",
    "age_ms": "age",
    "jitter_p99_ms": "jitter",
    "lost": "lost",
    "latency_p50_ms": "p50",
    "latency_p99_ms": "p99",
    "state": "state",
    "reason": "reason",
}
LEGEND: Final = "ms: age of the newest, jitter = p99 of the interval, latency p50 and p99"
_STATE_COLUMN: Final = list(COLUMNS).index("state")
TEXT_COLUMNS: Final = ("topic", "state", "reason")
NOTHING: Final = "-"
# Of a service_health or arm_state that is as it should be.
GOOD: Final = frozenset({"ENGAGED", "HOLD", "HOMING", "ok", "engaged", "tracked"})
QUIET: Final = frozenset({"free", "not_configured", "untracked", NOTHING})
SILENT: Final = "silent"
SILENT_MS: Final = 3000.0
_EVENTS: Final = frozenset(slashed(topic.name) for topic in KNOWN if topic.rate_hz is None)
_ORDER: Final = {slashed(topic.name): place for place, topic in enumerate(KNOWN)}


class TapTable:
    """Figures of every topic seen.

    Args:
        host: our own host number; stamps of other hosts cannot be compared with our clock.
    """

    def __init__(self, host: int) -> None:
        self._host = host
        self._flows: dict[str, Flow] = {}
        self._newest: dict[str, dict[str, Any]] = {}

    def add(self, item: Item, now_ns: int) -> None:
        """Counts one message."""
        flow = self._flows.setdefault(item.topic, Flow())
        shape = item.shape
        boot, seq = _whole(shape, "boot"), _whole(shape, "seq")
        flow.add(self._moment_ns(shape, now_ns), boot, seq, _number(shape, "latency_ms"))
        self._newest[item.topic] = shape

    def _moment_ns(self, shape: Mapping[str, Any], now_ns: int) -> int:
        """When it was sent, by our clock; when it came, if that cannot be told."""
        sent_ns = _whole(shape, "t_mono_ns")
        return sent_ns if shape.get("host") == self._host and 0 < sent_ns <= now_ns else now_ns

    def rows(self, now_ns: int) -> list[Row]:
        """One row a topic, as text, in the order of the topic table."""
        order = sorted(self._flows, key=lambda topic: (_ORDER.get(topic, len(_ORDER)), topic))
        return [self._row(topic, now_ns) for topic in order]

    def _row(self, topic: str, now_ns: int) -> Row:
        figures = self._flows[topic].figures(now_ns)
        state, reason = state_and_reason(self._newest[topic])
        if figures.age_ms > SILENT_MS and topic not in _EVENTS:
            state = SILENT  # the last word of a process that is gone is no state
        return {
            "topic": topic,
            "rate_hz": f"{figures.rate_hz:.1f}",
            "age_ms": f"{figures.age_ms:.0f}",
            "jitter_p99_ms": _shown(figures.interval_p99_ms),
            "lost": str(figures.lost),
            "latency_p50_ms": _shown(figures.latency_p50_ms),
            "latency_p99_ms": _shown(figures.latency_p99_ms),
            "state": state,
            "reason": reason or NOTHING,
        }

    def lines(self, now_ns: int) -> list[str]:
        """`key=value` lines, for where there is no terminal."""
        return [
            " ".join(f"{key}={_word(row[key])}" for key in COLUMNS) for row in self.rows(now_ns)
        ]

    def render(self, now_ns: int, title: str, note: str = "") -> Table:
        """A rich table that fits 80 columns, with `note` below it."""
        table = Table(
            title=f"{title} ({LEGEND})", caption=note or None, caption_style="bold red", box=None
        )
        for key, heading in COLUMNS.items():
            left = key in TEXT_COLUMNS
            table.add_column(
                heading,
                justify="left" if left else "right",
                no_wrap=key != "reason",
                overflow="fold",
            )
        for row in self.rows(now_ns):
            cells = [Text(row[key]) for key in COLUMNS]
            cells[_STATE_COLUMN].stylize(_style(row["state"]))
            table.add_row(*cells)
        return table


def state_and_reason(shape: Mapping[str, Any]) -> tuple[str, str]:
    """What a message says of its sender, in two words; "-" if it says nothing."""
    reason = str(shape.get("reason") or "")
    if shape.get("reason_detail"):
        reason = f"{reason} ({shape['reason_detail']})"
    for key in ("state", "status"):
        if key in shape:
            return str(shape[key]), reason
    if "engaged" in shape:
        return ("engaged" if shape["engaged"] else "free"), reason
    if shape.get("estop") is True:
        return "ESTOP", reason
    if "tracking_valid" in shape:
        return ("tracked" if shape["tracking_valid"] else "untracked"), reason
    return NOTHING, reason


def _style(state: str) -> str:
    if state in GOOD:
        return "green"
    return "dim" if state in QUIET else "bold red"


def _shown(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.1f}"


def _word(text: str) -> str:
    return f'"{text}"' if " " in text else text


def _whole(shape: Mapping[str, Any], name: str) -> int:
    value = shape.get(name)
    return value if type(value) is int else 0


def _number(shape: Mapping[str, Any], name: str) -> float | None:
    value = shape.get(name)
    return float(value) if isinstance(value, int | float) else None
