"""A bus message as taps see it: the same field names in JSON, plus `timestamp`. Pure.

Owns the shape that PlotJuggler, `tools.tap` and ten lines of anyone's code read. JSON has no NaN
and PlotJuggler drops a payload that carries one, so non-finite numbers are an error here; `None`
is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any, Final

from proto.messages import Message

# Beyond this a stamp is no age but another machine's clock or garbage.
MAX_TRUSTED_AGE_NS: Final = 60_000_000_000

_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
_getters: dict[type[Message], tuple[tuple[str, ...], Callable[[Message], tuple[Any, ...]]]] = {}


def slashed(topic: str) -> str:
    """The topic's name on the tap: `arm_state.right` is `arm_state/right`."""
    return topic.replace(".", "/")


def json_fields(message: Message) -> dict[str, Any]:
    """The fields of `message` by name, without those that are None."""
    names, getter = _getter(type(message))
    pairs = zip(names, getter(message), strict=True)
    return {
        name: _shaped(value) if type(value) is dict else value
        for name, value in pairs
        if value is not None
    }


def encode_json(message: Message, timestamp_s: float) -> bytes:
    """The payload frame of the tap.

    Args:
        message: any bus message.
        timestamp_s: unix seconds, the top-level number that plotting tools use as time.

    Raises:
        ValueError: a number is not finite.
    """
    shape = {"timestamp": timestamp_s, **json_fields(message)}
    return _encode(shape).encode()


def sent_at_s(t_mono_ns: int, now_ns: int, now_wall_s: float) -> float:
    """When the publisher sent, in unix seconds: its monotonic stamp against both clocks now.

    A stamp from the future or from more than a minute ago is not believed; then it is now.
    """
    age_ns = now_ns - t_mono_ns
    if not 0 <= age_ns <= MAX_TRUSTED_AGE_NS:
        return now_wall_s
    return now_wall_s - age_ns / 1e9


def _shaped(value: Any) -> Any:
    """Maps without their null entries; anything else as it is (a list keeps its positions)."""
    if isinstance(value, dict):
        return {key: _shaped(entry) for key, entry in value.items() if entry is not None}
    return value


def _getter(cls: type[Message]) -> tuple[tuple[str, ...], Callable[[Message], tuple[Any, ...]]]:
    if cls not in _getters:
        names = tuple(f.name for f in fields(cls))
        _getters[cls] = names, attrgetter(*names)
    return _getters[cls]
