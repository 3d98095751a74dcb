"""tools.arm calibrate with a hand and an arm on the real bus, and a configuration of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from proto.messages import Vec3
from runtime import config
from tests.config_copy import copy_config
from tests.integration.fake_arm import FakeArm, FakeHand
from tests.integration.supervisor_tree import Tree, supervised
from tools import calibrate
from tools.calibration import solve_origin_m
from tools.deployment import Deployment

pytestmark = pytest.mark.integration
HAND_M: Vec3 = (0.1, 1.2, -0.3)
MINE = 'robot = "sim"\n\n[mapper.right]  # mine\nscale = 0.5\n'


@pytest.fixture
def run_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of the developer's own is read, written or restarted."""
    directory = tmp_path / "run"
    directory.mkdir(mode=0o700)
    monkeypatch.setenv("FARHAND_RUN_DIR", str(directory))
    monkeypatch.setenv("FARHAND_CONFIG_DIR", str(copy_config(tmp_path)))
    monkeypatch.delenv("ROBOT", raising=False)
    monkeypatch.setattr("tools.deployment.find", lambda: Deployment(tmp_path))
    monkeypatch.setattr(calibrate, "HAND_WAIT_NS", 500_000_000)
    monkeypatch.setattr(calibrate, "LOOK_MS", 300)
    return directory


def local(run_dir: Path) -> Path:
    return run_dir.parent / "config" / "local.toml"


def still(_: float) -> Vec3:
    return HAND_M


def forward_right(since_s: float) -> Vec3:
    """0.4 m/s at 45 degrees between ahead and right, openxr axes."""
    way_m = 0.4 * since_s * 0.5**0.5
    return (way_m, 1.0, -way_m)


def test_origin_maps_the_present_hand_onto_the_present_tool(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    local(run_dir).write_text(MINE)
    with FakeArm(run_dir) as arm, FakeHand(run_dir, still):
        assert calibrate.calibrate("origin", "right") == 0
        tool_m = arm.state.meas_p_base_tool_m
    assert tool_m is not None
    mapper = config.load({"FARHAND_CONFIG_DIR": str(local(run_dir).parent)}).mapper["right"]
    assert mapper.vr_origin_m == solve_origin_m(HAND_M, tool_m, replace(mapper, vr_origin_m=HAND_M))
    told = capsys.readouterr().out
    assert "vr_origin_m = [" in told
    assert 'mode = "absolute" only' in told
    assert "restart the mapper" in told
    kept = [line for line in local(run_dir).read_text().splitlines() if "vr_origin" not in line]
    assert kept == MINE.splitlines()
    assert arm.commands == []


def test_heading_turns_the_way_of_the_hand_onto_the_robots_forward(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeHand(run_dir, forward_right, "left"):
        assert calibrate.calibrate("heading", "left") == 0
    loaded = config.load({"FARHAND_CONFIG_DIR": str(local(run_dir).parent)})
    assert loaded.mapper["left"].heading_deg == pytest.approx(45.0, abs=0.1)
    assert loaded.mapper["right"].heading_deg == 0.0
    assert "heading_deg = 45" in capsys.readouterr().out


@pytest.mark.parametrize("engaged", ["right", "left"])
@pytest.mark.parametrize("what", calibrate.CALIBRATIONS)
def test_refused_while_any_arm_is_engaged(
    run_dir: Path, capsys: pytest.CaptureFixture[str], what: str, engaged: str
) -> None:
    with FakeArm(run_dir, "right") as right, FakeArm(run_dir, "left") as left:
        for arm in (right, left):
            if arm.state.side == engaged:
                arm.state = replace(arm.state, state="ENGAGED", reason="")
        assert calibrate.calibrate(what, "right") == 1
    assert f"tools.arm release {engaged}" in capsys.readouterr().err
    assert not local(run_dir).exists()


def test_no_hand_a_restless_hand_and_no_arm_are_one_line_each(
    run_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibrate, "STILL_WAIT_NS", 500_000_000)
    monkeypatch.setattr(calibrate, "FORWARD_WAIT_NS", 500_000_000)
    monkeypatch.setattr(calibrate, "LOOK_MS", 50)
    assert calibrate.calibrate("origin", "right") == 1
    with FakeHand(run_dir, forward_right):
        assert calibrate.calibrate("origin", "right") == 1
    with FakeHand(run_dir, still):
        assert calibrate.calibrate("heading", "right") == 1
        monkeypatch.setattr(calibrate, "STILL_WAIT_NS", 5_000_000_000)
        assert calibrate.calibrate("origin", "right") == 1
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 4
    for line, words in zip(
        told, ("no hand", "never still", "less than 20 cm", "does not tell where"), strict=True
    ):
        assert words in line
    assert not local(run_dir).exists()


def test_a_file_that_cannot_be_edited_is_left_as_it_was(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    local(run_dir).write_text("mapper.right.scale = 0.5\n")
    with FakeHand(run_dir, forward_right):
        assert calibrate.calibrate("heading", "right") == 1
    assert local(run_dir).read_text() == "mapper.right.scale = 0.5\n"
    assert "by hand: heading_deg = 4" in capsys.readouterr().err
    assert [p.name for p in local(run_dir).parent.glob("*local*")] == ["local.toml"]


def test_a_value_out_of_bounds_is_not_kept(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeArm(run_dir), FakeHand(run_dir, lambda _: (50.0, 0.0, 0.0)):
        assert calibrate.calibrate("origin", "right") == 1
    assert "must lie in -10" in capsys.readouterr().err
    assert not local(run_dir).exists()


def test_what_the_environment_overrides_is_told(
    run_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FARHAND_MAPPER_RIGHT__HEADING_DEG", "7.0")
    with FakeHand(run_dir, forward_right):
        assert calibrate.calibrate("heading", "right") == 0
    assert "environment overrides" in capsys.readouterr().out


def test_a_side_that_is_not_configured(
    run_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROBOT", "piper")
    assert calibrate.calibrate("heading", "left") == 1
    assert "robot piper has no left arm" in capsys.readouterr().err


def test_the_mapper_of_a_running_stack_is_restarted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = Tree(tmp_path / "checkout")
    monkeypatch.setattr("tools.deployment.find", lambda: Deployment(tree.root))
    with supervised(tree):
        before = tree.wait_for("mapper", "RUNNING").pid
        kept = tree.wait_for("ingest", "RUNNING").pid
        assert calibrate.restart_mapper() == "mapper restarted"
        assert tree.wait_for("mapper", "RUNNING").pid != before
        assert tree.wait_for("ingest", "RUNNING").pid == kept
