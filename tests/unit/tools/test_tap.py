"""The tap's limits and its notice of silence."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.unit.runtime.fake_clock import FakeClock
from tools.tap import Limit, Silence, follow, json_line, raw_line, take
from tools.tap_source import Item

ITEM = Item("arm_state/right", {"seq": 1, "reason": "a b"})


class Scripted:
    """A source that hands out what it was given, 50 ms a read."""

    where = "here"

    def __init__(self, clock: FakeClock, reads: list[int]) -> None:
        self._clock = clock
        self._reads = reads
        self.counters: Counter[str] = Counter()

    def read(self, timeout_ms: int) -> list[Item]:
        self._clock.advance_ms(timeout_ms)
        return [ITEM] * (self._reads.pop(0) if self._reads else 0)

    def check(self) -> str:
        return "look at the plug"


def test_a_count_cuts_the_last_batch() -> None:
    clock = FakeClock()
    limit = Limit(count=5, until_ns=None)
    silence = Silence(clock.now_ns())
    source = Scripted(clock, [3, 3, 3])
    shown = [len(take(source, clock, limit, silence)) for _ in range(3)]
    assert shown == [3, 2, 0]
    assert limit.reached(clock.now_ns())


def test_a_duration_ends_it() -> None:
    limit = Limit(count=None, until_ns=100)
    assert [limit.reached(now_ns) for now_ns in (99, 100, 101)] == [False, True, True]
    assert limit.left() is None


def test_silence_is_told_once_and_again_after_a_sound() -> None:
    silence = Silence(0)
    news = [silence.news(t_ns) for t_ns in (1_999_999_999, 2_000_000_000, 9_000_000_000)]
    assert news == [False, True, False]
    silence.heard(10_000_000_000)
    assert not silence.lasts(11_999_999_999)
    assert [silence.news(t_ns) for t_ns in (11_000_000_000, 12_000_000_000)] == [False, True]


def test_each_message_is_a_line_and_silence_is_told_on_stderr(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = FakeClock()
    limit = Limit(count=3, until_ns=None)
    follow(Scripted(clock, [1, 1, *[0] * 41, 1]), clock, limit, raw_line)
    out, err = capsys.readouterr()
    assert out == 'arm_state/right {"seq": 1, "reason": "a b"}\n' * 3
    assert err == "look at the plug (silent for 2 s)\n"


def test_a_json_line_carries_its_topic() -> None:
    assert json_line(ITEM) == '{"topic": "arm_state/right", "seq": 1, "reason": "a b"}'
