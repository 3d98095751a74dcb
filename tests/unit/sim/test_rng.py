"""The random streams: reproducible for ever, independent, of the distributions they claim."""

from __future__ import annotations

import statistics

import pytest

from sim.rng import Rng


def test_known_values_so_that_a_seed_means_the_same_on_every_version() -> None:
    rng = Rng(1, "up/loss")
    assert [rng.next_u64() for _ in range(3)] == [
        15723641162454771561,
        6786394927450122878,
        8133772727265780261,
    ]


def test_streams_and_seeds_differ() -> None:
    first = {Rng(seed, name).next_u64() for seed in range(4) for name in ("a", "b", "c")}
    assert len(first) == 12


def test_uniform_fills_its_range_evenly() -> None:
    rng = Rng(2)
    draws = [rng.uniform(-1.0, 3.0) for _ in range(20_000)]
    assert -1.0 <= min(draws) < -0.99
    assert 2.99 < max(draws) < 3.0
    assert statistics.fmean(draws) == pytest.approx(1.0, abs=0.03)


def test_below_reaches_every_value_and_no_other() -> None:
    rng = Rng(3)
    assert {rng.below(7) for _ in range(500)} == set(range(7))


def test_normal_has_zero_mean_and_unit_deviation() -> None:
    rng = Rng(4)
    draws = [rng.normal() for _ in range(20_000)]
    assert statistics.fmean(draws) == pytest.approx(0.0, abs=0.03)
    assert statistics.pstdev(draws) == pytest.approx(1.0, abs=0.03)


def test_lognormal_has_its_median_and_tail() -> None:
    rng = Rng(5)
    draws = sorted(rng.lognormal(4.0, 0.95) for _ in range(20_000))
    assert draws[10_000] == pytest.approx(4.0, rel=0.05)
    assert draws[18_000] == pytest.approx(13.5, rel=0.06)  # e^(0.95 * 1.2816) = 3.38 medians


def test_gamma_has_its_mean_and_variance() -> None:
    rng = Rng(6)
    draws = [rng.gamma(1.5, 2.0) for _ in range(20_000)]
    assert min(draws) > 0.0
    assert statistics.fmean(draws) == pytest.approx(3.0, rel=0.03)
    assert statistics.pvariance(draws) == pytest.approx(6.0, rel=0.08)
