"""python -m tools.doctor on this machine: nothing runs, something runs, something is wrong."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from tests.config_copy import copy_config
from tests.integration.fake_arm import FakeArm
from tests.integration.supervisor_tree import Tree, supervised
from tools import doctor
from tools.deployment import Deployment
from tools.stack import free_udp_ports

pytestmark = pytest.mark.integration
Rows = dict[str, dict[str, str]]


@pytest.fixture
def run_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A simulator of our own, on ports of our own."""
    directory = tmp_path / "run"
    directory.mkdir(mode=0o700)
    right, left, tap, http = free_udp_ports(4)
    for name, value in (
        ("ROBOT", "sim"),
        ("FARHAND_RUN_DIR", str(directory)),
        ("FARHAND_CONFIG_DIR", str(copy_config(tmp_path))),
        ("FARHAND_INGEST__PORT_RIGHT", str(right)),
        ("FARHAND_INGEST__PORT_LEFT", str(left)),
        ("FARHAND_TELEMETRY__TAP_PORT", str(tap)),
        ("FARHAND_TELEMETRY__HTTP_PORT", str(http)),
    ):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tools.deployment.find", lambda: Deployment(tmp_path))
    return directory


def report(capsys: pytest.CaptureFixture[str]) -> tuple[int, Rows]:
    """Exit code and rows by name."""
    code = doctor.main(["--json"])
    told = json.loads(capsys.readouterr().out)
    rows = {row["name"]: row for row in told["rows"]}
    assert code == (1 if told["failed"] else 0)
    assert told["failed"] == sum(row["status"] == "fail" for row in told["rows"])
    return code, rows


def test_nothing_runs(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, rows = report(capsys)
    assert rows["configuration"]["status"] == "ok"
    assert rows["stack"] == {
        "name": "stack", "status": "warn", "says": "nothing runs", "fix": "make run",
    }  # fmt: skip
    port = os.environ["FARHAND_INGEST__PORT_RIGHT"]
    assert rows[f"udp {port}"]["says"] == "free"
    assert rows["run directory"]["says"] == str(run_dir)
    assert rows["supervisord.conf"]["status"] == "ok"


def test_the_table_has_a_fix_below_each_row_that_needs_one(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    doctor.main([])
    told = capsys.readouterr().out.splitlines()
    troubled = [line for line in told[:-1] if line.startswith(("warn", "fail"))]
    assert len([line for line in told if line.strip().startswith("fix: ")]) == len(troubled)
    assert "warnings" in told[-1]


def test_an_arm_that_runs_without_its_stack(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeArm(run_dir):
        code, rows = report(capsys)
    assert code == 1
    assert rows["arm right"]["says"].startswith("HOLD not_engaged")
    assert rows["arm left"]["status"] == "fail"
    assert rows["ingest"]["says"] == "silent"
    assert "authenticated: false" in rows["authenticated"]["says"]


def test_a_stranger_on_our_port_is_named(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        port = int(os.environ["FARHAND_INGEST__PORT_LEFT"])
        stranger.bind(("127.0.0.1", port))
        code, rows = report(capsys)
    assert code == 1
    assert rows[f"udp {port}"]["status"] == "fail"
    assert "FARHAND_INGEST__PORT_LEFT" in rows[f"udp {port}"]["fix"]


@pytest.mark.parametrize(
    ("name", "value", "row"),
    [
        ("FARHAND_ARM__CONTROL_HZ", "7", "configuration"),
        ("FARHAND_NETWORK__ALLOW", '["nonsense"]', "network"),
        ("FARHAND_RUN_DIR", "relative", "run directory"),
        ("LISTEN", "everywhere", "configuration"),
    ],
)
def test_what_is_wrong_fails_and_the_rest_is_still_examined(
    run_dir: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
    row: str,
) -> None:
    monkeypatch.setenv(name, value)
    code, rows = report(capsys)
    assert code == 1
    assert rows[row]["status"] == "fail"
    assert rows[row]["fix"]
    assert "python" in rows


def test_a_program_that_has_given_up_is_named(
    run_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = Tree(run_dir.parent / "checkout")
    (tree.root / "run" / "exit-78-mapper").touch()
    monkeypatch.setattr("tools.deployment.find", lambda: Deployment(tree.root))
    with supervised(tree):
        tree.wait_for("mapper", "EXITED")
        rows = {row.name: row for row in doctor.supervisor_rows(run_dir)}
    assert rows["supervisor"].status == "ok"
    assert rows["mapper"].status == "fail"
    assert rows["mapper"].fix == "see run/mapper.log"
    assert "programs" not in rows
