"""One file per robot; the only place where a vendor SDK may be imported, and only when chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from runtime.errors import ConfigError
from services.arm.driver import Driver, DriverMissingError

Options = Mapping[str, object]

_OUR_PACKAGES: Final = ("proto", "runtime", "services")


def _sim(options: Options) -> Driver:
    from services.arm.drivers.sim import create

    return create(options)


_LOADERS: Final[dict[str, Callable[[Options], Driver]]] = {"sim": _sim}

NAMES: Final = tuple(sorted(_LOADERS))


def load(name: str, options: Options) -> Driver:
    """The driver `name`, not yet open.

    Args:
        name: registry name, from `[arm.SIDE] driver` of the configuration.
        options: the driver's own table of the configuration; each driver names its keys.

    Raises:
        ConfigError: no such driver, or an option it does not take.
        DriverMissingError: the vendor's SDK is not installed.
    """
    loader = _LOADERS.get(name)
    if loader is None:
        raise ConfigError(f"arm driver {name!r} does not exist; choose one of: {', '.join(NAMES)}")
    try:
        return loader(options)
    except ModuleNotFoundError as err:
        package = (err.name or "").partition(".")[0]
        if package in _OUR_PACKAGES:
            raise
        raise DriverMissingError(
            f"arm driver {name} needs the Python package {package}: install it into the venv"
        ) from err
