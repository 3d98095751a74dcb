"""The tick: an absolute grid, skipped not replayed, the same with and without a kernel timer."""

import os
import select
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import timerfd
from runtime.clock import MonotonicClock
from runtime.tick import Tick, period_from_hz
from tests.unit.runtime.fake_clock import FakeClock

MS = 1_000_000
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="timerfd is Linux's")


@pytest.mark.parametrize(("hz", "period_ns"), [(30, 33_333_333), (100, 10 * MS), (0.5, 2000 * MS)])
def test_period_from_hz(hz: float, period_ns: int) -> None:
    assert period_from_hz(hz) == period_ns


def test_period_must_be_positive() -> None:
    with pytest.raises(ValueError, match="period_ns must be positive, got 0"):
        Tick(0, FakeClock(), fallback=True)


def test_first_deadline_is_one_period_from_now() -> None:
    clock = FakeClock(now_ns=1000 * MS)
    tick = Tick(10 * MS, clock, fallback=True)
    clock.advance_ms(9.999)
    assert tick.expirations() == 0
    clock.advance_ms(0.001)
    assert tick.expirations() == 1
    assert tick.deadline_ns == 1010 * MS
    assert tick.expirations() == 0
    assert tick.deadline_ns == 1010 * MS


def test_lateness_does_not_move_the_grid() -> None:
    clock = FakeClock(now_ns=0)
    tick = Tick(10 * MS, clock, fallback=True)
    for k in range(1, 1000):
        clock.t_ns = k * 10 * MS + 3 * MS
        assert tick.expirations() == 1
        assert tick.deadline_ns == k * 10 * MS
    assert tick.missed == 0


def test_missed_deadlines_are_skipped_and_counted_once() -> None:
    clock = FakeClock(now_ns=0)
    tick = Tick(10 * MS, clock, fallback=True)
    clock.t_ns = 57 * MS
    assert tick.expirations() == 5
    assert (tick.deadline_ns, tick.missed) == (50 * MS, 4)
    assert tick.expirations() == 0
    clock.t_ns = 60 * MS
    assert tick.expirations() == 1
    assert tick.missed == 4


@given(st.lists(st.integers(0, 100 * MS), max_size=50), st.integers(1, 40 * MS))
def test_every_deadline_is_either_handled_or_missed(steps_ns: list[int], period_ns: int) -> None:
    clock = FakeClock(now_ns=7)
    tick = Tick(period_ns, clock, fallback=True)
    handled = 0
    for step_ns in steps_ns:
        clock.t_ns += step_ns
        handled += 1 if tick.expirations() else 0
        assert 0 <= clock.t_ns - tick.deadline_ns < period_ns
    assert handled + tick.missed == (clock.t_ns - 7) // period_ns


@pytest.mark.parametrize(
    ("elapsed_ms", "timeout_ms"), [(0, 10.0), (0.5, 10.0), (9.1, 1.0), (10, 0.0), (35, 0.0)]
)
def test_fallback_waits_whole_milliseconds_up_to_the_deadline(
    elapsed_ms: float, timeout_ms: float
) -> None:
    clock = FakeClock()
    tick = Tick(10 * MS, clock, fallback=True)
    clock.advance_ms(elapsed_ms)
    assert tick.fileno() is None
    assert tick.timeout_ms() == timeout_ms


def test_fallback_is_taken_where_the_system_has_no_timerfd(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("runtime.tick.open_timerfd", lambda first_ns, period_ns: None)
    tick = Tick(10 * MS, FakeClock())
    assert tick.fileno() is None
    assert tick.timeout_ms() == 10.0
    tick.close()


@pytest.fixture
def kernel_tick() -> Iterator[Tick]:
    tick = Tick(2 * MS, MonotonicClock())
    yield tick
    tick.close()


@linux_only
def test_kernel_timer_wakes_a_poller_on_the_grid(kernel_tick: Tick) -> None:
    start_ns = kernel_tick.deadline_ns
    fd = kernel_tick.fileno()
    assert fd is not None
    assert kernel_tick.timeout_ms() is None
    ticks = 0
    for _ in range(5):
        assert select.select([fd], [], [], 5)[0] == [fd]
        ticks += kernel_tick.expirations()
        assert kernel_tick.deadline_ns == start_ns + ticks * 2 * MS
        assert MonotonicClock().now_ns() >= kernel_tick.deadline_ns
    assert kernel_tick.missed == ticks - 5


@linux_only
def test_kernel_timer_reports_missed_deadlines_of_its_past() -> None:
    clock = FakeClock(now_ns=MonotonicClock().now_ns() - 1000 * MS)
    tick = Tick(100 * MS, clock)
    try:
        count = tick.expirations()
        assert count >= 10
        assert tick.missed == count - 1
        assert tick.deadline_ns == clock.t_ns + count * 100 * MS
    finally:
        tick.close()


@linux_only
def test_nothing_has_expired_before_the_first_deadline() -> None:
    tick = Tick(3_600_000 * MS, MonotonicClock())
    try:
        assert tick.expirations() == 0
        assert tick.missed == 0
    finally:
        tick.close()


@linux_only
def test_close_frees_the_descriptor_and_may_be_repeated() -> None:
    tick = Tick(10 * MS, MonotonicClock())
    fd = tick.fileno()
    assert fd is not None
    tick.close()
    tick.close()
    assert tick.fileno() is None
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_native_timer_is_used_where_python_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[object, ...]] = []

    def create(clock_id: int, *, flags: int) -> int:
        calls.append(("create", clock_id, flags))
        return 99

    def settime(fd: int, *, flags: int, initial: int, interval: int) -> None:
        calls.append(("settime", fd, flags, initial, interval))

    monkeypatch.setattr(os, "timerfd_create", create, raising=False)
    monkeypatch.setattr(os, "timerfd_settime_ns", settime, raising=False)
    assert timerfd.open_timerfd(123, 456) == 99
    assert calls == [
        ("create", 1, os.O_NONBLOCK | os.O_CLOEXEC),
        ("settime", 99, 1, 123, 456),
    ]


def test_native_timer_is_absent_on_older_pythons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "timerfd_create", raising=False)
    assert timerfd.open_native(1, 1) is None


def test_no_c_library_no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.libc.load", lambda: None)
    assert timerfd.open_libc(1, 1) is None


class RefusingLibrary:
    """A C library that refuses one of the two calls."""

    def __init__(self, fd: int, settime_result: int) -> None:
        self._fd = fd
        self._settime_result = settime_result

    def timerfd_create(self, clock_id: int, flags: int) -> int:
        return self._fd

    def timerfd_settime(self, fd: int, flags: int, spec: object, old: object) -> int:
        return self._settime_result


def test_a_refused_timer_leaves_no_descriptor_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.libc.load", lambda: RefusingLibrary(-1, 0))
    assert timerfd.open_libc(1, 1) is None
    read_fd, write_fd = os.pipe()
    os.close(write_fd)
    monkeypatch.setattr("runtime.libc.load", lambda: RefusingLibrary(read_fd, -1))
    assert timerfd.open_libc(1, 1) is None
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(read_fd)
