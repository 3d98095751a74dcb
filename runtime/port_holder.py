"""Who holds a port of this machine, for the one line a person reads when a bind fails.

Reads /proc only, and only when something has already failed. Knows nothing where /proc is not
Linux's, or belongs to another user.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

_PROC: Final = Path("/proc")
_COMMAND_MAX_CHARS: Final = 80
# Columns of /proc/net/udp (linux/net/ipv4/udp.c, udp4_format_sock).
_LOCAL_ADDRESS: Final = 1
_STATE: Final = 3
_INODE: Final = 9
# States that mean "bound and waiting": TCP_LISTEN, and what an unconnected UDP socket shows.
_BOUND: Final = {"udp": "07", "tcp": "0A"}

Transport = Literal["udp", "tcp"]


class Holder(NamedTuple):
    """Who has a port: the process id, None if it belongs to another user, and how to call it."""

    pid: int | None
    text: str


def describe(port: int, proc: Path = _PROC, *, transport: Transport = "udp") -> str:
    """As "process 123 (python -m services.ingest)"; "" if it cannot be told."""
    holder = find(port, transport, proc)
    return "" if holder is None else holder.text


def find(port: int, transport: Transport, proc: Path = _PROC) -> Holder | None:
    """Who waits on `port`; None if nobody does, or it cannot be told."""
    inodes = set(_inodes(port, transport, proc))
    if not inodes:
        return None
    for process in _processes(proc):
        if inodes & set(_sockets(process)):
            return Holder(int(process.name), f"process {process.name} ({_command(process)})")
    return Holder(None, "a process of another user")


def _inodes(port: int, transport: Transport, proc: Path) -> Iterator[str]:
    for table in (transport, f"{transport}6"):
        try:
            lines = (proc / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            columns = line.split()
            if len(columns) <= _INODE or columns[_STATE] != _BOUND[transport]:
                continue
            if columns[_LOCAL_ADDRESS].endswith(f":{port:04X}"):
                yield columns[_INODE]


def _processes(proc: Path) -> Iterator[Path]:
    yield from (entry for entry in proc.iterdir() if entry.name.isdigit())


def _sockets(process: Path) -> Iterator[str]:
    """Inodes of the sockets a process has open; none if it may not be looked at, or has ended."""
    try:
        descriptors = list((process / "fd").iterdir())
    except OSError:
        return
    for target in map(_link_target, descriptors):
        if target.startswith("socket:["):
            yield target[len("socket:[") : -1]


def _link_target(descriptor: Path) -> str:
    try:
        return str(descriptor.readlink())
    except OSError:  # closed since it was listed
        return ""


def _command(process: Path) -> str:
    try:
        words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "ended"
    return " ".join(words).strip()[:_COMMAND_MAX_CHARS]
