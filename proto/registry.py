"""Process table: every program supervisord may run, declared once.

deploy/supervisord.conf, docs/specs/topics.md and the port table are generated from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from proto.reasons import SIDES, Side
from proto.topics import ARM_STATES, ARM_TARGETS, HAND_POSES, Topic

Kind = Literal["service", "helper", "listener"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """A socket that other machines may know about."""

    number: int
    transport: Literal["udp", "tcp"]
    about: str
    loopback_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One program.

    `family` names its endpoint, lock and health topic: two programs of one family exclude each
    other. `stop_rank`: highest stops first and starts last (supervisor's priority).
    `hang_after_s`: heartbeat older than this means stuck, None for programs without a heartbeat.
    `cpu_budget_pct`: of one core at two hands, 50 Hz. `stdout_log` false: output goes nowhere.
    `realtime`: SCHED_FIFO where permitted.
    """

    program: str
    family: str
    module: str
    args: tuple[str, ...] = ()
    kind: Kind = "service"
    about: str
    publishes: tuple[Topic, ...] = ()
    subscribes: tuple[Topic, ...] = ()
    ports: tuple[Port, ...] = ()
    autostart: bool = True
    stop_rank: int = 100
    stop_wait_s: int = 3
    hang_after_s: float | None = 2.0
    cpu_budget_pct: float = 4.0
    stdout_log: bool = True
    realtime: bool = False


PORT_RIGHT: Final = Port(
    number=8888, transport="udp", about="RCTP right hand in, feedback out", loopback_only=False
)
PORT_LEFT: Final = Port(
    number=8889, transport="udp", about="RCTP left hand in, feedback out", loopback_only=False
)
PORT_TAP: Final = Port(
    number=9872, transport="tcp", about="telemetry JSON (ZMQ PUB)", loopback_only=True
)
PORT_HTTP: Final = Port(number=8010, transport="tcp", about="/health, /metrics", loopback_only=True)


def _arm(program: str, side: Side, *, simulator: bool) -> Service:
    return Service(
        program=program,
        family=f"arm-{side}",
        module="services.arm",
        args=("--side", side, *(("--driver", "sim") if simulator else ())),
        about=f"paces commands into the {side} arm" + (" (plain simulator)" if simulator else ""),
        publishes=(ARM_STATES[SIDES.index(side)],),
        # hand_pose of both sides is the e-stop lane
        subscribes=(*HAND_POSES, ARM_TARGETS[SIDES.index(side)]),
        autostart=not simulator,
        stop_rank=900,
        realtime=True,
    )


SERVICES: Final[tuple[Service, ...]] = (
    Service(
        program="pulse",
        family="pulse",
        module="tools.pulse",
        kind="helper",
        about="wakes supervisord 50 times a second so that it notices deaths at once",
        stop_rank=10,
        hang_after_s=None,
        cpu_budget_pct=1.0,
        stdout_log=False,
    ),
    Service(
        program="hangcheck",
        family="hangcheck",
        module="tools.hangcheck",
        kind="listener",
        about="kills what is alive but stuck; makes repeated exits a health reason",
        stop_rank=20,
        hang_after_s=None,
        cpu_budget_pct=1.0,
    ),
    Service(
        program="telemetry",
        family="telemetry",
        module="services.telemetry",
        about="every topic again as JSON; /health and /metrics",
        subscribes=(*HAND_POSES, *ARM_TARGETS, *ARM_STATES),
        ports=(PORT_TAP, PORT_HTTP),
        stop_rank=100,
        cpu_budget_pct=10.0,
    ),
    Service(
        program="ingest",
        family="ingest",
        module="services.ingest",
        about="decodes RCTP hand packets, answers with feedback",
        publishes=HAND_POSES,
        subscribes=ARM_STATES,
        ports=(PORT_RIGHT, PORT_LEFT),
        stop_rank=200,
        realtime=True,
    ),
    Service(
        program="mapper",
        family="mapper",
        module="services.mapper",
        about="maps hand poses into each arm's base frame",
        publishes=ARM_TARGETS,
        subscribes=(*HAND_POSES, *ARM_STATES),
        stop_rank=300,
        realtime=True,
    ),
    Service(
        program="sim-operator",
        family="sim-operator",
        module="sim.operator",
        about="simulated headset of a simulator configuration",
        stop_rank=400,
    ),
    _arm("arm-right", "right", simulator=False),
    _arm("arm-left", "left", simulator=False),
    _arm("sim-arm-right", "right", simulator=True),
    _arm("sim-arm-left", "left", simulator=True),
)

TOPIC_PUBLISHERS: Final = tuple(
    sorted({topic.endpoint for service in SERVICES for topic in service.publishes})
)

# Families that publish service_health (pulse and hangcheck own no socket).
HEALTH_FAMILIES: Final[tuple[str, ...]] = tuple(
    dict.fromkeys(s.family for s in SERVICES if s.kind == "service")
)


def service(program: str) -> Service:
    """The declaration of `program`.

    Raises:
        KeyError: no such program; the message lists what exists.
    """
    for declared in SERVICES:
        if declared.program == program:
            return declared
    raise KeyError(f"no program {program!r}; there are: {', '.join(s.program for s in SERVICES)}")
