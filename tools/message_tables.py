"""What a message's dataclass says of its fields, in words: JSON type, unit, null, default. Pure."""

from __future__ import annotations

import inspect
import json
import types
import typing
from dataclasses import MISSING, Field, fields
from typing import Annotated, Any, Final, get_args, get_origin

from proto.messages import Message
from proto.reasons import Reason, State
from proto.units import Unit

_JSON_TYPES: Final[dict[Any, str]] = {
    int: "integer",
    float: "number",
    bool: "boolean",
    str: "text",
    Any: "any JSON",
}
# Literals that have a table of their own.
_WORDS: Final[dict[Any, str]] = {State: "a state", Reason: "a reason"}
_HEADER: Final = frozenset(field.name for field in fields(Message))


def describe(message: type[Message]) -> str:
    """The docstring, without the indentation of its source."""
    return inspect.cleandoc(message.__doc__ or "")


def field_units(message: type[Message]) -> dict[str, str | None]:
    """Each field's unit symbol, None for fields without one."""
    hints = typing.get_type_hints(message, include_extras=True)
    return {field.name: _split(hints[field.name])[1] for field in fields(message)}


def field_rows(message: type[Message]) -> list[tuple[str, str, str, str, str]]:
    """Name, type, unit, whether null is allowed, and what stands for a missing one.

    The header, which every message begins with, is left out of all but Message itself.
    """
    hints = typing.get_type_hints(message, include_extras=True)
    rows = []
    for field in fields(message):
        if message is not Message and field.name in _HEADER:
            continue
        kind, unit = _split(hints[field.name])
        inner, nullable = _optional(kind)
        shown = f"`{field.name}`", type_name(inner), unit or "", "yes" if nullable else ""
        rows.append((*shown, _default(field)))
    return rows


def type_name(kind: Any) -> str:
    """The JSON type of a Python one, e.g. `number[3]`.

    Raises:
        KeyError: a type that messages may not have.
    """
    origin, args = get_origin(kind), get_args(kind)
    if origin is typing.Literal:
        return _WORDS.get(kind) or " or ".join(args)
    if origin is tuple:
        length = "" if args[-1] is Ellipsis else str(len(args))
        return f"{type_name(args[0])}[{length}]"
    if origin is dict:
        return f"map of {type_name(args[1])}"
    return _JSON_TYPES[kind]


def _split(hint: Any) -> tuple[Any, str | None]:
    """The type and the unit of an annotation."""
    if get_origin(hint) is not Annotated:
        return hint, None
    units = [mark.symbol for mark in get_args(hint)[1:] if isinstance(mark, Unit)]
    return get_args(hint)[0], units[0] if units else None


def _optional(kind: Any) -> tuple[Any, bool]:
    if get_origin(kind) not in (typing.Union, types.UnionType):
        return kind, False
    return next(arg for arg in get_args(kind) if arg is not types.NoneType), True


def _default(field: Field[Any]) -> str:
    if field.default is not MISSING:
        return json.dumps(field.default)
    return "{}" if field.default_factory is not MISSING else "required"
