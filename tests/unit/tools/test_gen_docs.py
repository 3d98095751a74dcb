"""The page generator: what stands between markers is its own, every other word is not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest

from proto.messages import ArmState, Message
from proto.reasons import Reason, Side
from tools import gen_docs
from tools.gen_docs import END, MARK, MarkerError, fill, table
from tools.message_tables import field_rows, type_name

PAGE = f"before\n{MARK.format(name='t')}\nold\n{END.format(name='t')}\nafter\n"


def filled(page: str, content: str = "new") -> str:
    return fill(page, {"t": lambda: content})


def test_only_what_stands_between_the_markers_changes() -> None:
    once = filled(PAGE)
    assert once == PAGE.replace("\nold\n", "\n\nnew\n\n")
    assert filled(once) == once
    assert filled(once, r"\1 back\slash") == once.replace("new", r"\1 back\slash")


@pytest.mark.parametrize(
    "page",
    ["", PAGE + PAGE, PAGE.replace("<!-- end", "<!-- fin"), PAGE.replace("generated", "made")],
)
def test_a_page_without_its_markers_is_refused(page: str) -> None:
    with pytest.raises(MarkerError, match="exactly one pair"):
        filled(page)


def test_a_table() -> None:
    assert table(("a", "b"), [("1", "x|y")]) == "| a | b |\n| --- | --- |\n| 1 | x\\|y |"


def test_check_compares_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "docs/specs/topics.md"
    committed = (gen_docs.ROOT / name).read_text()
    page = tmp_path / name
    page.parent.mkdir(parents=True)
    page.write_text(committed.replace("| 8888 |", "| 8887 |"))
    stale = page.read_text()
    assert stale != committed
    assert gen_docs.main(["--check"], tmp_path) == 1
    assert page.read_text() == stale
    assert "out of date: docs/specs/topics.md; run: make docs" in capsys.readouterr().err
    assert gen_docs.main([], tmp_path) == 0
    assert page.read_text() == committed
    assert gen_docs.main(["--check"], tmp_path) == 0


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (int, "integer"),
        (tuple[float, float, float], "number[3]"),
        (tuple[str, ...], "text[]"),
        (dict[str, int], "map of integer"),
        (dict[str, Any], "map of any JSON"),
        (Side, "right or left"),
        (Reason, "a reason"),
    ],
)
def test_type_names(kind: Any, expected: str) -> None:
    assert type_name(kind) == expected


def test_a_type_that_messages_may_not_have() -> None:
    with pytest.raises(KeyError):
        type_name(bytes)
    with pytest.raises(KeyError):
        type_name(Annotated[int, "x"])


def test_rows_of_a_message() -> None:
    rows = {row[0]: row for row in field_rows(ArmState)}
    assert rows["`latency_ms`"] == ("`latency_ms`", "number", "ms", "yes", "null")
    assert rows["`slip_p_m`"][4] == "[0.0, 0.0, 0.0]"
    assert rows["`state`"][1:] == ("a state", "", "", "required")
    assert "`seq`" not in rows
    assert [row[0] for row in field_rows(Message)][:2] == ["`v`", "`seq`"]
