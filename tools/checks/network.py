"""Ports, addresses to type into the headset, and whose packets count."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from runtime import addresses, port_holder
from runtime.port_holder import Holder
from runtime.settings import Settings
from tools.checks.row import Row, fail, graded, ok
from tools.run import OpenPort, is_free, ports_of

_PROC: Final = Path("/proc")
_PROGRAM_OF: Final = {"FARHAND_INGEST": "ingest", "FARHAND_TELEMETRY": "telemetry"}
IsFree = Callable[[str, int, port_holder.Transport], bool]
Find = Callable[[int, port_holder.Transport], "Holder | None"]


def rows(settings: Settings, run_dir: Path | None) -> list[Row]:
    """All of the above."""
    listen = addresses.resolve_listen(settings.network.listen)
    bound = bound_addresses(settings.ingest.port_right)
    return [
        *(port_row(port, listen, run_dir) for port in ports_of(settings)),
        address_row(settings, bound or listen),
        *absent_rows(addresses.unresolved(settings.network.listen), listen),
        allow_row(addresses.allowed_networks(settings.network.allow, bound or listen)),
    ]


def port_row(
    port: OpenPort,
    listen: list[str],
    run_dir: Path | None,
    free: IsFree = is_free,
    find: Find = port_holder.find,
) -> Row:
    """Free, ours, or someone else's."""
    name = f"{port.transport} {port.number}"
    where = listen if port.transport == "udp" else [addresses.LOOPBACK]
    if all(free(address, port.number, port.transport) for address in where):
        return ok(name, "free")
    program = _PROGRAM_OF[port.key.partition("__")[0]]
    holder = find(port.number, port.transport)
    if holder is not None and holder.pid is not None and holder.pid == lock_pid(run_dir, program):
        return ok(name, f"held by our {program} (process {holder.pid})")
    says = f"held by {holder.text if holder else 'another process'}"
    return fail(name, says, f"stop that, or set {port.key} to a free port")


def lock_pid(run_dir: Path | None, family: str) -> int | None:
    """The process that took the family's lock last."""
    if run_dir is None:
        return None
    try:
        text = (run_dir / f"{family}.lock").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int(text) if text.isdecimal() else None


def bound_addresses(port: int, proc: Path = _PROC) -> list[str]:
    """The IPv4 addresses on which someone waits for UDP packets at `port` now."""
    try:
        lines = (proc / "net" / "udp").read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return []
    local = [line.split()[1] for line in lines if len(line.split()) > 1]
    found = [_address(entry) for entry in local if entry.endswith(f":{port:04X}")]
    return list(dict.fromkeys(found))


def _address(entry: str) -> str:
    """`0100007F:22B8` is 127.0.0.1: four bytes in the processor's order, little-endian on ours."""
    return socket.inet_ntoa(bytes.fromhex(entry.partition(":")[0])[::-1])


def address_row(settings: Settings, listen: Iterable[str]) -> Row:
    """What to type into the headset app."""
    name = "headset"
    ports = f"port {settings.ingest.port_right} right hand, {settings.ingest.port_left} left"
    outside = [address for address in listen if address != addresses.LOOPBACK]
    if addresses.EVERY_ADDRESS in outside:
        outside = [i.address for i in addresses.interfaces() if i.address != addresses.LOOPBACK]
    if outside:
        return ok(name, f"type in {' or '.join(outside)}, {ports}")
    if all(settings.simulated(side) for side in settings.arm):
        return ok(name, "this machine only; LISTEN=lan make run lets a real headset in")
    return fail(
        name,
        f"listening on {addresses.LOOPBACK} only: no headset can reach it",
        'connect the network, or set [network] listen = ["default-route"] in config/local.toml',
    )


def absent_rows(absent: Iterable[str], listen: Sequence[str]) -> list[Row]:
    """Entries of `listen` that name nothing now: no harm while a headset has another way in."""
    fix = "bring it up and restart ingest, or take it off [network] listen"
    only_ourselves = list(listen) == [addresses.LOOPBACK]
    return [
        graded("listen", f"nothing is called {entry} now", fix, bad=False, doubtful=only_ourselves)
        for entry in absent
    ]


def allow_row(networks: Iterable[addresses.Network]) -> Row:
    """Whose packets count."""
    return ok("allow", "packets count from " + ", ".join(map(str, networks)))
