"""Fresh, late, lost: exact at the limits, deaf to the past and to the future."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.watchdog import Freshness, Watchdog, judge_age

MS = 1_000_000
T0 = 9_000 * MS


@pytest.mark.parametrize(
    ("age_ns", "expected"),
    [
        (-1, "fresh"),
        (0, "fresh"),
        (100 * MS - 1, "fresh"),
        (100 * MS, "late"),
        (300 * MS - 1, "late"),
        (300 * MS, "lost"),
        (10**18, "lost"),
    ],
)
def test_an_age_at_a_limit_is_beyond_it(age_ns: int, expected: Freshness) -> None:
    assert judge_age(age_ns, 100 * MS, 300 * MS) == expected
    dog = Watchdog(100 * MS, 300 * MS)
    dog.feed(T0, T0)
    assert dog.judge(T0 + age_ns) == expected


def test_equal_limits_skip_late() -> None:
    assert [judge_age(age_ns, 5, 5) for age_ns in (4, 5)] == ["fresh", "lost"]


@pytest.mark.parametrize(("late_ns", "lost_ns"), [(0, 5), (-1, 5), (6, 5)])
def test_limits_must_make_sense(late_ns: int, lost_ns: int) -> None:
    with pytest.raises(ValueError, match="need 0 < late"):
        Watchdog(late_ns, lost_ns)


def test_before_the_first_sign_and_after_reset_it_is_lost() -> None:
    dog = Watchdog(1, 2)
    assert (dog.judge(0), dog.age_ns(0), dog.next_change_ns(0)) == ("lost", None, None)
    dog.feed(T0, T0)
    dog.reset()
    assert (dog.judge(T0), dog.age_ns(T0)) == ("lost", None)


def test_an_older_sign_is_no_news() -> None:
    dog = Watchdog(100 * MS, 300 * MS)
    assert dog.feed(T0, T0)
    assert not dog.feed(T0, T0 + MS)
    assert not dog.feed(T0 - MS, T0)
    assert dog.age_ns(T0 + 5 * MS) == 5 * MS


def test_a_sign_from_the_future_is_refused_and_counted() -> None:
    dog = Watchdog(100 * MS, 300 * MS)
    assert not dog.feed(T0 + 50 * MS + 1, T0)
    assert (dog.judge(T0), dog.future_signs) == ("lost", 1)
    assert dog.feed(T0 + 50 * MS, T0)
    assert (dog.age_ns(T0), dog.judge(T0), dog.future_signs) == (0, "fresh", 1)


@given(st.integers(0, 500 * MS))
def test_next_change_is_the_first_instant_of_another_state(age_ns: int) -> None:
    dog = Watchdog(100 * MS, 300 * MS)
    dog.feed(T0, T0)
    now_ns = T0 + age_ns
    change_ns = dog.next_change_ns(now_ns)
    if change_ns is None:
        assert dog.judge(now_ns) == "lost"
    else:
        assert dog.judge(now_ns) == dog.judge(change_ns - 1) != dog.judge(change_ns)
