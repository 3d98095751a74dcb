"""The recordings that ship, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sim.recordings import (
    ARM_MOTION,
    RecordingError,
    Track,
    load_frame_intervals_s,
    load_track,
)


@pytest.fixture(scope="module")
def track() -> Track:
    return load_track(ARM_MOTION)


def test_passes_through_every_recorded_sample_in_openxr_axes_about_the_mean(track: Track) -> None:
    table = np.loadtxt(ARM_MOTION, delimiter=",", skiprows=1)
    wanted = (table[:, 1:] - table[:, 1:].mean(axis=0)) * [1.0, 1.0, -1.0]
    got = np.array([track.at(t_s) for t_s in table[:, 0]])
    assert np.abs(got - wanted).max() < 1e-9


def test_is_a_closed_curve_without_jumps_of_place_or_speed(track: Track) -> None:
    step_s = 0.001
    times_s = np.arange(0.0, track.period_s + 1.0, step_s)  # over the seam
    p_m = np.array([track.at(t_s) for t_s in times_s])
    speed_mps = np.linalg.norm(np.diff(p_m, axis=0), axis=1) / step_s
    assert speed_mps.max() < 1.5  # as documented: 1.48
    assert speed_mps.max() <= track.speed_bound_mps
    turn_mps = np.linalg.norm(np.diff(p_m, 2, axis=0), axis=1) / step_s
    assert turn_mps.max() < 0.12  # 116 m/s^2 at most: the recording's own noise at 60 Hz
    assert track.at(track.period_s) == track.at(0.0)


def test_documented_speeds(track: Track) -> None:
    p_m = np.array([track.at(k / 60.0) for k in range(5363)])
    speed_mps = np.linalg.norm(np.diff(p_m, axis=0), axis=1) * 60.0
    p50, p99, top = np.percentile(speed_mps, [50, 99, 100])
    assert (p50, p99, top) == pytest.approx((0.308, 0.858, 1.34), rel=0.02)
    assert track.period_s == pytest.approx(90.8, abs=0.05)


def test_rescaling_sets_the_largest_distance_along_an_axis() -> None:
    small = load_track(ARM_MOTION, amplitude_m=0.1)
    p_m = np.array([small.at(k / 60.0) for k in range(5363)])
    assert np.abs(p_m).max() == pytest.approx(0.1, rel=1e-3)


def test_quest_frames_have_their_documented_rate_and_jitter() -> None:
    intervals_s = load_frame_intervals_s()
    assert len(intervals_s) == 9873
    assert 1.0 / np.mean(intervals_s) == pytest.approx(71.995, abs=0.001)
    percentiles_ms = np.percentile(intervals_s, [1, 50, 99, 100]) * 1e3
    assert percentiles_ms == pytest.approx([13.42, 13.92, 14.27, 25.4], abs=0.02)


HEADER = "t_s,x_m,y_m,z_m"
GOOD = ["0,0,0,0", "1,1,0,0", "2,1,1,0", "3,0,1,0"]


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ([], "no column t_s, x_m, y_m, z_m"),
        (["t_s,x_m,y_m", *GOOD], "no column z_m"),
        ([HEADER, *GOOD[:3]], "3 samples; needs at least 4"),
        ([HEADER, *GOOD, "4,x,0,0"], "line 6: not a row of numbers"),
        ([HEADER, *GOOD, "4,0"], "line 6: not a row of numbers"),
        ([HEADER, *GOOD, "4,nan,0,0"], "line 6: not finite"),
        ([HEADER, *GOOD, "3,0,0,0"], "line 6: t_s must rise"),
    ],
)
def test_refusals_name_the_file_the_line_and_the_need(
    tmp_path: Path, lines: list[str], names: str
) -> None:
    path = tmp_path / "motion.csv"
    path.write_text("\n".join(lines))
    with pytest.raises(RecordingError) as error:
        load_track(path)
    assert names in str(error.value)
    assert str(path) in str(error.value)


def test_a_missing_file_and_a_binary_one_are_refused(tmp_path: Path) -> None:
    binary = tmp_path / "motion.csv"
    binary.write_bytes(bytes(range(256)))
    for path in (tmp_path / "nowhere.csv", binary):
        with pytest.raises(RecordingError, match="cannot be read as CSV"):
            load_track(path)


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    path = tmp_path / "motion.csv"
    rows = ["z_m,note,t_s,y_m,x_m", "1,a,0,0,0", "1,b,1,0,1", "-1,c,2,0,1", "-1,d,3,0,0"]
    path.write_text("\n".join(rows))
    assert load_track(path).at(1.0) == pytest.approx((0.5, 0.0, -1.0))
