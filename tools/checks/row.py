"""One line of the doctor's report: what was looked at, how it is, and the fix. Pure."""

from __future__ import annotations

from typing import Literal, NamedTuple

Status = Literal["ok", "warn", "fail"]


class Row(NamedTuple):
    """`fix` is empty where nothing needs mending."""

    name: str
    status: Status
    says: str
    fix: str = ""


def ok(name: str, says: str) -> Row:
    """All is well."""
    return Row(name, "ok", says)


def warn(name: str, says: str, fix: str) -> Row:
    """It works, and a person should know."""
    return Row(name, "warn", says, fix)


def fail(name: str, says: str, fix: str) -> Row:
    """It will not work until the fix is done."""
    return Row(name, "fail", says, fix)


def graded(name: str, says: str, fix: str, *, bad: bool, doubtful: bool) -> Row:
    """fail if `bad`, warn if `doubtful`, else ok."""
    if bad:
        return fail(name, says, fix)
    return warn(name, says, fix) if doubtful else ok(name, says)
