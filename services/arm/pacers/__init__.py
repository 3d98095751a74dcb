"""From samples that arrive when they like to one pose a tick; one file per `response`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from runtime.errors import ConfigError
from services.arm.pacers.base import Pacer, PacerOptions
from services.arm.pacers.legacy import LegacyPacer
from services.arm.pacers.quick import QuickPacer

_PACERS: Final[dict[str, Callable[[PacerOptions], Pacer]]] = {
    "quick": QuickPacer,
    "legacy": LegacyPacer,
}

RESPONSES: Final = tuple(_PACERS)


def make(response: str, options: PacerOptions) -> Pacer:
    """A new pacer.

    Raises:
        ConfigError: there is none of that name.
    """
    pacer = _PACERS.get(response)
    if pacer is None:
        choices = ", ".join(RESPONSES)
        raise ConfigError(f"arm.response {response!r} does not exist; choose one of: {choices}")
    return pacer(options)
