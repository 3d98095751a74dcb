"""Log lines: one line an event whatever is in it, nothing blocks, nothing raises."""

import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import log as log_module
from runtime.log import DEBUG, LINE_MAX_BYTES, Logger, OnChange, fd_sink, format_value


class Recorder:
    """A sink that can be shut."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.open = True

    def __call__(self, line: bytes) -> bool:
        if self.open:
            self.lines.append(line)
        return self.open


def make() -> tuple[Logger, Recorder]:
    recorder = Recorder()
    return Logger(recorder, stamp_s=lambda: 1_700_000_000.9996), recorder


def test_line_has_time_level_program_event_and_pairs() -> None:
    logger, recorder = make()
    logger.program = "arm-right"
    logger.warning("arm_hold_entered", age_ms=212, cause="stale target", speed_mps=0.1 + 0.2)
    assert recorder.lines == [
        b"2023-11-14T22:13:20.999Z warning arm-right arm_hold_entered"
        b' age_ms=212 cause="stale target" speed_mps=0.3\n'
    ]


def test_each_level_has_its_name_and_debug_is_off_by_default() -> None:
    logger, recorder = make()
    logger.debug("hidden")
    logger.info("a")
    logger.warning("b")
    logger.error("c")
    logger.level = DEBUG
    logger.debug("d")
    shown = [tuple(line.split()[1:]) for line in recorder.lines]
    assert shown == [
        (b"info", b"-", b"a"),
        (b"warning", b"-", b"b"),
        (b"error", b"-", b"c"),
        (b"debug", b"-", b"d"),
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (1, "1"),
        (-5, "-5"),
        (1234567890123, "1234567890123"),
        (0.1234567, "0.123457"),
        (float("nan"), "nan"),
        ("plain", "plain"),
        ("", '""'),
        ("two words", '"two words"'),
        ("a=b", '"a=b"'),
        ('say "no"', '"say \\"no\\""'),
        ("line\nbreak", '"line\\nbreak"'),
        ("back\\slash", '"back\\\\slash"'),
        ("\u2028", '"\\u2028"'),
        ("naïve", "naïve"),
        ((1, 2), '"(1, 2)"'),
        (OSError("gone"), "gone"),
    ],
)
def test_values_are_readable_and_stay_on_the_line(value: object, text: str) -> None:
    assert format_value(value) == text


@given(st.text())
def test_any_text_makes_exactly_one_pair_on_one_line(text: str) -> None:
    logger, recorder = make()
    logger.info("event", key=text, after=1)
    line = recorder.lines[0].decode()
    assert line.endswith(" after=1\n")
    assert len(line.splitlines()) == 1
    value = line.split(" key=", 1)[1].removesuffix(" after=1\n")
    assert re.fullmatch(r'"(?:[^"\\]|\\.)*"|[^ ="\\]+', value)


def test_too_long_a_line_is_cut_to_what_a_pipe_takes_at_once() -> None:
    logger, recorder = make()
    logger.info("event", key="x" * 10_000)
    assert len(recorder.lines[0]) == LINE_MAX_BYTES
    assert recorder.lines[0].endswith(b"x...\n")


def test_lost_lines_are_counted_and_reported_by_the_next_that_gets_through() -> None:
    logger, recorder = make()
    recorder.open = False
    logger.info("a")
    logger.info("b")
    assert logger.lines_lost == 2
    recorder.open = True
    logger.info("c")
    logger.info("d")
    assert [line.split(b" - ")[1] for line in recorder.lines] == [b"c log_lines_lost=2\n", b"d\n"]


def test_a_reader_that_stalls_costs_lines_but_never_blocks() -> None:
    read_fd, write_fd = os.pipe()
    try:
        write = fd_sink(write_fd)
        taken = 0
        while write(b"x" * LINE_MAX_BYTES):
            taken += 1
            assert taken < 10_000
        assert taken > 0
        os.read(read_fd, LINE_MAX_BYTES)
        assert write(b"y\n")
    finally:
        os.close(read_fd)
        os.close(write_fd)


def test_a_reader_that_is_gone_or_a_closed_descriptor_loses_the_line() -> None:
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    write = fd_sink(write_fd)
    assert write(b"x\n") is False
    os.close(write_fd)
    assert write(b"x\n") is False


def test_on_change_logs_transitions_and_counts_the_rest() -> None:
    logger, recorder = make()
    link = OnChange(logger, "link_changed", initial="up")
    assert [link.update(v) for v in ("up", "up", "down", "down", "down")] == [
        False,
        False,
        True,
        False,
        False,
    ]
    assert link.update("up", port=8888)
    assert [line.split(b" - ")[1] for line in recorder.lines] == [
        b"link_changed was=up now=down repeats=2\n",
        b"link_changed was=down now=up repeats=2 port=8888\n",
    ]


def test_setup_names_the_program_and_picks_the_descriptor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_module, "log", Logger(fd_sink(1)))
    read_fd, write_fd = os.pipe()
    try:
        logger = log_module.setup("ingest", level=DEBUG, fd=write_fd)
        logger.debug("started")
        assert os.read(read_fd, 4096).endswith(b"Z debug ingest started\n")
    finally:
        os.close(read_fd)
        os.close(write_fd)
