"""Naming the process that holds a port, from a made-up /proc."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime import port_holder

HEADER = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid ...\n"


def line(address: str, port: int, inode: int) -> str:
    """A line as the kernel writes it."""
    return (
        f"  12: {address}:{port:04X} 00000000:0000 07 00000000:00000000 00:00000000 00000000"
        f"  1000        0 {inode} 2 0000000000000000 0\n"
    )


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Process 77 holds 8888 (socket 5005), an unreadable one holds 8889 (socket 6006)."""
    (tmp_path / "net").mkdir()
    table = HEADER + line("0100007F", 8888, 5005) + line("00000000", 8889, 6006)
    (tmp_path / "net" / "udp").write_text(table)
    for pid, sockets in ((5, ("socket:[1]",)), (77, ("/dev/null", "socket:[5005]"))):
        descriptors = tmp_path / str(pid) / "fd"
        descriptors.mkdir(parents=True)
        for number, target in enumerate(sockets):
            (descriptors / str(number)).symlink_to(target)
        (tmp_path / str(pid) / "cmdline").write_bytes(b"python\0-m\0services.ingest\0")
    (tmp_path / "99").mkdir()
    (tmp_path / "sys").mkdir()
    return tmp_path


def test_the_holder_is_named(proc: Path) -> None:
    assert port_holder.describe(8888, proc) == "process 77 (python -m services.ingest)"


def test_a_holder_that_may_not_be_looked_at(proc: Path) -> None:
    assert port_holder.describe(8889, proc) == "a process of another user"


def test_a_socket_of_ipv6_counts_too(proc: Path) -> None:
    table = HEADER + line("0" * 32, 9000, 5005)
    (proc / "net" / "udp6").write_text(table)
    assert port_holder.describe(9000, proc) == "process 77 (python -m services.ingest)"


def test_a_process_that_has_ended(proc: Path) -> None:
    (proc / "77" / "cmdline").unlink()
    assert port_holder.describe(8888, proc) == "process 77 (ended)"


def test_long_commands_are_cut(proc: Path) -> None:
    (proc / "77" / "cmdline").write_bytes(b"x" * 500)
    assert port_holder.describe(8888, proc) == f"process 77 ({'x' * 80})"


@pytest.mark.parametrize("port", [8887, 88])
def test_a_free_port_has_no_holder(proc: Path, port: int) -> None:
    assert port_holder.describe(port, proc) == ""


def test_no_proc_at_all(tmp_path: Path) -> None:
    assert port_holder.describe(8888, tmp_path / "nowhere") == ""


def test_odd_lines_are_passed_over(proc: Path) -> None:
    (proc / "net" / "udp").write_text(HEADER + "odd :22B8\n")
    assert port_holder.describe(8888, proc) == ""


def test_a_tcp_port_has_a_holder_only_while_someone_listens(proc: Path) -> None:
    listening = line("0100007F", 8010, 5005).replace(" 07 ", " 0A ")
    connected = line("0100007F", 8011, 5005).replace(" 07 ", " 01 ")
    (proc / "net" / "tcp").write_text(HEADER + listening + connected)
    assert port_holder.find(8010, "tcp", proc) == (77, "process 77 (python -m services.ingest)")
    assert port_holder.find(8011, "tcp", proc) is None
    assert port_holder.find(8010, "udp", proc) is None
    assert port_holder.find(8889, "udp", proc) == (None, "a process of another user")
