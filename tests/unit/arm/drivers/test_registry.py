"""services.arm.drivers: names, lazy loading, missing packages."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from runtime.errors import ConfigError
from services.arm import drivers
from services.arm.driver import Driver, DriverMissingError


def test_the_sim_driver_is_loaded_with_its_options() -> None:
    assert drivers.load("sim", {"servo_lag_s": 0.05}).info.servo_lag_s == 0.05


def test_an_unknown_name_lists_the_choices() -> None:
    with pytest.raises(ConfigError, match=r"'nope' does not exist; choose one of: .*\bsim\b"):
        drivers.load("nope", {})


@pytest.mark.parametrize("package", ["piper_sdk.interface", "can"])
def test_a_missing_sdk_names_its_package(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    def loader(options: Mapping[str, object]) -> Driver:
        raise ModuleNotFoundError(name=package)

    monkeypatch.setitem(drivers._LOADERS, "x", loader)
    with pytest.raises(DriverMissingError, match=f"x needs the Python package {package[:5]}"):
        drivers.load("x", {})


def test_a_missing_module_of_ours_is_a_defect_and_not_a_missing_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def loader(options: Mapping[str, object]) -> Driver:
        raise ModuleNotFoundError(name="services.arm.drivers.gone")

    monkeypatch.setitem(drivers._LOADERS, "x", loader)
    with pytest.raises(ModuleNotFoundError, match=r"^$"):
        drivers.load("x", {})


def test_the_registry_imports_no_driver_until_one_is_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in sys.modules if name.startswith("services.arm.drivers.")]:
        monkeypatch.delitem(sys.modules, name)
    scope = runpy.run_path(str(Path(str(drivers.__file__))))
    assert [name for name in sys.modules if name.startswith("services.arm.drivers.")] == []
    assert "sim" in scope["NAMES"]
