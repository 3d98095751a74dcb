"""One key is set, everything else stays as the person wrote it."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import ConfigError
from tools.toml_edit import Value, set_key

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MINE = """\
# my robot
robot = "piper"   # the one by the window

[mapper.right]    # right
scale = 0.5
  vr_origin_m = [0.1, 0.2, 0.3]  # by hand
vr_axes = "unity"

[arm.right]
x_min_mm = -300.0
"""


def test_an_empty_file_gets_the_table() -> None:
    assert set_key("", "mapper.left", "heading_deg", -12.5) == (
        "[mapper.left]\nheading_deg = -12.5\n"
    )


def test_a_missing_table_is_added_behind_what_is_there() -> None:
    edited = set_key(MINE, "mapper.left", "heading_deg", 3.0)
    assert edited == MINE + "\n[mapper.left]\nheading_deg = 3.0\n"


def test_a_missing_key_goes_right_below_its_table() -> None:
    edited = set_key(MINE, "mapper.right", "heading_deg", 3.0)
    assert edited == MINE.replace("# right\n", "# right\nheading_deg = 3.0\n")


def test_a_value_is_replaced_and_its_remark_kept() -> None:
    edited = set_key(MINE, "mapper.right", "vr_origin_m", (1.0, 2.0, -3.25))
    assert edited == MINE.replace(
        "  vr_origin_m = [0.1, 0.2, 0.3]  # by hand", "vr_origin_m = [1.0, 2.0, -3.25]  # by hand"
    )


def test_a_value_over_several_lines_is_replaced_whole() -> None:
    text = "[mapper.right]\nvr_origin_m = [\n  1, # x\n  2,\n  3,\n]\nscale = 0.5\n"
    edited = set_key(text, "mapper.right", "vr_origin_m", (4.0, 5.0, 6.0))
    assert edited == "[mapper.right]\nvr_origin_m = [4.0, 5.0, 6.0]\nscale = 0.5\n"


def test_the_same_key_of_another_table_is_left_alone() -> None:
    text = "[mapper]\nheading_deg = 1.0\n[mapper.left]\nheading_deg = 2.0\n[ mapper . right ]\n"
    edited = set_key(text, "mapper.right", "heading_deg", 9.0)
    assert edited == text + "heading_deg = 9.0\n"


def test_a_last_line_without_an_end() -> None:
    edited = set_key("[mapper.right]\nheading_deg = 1", "mapper.right", "heading_deg", 2.0)
    assert tomllib.loads(edited) == {"mapper": {"right": {"heading_deg": 2.0}}}


@pytest.mark.parametrize(
    "text",
    [
        "mapper = { right = { scale = 0.5 } }\n",
        "mapper.right.scale = 0.5\n",
        "[mapper]\nright.scale = 0.5\n",
        "[mapper]\nright = 5\n",
        'note = """\n[mapper.right]\nheading_deg = 1.0\n"""\n',
        "[mapper.right\n",
        "[a]\nx = 1\nx = 2\n",
    ],
)
def test_what_it_cannot_edit_it_refuses(text: str) -> None:
    with pytest.raises(ConfigError):
        set_key(text, "mapper.right", "heading_deg", 2.0)


def test_a_refusal_says_what_to_write_by_hand() -> None:
    with pytest.raises(ConfigError, match=r"by hand: heading_deg = 2\.0"):
        set_key("mapper.right.scale = 0.5\n", "mapper.right", "heading_deg", 2.0)


numbers = st.floats(-400, 400).map(lambda x: round(x, 4))
values = st.one_of(numbers, st.tuples(numbers, numbers, numbers))
texts = st.lists(
    st.sampled_from(
        [
            "# remark [mapper.right]",
            "",
            "heading_deg = 7.5 # h",
            "vr_origin_m = [1, 2, 3]",
            "vr_origin_m = [",
            "1, 2, 3]",
            "[mapper.right]",
            "[mapper.left]",
            "[arm]",
            'name = "[mapper.right]"',
        ]
    ),
    max_size=8,
).map("\n".join)


@given(texts, st.sampled_from(["mapper.right", "arm"]), values)
def test_either_refused_or_exactly_the_one_key_is_changed(
    text: str, table: str, value: Value
) -> None:
    try:
        edited = set_key(text, table, "vr_origin_m", value)
    except ConfigError:
        return
    before, after = tomllib.loads(text), tomllib.loads(edited)
    for document in (before, after):
        for name in table.split("."):
            document = document.setdefault(name, {})
        was = document.pop("vr_origin_m", None)
    assert before == after
    assert was == (list(value) if isinstance(value, tuple) else value)
    kept = [line for line in text.split("\n") if line.startswith(("#", "name", "heading"))]
    assert all(line in edited.split("\n") for line in kept)
