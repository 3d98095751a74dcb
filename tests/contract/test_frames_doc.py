"""docs/frames.md must be true: its example tables are computed, its pictures exist."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from runtime import se3
from runtime.se3 import Pose, Vec3
from services.mapper.mapping import Anchor, MappingConfig, map_absolute, map_relative, map_vector

PAGE = Path(__file__).parents[2] / "docs" / "frames.md"
TEXT = PAGE.read_text(encoding="utf-8")
ANCHOR = Anchor(
    (0.1, 1.2, -0.3), se3.IDENTITY, (0.3, 0.0, 0.4), se3.quat_from_rpy_deg((0.0, 90.0, 0.0))
)
PRINTED_DIGITS = 1e-9  # the tables show exact values


class Example(NamedTuple):
    settings: str
    p_vr_m: Vec3
    rpy_vr_deg: Vec3
    p_base_m: Vec3
    rpy_base_deg: Vec3


def vector(text: str) -> Vec3:
    x, y, z = ast.literal_eval(text.replace("\N{MINUS SIGN}", "-"))
    return (float(x), float(y), float(z))


def rows(after: str) -> list[list[str]]:
    """The cells of the body of the first markdown table after a marker."""
    table = TEXT[TEXT.index(after) :].split("\n|---", 1)[1].split("\n\n", 1)[0]
    lines = [line for line in table.splitlines()[1:] if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def examples(name: str) -> list[Example]:
    return [
        Example(settings, *(vector(cell) for cell in cells))
        for settings, *cells in rows(f"<!-- examples: {name} -->")
    ]


def keywords(code: str) -> dict[str, Any]:
    call = ast.parse(f"f({code})", mode="eval").body
    assert isinstance(call, ast.Call)
    return {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}


def config(settings: str) -> MappingConfig:
    published = re.search(r"Published stands for\s+`([^`]*)`", TEXT)
    assert published is not None
    values = keywords(published.group(1)) if settings.startswith("Published") else {}
    for code in re.findall(r"`([^`]*)`", settings):
        values |= keywords(code)
    if "torso_base_rpy_deg" in values:  # the configuration's name for a part of T_torso_base
        mount = se3.quat_from_rpy_deg(values.pop("torso_base_rpy_deg"))
        values["T_torso_base"] = ((0.0, -0.2, 0.5), mount)
    return MappingConfig(**values)


def check(result: Pose, example: Example) -> None:
    assert result[0] == pytest.approx(example.p_base_m, abs=PRINTED_DIGITS)
    # Compared as rotations: at gimbal lock many triples are the same one.
    expected = se3.quat_from_rpy_deg(example.rpy_base_deg)
    assert math.degrees(se3.quat_angle_rad(result[1], expected)) < PRINTED_DIGITS


@pytest.mark.parametrize("example", examples("absolute"), ids=str)
def test_absolute_examples(example: Example) -> None:
    q_vr = se3.quat_from_rpy_deg(example.rpy_vr_deg)
    check(map_absolute(example.p_vr_m, q_vr, config(example.settings)), example)


@pytest.mark.parametrize("example", examples("relative"), ids=str)
def test_relative_examples(example: Example) -> None:
    q_vr = se3.quat_from_rpy_deg(example.rpy_vr_deg)
    check(map_relative(ANCHOR, example.p_vr_m, q_vr, config(example.settings)), example)


def test_every_table_was_found() -> None:
    assert len(examples("absolute")) == 8
    assert len(examples("relative")) == 8


def test_the_anchor_of_the_relative_examples_is_the_one_in_the_text() -> None:
    sentence = re.search(
        r"hand at (\(.*?\)), unturned, and the tool held at (\(.*?\)),\s+(\(.*?\)):", TEXT
    )
    assert sentence is not None
    p_hand, p_tool, rpy_tool = (vector(group) for group in sentence.groups())
    assert (p_hand, p_tool) == (ANCHOR.p_vr_hand_m, ANCHOR.p_base_tool_m)
    assert se3.quat_from_rpy_deg(rpy_tool) == ANCHOR.q_base_tool_xyzw


def test_the_matrices_are_the_ones_in_the_code() -> None:
    table = rows("## 4. From headset to robot")
    assert [row[0] for row in table] == ["`openxr`", "`unity`"]
    for (axes, _, matrix, determinant), name in zip(table, ("openxr", "unity"), strict=True):
        assert name in axes
        m = [vector(row) for row in re.findall(r"\([^)]*\)", matrix)]
        assert se3.vdot(m[0], se3.vcross(m[1], m[2])) == float(
            determinant.replace("\N{MINUS SIGN}", "-")
        )
        mapping = config(f'`vr_axes="{name}"`')
        for v in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)):
            assert map_vector(v, mapping) == tuple(se3.vdot(row, v) for row in m)


def test_pictures_exist_have_a_title_and_are_all_used() -> None:
    used = set(re.findall(r"!\[[^\]]+\]\((img/[^)]+)\)", TEXT))
    assert len(used) == 5
    for name in used:
        picture = (PAGE.parent / name).read_text(encoding="utf-8")
        assert picture.startswith("<svg ")
        assert picture.rstrip().endswith("</svg>")
        assert "<title>" in picture
