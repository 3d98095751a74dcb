"""What `make run` refuses, opens and says, without starting anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime import config, lockfile
from runtime.settings import BUILT_DRIVERS
from services.arm.drivers import NAMES
from tests.config_copy import copy_config
from tools import run
from tools.deployment import Deployment

PORT_KEYS = (
    "FARHAND_INGEST__PORT_RIGHT",
    "FARHAND_INGEST__PORT_LEFT",
    "FARHAND_TELEMETRY__TAP_PORT",
    "FARHAND_TELEMETRY__HTTP_PORT",
)


@pytest.fixture
def deployed(tmp_path: Path) -> Deployment:
    """A checkout that has been set up."""
    root = tmp_path / "checkout"
    for folder in ("deploy", "run", ".venv/bin"):
        (root / folder).mkdir(parents=True)
    (root / ".venv" / "bin" / "python").touch()
    (root / "deploy" / "supervisord.conf").touch()
    return Deployment(root)


@pytest.fixture
def env(deployed: Deployment, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A simulator; every port counts as free."""
    monkeypatch.setattr(run, "is_free", lambda *_: True)
    run_dir = deployed.root / "run"
    run_dir.chmod(0o700)
    return {
        "ROBOT": "sim",
        "FARHAND_RUN_DIR": str(run_dir),
        "FARHAND_CONFIG_DIR": str(copy_config(deployed.root)),
    }


def start(env: dict[str, str], deployed: Deployment) -> tuple[int, list[list[str]]]:
    """The exit code and the command lines handed to the supervisor."""
    taken: list[list[str]] = []
    return run.main(env, lambda: deployed, taken.append), taken


def test_the_supervisor_takes_over_in_the_foreground(
    env: dict[str, str], deployed: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    code, taken = start(env, deployed)
    assert code == 0
    assert taken == [["-n", "-e", "warn", "-c", str(deployed.conf)]]
    told = capsys.readouterr().out
    for piece in (
        "robot sim",
        "127.0.0.1 only (LISTEN=lan make run lets a real one in), port 8888 right hand, 8889",
        "python -m tools.tap",
        "http://127.0.0.1:8010/health",
        "http://127.0.0.1:8010/metrics",
        "python -m tools.arm",
    ):
        assert piece in told
    assert len(told.splitlines()) <= 8


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("ROBOT", "nonesuch", "set ROBOT to one of"),
        ("FARHAND_ARM__CONTROL_HZ", "9", "control_hz"),
        ("FARHAND_NETWORK__LISTEN", '["10.0.0"]', "[network] listen"),
        ("FARHAND_NETWORK__ALLOW", '["lan"]', "[network] allow"),
        ("FARHAND_RUN_DIR", "relative", "must be an absolute path"),
        ("LISTEN", "wan", "valid value is lan"),
    ],
)
def test_a_bad_configuration_is_one_line_and_78(
    env: dict[str, str],
    deployed: Deployment,
    capsys: pytest.CaptureFixture[str],
    name: str,
    value: str,
    word: str,
) -> None:
    code, taken = start(env | {name: value}, deployed)
    said = capsys.readouterr().err
    assert (code, taken) == (78, [])
    assert word in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("missing", "fix"),
    [(".venv/bin/python", "make setup"), ("deploy/supervisord.conf", "tools.gen_supervisord")],
)
def test_before_set_up_the_fix_is_named(
    env: dict[str, str],
    deployed: Deployment,
    capsys: pytest.CaptureFixture[str],
    missing: str,
    fix: str,
) -> None:
    (deployed.root / missing).unlink()
    assert start(env, deployed) == (78, [])
    assert fix in capsys.readouterr().err


def test_no_place_for_the_supervisors_socket_is_one_line(
    env: dict[str, str], deployed: Deployment, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (deployed.root / "run").rmdir()
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    assert start(env | {"FARHAND_RUN_DIR": str(own)}, deployed) == (78, [])
    assert "mkdir -p run" in capsys.readouterr().err


def test_listen_lan_opens_a_simulator(env: dict[str, str], deployed: Deployment) -> None:
    opened = env | {"LISTEN": "lan"}
    assert start(opened, deployed)[0] == 0
    assert config.load(opened).network.listen == ("default-route", "tailscale0")


def test_listen_lan_leaves_what_was_chosen(
    env: dict[str, str], deployed: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = env | {"LISTEN": "lan", "FARHAND_NETWORK__LISTEN": '["127.0.0.1"]'}
    assert start(chosen, deployed)[0] == 0
    assert config.load(chosen).network.listen == ("127.0.0.1",)
    assert "LISTEN=lan is for simulators" in capsys.readouterr().out


def test_an_interface_that_is_down_is_told(
    env: dict[str, str], deployed: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    assert start(env | {"FARHAND_NETWORK__LISTEN": '["nowhere9"]'}, deployed)[0] == 0
    assert "nothing is called nowhere9" in capsys.readouterr().out


def test_a_service_that_runs_by_hand_is_named_with_its_pid(
    env: dict[str, str], deployed: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = lockfile.acquire(deployed.root / "run" / "mapper.lock")
    try:
        code, taken = start(env, deployed)
    finally:
        lock.release()
    said = capsys.readouterr().err
    assert (code, taken) == (75, [])
    assert f"mapper.lock is held by process {os.getpid()}" in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("key", PORT_KEYS)
def test_a_held_port_is_named_with_the_key_that_moves_it(
    env: dict[str, str],
    deployed: Deployment,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    key: str,
) -> None:
    monkeypatch.setattr(run, "is_free", lambda _address, port, _transport: port != 45454)
    monkeypatch.setattr("runtime.port_holder.find", lambda *_: None)
    code, taken = start(env | {key: "45454"}, deployed)
    said = capsys.readouterr().err
    assert (code, taken) == (75, [])
    assert "45454 is held by another process" in said
    assert key in said
    assert len(said.splitlines()) == 1


def test_a_robot_is_told_how_to_begin(env: dict[str, str]) -> None:
    settings = config.load(env | {"FARHAND_ARM__AUTO_ARM": "false"})
    lines = run.banner(settings, ["127.0.0.1", "10.0.0.5"], Deployment(Path("/nowhere")))
    assert any("UDP 10.0.0.5 or 127.0.0.1, port" in line for line in lines)
    assert any("arm right, then home right, then engage right" in line for line in lines)


def test_listen_with_lan_on_a_robot_changes_nothing(env: dict[str, str]) -> None:
    env |= {"ROBOT": "piper", "LISTEN": "lan"}
    settings = config.load(env)
    before = settings.network.listen
    assert run.open_to_lan(env, settings)
    assert config.load(env).network.listen == before


def test_a_driver_that_is_not_built_is_refused_before_anything_starts(
    env: dict[str, str], deployed: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    code, taken = start({**env, "ROBOT": "piper"}, deployed)
    assert (code, taken) == (78, [])
    assert "driver 'piper' is not built yet; there are: sim" in capsys.readouterr().err


def test_the_list_of_built_drivers_is_true() -> None:
    assert BUILT_DRIVERS == NAMES
