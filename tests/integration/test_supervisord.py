"""The generated conf under the real supervisor: states, restarts, socket, order of stopping."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import pytest

from proto.registry import SERVICES, service
from tests.integration.supervisor_tree import PATIENCE_S, Tree, supervised

pytestmark = pytest.mark.integration


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "a checkout")  # a blank in the path must not split the command


def test_start_status_socket_and_orderly_stop(tree: Tree) -> None:
    with supervised(tree) as supervisor:
        for declared in SERVICES:
            tree.wait_for(declared.program, "RUNNING" if declared.autostart else "STOPPED")
        socket_mode = (tree.root / "run" / "supervisor.sock").stat().st_mode
        assert stat.S_ISSOCK(socket_mode)
        assert stat.S_IMODE(socket_mode) == 0o700
        tree.ctl("shutdown")
        assert supervisor.wait(PATIENCE_S) == 0
    stopped = [program for word, program in tree.events() if word == "stopped"]
    ranks = [service(program).stop_rank for program in stopped]
    assert sorted(stopped) == sorted(s.program for s in SERVICES if s.autostart)
    assert ranks == sorted(ranks, reverse=True)
    logs = {path.name for path in (tree.root / "run").glob("*.log")}
    assert logs == {"supervisord.log", *(f"{s.program}.log" for s in SERVICES if s.autostart)}


def test_a_killed_program_comes_back_a_misconfigured_one_stays_down(tree: Tree) -> None:
    (tree.root / "run" / "exit-78-telemetry").touch()
    with supervised(tree):
        tree.wait_for("mapper", "RUNNING")
        tree.wait_for("telemetry", "EXITED")
        killed = tree.pid("mapper")
        os.kill(killed, signal.SIGKILL)
        for _ in range(100):
            if tree.pid("mapper") not in (0, killed):
                break
        assert tree.pid("mapper") not in (0, killed)
        assert tree.events().count(("started", "telemetry")) == 1


def test_an_arm_is_swapped_for_its_simulator_while_the_rest_runs(tree: Tree) -> None:
    with supervised(tree):
        tree.wait_for("arm-right", "RUNNING")
        kept = tree.pid("ingest")
        tree.ctl("stop", "arm-right")
        tree.ctl("start", "sim-arm-right")
        states = tree.states()
        assert (states["arm-right"], states["sim-arm-right"]) == ("STOPPED", "RUNNING")
        assert tree.pid("ingest") == kept
