"""tools.tap as a person and a script run it, and the example of docs/telemetry.md."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from proto.topics import ARM_STATE_RIGHT, HAND_POSE_LEFT, health_topic
from tests import samples
from tests.integration.telemetry_process import ROOT, Program, Station, station

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def live() -> Iterator[Station]:
    """Telemetry, an arm and a hand, publishing 100 times a second."""
    with station() as found:
        stop = threading.Event()
        thread = threading.Thread(target=_publish, args=(found, stop))
        thread.start()
        try:
            yield found
        finally:
            stop.set()
            thread.join()


def _publish(found: Station, stop: threading.Event) -> None:
    while not stop.wait(0.01):
        found.publish(ARM_STATE_RIGHT, samples.arm_state())
        found.publish(HAND_POSE_LEFT, samples.hand_pose(side="left"))
        found.publish(health_topic("arm-right"), samples.service_health(name="arm-right"))


@pytest.fixture
def quiet() -> Iterator[Station]:
    """A station where nothing runs."""
    with station(started=False) as found:
        yield found


@pytest.mark.parametrize("direct", [(), ("--direct",)])
def test_json_lines_of_one_topic(live: Station, direct: tuple[str, ...]) -> None:
    ended = live.run(
        "-m", "tools.tap", "--json", "--topic", "arm_state.right", "--count", "5", *direct
    )
    shapes = [json.loads(line) for line in ended.out.splitlines()]
    assert (ended.code, ended.err) == (0, "")
    assert [shape["topic"] for shape in shapes] == ["arm_state/right"] * 5
    seqs = [shape["seq"] for shape in shapes]
    assert seqs == list(range(seqs[0], seqs[0] + 5))
    assert all(shape["boot"] == live.who.boot and shape["timestamp"] > 1e9 for shape in shapes)


def test_raw_prints_every_topic(live: Station) -> None:
    ended = live.run("-m", "tools.tap", "--raw", "--count", "40")
    topics = {line.partition(" {")[0] for line in ended.out.splitlines()}
    assert {"arm_state/right", "hand_pose/left", "service_health/arm-right"} <= topics


def test_without_a_terminal_it_prints_plain_lines(live: Station) -> None:
    ended = live.run("-m", "tools.tap", "--duration-s", "1.2")
    assert ended.code == 0
    assert "\x1b" not in ended.out
    arm = [line for line in ended.out.splitlines() if line.startswith("topic=arm_state/right ")]
    assert arm[-1].endswith("state=ENGAGED reason=-")


def test_on_a_terminal_it_draws_a_table(live: Station, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")  # a bare machine has none
    main, other = pty.openpty()
    program = live.program("-m", "tools.tap", "--duration-s", "1", stdout=other)
    os.close(other)
    try:
        text = _read_all(main)
    finally:
        program.end()
        os.close(main)
    assert "jitter" in text
    assert "arm_state/right" in text
    assert "\x1b[" in text


def _read_all(fd: int) -> str:
    """What a terminal shows until its program ends."""
    data = b""
    while True:
        try:
            more = os.read(fd, 65_536)
        except OSError:  # Linux says so when the last writer is gone
            more = b""
        if not more:
            return data.decode(errors="replace")
        data += more


@pytest.mark.parametrize("form", ["--raw", "--json"])
def test_ctrl_c_is_a_clean_end(live: Station, form: str) -> None:
    program = live.program("-m", "tools.tap", form)
    assert program.stdout is not None
    assert program.stdout.readline()
    program.send_signal(signal.SIGINT)
    _, err = program.communicate(timeout=5)
    assert (program.returncode, err) == (0, "")


def test_a_reader_that_has_seen_enough_is_no_error(live: Station) -> None:
    program = live.program("-m", "tools.tap", "--raw")
    assert program.stdout is not None
    assert program.stderr is not None
    assert program.stdout.readline()
    program.stdout.close()
    try:
        assert program.wait(timeout=10) == 0
        assert program.stderr.read() == ""
    finally:
        program.stderr.close()
        program.kill()
        program.wait()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ((), ("is telemetry running", "--direct")),
        (("--topic", "arm_state/left"), ("is telemetry and arm-left running", "arm_state/left")),
        (("--direct",), ("is the stack running", "FARHAND_RUN_DIR")),
    ],
)
def test_silence_is_one_line_that_says_what_to_check(
    quiet: Station, flags: tuple[str, ...], words: tuple[str, ...]
) -> None:
    ended = quiet.run("-m", "tools.tap", "--duration-s", "2.3", *flags)
    assert (ended.code, ended.out) == (1, "")
    assert len(ended.err.splitlines()) == 1
    for word in (*words, "silent for 2 s", "supervisorctl -c deploy/supervisord.conf status"):
        assert word in ended.err


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (("--topic", "arm_stat/e"), "there are: hand_pose/right, "),
        (("--address", "nonsense"), "write tcp://HOST:PORT"),
    ],
)
def test_a_mistake_is_one_line_that_helps(
    quiet: Station, flags: tuple[str, ...], word: str
) -> None:
    ended = quiet.run("-m", "tools.tap", *flags)
    assert ended.code == 78
    assert word in ended.err
    assert len(ended.err.splitlines()) == 1


def test_the_example_of_the_page_runs_as_it_stands(live: Station, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "telemetry.md").read_text()
    found = re.search(r"<!-- example -->\n```python\n(.*?)```", page, re.S)
    assert found is not None
    example = found.group(1)
    assert len([line for line in example.splitlines() if line]) <= 10
    assert "127.0.0.1:9872" in example
    script = tmp_path / "tap.py"
    script.write_text(example.replace("9872", str(live.tap_port)))
    program: Program = live.program(str(script))
    try:
        assert program.stdout is not None
        lines = [program.stdout.readline() for _ in range(3)]
    finally:
        program.end()
    assert lines == ["arm_state/right ENGAGED  1.25\n"] * 3
