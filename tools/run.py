"""python -m tools.run: the whole stack in the foreground, after a look at what could be wrong.

`make run` ends here. Refuses with one line instead of starting something that will not work; never
kills or mends anything. The supervisor then takes this process over.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import tempfile
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Final, NamedTuple

from supervisor import supervisord

from proto.registry import HEALTH_FAMILIES
from runtime import addresses, config, lockfile, port_holder
from runtime.errors import ConfigError, DeviceError, FarhandError
from runtime.rundir import run_dir
from runtime.settings import BUILT_DRIVERS, Settings
from tools import deployment
from tools.deployment import Deployment
from tools.supervisor import PID_UNKNOWN, listener_pid

LISTEN_KEY: Final = "FARHAND_NETWORK__LISTEN"
LISTEN_LAN: Final = '["default-route", "tailscale0"]'


class OpenPort(NamedTuple):
    """A port that a service of ours is about to bind, and the key that moves it."""

    number: int
    transport: port_holder.Transport
    key: str


def main(
    env: MutableMapping[str, str] = os.environ,
    find: Callable[[], Deployment] = deployment.find,
    take_over: Callable[[list[str]], None] = supervisord.main,
) -> int:
    """Checks, tells, and becomes the supervisor; returns an exit code if refused."""
    try:
        deployed = find()
        prepare(env, deployed)
    except FarhandError as error:
        refusal = error
    else:
        # The log keeps restarts and deaths; spawn lines would push the table below off the screen.
        take_over(["-n", "-e", "warn", "-c", str(deployed.conf)])
        return 0
    print(f"cannot start: {refusal}", file=sys.stderr)
    return refusal.exit_code


def prepare(env: MutableMapping[str, str], deployed: Deployment) -> None:
    """Everything before the take-over; opens `env` to the network for LISTEN=lan.

    Raises:
        FarhandError: one line that names what to do.
    """
    settings = config.load(env)
    notes = config.warnings(settings) + open_to_lan(env, settings)
    settings = config.load(env)
    check_drivers(settings)
    listen = addresses.resolve_listen(settings.network.listen)
    addresses.allowed_networks(settings.network.allow, listen)
    check_files(deployed)
    check_alone(deployed, run_dir(config.REPO_ROOT, env, Path(tempfile.gettempdir())))
    check_ports(settings, listen)
    for line in banner(settings, listen, deployed):
        print(line)
    for note in notes + _absent(settings):
        print(f"note: {note}")
    sys.stdout.flush()


def check_drivers(settings: Settings) -> None:
    """Whether every arm's driver exists in this version.

    Raises:
        ConfigError: one does not.
    """
    for side, arm in settings.arm.items():
        if arm.driver not in BUILT_DRIVERS:
            raise ConfigError(
                f"[arm.{side}] driver {arm.driver!r} is not built yet;"
                f" there are: {', '.join(BUILT_DRIVERS)}"
            )


def open_to_lan(env: MutableMapping[str, str], settings: Settings) -> list[str]:
    """LISTEN=lan: the simulator listens where a robot would; a robot's own list stands."""
    wish = env.get("LISTEN", "")
    if wish not in ("", "lan"):
        raise ConfigError(f"LISTEN={wish}: the one valid value is lan; or set {LISTEN_KEY}")
    if not wish:
        return []
    if LISTEN_KEY in env or not all(settings.simulated(side) for side in settings.arm):
        return [f"LISTEN=lan is for simulators; {settings.robot} listens as configured"]
    env[LISTEN_KEY] = LISTEN_LAN
    return []


def _absent(settings: Settings) -> list[str]:
    absent = addresses.unresolved(settings.network.listen)
    return [f"nothing is called {entry} now: not listening there" for entry in absent]


def check_files(deployed: Deployment) -> None:
    """Whether set-up has run, and the supervisor can write its socket and logs.

    Raises:
        ConfigError: naming what is missing.
    """
    if not (deployed.root / ".venv" / "bin" / "python").exists():
        raise ConfigError("there is no .venv here: make setup")
    if not deployed.conf.exists():
        raise ConfigError(f"{deployed.conf} is missing: python -m tools.gen_supervisord")
    logs = deployed.root / "run"
    if not (logs.is_dir() and os.access(logs, os.W_OK | os.X_OK)):
        raise ConfigError(f"{logs} is missing or not writable: mkdir -p run && chmod 700 run")


def check_alone(deployed: Deployment, run: Path) -> None:
    """Whether this checkout's stack, or a part of it, already runs.

    Raises:
        DeviceError: the supervisor lives.
        LockHeldError: a service lives, started by hand or by a supervisor that has gone.
    """
    pid = listener_pid(deployed.socket)
    if pid is not None:
        who = "" if pid == PID_UNKNOWN else f" (supervisord is process {pid})"
        raise DeviceError(
            f"the stack already runs from {config.REPO_ROOT}{who}; stop it with"
            f" {deployed.ctl()} shutdown, or Ctrl-C where it was started"
        )
    for family in HEALTH_FAMILIES:
        lockfile.acquire(run / f"{family}.lock", wait_s=0.0).release()


def ports_of(settings: Settings) -> list[OpenPort]:
    """Every port that the configured services bind."""
    return [
        OpenPort(settings.ingest.port_right, "udp", "FARHAND_INGEST__PORT_RIGHT"),
        OpenPort(settings.ingest.port_left, "udp", "FARHAND_INGEST__PORT_LEFT"),
        OpenPort(settings.telemetry.tap_port, "tcp", "FARHAND_TELEMETRY__TAP_PORT"),
        OpenPort(settings.telemetry.http_port, "tcp", "FARHAND_TELEMETRY__HTTP_PORT"),
    ]


def check_ports(settings: Settings, listen: list[str]) -> None:
    """Whether another stack, or anything else, has one of our ports.

    Raises:
        DeviceError: naming the holder and the key that moves the port.
    """
    for port in ports_of(settings):
        where = listen if port.transport == "udp" else [addresses.LOOPBACK]
        if not all(is_free(address, port.number, port.transport) for address in where):
            holder = port_holder.find(port.number, port.transport)
            raise DeviceError(
                f"{port.transport.upper()} port {port.number} is held by"
                f" {holder.text if holder else 'another process'}: a second stack? stop it, or set"
                f" {port.key} to a free port"
            )


def is_free(address: str, port: int, transport: port_holder.Transport) -> bool:
    """Whether the port could be bound now; other errors than "in use" are the service's to tell."""
    kind = socket.SOCK_DGRAM if transport == "udp" else socket.SOCK_STREAM
    with socket.socket(socket.AF_INET, kind) as probe:
        if transport == "tcp":  # connections of an ended stack in TIME_WAIT hold nothing
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            return error.errno != errno.EADDRINUSE
    return True


def banner(settings: Settings, listen: list[str], deployed: Deployment) -> list[str]:
    """What a person needs to know next, in a few lines."""
    sides = ", ".join(f"{side} {arm.driver}" for side, arm in settings.arm.items())
    ingest, telemetry = settings.ingest, settings.telemetry
    health = f"http://{addresses.LOOPBACK}:{telemetry.http_port}"
    return [
        f"Farhand: robot {settings.robot}, arms: {sides}",
        f"  headset   UDP {_where(listen)}, port {ingest.port_right} right hand,"
        f" {ingest.port_left} left",
        "  watch     .venv/bin/python -m tools.tap",
        f"  health    {health}/health  {health}/metrics",
        f"  processes {deployed.ctl()} status; logs in run/",
        f"  next      {_next(settings)}",
        "  stop      Ctrl-C",
    ]


def _where(listen: list[str]) -> str:
    """The addresses that a headset can reach come first."""
    if listen == [addresses.LOOPBACK]:
        return f"{addresses.LOOPBACK} only (LISTEN=lan make run lets a real one in)"
    return " or ".join(sorted(listen, key=lambda address: address == addresses.LOOPBACK))


def _next(settings: Settings) -> str:
    if all(arm.auto_arm for arm in settings.arm.values()):
        return "the arms arm themselves; .venv/bin/python -m tools.arm status says what they do"
    side = next(iter(settings.arm))
    order = ".venv/bin/python -m tools.arm"
    return f"{order} arm {side}, then home {side}, then engage {side}"


if __name__ == "__main__":
    sys.exit(main())
