"""Which services a configuration puts to use."""

from __future__ import annotations

from pathlib import Path

import pytest

from proto.registry import HEALTH_FAMILIES
from runtime import config
from services.telemetry.app import configured_services
from tests.config_copy import copy_config


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
    folder = copy_config(tmp_path)
    found = configured_services(config.load({**env, "FARHAND_CONFIG_DIR": str(folder)}))
    assert found == expected
    assert set(found) <= set(HEALTH_FAMILIES)
