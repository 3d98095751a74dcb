"""Scheduling rights: taken in a thread of their own, so that the test process keeps its own."""

import os
import sys
import threading
from collections.abc import Callable

import pytest

from runtime import libc, realtime

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="prctl and FIFO are Linux's")
_PR_GET_TIMERSLACK = 30


def in_thread(work: Callable[[], object]) -> object:
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    return results[0]


@linux_only
def test_timer_slack_is_one_nanosecond_afterwards() -> None:
    library = libc.load()
    assert library is not None

    def work() -> tuple[bool, int]:
        return realtime.set_timer_slack_1ns(), library.prctl(_PR_GET_TIMERSLACK, 0, 0, 0, 0)

    assert in_thread(work) == (True, 1)


def test_timer_slack_is_left_alone_without_a_c_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.libc.load", lambda: None)
    assert realtime.set_timer_slack_1ns() is False


def test_there_is_no_c_library_off_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert libc.load() is None


@linux_only
def test_fifo_answers_what_the_kernel_did() -> None:
    def work() -> bool:
        return realtime.try_fifo(20) is (os.sched_getscheduler(0) == os.SCHED_FIFO)

    assert in_thread(work) is True


def test_fifo_refused_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int, policy: int, param: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse, raising=False)
    assert realtime.try_fifo(20) is False


def test_fifo_absent_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_setscheduler", raising=False)
    assert realtime.try_fifo(20) is False
