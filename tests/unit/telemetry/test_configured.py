"""Which services a configuration puts to use."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from proto.registry import HEALTH_FAMILIES
from runtime import config
from services.telemetry.app import configured_services


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        (
            {"ROBOT": "sim"},
            ("telemetry", "ingest", "mapper", "arm-right", "arm-left", "sim-operator"),
        ),
        (
            {"ROBOT": "sim", "FARHAND_SIM_OPERATOR__ENABLED": "false"},
            ("telemetry", "ingest", "mapper", "arm-right", "arm-left"),
        ),
        ({"ROBOT": "piper"}, ("telemetry", "ingest", "mapper", "arm-right")),
    ],
)
def test_derived_from_the_settings(
    env: dict[str, str], expected: tuple[str, ...], tmp_path: Path
) -> None:
    ignored = shutil.ignore_patterns("local.toml")
    copy = shutil.copytree(config.REPO_ROOT / "config", tmp_path / "config", ignore=ignored)
    found = configured_services(config.load({**env, "FARHAND_CONFIG_DIR": str(copy)}))
    assert found == expected
    assert set(found) <= set(HEALTH_FAMILIES)
