"""Started where it cannot run: one line that names the trouble and the fix, and the right exit."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from proto.registry import service
from runtime.config import REPO_ROOT
from runtime.errors import EXIT_CONFIG, EXIT_DEVICE
from tests.config_copy import copy_config
from tests.integration.live.rig import PATIENCE_S
from tools.stack import PrivateStack

pytestmark = pytest.mark.integration


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[PrivateStack]:
    """A run directory and free ports; nothing runs."""
    with PrivateStack((), {"FARHAND_CONFIG_DIR": str(copy_config(tmp_path))}) as stack:
        yield stack


def refusal(stack: PrivateStack, program: str, **env: str) -> tuple[int, str]:
    """Exit code and the only line that `program` prints."""
    declared = service(program)
    done = subprocess.run(
        [sys.executable, "-m", declared.module, *declared.args],
        cwd=REPO_ROOT,
        env={**stack.env, **env},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    lines = (done.stdout + done.stderr).splitlines()
    assert len(lines) == 1, lines
    return done.returncode, lines[0]


@pytest.mark.parametrize(
    ("program", "key", "value", "wanted"),
    [
        ("ingest", "INGEST__PORT_MIDDLE", "1", ("[ingest] port_middle: unknown key", "port_left")),
        ("mapper", "MAPPER__SCALE", "wide", ("[mapper] scale: must be a number", "'wide'")),
        (
            "arm-right",
            "ARM__CONTROL_HZ",
            "1000",
            ("[arm] control_hz: must lie in 20 ", "200", "1000"),
        ),
        ("arm-left", "MAPPER_LEFT__MODE", "both", ("[mapper.left] mode", "relative, absolute")),
        ("sim-operator", "OPERATOR__ENABLED", "true", ("unknown section", "sim_operator")),
        ("arm-right", "ARM__DRIVER", "none_such", ("driver", "sim")),
    ],
)
def test_a_bad_key_is_named_with_what_would_be_valid(
    stack: PrivateStack, program: str, key: str, value: str, wanted: tuple[str, ...]
) -> None:
    code, line = refusal(stack, program, **{f"FARHAND_{key}": value})
    assert code == EXIT_CONFIG
    assert all(text in line for text in wanted), line


def test_an_unknown_robot_is_refused_with_the_known_ones(stack: PrivateStack) -> None:
    code, line = refusal(stack, "ingest", ROBOT="none_such")
    assert code == EXIT_CONFIG
    assert "no robot" in line and "sim" in line and "piper" in line


def test_a_busy_port_is_named_with_its_holder_and_how_to_find_it(stack: PrivateStack) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind(("127.0.0.1", stack.ports[1]))
        code, line = refusal(stack, "ingest")
    assert code == EXIT_DEVICE
    assert f"127.0.0.1:{stack.ports[1]}" in line
    assert f"ss -ulpn 'sport = :{stack.ports[1]}'" in line
    assert "held by process" in line and "pytest" in line


def test_a_second_stack_on_the_same_ports_names_the_first(stack: PrivateStack) -> None:
    stack.start("ingest")
    first = stack.processes["ingest"]
    same_config = {"FARHAND_CONFIG_DIR": stack.env["FARHAND_CONFIG_DIR"]}
    with PrivateStack((), same_config) as second:
        ports = {
            "FARHAND_INGEST__PORT_RIGHT": str(stack.ports[0]),
            "FARHAND_INGEST__PORT_LEFT": str(stack.ports[1]),
        }
        _until_listening(stack)
        code, line = refusal(second, "ingest", **ports)
    assert code == EXIT_DEVICE
    assert f"127.0.0.1:{stack.ports[0]}" in line
    assert f"held by process {first.pid}" in line and "services.ingest" in line
    assert first.poll() is None


def _until_listening(stack: PrivateStack) -> None:
    """Waits for the line by which ingest says so; its output is a file, so this looks again."""
    process = stack.processes["ingest"]
    while "service_started" not in stack.log("ingest"):
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05)


def test_a_run_directory_that_cannot_be_made_is_named(stack: PrivateStack) -> None:
    blocked = stack.run_dir / "file"
    blocked.touch()
    where = str(blocked / "run")
    code, line = refusal(stack, "mapper", FARHAND_RUN_DIR=where)
    assert code == EXIT_CONFIG
    assert where in line and "set FARHAND_RUN_DIR" in line


def test_a_run_directory_open_to_others_is_refused(stack: PrivateStack, tmp_path: Path) -> None:
    where = tmp_path / "run"
    where.mkdir()
    where.chmod(0o755)
    code, line = refusal(stack, "mapper", FARHAND_RUN_DIR=str(where))
    assert code == EXIT_CONFIG
    assert f"chmod 700 {where}" in line


def test_a_run_directory_of_somebody_who_may_not_write_is_refused(
    stack: PrivateStack, tmp_path: Path
) -> None:
    """As root every directory is writable: there the one of a file system that takes no files."""
    where = tmp_path / "run"
    where.mkdir(mode=0o500)
    try:
        (where / "probe").touch()
    except PermissionError:
        pass
    else:
        where = Path("/proc/farhand")
    code, line = refusal(stack, "mapper", FARHAND_RUN_DIR=str(where))
    assert code == EXIT_CONFIG
    assert str(where) in line and "FARHAND_RUN_DIR" in line
