"""Heartbeat files survive torn and foreign content; the back-off slows only a crash loop."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.heartbeat import (
    Beat,
    Heartbeat,
    StartStamp,
    backoff_s,
    decode_beat,
    encode_beat,
    heartbeat_path,
    read_heartbeat,
    start_path,
)

MS = 1_000_000


@given(st.integers(0, 2**22), st.integers(0, 2**63 - 1))
def test_record_round_trip_has_a_fixed_width(pid: int, t_beat_ns: int) -> None:
    data = encode_beat(Beat(pid, t_beat_ns))
    assert len(data) == 96
    assert decode_beat(data) == Beat(pid, t_beat_ns)


@given(st.binary(max_size=120))
def test_any_bytes_are_decoded_or_refused(data: bytes) -> None:
    assert decode_beat(data) is None


@given(st.integers(1, 95))
def test_a_read_torn_between_two_beats_is_recognised(cut: int) -> None:
    old, new = encode_beat(Beat(7, 111_111_111)), encode_beat(Beat(7, 222_222_222))
    assert decode_beat(new[:cut] + old[cut:]) in (None, Beat(7, 111_111_111), Beat(7, 222_222_222))


@pytest.mark.parametrize(
    "text", ["", "farhand-heartbeat 5 x 5", "farhand-heartbeat a 1 a", "other 5 1 5"]
)
def test_foreign_content_is_no_beat(text: str) -> None:
    assert decode_beat(text.encode()) is None


def test_a_missing_file_is_no_beat(tmp_path: Path) -> None:
    assert read_heartbeat(tmp_path / "none") is None


def test_beat_reaches_the_file_only_by_write(tmp_path: Path) -> None:
    heart = Heartbeat(tmp_path, "arm-right", pid=42)
    path = heartbeat_path(tmp_path, "arm-right")
    heart.beat(5 * MS)
    assert read_heartbeat(path) is None
    assert heart.write()
    assert read_heartbeat(path) == Beat(42, 5 * MS)
    heart.close()


def test_a_stuck_loop_leaves_its_file_alone(tmp_path: Path) -> None:
    heart = Heartbeat(tmp_path, "arm-right", pid=42)
    heart.beat(5 * MS)
    assert [heart.write(), heart.write()] == [True, False]
    heart.beat(6 * MS)
    assert heart.write()
    heart.close()


def test_a_disk_that_refuses_is_no_error_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heart = Heartbeat(tmp_path, "arm-right", pid=42)
    heart.beat(5 * MS)

    def refuse(fd: int, data: bytes, offset: int) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", refuse)
        assert heart.write() is False
    assert heart.write() is True
    heart.close()


def test_the_next_run_overwrites_its_predecessor_whole(tmp_path: Path) -> None:
    for pid, t_beat_ns in ((4_000_000, 2**62), (7, 5)):
        heart = Heartbeat(tmp_path, "arm-right", pid)
        heart.beat(t_beat_ns)
        heart.write()
        heart.close()
    assert read_heartbeat(heartbeat_path(tmp_path, "arm-right")) == Beat(7, 5)


def test_the_thread_writes_and_close_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.heartbeat.WRITE_PERIOD_S", 0.001)
    heart = Heartbeat(tmp_path, "arm-right", pid=42)
    heart.beat(5 * MS)
    heart.start()
    path = heartbeat_path(tmp_path, "arm-right")
    while read_heartbeat(path) is None:
        os.sched_yield()
    heart.close()
    heart.close()
    assert read_heartbeat(path) == Beat(42, 5 * MS)


@pytest.mark.parametrize(
    ("short_runs", "delay_s"),
    [(-1, 0), (0, 0), (1, 0.2), (2, 0.4), (3, 0.8), (4, 1.6), (5, 3.2), (6, 5.0), (10_000, 5.0)],
)
def test_backoff_doubles_between_its_bounds(short_runs: int, delay_s: float) -> None:
    assert backoff_s(short_runs) == pytest.approx(delay_s)


class Life:
    """Runs of one program on one clock."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.t_ns = 50_000 * MS
        self.boot = "boot-a"

    def start(self) -> tuple[StartStamp, float]:
        stamp = StartStamp(self.run_dir, "mapper", self.boot)
        delay_s = stamp.backoff_s(self.t_ns)
        self.t_ns += round(delay_s * 1e9)
        stamp.mark(self.t_ns)
        return stamp, delay_s

    def live_ms(self, life_ms: int) -> None:
        self.t_ns += life_ms * MS


def test_the_first_start_and_a_start_after_a_long_run_are_at_once(tmp_path: Path) -> None:
    life = Life(tmp_path)
    assert life.start()[1] == 0
    life.live_ms(1000)
    assert life.start()[1] == 0


def test_crashes_at_start_wait_longer_and_longer_until_one_run_lives(tmp_path: Path) -> None:
    life = Life(tmp_path)
    delays_s = []
    for _ in range(8):
        delays_s.append(life.start()[1])
        life.live_ms(150)
    assert delays_s == pytest.approx([0, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0])
    stamp, _ = life.start()
    assert stamp.short_runs == 8
    life.live_ms(2000)
    assert life.start()[1] == 0


def test_a_run_that_was_asked_to_stop_is_no_crash(tmp_path: Path) -> None:
    life = Life(tmp_path)
    stamp, _ = life.start()
    life.live_ms(100)
    stamp.clear()
    assert life.start()[1] == 0


def test_a_stamp_of_another_boot_or_of_the_future_means_nothing(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.start()
    life.boot = "boot-b"
    assert life.start()[1] == 0
    life.t_ns -= 10_000 * MS
    assert life.start()[1] == 0


@pytest.mark.parametrize("text", ["", "1 2", "x 2 boot-a", "1 x boot-a", "\xff\xfe\x00 1 boot-a"])
def test_a_broken_stamp_means_nothing(tmp_path: Path, text: str) -> None:
    start_path(tmp_path, "mapper").write_bytes(text.encode("latin-1"))
    assert Life(tmp_path).start()[1] == 0


def test_a_system_without_a_boot_id_still_backs_off(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.boot = ""
    life.start()
    assert life.start()[1] == pytest.approx(0.2)


def test_a_missing_run_directory_costs_only_the_delay(tmp_path: Path) -> None:
    life = Life(tmp_path / "missing")
    life.start()
    assert life.start()[1] == 0
