"""The frame of a bench: one JSON object as the last line, one clear line for a wrong name."""

import importlib.util
import json

import pytest

from tools import bench
from tools.bench import Bench
from tools.bench_conditions import conditions, cpu_model


def fake_loader(name: str) -> Bench:
    return Bench(
        rows=lambda full: [{"method": "ours", "full": full}], closing=lambda full: {"ok": name}
    )


@pytest.mark.parametrize(("args", "full"), [(["tick"], False), (["--full", "tick"], True)])
def test_the_last_line_is_one_object(
    capsys: pytest.CaptureFixture[str], args: list[str], full: bool
) -> None:
    assert bench.main(args, fake_loader) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert list(result) == ["bench", "conditions", "rows", "ok"]
    assert result["bench"] == result["ok"] == "tick"
    assert result["rows"] == [{"method": "ours", "full": full}]
    assert result["conditions"]["full"] is full


@pytest.mark.parametrize("args", [["nope"], [], ["tick", "tick"], ["--full"], ["--fast", "tick"]])
def test_a_wrong_name_is_one_line_that_lists_the_right_ones(
    capsys: pytest.CaptureFixture[str], args: list[str]
) -> None:
    assert bench.main(args, fake_loader) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert "pipeline|tick" in captured.err


def test_every_bench_named_exists() -> None:
    for module in bench.BENCHES.values():
        assert importlib.util.find_spec(module) is not None


def test_loading_a_bench_finds_its_rows_and_closing_keys() -> None:
    loaded = bench.load("tick")
    assert loaded.closing(False) == {"seconds_per_row": 18.0}
    assert loaded.rows.__module__ == "tools.bench_tick"


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("processor : 0\nmodel name\t: Fast CPU @ 3: GHz\n", "Fast CPU @ 3: GHz"),
        ("processor : 0\nBogoMIPS : 108.00\n", "unknown"),
        ("", "unknown"),
    ],
)
def test_the_processor_is_named_where_the_system_does(text: str, model: str) -> None:
    assert cpu_model(text) == model


def test_conditions_can_be_written_as_json_and_name_no_host() -> None:
    found = conditions(True)
    assert set(found) == {
        "cpu",
        "cores",
        "machine",
        "kernel",
        "python",
        "load_1min",
        "fifo_permitted",
        "timerfd",
        "full",
    }
    assert json.loads(json.dumps(found)) == found
