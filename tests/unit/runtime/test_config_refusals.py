"""Every refusal of a configuration is one line that names the key and what would be valid."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.config import load
from runtime.errors import ConfigError
from tests.config_copy import copy_config
from tests.unit.runtime.config_folder import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """The committed files without local.toml."""
    return Folder(copy_config(tmp_path))


ENV_REFUSALS = [
    ("FARHAND_ARM__CONTROL_HZZ", "1", ("[arm] control_hzz", "unknown key", "control_hz,")),
    ("FARHAND_ARM_LEFT__NOPE", "1", ("[arm.left] nope", "unknown key")),
    ("FARHAND_NOPE__X", "1", ("unknown section [nope]", "telemetry", "CONTROL_HZ")),
    ("FARHAND_ARM_UP__DRIVER", "sim", ("unknown section [arm_up]",)),
    ("FARHAND_TELEMETRY_LEFT__TAP_PORT", "1", ("unknown section [telemetry_left]",)),
    ("FARHAND_CONTROL_HZ", "1", ("write FARHAND_<SECTION>__<KEY>",)),
    ("FARHAND_ARM__", "1", ("unknown key",)),
    ("FARHAND___X", "1", ("unknown section []",)),
    ("FARHAND_ARM__RIGHT", "5", ("write FARHAND_ARM_RIGHT__<KEY>",)),
    ("FARHAND_ARM__RIGHT", '{driver = "sim"}', ("write FARHAND_ARM_RIGHT__<KEY>",)),
    ("FARHAND_ARM__CONTROL_HZ", "fast", ("[arm] control_hz", "must be a number", "'fast'")),
    ("FARHAND_ARM__CONTROL_HZ", "", ("must be a number", "''")),
    ("FARHAND_ARM__CONTROL_HZ", "true", ("must be a number", "True")),
    ("FARHAND_ARM__CONTROL_HZ", "[30]", ("must be a number",)),
    ("FARHAND_ARM__CONTROL_HZ", "19.9", ("must lie in 20 … 200", "is 19.9")),
    ("FARHAND_ARM__CONTROL_HZ", "200.1", ("must lie in 20 … 200",)),
    ("FARHAND_ARM__CONTROL_HZ", "nan", ("must lie in 20 … 200", "nan")),
    ("FARHAND_ARM__CONTROL_HZ", "inf", ("must lie in 20 … 200", "inf")),
    ("FARHAND_ARM__CONTROL_HZ", "9" * 400, ("[arm] control_hz", "must be a number")),
    ("CONTROL_HZ", "5", ("[arm] control_hz", "must lie in 20 … 200")),
    ("X_MIN", "left", ("[arm] x_min_mm", "must be a number")),
    ("FARHAND_TELEMETRY__TAP_PORT", "0", ("[telemetry] tap_port", "must lie in 1 … 65535")),
    ("FARHAND_TELEMETRY__TAP_PORT", "9" * 400, ("must lie in 1 … 65535",)),
    ("FARHAND_TELEMETRY__TAP_PORT", "80.5", ("must be a whole number",)),
    ("FARHAND_TELEMETRY__TAP_PORT", "8010", ("tap_port and http_port must differ",)),
    ("FARHAND_INGEST__PORT_LEFT", "8888", ("port_right and port_left must differ",)),
    ("FARHAND_MAPPER__MODE", "sideways", ("[mapper] mode", "none of relative, absolute")),
    ("FARHAND_MAPPER__MODE", "5", ("must be text",)),
    ("FARHAND_MAPPER__POSITION_OFFSET_M", "[0, 0]", ("must have 3 numbers, has 2",)),
    ("FARHAND_MAPPER__POSITION_OFFSET_M", "0", ("must be a list",)),
    ("FARHAND_MAPPER__POSITION_OFFSET_M", "[0, 0, 9]", ("must lie in -5 … 5",)),
    ("FARHAND_MAPPER__POSITION_OFFSET_M", '[0, 0, "a"]', ("must be a number",)),
    ("FARHAND_MAPPER__POSITION_OFFSET_M", "[0, 0", ("cannot read", "as a TOML value")),
    ("FARHAND_NETWORK__LISTEN", "127.0.0.1", ("[network] listen", "must be a list")),
    ("FARHAND_NETWORK__LISTEN", "[1]", ("must be text",)),
    ("FARHAND_ARM__DRIVER", 'sim"\nx = "1', ("cannot read",)),
    ("FARHAND_ARM__DRIVER", '"sim"\nx = 1', ("cannot read",)),
    ("FARHAND_SIM_OPERATOR__ENABLED", "yes", ("must be true or false", "'yes'")),
    ("FARHAND_SIM_OPERATOR__ENABLED", "1", ("must be true or false",)),
    ("FARHAND_ARM__X_MIN_MM", "400", ("[arm.right] x_min_mm 400 must be below x_max_mm 400",)),
    ("FARHAND_ARM_LEFT__Z_MAX_MM", "10", ("[arm.left] z_min_mm 50 must be below z_max_mm 10",)),
    ("FARHAND_ARM__REACH_MAX_MM", "10", ("[arm.right] reach_max_mm 10: workspace",)),
    ("FARHAND_ARM__DRIVER", "piper", ("auto_arm = true is for simulators", "'piper'")),
    ("ROBOT", "robbie", ("no robot 'robbie'", "piper", "sim")),
    ("ROBOT", "default", ("no robot 'default'",)),
    ("ROBOT", "local", ("no robot 'local'",)),
    ("ROBOT", "missing.toml", ("no robot 'missing.toml'",)),
]


@pytest.mark.parametrize(
    ("name", "text", "says"), ENV_REFUSALS, ids=[f"{n}={t[:20]!r}" for n, t, _ in ENV_REFUSALS]
)
def test_what_the_environment_may_not_say(
    folder: Folder, name: str, text: str, says: tuple[str, ...]
) -> None:
    line = folder.refusal(**{name: text})
    for words in says:
        assert words in line


FILE_REFUSALS = [
    ("[arm]\nspeed = 1\n", ("config/local.toml: [arm] speed", "unknown key", "speed_percent")),
    ("[arms]\n", ("config/local.toml: unknown section [arms]", "arm,")),
    ("speed = 1\n", ("unknown section [speed]",)),
    ("arm = 5\n", ("[arm] must be a table",)),
    ("[arm]\nright = 5\n", ("[arm] right", "unknown key")),
    ("[arm.up]\n", ("[arm] up", "unknown key")),
    ("[telemetry.right]\ntap_port = 5\n", ("[telemetry] right", "unknown key")),
    ("[arm]\nhome_p_m = 5\n", ("[arm] home_p_m", "must be a list (home position)")),
    ("[arm]\nauto_arm = 1979-05-27\n", ("must be true or false",)),
    ("X_MIN = true\n", ("[arm] x_min_mm", "must be a number")),
    ("scaleFactor = 20.0\n", ("[mapper] scale", "must lie in 0.01 … 10")),
    ("[arm\n", ("local.toml is no valid TOML",)),
    ("[arm]\n[arm]\n", ("local.toml is no valid TOML",)),
    ("robot = 5\n", ("no robot '5'",)),
]


@pytest.mark.parametrize(("text", "says"), FILE_REFUSALS)
def test_what_a_file_may_not_say(folder: Folder, text: str, says: tuple[str, ...]) -> None:
    folder.write("local.toml", text)
    line = folder.refusal()
    for words in says:
        assert words in line


def test_a_file_that_is_no_text_or_cannot_be_read(folder: Folder) -> None:
    (folder.path / "local.toml").write_bytes(b"\xff\xfe")
    assert "local.toml is no valid TOML" in folder.refusal()
    (folder.path / "local.toml").unlink()
    (folder.path / "local.toml").mkdir()
    assert "cannot read local.toml: " in folder.refusal()


def test_a_robot_without_an_arm(folder: Folder) -> None:
    folder.write("bot.toml", "[arm]\ncontrol_hz = 30\n")
    assert "needs [arm.right] or [arm.left]" in folder.refusal(ROBOT="bot")


def test_the_simulated_operator_needs_simulated_arms(folder: Folder) -> None:
    line = folder.refusal(ROBOT="piper", FARHAND_SIM_OPERATOR__ENABLED="true")
    assert "[sim_operator] enabled = true is for simulators, arm.right has 'piper'" in line


@pytest.mark.parametrize(
    ("cut", "says"),
    [
        ("tap_port = 9872\n", "config/default.toml: [telemetry] lacks tap_port"),
        (
            '[sim_operator]\nenabled = false\nmotion = "circle"\nrate_hz = 50.0\n',
            "[sim_operator] lacks",
        ),
    ],
)
def test_a_default_file_with_something_missing(folder: Folder, cut: str, says: str) -> None:
    text = (folder.path / "default.toml").read_text()
    assert cut in text
    folder.write("default.toml", text.replace(cut, ""))
    folder.write("bot.toml", "[arm.right]\n")
    assert says in folder.refusal(ROBOT="bot")


def test_a_folder_without_its_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read default\.toml: No such file"):
        load({"FARHAND_CONFIG_DIR": str(tmp_path)})
