"""/health: may this robot be used now, and if not, why. Pure: a picture in, a verdict out.

200 when every configured side is in HOLD, HOMING or ENGAGED and every configured service is live;
503 otherwise. Every reason stands in the body, by side, by service and together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from proto.reasons import Side
from runtime.clock import NS_PER_MS, NS_PER_S
from services.telemetry.board import Picture

GOOD_STATES: Final = frozenset({"HOLD", "HOMING", "ENGAGED"})
SERVICE_SILENT_NS: Final = 3 * NS_PER_S
# arm_state comes at least 20 times a second; an arm silent this long is gone or stuck.
SIDE_SILENT_NS: Final = NS_PER_S
NOT_CONFIGURED: Final = "not_configured"
# A service in any other status is named among the reasons, also where it does not count.
QUIET_STATUS: Final = ("ok", NOT_CONFIGURED)

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """HTTP status and the JSON body."""

    code: int
    body: Entry


def judge(picture: Picture, now_ns: int) -> Verdict:
    """The verdict on `picture`, which may have grown old since the loop made it."""
    age_ns = now_ns - picture.t_ns
    if age_ns > SERVICE_SILENT_NS:
        why = f"telemetry: down: its loop last came round {age_ns / NS_PER_S:.1f} s ago"
        return Verdict(503, {"status": "unhealthy", "robot": picture.robot, "reasons": [why]})
    sides = {side: _side(picture, side) for side in picture.sides}
    services = {family: _service(picture, family) for family in _families(picture)}
    good = all(entry["ok"] for entry in (*sides.values(), *services.values()))
    body = {
        "status": "ok" if good else "unhealthy",
        "robot": picture.robot,
        "reasons": [
            *(
                _told(side, entry, entry["state"])
                for side, entry in sides.items()
                if not entry["ok"]
            ),
            *(
                _told(family, entry, entry["status"])
                for family, entry in services.items()
                if entry["status"] not in QUIET_STATUS
            ),
            *_exit_reasons(picture),
        ],
        "sides": sides,
        "services": services,
        "programs": {name: dict(entry) for name, entry in picture.exits.items()},
    }
    return Verdict(200 if good else 503, body)


def _told(name: str, entry: Entry, state: str) -> str:
    detail = f" ({entry['detail']})" if entry.get("detail") else ""
    return f"{name}: {state}: {entry['reason'] or 'no reason given'}{detail}"


def _side(picture: Picture, side: Side) -> Entry:
    age_ns = picture.age_ns(f"arm_state.{side}")
    arm = picture.arm(side, SIDE_SILENT_NS)
    common: Entry = {
        "authenticated": picture.authenticated(side, SERVICE_SILENT_NS),
        "age_ms": None if age_ns is None else round(age_ns / NS_PER_MS, 1),
    }
    if arm is None:
        silence = "no arm_state yet" if age_ns is None else "no arm_state any more"
        return {"ok": False, "state": "UNKNOWN", "reason": "down", "detail": silence, **common}
    return {
        "ok": arm.state in GOOD_STATES,
        "state": arm.state,
        "reason": arm.reason,
        "detail": arm.reason_detail,
        "driver": arm.driver,
        "simulated": arm.simulated,
        **common,
    }


def _families(picture: Picture) -> tuple[str, ...]:
    """The configured ones, then whoever else speaks."""
    heard = (t.partition(".")[2] for t in picture.heard if t.startswith("service_health."))
    return tuple(dict.fromkeys((*picture.services, *sorted(heard))))


def _service(picture: Picture, family: str) -> Entry:
    configured = family in picture.services
    health = picture.service(family)
    age_ns = picture.age_ns(f"service_health.{family}")
    if health is None or age_ns is None:
        return _unheard(picture)
    status, reason = health.status, health.reason
    if age_ns > SERVICE_SILENT_NS:
        status, reason = "down", f"silent for {age_ns / NS_PER_S:.0f} s"
    counts = configured and status != NOT_CONFIGURED
    return {
        "ok": not counts or status != "down",
        "status": status,
        "reason": reason,
        "program": health.name,
        "pid": health.pid,
        "uptime_s": round(health.uptime_s, 1),
        "age_ms": round(age_ns / NS_PER_MS, 1),
    }


def _unheard(picture: Picture) -> Entry:
    """At our own start nobody has been heard; that is no proof of silence yet."""
    early = picture.uptime_ns <= SERVICE_SILENT_NS
    status, reason = ("unknown", "not heard yet") if early else ("down", "never heard")
    return {"ok": False, "status": status, "reason": reason, "age_ms": None}


def _exit_reasons(picture: Picture) -> list[str]:
    return [
        f"program {name}: {entry['reason']}: {entry['exits_60s']} unexpected exits in 60 s,"
        f" last exit {entry['last_exit']}; see {name}.log"
        for name, entry in picture.exits.items()
        if entry["reason"]
    ]
