"""services.arm.driver_thread: stepped by hand on a fake clock; a few tests run the real thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from runtime.log import log
from services.arm.driver import (
    DriverBusError,
    DriverError,
    DriverInfo,
    DriverMissingError,
    DriverRefusedError,
    Target,
)
from services.arm.driver_report import Done
from services.arm.driver_thread import DriverThread
from services.arm.mailbox import DriverVerb
from tests.unit.arm.fakes import FakeClock, FakeDriver, LogLines

INFO = DriverInfo("fake", "pose_latest", 100.0, 0.0, 0.01, 0.0, True)


def target(x_m: float) -> Target:
    return Target((x_m, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 0.5)


def fails(error: DriverError) -> Callable[[], None]:
    def call() -> None:
        raise error

    return call


@pytest.fixture(autouse=True)
def lines(monkeypatch: pytest.MonkeyPatch) -> LogLines:
    sink = LogLines()
    monkeypatch.setattr(log, "sink", sink)
    return sink


class Bench:
    def __init__(self, info: DriverInfo = INFO) -> None:
        self.clock = FakeClock()
        self.driver = FakeDriver(self.clock, info)
        self.thread = DriverThread(self.driver, self.clock)

    def opened(self) -> Bench:
        self.thread.step()
        self.driver.calls.clear()
        return self


def test_it_opens_the_driver_and_reads_feedback() -> None:
    bench = Bench()
    before = bench.thread.report()
    assert (before.connected, before.alive, before.state) == (False, True, None)
    bench.thread.step()
    bench.thread.step()
    assert bench.driver.calls == ["open", "state"]
    report = bench.thread.report()
    assert report.connected
    assert report.state is not None
    assert report.state.t_feedback_ns == bench.clock.ns


def test_a_pose_is_sent_and_then_feedback_read() -> None:
    bench = Bench().opened()
    assert bench.thread.submit_pose(target(0.1), tag=7)
    assert bench.thread.report().tag == 0
    bench.clock.advance_s(0.001)
    bench.thread.step()
    report = bench.thread.report()
    assert bench.driver.calls == ["command", "state"]
    assert bench.driver.targets == [target(0.1)]
    assert (report.tag, report.t_return_ns) == (7, bench.clock.ns)
    assert report.last_ack is not None
    assert report.last_ack.sent == target(0.1)


def test_a_newer_pose_replaces_a_waiting_one() -> None:
    bench = Bench().opened()
    assert bench.thread.submit_pose(target(0.1), tag=1)
    assert bench.thread.submit_pose(target(0.2), tag=2)
    bench.thread.step()
    report = bench.thread.report()
    assert (bench.driver.targets, report.tag, report.overruns) == ([target(0.2)], 2, 1)


def test_a_stop_empties_the_slot_and_no_pose_gets_past_it() -> None:
    bench = Bench().opened()
    bench.thread.submit_pose(target(0.1), tag=1)
    assert bench.thread.submit_stop("HOLD")
    assert not bench.thread.submit_pose(target(0.2), tag=2)
    assert bench.thread.submit_stop("ESTOP")
    assert bench.thread.report().stop_waiting
    bench.thread.step()
    report = bench.thread.report()
    assert bench.driver.calls == ["stop ESTOP", "state"]
    assert report.done == (Done("stop ESTOP", True),)
    assert not report.stop_waiting
    assert bench.thread.report().done == ()


def test_verbs_wait_for_an_empty_slot_and_report_back() -> None:
    bench = Bench().opened()
    bench.thread.submit_pose(target(0.1), tag=1)
    assert not bench.thread.submit_verb("enable")
    bench.thread.step()
    verbs: list[tuple[DriverVerb, bool]] = [("enable", False), ("disable", True), ("clear", False)]
    for verb, confirm in verbs:
        assert bench.thread.submit_verb(verb, confirm)
        bench.thread.step()
    assert [call for call in bench.driver.calls if call != "state"] == [
        "command",
        "enable",
        "disable True",
        "clear False",
    ]
    done = bench.thread.report().done
    assert done == (Done("enable", True), Done("disable", True), Done("clear", True))


def test_a_verb_that_fails_says_why() -> None:
    bench = Bench().opened()
    bench.driver.on["enable"] = fails(DriverRefusedError("joint 3 in fault"))
    bench.thread.submit_verb("enable")
    bench.thread.step()
    report = bench.thread.report()
    assert report.done == (Done("enable", False, "joint 3 in fault"),)
    assert (report.error_kind, report.error_reason, report.errors) == ("refused", "fault", 1)


def test_a_verb_displaced_by_a_stop_is_told_so() -> None:
    bench = Bench().opened()
    bench.thread.submit_verb("enable")
    bench.thread.submit_stop("HOLD")
    bench.thread.step()
    done = bench.thread.report().done
    assert done == (Done("enable", False, "a stop came first"), Done("stop HOLD", True))
    assert "enable" not in bench.driver.calls


def test_a_pose_that_waited_too_long_is_never_sent() -> None:
    bench = Bench().opened()
    bench.thread.submit_pose(target(0.1), tag=1)
    bench.clock.advance_s(0.1)
    bench.thread.submit_pose(target(0.2), tag=2)
    bench.clock.advance_s(0.1)
    bench.thread.step()
    assert bench.driver.targets == [target(0.2)]
    bench.thread.submit_pose(target(0.3), tag=3)
    bench.clock.advance_s(0.1001)
    bench.thread.step()
    assert bench.driver.targets == [target(0.2)]
    assert bench.thread.report().stale_poses == 1


def test_an_error_stands_until_the_same_call_succeeds() -> None:
    bench = Bench().opened()
    bench.driver.on["command"] = fails(DriverBusError("ENOBUFS"))
    bench.thread.submit_pose(target(0.1), tag=1)
    bench.thread.step()
    report = bench.thread.report()
    assert (report.last_error, report.error_kind, report.error_reason) == (
        "ENOBUFS",
        "bus",
        "can_tx",
    )
    assert (report.errors, report.tag, report.connected) == (1, 0, True)
    del bench.driver.on["command"]
    bench.thread.submit_pose(target(0.2), tag=2)
    bench.thread.step()
    report = bench.thread.report()
    assert (report.last_error, report.error_kind, report.errors, report.tag) == ("", "", 1, 2)


def test_a_missing_device_is_asked_for_once_a_second_and_told_once(lines: LogLines) -> None:
    bench = Bench()
    bench.driver.on["open"] = fails(DriverMissingError("no can0"))
    for _ in range(3):
        bench.thread.step()
        bench.clock.advance_s(1.0)
    report = bench.thread.report()
    assert bench.driver.calls == ["open"] * 3
    assert (report.connected, report.error_kind, report.last_error) == (
        False,
        "missing",
        "no can0",
    )
    assert (report.error_reason, report.errors) == ("driver_missing", 0)
    assert lines.events == ["driver_missing"]
    del bench.driver.on["open"]
    bench.thread.step()
    report = bench.thread.report()
    assert (report.connected, report.error_kind) == (True, "")


def test_before_a_second_is_over_it_does_not_ask_again() -> None:
    bench = Bench()
    bench.driver.on["open"] = fails(DriverMissingError("no can0"))
    bench.thread.step()
    bench.clock.advance_s(0.9999)
    bench.thread.step()
    assert bench.driver.calls == ["open"]


def test_nothing_is_accepted_without_a_device() -> None:
    bench = Bench()
    assert not bench.thread.submit_pose(target(0.1), tag=1)
    assert not bench.thread.submit_stop("ESTOP")
    assert not bench.thread.submit_verb("enable")
    bench.opened().thread.step()
    assert bench.driver.calls == ["state"]


def test_a_lost_device_is_closed_and_opened_anew(lines: LogLines) -> None:
    bench = Bench().opened()
    bench.driver.on["command"] = fails(DriverMissingError("adapter unplugged"))
    bench.thread.submit_pose(target(0.1), tag=1)
    bench.thread.step()
    report = bench.thread.report()
    assert (report.connected, report.state, report.error_kind) == (False, None, "missing")
    assert report.last_error == "adapter unplugged"
    assert bench.driver.calls == ["command", "close"]
    del bench.driver.on["command"]
    bench.clock.advance_s(1.0)
    bench.thread.step()
    assert bench.thread.report().connected
    assert bench.thread.report().last_error == ""
    assert lines.events == ["driver_opened", "driver_lost", "driver_opened"]


def test_a_job_that_raced_with_the_loss_dies_with_it() -> None:
    bench = Bench().opened()

    def unplugged() -> None:
        bench.thread.submit_verb("enable")
        raise DriverMissingError("adapter unplugged")

    bench.driver.on["command"] = unplugged
    bench.thread.submit_pose(target(0.1), tag=1)
    bench.thread.step()
    assert bench.thread.report().done == (Done("enable", False, "no device"),)


def test_idle_polls_are_bounded_however_fast_the_feedback() -> None:
    info = DriverInfo("fast", "pose_latest", 1000.0, 0.0, 0.001, 0.0, True)
    bench = Bench(info).opened()
    bench.thread.step()
    bench.clock.advance_s(0.0124)
    assert bench.thread.next_wake_s() == pytest.approx(0.0001)


class Blocked:
    """A call that blocks in the driver's thread until released."""

    def __init__(self) -> None:
        self.entered, self.release = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.entered.set()
        assert self.release.wait(30.0)


@pytest.fixture
def running() -> Iterator[Bench]:
    bench = Bench()
    opened = threading.Event()
    bench.driver.on["state"] = opened.set
    bench.thread.start()
    assert opened.wait(30.0)
    yield bench
    assert bench.thread.close(30.0)
    assert not bench.thread.report().alive


def test_a_hanging_sdk_never_blocks_the_loop(running: Bench) -> None:
    blocked = Blocked()
    running.driver.on["command"] = blocked
    running.thread.submit_pose(target(0.1), tag=1)
    assert blocked.entered.wait(30.0)
    running.clock.advance_s(0.6)
    report = running.thread.report()
    assert (report.in_flight, report.in_flight_ns) == ("pose", 600_000_000)
    assert running.thread.submit_pose(target(0.2), tag=2)
    assert running.thread.submit_stop("HOLD")
    assert running.thread.report().stop_waiting
    stopped = threading.Event()
    running.driver.on["stop HOLD"] = stopped.set
    blocked.release.set()
    assert stopped.wait(30.0)
    assert running.driver.targets == [target(0.1)]


def test_closing_while_the_sdk_hangs_gives_up_in_time() -> None:
    bench = Bench()
    blocked = Blocked()
    bench.driver.on["state"] = blocked
    bench.thread.start()
    assert blocked.entered.wait(30.0)
    assert not bench.thread.close(0.01)
    blocked.release.set()
    assert bench.thread.close(30.0)


def test_closing_still_delivers_a_waiting_stop_but_no_pose() -> None:
    for submit, expected in (("stop", ["stop HOLD", "close"]), ("pose", ["close"])):
        bench = Bench()
        blocked = Blocked()
        bench.driver.on["state"] = blocked
        bench.thread.start()
        assert blocked.entered.wait(30.0)
        bench.driver.calls.clear()
        if submit == "stop":
            bench.thread.submit_stop("HOLD")
        else:
            bench.thread.submit_pose(target(0.1), tag=1)
        assert not bench.thread.close(0.0)
        blocked.release.set()
        assert bench.thread.close(30.0)
        assert bench.driver.calls == expected


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_defect_of_the_driver_ends_the_thread_and_is_seen() -> None:
    bench = Bench()

    def defect() -> None:
        raise KeyError("not a DriverError")

    bench.driver.on["state"] = defect
    bench.thread.start()
    bench.thread.join(30.0)
    report = bench.thread.report()
    assert (report.alive, report.in_flight) == (False, "")
