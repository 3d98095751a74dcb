"""Sets one key of one table in a TOML text and leaves every other byte alone. Pure.

Knows the plain way of writing a table, `[a.b]` and `key = value`. Whatever it did is parsed and
compared with what was asked for; where they differ (inline or dotted tables) it refuses.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from runtime.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Value = float | tuple[float, ...]
NEWLINE: Final = "\n"


def set_key(text: str, table: str, key: str, value: Value) -> str:
    """The text with `key = value` in `[table]`.

    Args:
        text: a TOML document; may be empty.
        table: dotted name of bare keys, such as "mapper.right".
        key: a bare key.
        value: numbers.

    Raises:
        ConfigError: the text is no TOML, or writes that table in a way this cannot edit.
    """
    wanted = _parse(text)
    _put(wanted, table, key, value)
    edited = _edit(text, table, key, f"{key} = {written(value)}")
    try:
        if tomllib.loads(edited) == wanted:
            return edited
    except tomllib.TOMLDecodeError:
        pass
    raise ConfigError(f"cannot edit [{table}]; write into it by hand: {key} = {written(value)}")


def written(value: Value) -> str:
    """As TOML."""
    if isinstance(value, tuple):
        return f"[{', '.join(repr(number) for number in value)}]"
    return repr(value)


def _parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"no valid TOML: {error}") from error


def _put(document: dict[str, Any], table: str, key: str, value: Value) -> None:
    for name in table.split("."):
        document = document.setdefault(name, {})
        if not isinstance(document, dict):
            raise ConfigError(f"{name} is no table; write [{table}]")
    document[key] = list(value) if isinstance(value, tuple) else value


def _edit(text: str, table: str, key: str, line: str) -> str:
    lines = text.split(NEWLINE)
    headers = [i for i, each in enumerate(lines) if _header(each) == table]
    if not headers:
        return f"{text.rstrip(NEWLINE)}{NEWLINE * 2 if text.strip() else ''}[{table}]\n{line}\n"
    first = headers[0] + 1
    last = next((i for i in range(first, len(lines)) if _header(lines[i])), len(lines))
    for at in range(first, last):
        if _is_key(lines[at], key):
            lines[at : _end(lines, at, last)] = [line + _comment(lines, at, last)]
            return NEWLINE.join(lines)
    lines.insert(first, line)
    return NEWLINE.join(lines)


def _header(line: str) -> str | None:
    """The table's name if the line opens one."""
    bare = line.partition("#")[0].strip()
    if not (bare.startswith("[") and bare.endswith("]")):
        return None
    return ".".join(part.strip() for part in bare.strip("[]").split("."))


def _is_key(line: str, key: str) -> bool:
    name, equals, _ = line.partition("=")
    return bool(equals) and name.strip() == key


def _end(lines: list[str], at: int, last: int) -> int:
    """One past the last line of the statement that begins at `at`."""
    for end in range(at + 1, last + 1):
        try:
            tomllib.loads(NEWLINE.join(lines[at:end]))
        except tomllib.TOMLDecodeError:
            continue
        return end
    return at + 1


def _comment(lines: list[str], at: int, last: int) -> str:
    """The remark behind a one-line statement; numbers hold no `#`."""
    _, mark, remark = lines[at].partition("#")
    return f"  #{remark}" if mark and _end(lines, at, last) == at + 1 else ""
