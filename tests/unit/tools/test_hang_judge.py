"""A hang is a beat that was seen and then stood still, by its stamp and by our own watch."""

import pytest

from runtime.heartbeat import Beat
from tools.hang_judge import Hang, HangJudge

MS = 1_000_000
T0 = 900_000 * MS


class Watch:
    """Looks every half second at one program that may stop beating."""

    def __init__(self, limit_s: float = 2.0) -> None:
        self.judge = HangJudge({"arm-right": limit_s})
        self.t_ns = T0
        self.pid = 7
        self.t_beat_ns = T0
        self.beating = True

    def look(self, step_ms: int = 500) -> list[Hang]:
        self.t_ns += step_ms * MS
        if self.beating:
            self.t_beat_ns = self.t_ns
        return self.judge.judge({"arm-right": Beat(self.pid, self.t_beat_ns)}, self.t_ns)


def test_a_beating_program_never_hangs() -> None:
    watch = Watch()
    assert [watch.look() for _ in range(100)] == [[]] * 100


@pytest.mark.parametrize(("limit_s", "looks"), [(2.0, 4), (3.0, 6), (2.2, 5)])
def test_a_beat_that_stands_still_for_the_limit_is_a_hang(limit_s: float, looks: int) -> None:
    watch = Watch(limit_s)
    watch.look()
    watch.beating = False
    found = [watch.look() for _ in range(looks)]
    assert found[:-1] == [[]] * (looks - 1)
    assert found[-1] == [Hang("arm-right", Beat(7, watch.t_beat_ns))]


def test_a_hang_is_reported_again_only_after_another_limit() -> None:
    watch = Watch()
    watch.look()
    watch.beating = False
    found = [bool(watch.look()) for _ in range(12)]
    assert found == [False, False, False, True] * 3


def test_a_new_process_starts_over_even_with_an_old_stamp() -> None:
    watch = Watch()
    watch.look()
    watch.beating = False
    for _ in range(3):
        watch.look()
    watch.pid = 8
    assert [bool(watch.look()) for _ in range(5)] == [False] * 4 + [True]


def test_an_old_beat_at_first_sight_gets_its_full_time() -> None:
    watch = Watch()
    watch.beating = False
    watch.t_beat_ns = T0 - 3_600_000 * MS
    assert [bool(watch.look()) for _ in range(5)] == [False] * 4 + [True]


def test_a_checker_that_was_itself_stopped_starts_over() -> None:
    watch = Watch()
    watch.look()
    watch.beating = False
    watch.look()
    assert watch.look(step_ms=3_600_000) == []
    assert [bool(watch.look()) for _ in range(4)] == [False] * 3 + [True]


def test_a_beat_stamped_in_the_future_is_not_yet_old() -> None:
    watch = Watch()
    watch.look()
    watch.beating = False
    watch.t_beat_ns = watch.t_ns + 3_000 * MS
    assert [bool(watch.look()) for _ in range(10)] == [False] * 9 + [True]


def test_a_missing_or_torn_file_for_a_moment_changes_nothing() -> None:
    watch = Watch()
    watch.look()
    watch.beating = False
    assert not watch.look()
    assert watch.judge.judge({"arm-right": None}, watch.t_ns) == []
    assert watch.judge.judge({}, watch.t_ns) == []
    assert [bool(watch.look()) for _ in range(3)] == [False, False, True]


def test_each_program_has_its_own_limit() -> None:
    judge = HangJudge({"a": 2.0, "b": 3.0})
    beats = {"a": Beat(1, T0), "b": Beat(2, T0)}
    found = [[hang.program for hang in judge.judge(beats, T0 + k * 500 * MS)] for k in range(7)]
    assert found == [[], [], [], [], ["a"], [], ["b"]]


def test_a_limit_under_two_seconds_is_refused() -> None:
    with pytest.raises(ValueError, match=r"hang_after_s of arm-left must be at least 2, got 1\.9"):
        HangJudge({"arm-left": 1.9})
