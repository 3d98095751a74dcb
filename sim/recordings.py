"""Recorded motion from CSV files (sim/data/README.md). Reads and checks; moves nothing itself."""

from __future__ import annotations

import bisect
import csv
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from runtime.se3 import Vec3, vadd, vnorm, vscale, vsub

DATA_DIR: Final = Path(__file__).parent / "data"
ARM_MOTION: Final = DATA_DIR / "arm_motion.csv"
QUEST2_FRAMES: Final = DATA_DIR / "quest2_head.csv"

MIN_SAMPLES: Final = 4
RETURN_SPEED_MPS: Final = 0.2  # a walking-pace return: slower than the median of the recording
RETURN_MIN_S: Final = 1.0


class RecordingError(ValueError):
    """A file that is no recording; the text names the file, the line and what is needed."""


class Track:
    """A closed curve through recorded positions: continuous in position and velocity for ever.

    Cubic Hermite between samples with the slopes of their neighbours; one more piece leads from the
    last sample back to the first.
    """

    def __init__(self, times_s: Sequence[float], points_m: Sequence[Vec3]) -> None:
        """Args: times_s: rising; points_m: as many, around their own mean."""
        gap_m = vnorm(vsub(points_m[0], points_m[-1]))
        return_s = max(RETURN_MIN_S, gap_m / RETURN_SPEED_MPS)
        self.period_s = times_s[-1] - times_s[0] + return_s
        self._times_s = [at_s - times_s[0] for at_s in times_s] + [self.period_s]
        self._points_m = [*points_m, points_m[0]]
        slopes = _slopes(times_s, points_m)
        self._slopes_mps = [*slopes, slopes[0]]
        self.reach_m = max(map(vnorm, points_m))
        knots = zip(self._times_s, self._points_m, strict=True)
        # A cubic between two samples may be 1.5 times as fast as the straight line between them.
        self.speed_bound_mps = 1.5 * max(
            vnorm(vsub(b_m, a_m)) / (b_s - a_s) for (a_s, a_m), (b_s, b_m) in pairwise(knots)
        )

    def at(self, phase_s: float) -> Vec3:
        """The position at this motion time, in m from the middle of the recording."""
        at_s = phase_s % self.period_s
        k = min(bisect.bisect_right(self._times_s, at_s), len(self._times_s) - 1) - 1
        span_s = self._times_s[k + 1] - self._times_s[k]
        u = (at_s - self._times_s[k]) / span_s
        from_slope = vadd(
            vscale(self._slopes_mps[k], span_s * u * (1.0 - u) ** 2),
            vscale(self._slopes_mps[k + 1], span_s * u * u * (u - 1.0)),
        )
        rise = vscale(vsub(self._points_m[k + 1], self._points_m[k]), u * u * (3.0 - 2.0 * u))
        return vadd(vadd(self._points_m[k], rise), from_slope)


def load_track(path: Path, amplitude_m: float | None = None) -> Track:
    """Hand positions from columns t_s, x_m, y_m, z_m in Unity axes, turned to OpenXR and centred.

    Args:
        path: CSV file with a header line.
        amplitude_m: largest distance from the mean along one axis; None = as recorded.

    Raises:
        RecordingError: no such file, a column missing, a bad number, time that does not rise.
    """
    rows = _read_columns(path, ("t_s", "x_m", "y_m", "z_m"))
    points_m = [(x_m, y_m, -z_m) for _, x_m, y_m, z_m in rows]
    count = len(points_m)
    middle = (
        math.fsum(p[0] for p in points_m) / count,
        math.fsum(p[1] for p in points_m) / count,
        math.fsum(p[2] for p in points_m) / count,
    )
    centred = [vsub(p, middle) for p in points_m]
    if amplitude_m is not None:
        reach_m = max(max(map(abs, p)) for p in centred)
        centred = [vscale(p, amplitude_m / max(reach_m, 1e-6)) for p in centred]
    return Track([row[0] for row in rows], centred)


def load_frame_intervals_s(path: Path = QUEST2_FRAMES) -> tuple[float, ...]:
    """Times between the recorded frames of a headset, in s.

    Raises:
        RecordingError: as `load_track`.
    """
    stamps_s = [row[0] for row in _read_columns(path, ("t_s",))]
    return tuple(b_s - a_s for a_s, b_s in pairwise(stamps_s))


def _read_columns(path: Path, names: tuple[str, ...]) -> list[tuple[float, ...]]:
    """The named columns as numbers; the first one must rise."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            lines = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RecordingError(f"{path}: cannot be read as CSV: {error}") from error
    header = lines[0] if lines else []
    missing = [name for name in names if name not in header]
    if missing:
        raise RecordingError(f"{path}: no column {', '.join(missing)}; needs {', '.join(names)}")
    places = [header.index(name) for name in names]
    rows = [_numbers(path, number, line, places) for number, line in enumerate(lines[1:], 2)]
    if len(rows) < MIN_SAMPLES:
        raise RecordingError(f"{path}: {len(rows)} samples; needs at least {MIN_SAMPLES}")
    for number, (before, after) in enumerate(pairwise(rows), 3):
        if after[0] <= before[0]:
            raise RecordingError(f"{path}: line {number}: {names[0]} must rise")
    return rows


def _numbers(path: Path, number: int, line: list[str], places: list[int]) -> tuple[float, ...]:
    try:
        values = tuple(float(line[place]) for place in places)
    except (ValueError, IndexError):
        raise RecordingError(f"{path}: line {number}: not a row of numbers") from None
    if not all(map(math.isfinite, values)):
        raise RecordingError(f"{path}: line {number}: not finite")
    return values


def _slopes(times_s: Sequence[float], points_m: Sequence[Vec3]) -> list[Vec3]:
    """Velocity at each sample from its neighbours; one-sided at both ends."""
    last = len(points_m) - 1
    slopes = []
    for k in range(last + 1):
        low, high = max(k - 1, 0), min(k + 1, last)
        span_s = times_s[high] - times_s[low]
        slopes.append(vscale(vsub(points_m[high], points_m[low]), 1.0 / span_s))
    return slopes
