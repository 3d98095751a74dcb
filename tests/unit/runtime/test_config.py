"""Configuration: layers, environment, published names, warnings."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from runtime import config
from runtime.config import warnings
from runtime.settings import ALIASES, SECTIONS
from tests.config_copy import copy_config
from tests.unit.runtime.config_folder import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """The committed files without local.toml."""
    return Folder(copy_config(tmp_path))


def robots() -> list[str]:
    """Every committed robot."""
    names = (path.stem for path in (config.REPO_ROOT / "config").glob("*.toml"))
    return sorted(name for name in names if name not in ("default", "local"))


# Layers


@pytest.mark.parametrize("robot", robots())
def test_every_committed_robot_loads(folder: Folder, robot: str) -> None:
    settings = folder.load(ROBOT=robot)
    assert settings.robot == robot
    assert settings.arm.keys() == settings.mapper.keys() != set()
    simulated = all(settings.simulated(side) for side in settings.arm)
    listens_here = settings.network.listen == ("127.0.0.1",)
    assert simulated == listens_here == settings.sim_operator.enabled


def test_the_simulator_is_what_runs_without_a_word(folder: Folder) -> None:
    assert folder.load().robot == "sim"
    assert folder.load(ROBOT="").robot == "sim"


def test_local_toml_names_the_robot_and_the_environment_beats_it(folder: Folder) -> None:
    folder.write("local.toml", 'robot = "piper"\n')
    assert folder.load().robot == "piper"
    assert folder.load(ROBOT="sim").robot == "sim"


def test_a_robot_may_be_a_file_elsewhere(folder: Folder, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[arm.left]\ncontrol_hz = 50\n")
    settings = folder.load(ROBOT=str(path))
    assert list(settings.arm) == ["left"]
    assert settings.arm["left"].control_hz == 50.0


def test_each_layer_beats_the_ones_before(folder: Folder) -> None:
    folder.write("bot.toml", "[arm]\ntcp_max_mps = 0.2\ncontrol_hz = 40\n[arm.right]\n")
    assert folder.load(ROBOT="bot").arm["right"].tcp_max_mps == 0.2
    folder.write("local.toml", "[arm]\ntcp_max_mps = 0.3\n")
    found = folder.load(ROBOT="bot").arm["right"]
    assert (found.tcp_max_mps, found.control_hz, found.queue_maxsize) == (0.3, 40.0, 3)
    assert folder.load(ROBOT="bot", FARHAND_ARM__TCP_MAX_MPS="0.1").arm["right"].tcp_max_mps == 0.1


def test_a_side_beats_what_both_share_whatever_stands_first(folder: Folder) -> None:
    folder.write(
        "bot.toml", "[arm.right]\nspeed_percent = 7\n[arm]\nspeed_percent = 5\n[arm.left]\n"
    )
    arm = folder.load(ROBOT="bot").arm
    assert (arm["right"].speed_percent, arm["left"].speed_percent) == (7, 5)


def test_a_later_layer_beats_a_side_of_an_earlier_one(folder: Folder) -> None:
    """An operator who lowers a limit for both must not be overruled by the robot's file."""
    folder.write("bot.toml", "[arm.right]\ntcp_max_mps = 0.2\nx_min_mm = -300\n[arm.left]\n")
    assert folder.load(ROBOT="bot", FARHAND_ARM__TCP_MAX_MPS="0.1").arm["right"].tcp_max_mps == 0.1
    assert folder.load(ROBOT="bot", X_MIN="-200").arm["right"].x_min_mm == -200.0
    folder.write("local.toml", "X_MIN = -100\n[arm]\ntcp_max_mps = 0.15\n")
    arm = folder.load(ROBOT="bot").arm
    assert [arm[side].tcp_max_mps for side in arm] == [0.15, 0.15]
    assert [arm[side].x_min_mm for side in arm] == [-100.0, -100.0]
    arm = folder.load(ROBOT="bot", FARHAND_ARM_LEFT__TCP_MAX_MPS="0.05").arm
    assert (arm["right"].tcp_max_mps, arm["left"].tcp_max_mps) == (0.15, 0.05)


def test_a_side_exists_once_its_table_does(folder: Folder) -> None:
    folder.write("bot.toml", "[arm.left]\n")
    assert list(folder.load(ROBOT="bot").arm) == ["left"]
    both = folder.load(ROBOT="bot", FARHAND_ARM_RIGHT__SPEED_PERCENT="3").arm
    assert list(both) == ["right", "left"]


def test_default_toml_has_every_key(folder: Folder) -> None:
    text = (folder.path / "default.toml").read_text()
    for section, kind in SECTIONS.items():
        table = text.partition(f"[{section}]\n")[2].partition("\n[")[0]
        keys = [line.split(" = ")[0] for line in table.splitlines() if " = " in line]
        assert keys == [field.name for field in fields(kind)], section


# Environment and aliases


@pytest.mark.parametrize(
    ("text", "value"),
    [("40", 40.0), ("40.5", 40.5), (" 40 ", 40.0), ("4e1", 40.0), ("4_0", 40.0)],
)
def test_numbers_in_the_environment(folder: Folder, text: str, value: float) -> None:
    assert folder.load(FARHAND_ARM__CONTROL_HZ=text).arm["right"].control_hz == value


def test_other_values_in_the_environment(folder: Folder) -> None:
    settings = folder.load(
        FARHAND_ARM__RESPONSE="legacy",
        FARHAND_MAPPER__MODE='"absolute"',
        FARHAND_MAPPER_LEFT__POSITION_OFFSET_M="[0, 0.5, 1]",
        FARHAND_SIM_OPERATOR__ENABLED="false",
        FARHAND_NETWORK__ALLOW='["10.0.0.0/8"]',
        FARHAND_NETWORK__LISTEN="[]",
        farhand_arm__control_hz="5",
        FARHANDX="5",
    )
    assert settings.arm["left"].response == "legacy"
    assert settings.mapper["right"].mode == "absolute"
    assert settings.mapper["left"].position_offset_m == (0.0, 0.5, 1.0)
    assert settings.mapper["right"].position_offset_m == (0.0, 0.0, 0.0)
    assert settings.sim_operator.enabled is False
    assert settings.network.allow == ("10.0.0.0/8",)
    assert settings.network.listen == ()


ALIAS_VALUES = {
    "CONTROL_HZ": ("50", 50.0),
    "QUEUE_MAXSIZE": ("7", 7),
    "SPEED_PERCENT": ("42", 42),
    "X_MIN": ("-111", -111.0),
    "X_MAX": ("112", 112.0),
    "Y_MIN": ("-113", -113.0),
    "Y_MAX": ("114", 114.0),
    "Z_MIN": ("115", 115.0),
    "Z_MAX": ("116", 116.0),
    "GRIPPER_MAX_UM": ("50000", 50_000),
    "positionOffset": ("[1, 2, 3]", (1.0, 2.0, 3.0)),
    "rotationOffset": ("[0, 90, 0]", (0.0, 90.0, 0.0)),
    "scaleFactor": ("0.5", 0.5),
}


@pytest.mark.parametrize("alias", ALIASES)
def test_published_names_work_everywhere(folder: Folder, alias: str) -> None:
    section, key = ALIASES[alias]
    text, value = ALIAS_VALUES[alias]
    settings = [folder.load(**{alias: text})]
    for layer in (f"{alias} = {text}\n", f"[{section}]\n{alias} = {text}\n"):
        folder.write("local.toml", layer)
        settings.append(folder.load())
    for found in settings:
        for side in ("right", "left"):
            assert getattr(getattr(found, section)[side], key) == value
    folder.write("local.toml", f"[{section}.left]\n{alias} = {text}\n")
    found = getattr(folder.load(), section)
    assert getattr(found["left"], key) == value
    assert getattr(found["right"], key) != value


@pytest.mark.parametrize("names", [("CONTROL_HZ", "FARHAND_ARM__CONTROL_HZ"), ()])
def test_of_two_names_in_the_environment_ours_decides(
    folder: Folder, names: tuple[str, ...]
) -> None:
    order = names or ("FARHAND_ARM__CONTROL_HZ", "CONTROL_HZ")
    values = {"CONTROL_HZ": "50", "FARHAND_ARM__CONTROL_HZ": "60"}
    assert folder.load(**{name: values[name] for name in order}).arm["left"].control_hz == 60.0


# Allowed, and probably not meant


def test_offsets_that_relative_mode_ignores_are_one_warning_a_side(folder: Folder) -> None:
    assert warnings(folder.load()) == []
    found = warnings(folder.load(FARHAND_MAPPER_LEFT__ROTATION_OFFSET_DEG="[0, 90, 0]"))
    assert len(found) == 1
    assert found[0].startswith("[mapper.left] offsets are set but mode is relative")
    assert 'mode = "absolute"' in found[0]
    absolute = {"positionOffset": "[0, 0, 1]", "FARHAND_MAPPER__MODE": "absolute"}
    assert warnings(folder.load(**absolute)) == []
    assert len(warnings(folder.load(ROBOT="piper"))) == 1
