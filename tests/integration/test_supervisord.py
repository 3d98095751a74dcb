"""The generated conf under the real supervisor: states, restarts, socket, order of stopping."""

from __future__ import annotations

import os
import signal
import socket
import stat
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from proto.registry import SERVICES, service
from runtime import port_holder
from runtime.errors import DeviceError
from runtime.port_holder import Transport
from tests.integration.supervisor_tree import PATIENCE_S, Tree, supervised
from tools import deployment, run
from tools.deployment import Deployment
from tools.supervisor import Supervisor, listener_pid

pytestmark = pytest.mark.integration
AUTOSTARTED = {declared.program for declared in SERVICES if declared.autostart}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "a checkout")  # a blank in the path must not split the command


def test_start_status_socket_and_orderly_stop(tree: Tree) -> None:
    with supervised(tree) as supervisor:
        for declared in SERVICES:
            tree.wait_for(declared.program, "RUNNING" if declared.autostart else "STOPPED")
        status = [line.split() for line in tree.ctl("status").splitlines()]
        assert {row[0] for row in status if row[1] == "RUNNING"} == AUTOSTARTED
        assert {row[1] for row in status if row[0] not in AUTOSTARTED} == {"STOPPED"}
        assert listener_pid(tree.root / "run" / "supervisor.sock") == supervisor.pid
        socket_mode = (tree.root / "run" / "supervisor.sock").stat().st_mode
        assert stat.S_ISSOCK(socket_mode)
        assert stat.S_IMODE(socket_mode) == 0o700
        supervisor.terminate()
        supervisor.communicate(timeout=PATIENCE_S)
        assert supervisor.returncode == 0
    stopped = [program for word, program in tree.events() if word == "stopped"]
    ranks = [service(program).stop_rank for program in stopped]
    assert sorted(stopped) == sorted(AUTOSTARTED)
    assert ranks == sorted(ranks, reverse=True)
    logs = {path.name for path in (tree.root / "run").glob("*.log")}
    assert logs == {"supervisord.log", *(f"{program}.log" for program in AUTOSTARTED)}


def test_a_killed_program_comes_back_a_misconfigured_one_stays_down(tree: Tree) -> None:
    (tree.root / "run" / "exit-78-telemetry").touch()
    with supervised(tree):
        tree.wait_for("telemetry", "EXITED")
        killed = tree.wait_for("mapper", "RUNNING").pid
        os.kill(killed, signal.SIGKILL)
        tree.wait_for("mapper", "RUNNING", not_pid=killed)
        assert tree.events().count(("started", "telemetry")) == 1


def test_an_arm_is_swapped_for_its_simulator_while_the_rest_runs(tree: Tree) -> None:
    with supervised(tree):
        tree.wait_for("arm-right", "RUNNING")
        kept = tree.wait_for("ingest", "RUNNING").pid
        tree.ctl("stop", "arm-right")
        tree.ctl("start", "sim-arm-right")
        programs = tree.programs()
        assert programs["arm-right"].state == "STOPPED"
        assert programs["sim-arm-right"].state == "RUNNING"
        assert programs["ingest"].pid == kept


def test_restart_by_a_tool_also_starts_what_was_stopped(tree: Tree) -> None:
    with supervised(tree):
        first = tree.wait_for("mapper", "RUNNING").pid
        tree.rpc().restart("mapper")
        second = tree.wait_for("mapper", "RUNNING").pid
        assert second != first
        tree.ctl("stop", "mapper")
        tree.rpc().restart("mapper")
        assert tree.wait_for("mapper", "RUNNING").pid not in (first, second)
        with pytest.raises(DeviceError, match="nobody"):
            tree.rpc().restart("nobody")


def test_a_path_too_long_for_a_unix_socket_is_reached_through_a_short_link(tmp_path: Path) -> None:
    tree = Tree(tmp_path / ("deep" * 20) / "checkout")
    with TemporaryDirectory() as tmp:
        found = deployment.find(tree.root, Path(tmp))
        assert found == deployment.find(tree.root, Path(tmp))
        tree.conf = found.conf
        assert str(found.conf) in found.ctl(tree.root)
        with supervised(tree) as supervisor:
            assert listener_pid(found.socket) == supervisor.pid
            assert "RUNNING" in tree.ctl("status", "ingest")
    assert ("started", "arm-right") in tree.events()


def test_a_second_stack_is_told_who_runs(tree: Tree) -> None:
    with (
        supervised(tree) as supervisor,
        pytest.raises(DeviceError, match=f"already runs .*process {supervisor.pid}"),
    ):
        run.check_alone(Deployment(tree.root), tree.root / "run")


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_port_is_free_until_someone_waits_on_it(transport: Transport) -> None:
    kind = socket.SOCK_DGRAM if transport == "udp" else socket.SOCK_STREAM
    with socket.socket(socket.AF_INET, kind) as holder:
        holder.bind(("127.0.0.1", 0))
        if transport == "tcp":
            holder.listen()
        port = holder.getsockname()[1]
        assert not run.is_free("127.0.0.1", port, transport)
        found = port_holder.find(port, transport)
        assert found is None or found.pid == os.getpid()  # None without a /proc
    assert run.is_free("127.0.0.1", port, transport)
    assert run.is_free("203.0.113.7", port, transport)  # not ours: the service tells that better


def test_nobody_listens_on_a_socket_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "supervisor.sock"
    assert listener_pid(path) is None
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))
    assert listener_pid(path) is None
    with pytest.raises(DeviceError, match="does not answer"):
        Supervisor(path).programs()
