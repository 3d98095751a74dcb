"""/metrics: a picture as Prometheus text. Pure; names are the bus's field names.

Labels come from our own tables or from the newest message of a service, so their number is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from proto.messages import ArmState
from proto.reasons import STATES
from runtime.clock import NS_PER_MS
from runtime.flow import Figures
from services.telemetry.board import Picture
from services.telemetry.health import SERVICE_SILENT_NS, judge

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

ARM_GAUGES: Final = (
    ("latency_ms", "receive to driver call returned, newest sample in the command"),
    ("data_age_ms", "age of the newest hand sample"),
    ("playout_delay_ms", "delay that the pacer keeps"),
    ("feedback_age_ms", "age of the robot's own report"),
    ("rest_mm", "distance still to go to the hand"),
)
ARM_FLAGS: Final = ("simulated", "predicting", "braking", "gripper_follows")
ARM_COUNTERS: Final = (
    ("missed_ticks", "control deadlines skipped"),
    ("starvations", "control periods without a usable sample"),
    ("glitches_rejected", "samples refused by the pacer"),
    ("gate_blocks", "commands refused by the last check before the driver"),
    ("driver_overruns", "commands that the driver was too slow to take"),
)
TOPIC_GAUGES: Final = (
    ("rate_hz", "messages a second over the last 5 s"),
    ("age_ms", "time since the last message"),
    ("interval_p99_ms", "99th percentile of the distance of messages"),
)


def render(picture: Picture, now_ns: int) -> bytes:
    """The answer to /metrics."""
    registry = CollectorRegistry()
    registry.register(_PictureCollector(picture, now_ns))
    return generate_latest(registry)


class _PictureCollector(Collector):
    """Hands one picture to prometheus_client; lives for one answer."""

    def __init__(self, picture: Picture, now_ns: int) -> None:
        self._picture = picture
        self._now_ns = now_ns

    def collect(self) -> Iterable[Metric]:
        """All metric families."""
        yield from _overall(self._picture, self._now_ns)
        yield from _arms(self._picture)
        yield from _services(self._picture)
        yield from _topics(self._picture)
        yield from _programs(self._picture)


def _overall(picture: Picture, now_ns: int) -> Iterator[Metric]:
    healthy = float(judge(picture, now_ns).code == 200)
    yield GaugeMetricFamily("farhand_healthy", "1 while /health answers 200", value=healthy)
    yield GaugeMetricFamily(
        "farhand_picture_age_ms",
        "age of these figures",
        value=(now_ns - picture.t_ns) / NS_PER_MS,
    )
    yield GaugeMetricFamily(
        "farhand_tap_subscriptions",
        "distinct topic prefixes that taps ask for",
        value=picture.tap_subscriptions,
    )


def _arms(picture: Picture) -> Iterator[Metric]:
    arms: dict[str, ArmState] = {
        side: arm
        for side in picture.sides
        if (arm := picture.arm(side, SERVICE_SILENT_NS)) is not None
    }
    yield from _arm_state(arms)
    for name, about in ARM_GAUGES:
        gauge = GaugeMetricFamily(f"farhand_arm_{name}", about, labels=["side"])
        for side, arm in arms.items():
            value: float | None = getattr(arm, name)
            if value is not None:
                gauge.add_metric([side], value)
        yield gauge
    for name in ARM_FLAGS:
        gauge = GaugeMetricFamily(f"farhand_arm_{name}", "1 while true", labels=["side"])
        for side, arm in arms.items():
            gauge.add_metric([side], float(getattr(arm, name)))
        yield gauge
    for name, about in ARM_COUNTERS:
        counter = CounterMetricFamily(f"farhand_arm_{name}", about, labels=["side"])
        for side, arm in arms.items():
            counter.add_metric([side], getattr(arm, name))
        yield counter
    yield from _latency_quantiles(picture)
    yield _authenticated(picture)


def _arm_state(arms: dict[str, ArmState]) -> Iterator[Metric]:
    state = GaugeMetricFamily("farhand_arm_state", "1 at the present one", labels=["side", "state"])
    reason = GaugeMetricFamily(
        "farhand_arm_reason", "why it does not follow; none: it does", labels=["side", "reason"]
    )
    for side, arm in arms.items():
        for name in STATES:
            state.add_metric([side, name], float(arm.state == name))
        reason.add_metric([side, arm.reason or "none"], 1.0)
    yield state
    yield reason


def _latency_quantiles(picture: Picture) -> Iterator[Metric]:
    quantiles = GaugeMetricFamily(
        "farhand_arm_latency_window_ms", "latency over the last 5 s", labels=["side", "quantile"]
    )
    for side in picture.sides:
        flow = picture.flows.get(f"arm_state.{side}")
        if flow is not None and flow.latency_p50_ms is not None:
            quantiles.add_metric([side, "0.5"], flow.latency_p50_ms)
        if flow is not None and flow.latency_p99_ms is not None:
            quantiles.add_metric([side, "0.99"], flow.latency_p99_ms)
    yield quantiles


def _authenticated(picture: Picture) -> Metric:
    gauge = GaugeMetricFamily(
        "farhand_hand_authenticated", "1 while the hand's packets are signed", labels=["side"]
    )
    for side in picture.sides:
        gauge.add_metric([side], float(picture.authenticated(side, SERVICE_SILENT_NS)))
    return gauge


def _services(picture: Picture) -> Iterator[Metric]:
    up = GaugeMetricFamily("farhand_service_up", "1 unless silent for 3 s", labels=["service"])
    uptime = GaugeMetricFamily("farhand_service_uptime_s", "since its start", labels=["service"])
    jitter = GaugeMetricFamily(
        "farhand_service_jitter_ms", "lateness of its loop", labels=["service", "quantile"]
    )
    rate = GaugeMetricFamily("farhand_service_rate", "by its own name", labels=["service", "rate"])
    count = CounterMetricFamily(
        "farhand_service_count", "by its own name", labels=["service", "counter"]
    )
    for family in picture.services:
        age_ns = picture.age_ns(f"service_health.{family}")
        live = age_ns is not None and age_ns <= SERVICE_SILENT_NS
        up.add_metric([family], float(live))
        health = picture.service(family)
        if health is None:
            continue
        uptime.add_metric([family], health.uptime_s)
        for quantile, value in (("0.5", health.jitter_p50_ms), ("0.99", health.jitter_p99_ms)):
            if value is not None:
                jitter.add_metric([family, quantile], value)
        for name, number in sorted(health.rates.items()):
            rate.add_metric([family, name], number)
        for name, total in sorted(health.counters.items()):
            count.add_metric([family, name], total)
    yield from (up, uptime, jitter, rate, count)


def _topics(picture: Picture) -> Iterator[Metric]:
    flows: list[tuple[str, Figures]] = sorted(picture.flows.items())
    for name, about in TOPIC_GAUGES:
        gauge = GaugeMetricFamily(f"farhand_topic_{name}", about, labels=["topic"])
        for topic, figures in flows:
            value: float | None = getattr(figures, name)
            if value is not None:
                gauge.add_metric([topic], value)
        yield gauge
    for name, about in (("count", "messages seen"), ("lost", "messages missed by telemetry")):
        counter = CounterMetricFamily(f"farhand_topic_messages_{name}", about, labels=["topic"])
        for topic, figures in flows:
            counter.add_metric([topic], getattr(figures, name))
        yield counter


def _programs(picture: Picture) -> Iterator[Metric]:
    exits = GaugeMetricFamily(
        "farhand_program_exits_60s", "unexpected exits in the last minute", labels=["program"]
    )
    kills = CounterMetricFamily(
        "farhand_program_hang_kills", "kills of a stuck program", labels=["program"]
    )
    for program, entry in sorted(picture.exits.items()):
        exits.add_metric([program], entry["exits_60s"])
        kills.add_metric([program], entry["hang_kills"])
    yield exits
    yield kills
