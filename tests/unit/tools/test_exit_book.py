"""Exits: one is healed by the restart, three in a minute are loud, a standing state stays."""

from runtime.exits import ExitReason
from tools.exit_book import ExitBook

S = 1_000_000_000
T0 = 500 * S


class Story:
    """Events of the program arm-right on one clock."""

    def __init__(self) -> None:
        self.book = ExitBook()
        self.t_ns = T0

    def event(self, name: str, **fields: str) -> None:
        self.book.take(f"PROCESS_STATE_{name}", {"processname": "arm-right", **fields}, self.t_ns)

    def crash(self) -> None:
        self.event("EXITED", expected="0", pid="7")

    def reason(self) -> ExitReason | None:
        entry = self.book.report(self.t_ns).get("arm-right")
        return entry["reason"] if entry else None


def test_nothing_happened_nothing_to_report() -> None:
    story = Story()
    story.event("RUNNING")
    assert story.book.report(T0) == {}


def test_the_third_unexpected_exit_within_a_minute_is_loud() -> None:
    story = Story()
    for seconds_s, expected in ((0, None), (29, None), (30, "repeated_exits")):
        story.t_ns = T0 + seconds_s * S
        story.crash()
        story.event("RUNNING")
        assert story.reason() == expected
    assert story.book.report(story.t_ns) == {
        "arm-right": {
            "exits_60s": 3,
            "hang_kills": 0,
            "last_exit": "unexpected",
            "t_last_exit_ns": T0 + 30 * S,
            "reason": "repeated_exits",
        }
    }


def test_exits_are_forgotten_after_a_minute() -> None:
    story = Story()
    for _ in range(3):
        story.crash()
    story.t_ns = T0 + 60 * S - 1
    assert story.reason() == "repeated_exits"
    story.t_ns = T0 + 60 * S
    assert story.book.report(story.t_ns) == {}


def test_three_exits_spread_wider_than_a_minute_are_not_loud() -> None:
    story = Story()
    for seconds_s in (0, 30, 60, 90, 120):
        story.t_ns = T0 + seconds_s * S
        story.crash()
        assert story.reason() is None


def test_an_exit_that_is_not_restarted_stands_until_it_runs_again() -> None:
    story = Story()
    story.event("EXITED", expected="1", pid="7")
    story.t_ns += 3600 * S
    assert story.reason() == "not_restarted"
    story.event("RUNNING")
    assert story.reason() is None


def test_a_missing_expected_token_counts_as_a_crash() -> None:
    story = Story()
    story.event("EXITED")
    assert story.book.report(T0)["arm-right"]["last_exit"] == "unexpected"


def test_a_command_that_cannot_run_and_a_supervisor_that_gave_up_stand() -> None:
    story = Story()
    story.event("BACKOFF", tries="1")
    assert story.reason() == "cannot_start"
    story.event("FATAL")
    story.t_ns += 3600 * S
    assert story.reason() == "fatal"
    story.event("RUNNING")
    assert story.reason() is None


def test_a_hang_is_a_reason_for_a_minute_and_a_count_for_ever() -> None:
    story = Story()
    story.book.hung("arm-right", T0)
    story.crash()
    story.event("RUNNING")
    assert story.reason() == "hung"
    story.t_ns += 60 * S
    entry = story.book.report(story.t_ns)["arm-right"]
    assert (entry["reason"], entry["hang_kills"], entry["exits_60s"]) == (None, 1, 0)


def test_programs_are_kept_apart() -> None:
    book = ExitBook()
    for program in ("a", "b", "a", "a"):
        book.take("PROCESS_STATE_EXITED", {"processname": program, "expected": "0"}, T0)
    report = book.report(T0)
    assert {name: entry["exits_60s"] for name, entry in report.items()} == {"a": 3, "b": 1}


def test_events_of_no_use_are_ignored() -> None:
    book = ExitBook()
    book.take("TICK_5", {"when": "1"}, T0)
    book.take("PROCESS_STATE_EXITED", {}, T0)
    book.take("PROCESS_STATE_STARTING", {"processname": "a"}, T0)
    assert book.report(T0) == {}
