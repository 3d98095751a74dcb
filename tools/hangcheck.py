"""Supervisor event listener: kills what is alive but stuck, and makes crash loops a health reason.

supervisord sees neither: a stopped process stays RUNNING, and one that crashes is restarted in
silence for ever. Standard output is the listener protocol, so words go to standard error. It must
never crash on what it reads, and never kill a process that is not its sibling.
"""

import os
import select
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from proto.registry import SERVICES
from runtime import config
from runtime.clock import NS_PER_S, Clock, MonotonicClock
from runtime.errors import FarhandError
from runtime.exits import ProgramExits, exits_path, write_exits
from runtime.heartbeat import heartbeat_path, read_heartbeat
from runtime.log import Logger, setup
from runtime.rundir import run_dir
from tools import exit_book
from tools.exit_book import ExitBook
from tools.hang_judge import Hang, HangJudge
from tools.process_info import ProcessInfo, read_process
from tools.supervisor_events import READY, RESULT_OK, EventParser

EVENTS = ("TICK_5", *exit_book.EVENTS)
"""What supervisord must send us: the `events` line of its configuration."""

CHECK_PERIOD_NS = NS_PER_S // 2
# /proc gives a start to 10 ms, and the two clocks are read one after the other.
_START_SLACK_NS = NS_PER_S // 20


def is_ours(info: ProcessInfo | None, hang: Hang, parent_pid: int) -> bool:
    """Whether the process with that id now is the sibling that wrote the heartbeat.

    A process id may have been given to another since; that one started after the last beat.
    """
    return (
        info is not None
        and info.state != "Z"
        and info.parent_pid == parent_pid
        and info.t_start_ns <= hang.beat.t_beat_ns + _START_SLACK_NS
    )


def kill_hard(pid: int) -> bool:
    """SIGKILL to the process, and to its helpers if it leads a group; False if it is gone."""
    try:
        if os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)
    except OSError:
        return False
    return True


class HangCheck:
    """One look at a time at heartbeats and exits; everything it touches is passed in.

    Args:
        run_dir: where heartbeats are read and exits.json is written.
        hang_after_s: limit of each program that has a heartbeat, seconds.
        logger: writes to standard error.
        parent_pid: the supervisor.
        look_up: process id to what it is.
        kill: SIGKILL by process id, says whether it went out.
    """

    def __init__(
        self,
        run_dir: Path,
        hang_after_s: Mapping[str, float],
        logger: Logger,
        parent_pid: int,
        look_up: Callable[[int], ProcessInfo | None] = read_process,
        kill: Callable[[int], bool] = kill_hard,
    ) -> None:
        self.book = ExitBook()
        self._run_dir = run_dir
        self._paths = {program: heartbeat_path(run_dir, program) for program in hang_after_s}
        self._judge = HangJudge(hang_after_s)
        self._log = logger
        self._parent_pid = parent_pid
        self._look_up = look_up
        self._kill = kill
        self._written: dict[str, ProgramExits] | None = None

    def check(self, now_ns: int) -> None:
        """Kills what hangs, then writes the report if it changed."""
        beats = {program: read_heartbeat(path) for program, path in self._paths.items()}
        for hang in self._judge.judge(beats, now_ns):
            self._end(hang, now_ns)
        self._publish(self.book.report(now_ns))

    def _end(self, hang: Hang, now_ns: int) -> None:
        pid = hang.beat.pid
        if is_ours(self._look_up(pid), hang, self._parent_pid) and self._kill(pid):
            self.book.hung(hang.program, now_ns)
            silent_ms = (now_ns - hang.beat.t_beat_ns) // 1_000_000
            self._log.error("program_hung_killed", of=hang.program, pid=pid, silent_ms=silent_ms)

    def _publish(self, report: dict[str, ProgramExits]) -> None:
        if report == self._written:
            return
        self._say_changes(self._written or {}, report)
        try:
            write_exits(self._run_dir, report)
        except OSError as error:
            path = exits_path(self._run_dir)
            self._log.error("exits_not_written", path=path, why=error.strerror)
        self._written = report

    def _say_changes(self, before: dict[str, ProgramExits], now: dict[str, ProgramExits]) -> None:
        for program in sorted({*before, *now}):
            was = before[program]["reason"] if program in before else None
            entry = now.get(program)
            reason = entry["reason"] if entry else None
            if entry and reason and reason != was:
                count, see = entry["exits_60s"], f"{program}.log"
                self._log.error(
                    "program_in_trouble", of=program, reason=reason, exits_60s=count, see=see
                )
            elif was and not reason:
                self._log.info("program_recovered", of=program, was=was)


def serve(
    check: HangCheck,
    clock: Clock,
    fd_in: int,
    fd_out: int,
    parent_pid: Callable[[], int] = os.getppid,
) -> int:
    """Answers events and checks twice a second until the supervisor is gone.

    Args:
        check: the work.
        clock: monotonic.
        fd_in: events.
        fd_out: answers.
        parent_pid: the process id of the parent now.

    Returns:
        How many event headers made no sense.
    """
    parser = EventParser()
    parent = parent_pid()
    check_ns = clock.now_ns()
    alive = _answer(fd_out, READY)
    while alive and parent_pid() == parent:
        if clock.now_ns() >= check_ns:
            check_ns = clock.now_ns() + CHECK_PERIOD_NS
            check.check(clock.now_ns())
        wait_s = max(0, check_ns - clock.now_ns()) / NS_PER_S
        if select.select([fd_in], [], [], wait_s)[0]:
            alive = _take_events(check, parser, clock, fd_in, fd_out)
    return parser.bad_headers


def _take_events(
    check: HangCheck, parser: EventParser, clock: Clock, fd_in: int, fd_out: int
) -> bool:
    data = os.read(fd_in, 65536)
    events = parser.feed(data)
    for event in events:
        if event is not None:
            check.book.take(event.name, event.fields, clock.now_ns())
    if events:
        check.check(clock.now_ns())
    return bool(data) and _answer(fd_out, (RESULT_OK + READY) * len(events))


def _answer(fd_out: int, words: bytes) -> bool:
    try:
        os.write(fd_out, words)
    except OSError:
        return False
    return True


def main() -> None:
    """Runs under supervisord as an event listener."""
    logger = setup("hangcheck", fd=2)
    try:
        _run(logger)
        return
    except FarhandError as error:
        refusal = error
    logger.error("hangcheck_refused", why=refusal)
    sys.exit(refusal.exit_code)


def _run(logger: Logger) -> None:
    directory = run_dir(config.REPO_ROOT, os.environ, Path(tempfile.gettempdir()))
    table = {s.program: s.hang_after_s for s in SERVICES if s.hang_after_s is not None}
    check = HangCheck(directory, table, logger, os.getppid())
    if read_process(os.getpid()) is None:
        logger.warning("hang_check_off", why="this system has no /proc; exits are still counted")
    bad_headers = serve(check, MonotonicClock(), 0, 1)
    logger.info("hangcheck_stopped", bad_headers=bad_headers)


if __name__ == "__main__":
    main()
