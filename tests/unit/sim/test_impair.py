"""Settings of the impairment: profiles, words to settings, refusals that name what is valid."""

from __future__ import annotations

import pytest

from sim.impair import (
    PROFILES,
    SETTING_NAMES,
    USAGE,
    Burst,
    ImpairError,
    Jitter,
    Settings,
    Stall,
    changed,
    profile,
)
from sim.rng import Rng


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("loss 0.3", Settings(loss_ratio=0.3)),
        ("duplicate 1", Settings(duplicate_ratio=1.0)),
        ("reorder 0.25", Settings(reorder_ratio=0.25)),
        ("corrupt 0", Settings()),
        ("delay-ms 20", Settings(delay_ms=20.0)),
        ("reorder-ms 40", Settings(reorder_ms=40.0)),
        ("rate-kbps 64", Settings(rate_kbps=64.0)),
        ("burst 0.01 0.3", Settings(burst=Burst(0.01, 0.3, 1.0))),
        ("burst 0.01 0.3 0.5", Settings(burst=Burst(0.01, 0.3, 0.5))),
        ("burst off", Settings()),
        ("jitter lognormal 1 0.9", Settings(jitter=Jitter("lognormal", 1.0, 0.9))),
        ("jitter gamma 2 5", Settings(jitter=Jitter("gamma", 2.0, 5.0))),
        ("jitter none", Settings()),
        ("stalls 2 8 30 90", Settings(stall=Stall((2.0, 8.0), (30.0, 90.0)))),
        ("stalls off", Settings()),
        ("blackhole on", Settings(blackhole=True)),
        ("blackhole off", Settings()),
        ("profile wan", PROFILES["wan"]),
    ],
)
def test_words_to_settings(line: str, expected: Settings) -> None:
    name, *args = line.split()
    assert changed(Settings(), name, args) == expected


def test_every_setting_can_be_taken_back() -> None:
    bad = PROFILES["wan"]
    assert changed(bad, "burst", ["off"]).burst is None
    assert changed(bad, "stalls", ["off"]).stall is None
    assert changed(bad, "jitter", ["none"]).jitter == Jitter()
    assert changed(bad, "profile", ["none"]) == Settings()


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("loss 1.5", "outside 0...1"),
        ("loss nan", "outside 0...1"),
        ("loss much", "not a number"),
        ("loss", "loss R"),
        ("loss 0.1 0.2", "loss R"),
        ("delay-ms -1", "outside"),
        ("blackhole maybe", "blackhole on|off"),
        ("profile wifi9", "wifi6, wifi5, wan, bad"),
        ("jitter normal 1 2", "lognormal MEDIAN_MS SIGMA"),
        ("jitter gamma 0.5 2", "SHAPE(>=1)"),
        ("jitter gamma 1", "jitter lognormal"),
        ("burst 0.1", "burst ENTER EXIT"),
        ("stalls 8 2 30 90", "FROM_S <= TO_S"),
        ("stalls 0 0 30 90", "0 < FROM_S"),
        ("gremlins 1", "valid: profile NAME"),
    ],
)
def test_refusals_name_what_is_valid(line: str, names: str) -> None:
    name, *args = line.split()
    with pytest.raises(ImpairError) as error:
        changed(Settings(), name, args)
    assert names in str(error.value)


def test_usage_names_every_setting() -> None:
    assert all(name in USAGE for name in SETTING_NAMES)


@pytest.mark.parametrize(
    ("name", "p50_ms", "p99_ms"),
    # Delay above the fixed part: published models, and the measured 2.4 GHz link for `bad`.
    [("wifi6", 1.0, 9.0), ("wifi5", 2.4, 11.4), ("wan", 8.4, 33.2), ("bad", 4.0, 36.5)],
)
def test_profile_jitter_percentiles(name: str, p50_ms: float, p99_ms: float) -> None:
    rng, jitter = Rng(1, name), profile(name).jitter
    draws = sorted(jitter.draw_ms(rng) for _ in range(20_000))
    assert draws[10_000] == pytest.approx(p50_ms, rel=0.05)
    assert draws[19_800] == pytest.approx(p99_ms, rel=0.1)
