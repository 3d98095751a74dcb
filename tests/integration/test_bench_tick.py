"""The tick bench's own processes: each method measured for a moment, the load ended."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tools.bench_tick import METHODS, Method, Spec, busy_cores, measure_apart

pytestmark = pytest.mark.integration

REPO_ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("method", METHODS)
def test_each_method_is_measured_in_a_process_of_its_own(method: Method) -> None:
    found = measure_apart(Spec(method=method, hz=100.0, seconds=0.6))
    assert set(found) == {"late_p50_us", "late_p99_us", "missed", "drift_ms_per_min", "cpu_pct"}
    assert 0 < found["late_p50_us"] <= found["late_p99_us"]
    assert 0 <= found["missed"] < 60
    assert 0 < found["cpu_pct"] <= 101


def test_the_load_is_gone_afterwards() -> None:
    with busy_cores(2) as burners:
        assert [burner.poll() for burner in burners] == [None, None]
    assert [burner.returncode for burner in burners] == [-signal.SIGKILL, -signal.SIGKILL]


def test_an_unknown_bench_ends_with_code_2_and_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.bench", "nope"],
        cwd=REPO_ROOT,
        capture_output=True,
        check=False,
        timeout=30,
    )
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.startswith(b"no bench named 'nope'")
    assert done.stderr.count(b"\n") == 1
