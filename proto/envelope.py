"""Bytes of a bus message and back: msgpack map, checked field by field against the dataclass.

`decode` is total: any bytes give a message or an EnvelopeError with a named reason. Python
dataclasses accept wrong types and NaN silently, so both are checked here, once, for everyone.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from operator import attrgetter
from typing import Any, Final, TypeVar, get_args, get_origin

import msgpack

from proto.messages import Message

MAX_MESSAGE_BYTES: Final = 16_384
MAX_ITEMS: Final = 128  # entries of one map or array; the largest message has about 50 fields
MAX_DEPTH: Final = 4

M = TypeVar("M", bound=Message)
Check = Callable[[Any], Any]

# Made at first use of a message type, since resolving its annotations costs start-up time.
_getters: dict[type[Message], tuple[tuple[str, ...], Callable[[Message], tuple[Any, ...]]]] = {}
_plans: dict[type[Message], tuple[tuple[str, bool, Check], ...]] = {}


class EnvelopeError(ValueError):
    """A payload that is not the message it should be; `reason` is a counter's name."""

    def __init__(self, reason: str, what: str) -> None:
        super().__init__(f"{reason}: {what}")
        self.reason = reason


def encode(message: Message) -> bytes:
    """Payload frame of `message`."""
    names, getter = _getter(type(message))
    packed: bytes = msgpack.packb(dict(zip(names, getter(message), strict=True)))
    return packed


def encode_stamped(message: Message, header: Mapping[str, int]) -> bytes:
    """Payload frame of `message` with its header fields replaced; spares a dataclass copy."""
    names, getter = _getter(type(message))
    values = dict(zip(names, getter(message), strict=True))
    values.update(header)
    packed: bytes = msgpack.packb(values)
    return packed


def decode(cls: type[M], payload: bytes) -> M:
    """The message in `payload`.

    Raises:
        EnvelopeError: reasons too_long, bad_msgpack, not_a_map, missing_field, bad_field.
    """
    if len(payload) > MAX_MESSAGE_BYTES:
        raise EnvelopeError("too_long", f"{len(payload)} bytes, limit {MAX_MESSAGE_BYTES}")
    found = _unpack(payload)
    values: dict[str, Any] = {}
    for name, required, check in _plan(cls):
        if name not in found:
            if required:
                raise EnvelopeError("missing_field", f"{cls.__name__}.{name}")
            continue
        try:
            values[name] = check(found[name])
        except (TypeError, ValueError) as error:
            raise EnvelopeError("bad_field", f"{cls.__name__}.{name}: {error}") from error
    return cls(**values)


def _unpack(payload: bytes) -> dict[str, Any]:
    try:
        found = msgpack.unpackb(
            payload,
            strict_map_key=True,
            max_array_len=MAX_ITEMS,
            max_map_len=MAX_ITEMS,
            max_ext_len=0,
        )
    except (ValueError, RecursionError) as error:
        raise EnvelopeError("bad_msgpack", str(error) or type(error).__name__) from error
    if not isinstance(found, dict):
        raise EnvelopeError("not_a_map", type(found).__name__)
    return found


def _getter(cls: type[Message]) -> tuple[tuple[str, ...], Callable[[Message], tuple[Any, ...]]]:
    if cls not in _getters:
        names = tuple(f.name for f in fields(cls))
        _getters[cls] = names, attrgetter(*names)
    return _getters[cls]


def _plan(cls: type[Message]) -> tuple[tuple[str, bool, Check], ...]:
    if cls not in _plans:
        _plans[cls] = _make_plan(cls)
    return _plans[cls]


def _make_plan(cls: type[Message]) -> tuple[tuple[str, bool, Check], ...]:
    hints = typing.get_type_hints(cls)  # drops Annotated: units are for people and doc tables
    return tuple(
        (
            f.name,
            f.default is MISSING and f.default_factory is MISSING,
            _checker(hints[f.name]),
        )
        for f in fields(cls)
    )


def _checker(hint: Any) -> Check:
    origin = get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return _optional(hint)
    if origin is typing.Literal:
        return _one_of(frozenset(get_args(hint)))
    if origin is tuple:
        return _tuple_of(get_args(hint))
    if origin is dict:
        return _map_of(get_args(hint)[1])
    simple: dict[Any, Check] = {int: _int, float: _float, bool: _bool, str: _str, Any: _plain}
    return simple[hint]


def _optional(hint: Any) -> Check:
    inner = _checker(next(a for a in get_args(hint) if a is not types.NoneType))

    def check(value: Any) -> Any:
        return None if value is None else inner(value)

    return check


def _one_of(choices: frozenset[str]) -> Check:
    def check(value: Any) -> Any:
        if value not in choices:
            raise ValueError(f"{value!r} is not one of {sorted(choices)}")
        return value

    return check


def _tuple_of(args: tuple[Any, ...]) -> Check:
    item = _checker(args[0])
    length = None if args[-1] is Ellipsis else len(args)

    def check(value: Any) -> Any:
        if not isinstance(value, list):
            raise TypeError(f"expected a list, got {type(value).__name__}")
        if length is not None and len(value) != length:
            raise ValueError(f"expected {length} items, got {len(value)}")
        return tuple(map(item, value))

    return check


def _map_of(arg: Any) -> Check:
    item = _checker(arg)

    def check(value: Any) -> Any:
        if not isinstance(value, dict):
            raise TypeError(f"expected a map, got {type(value).__name__}")
        return {_str(key): item(entry) for key, entry in value.items()}

    return check


def _int(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"expected an integer, got {type(value).__name__}")
    return value


def _float(value: Any) -> float:
    kind = type(value)
    if kind is not float and kind is not int:
        raise TypeError(f"expected a number, got {kind.__name__}")
    if not math.isfinite(value):
        raise ValueError("not finite")
    return float(value)


def _bool(value: Any) -> bool:
    if value is not True and value is not False:
        raise TypeError(f"expected true or false, got {type(value).__name__}")
    return value


def _str(value: Any) -> str:
    if type(value) is not str:
        raise TypeError(f"expected text, got {type(value).__name__}")
    return value


def _plain(value: Any, depth: int = MAX_DEPTH) -> Any:
    """JSON-like data: null, bool, int, finite number, text, and lists and maps of these."""
    if depth == 0:
        raise ValueError("nested too deeply")
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, list):
        return [_plain(entry, depth - 1) for entry in value]
    if isinstance(value, dict):
        return {_str(key): _plain(entry, depth - 1) for key, entry in value.items()}
    return _float(value)
