"""Clocks: monotonic by its kernel name, wall time only as a stamp, one boot named."""

import time
from pathlib import Path

from runtime.clock import MonotonicClock, boot_id, wall_s


def test_monotonic_clock_is_the_kernels_monotonic_clock() -> None:
    before_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    now_ns = MonotonicClock().now_ns()
    assert before_ns <= now_ns <= time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def test_wall_clock_counts_unix_seconds() -> None:
    before_s = time.clock_gettime(time.CLOCK_REALTIME)
    assert before_s <= wall_s() <= time.clock_gettime(time.CLOCK_REALTIME)


def test_boot_id_is_the_text_of_the_kernels_file(tmp_path: Path) -> None:
    source = tmp_path / "boot_id"
    source.write_text("0f1e-22\n", encoding="ascii")
    assert boot_id(source) == "0f1e-22"


def test_boot_id_is_empty_where_the_system_has_none(tmp_path: Path) -> None:
    assert boot_id(tmp_path / "missing") == ""
    garbage = tmp_path / "garbage"
    garbage.write_bytes(b"\xff\xfe")
    assert boot_id(garbage) == ""
