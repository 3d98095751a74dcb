"""Counts how programs end, and says which of it a person must hear about. Pure, clock passed in."""

from collections import deque
from collections.abc import Callable

from runtime.clock import NS_PER_S
from runtime.exits import ExitReason, ProgramExits

WINDOW_NS = 60 * NS_PER_S
# A single crash is healed by the restart and two may be one cause; three in a minute are a loop.
LOUD_EXITS = 3


class _Record:
    """One program's recent ends."""

    def __init__(self) -> None:
        self.exits_ns: deque[int] = deque()
        self.hangs_ns: deque[int] = deque()
        self.hang_kills = 0
        self.last_exit = "none"
        self.t_last_exit_ns = 0
        self.standing: ExitReason | None = None

    def note(self, how: str, now_ns: int) -> None:
        self.last_exit = how
        self.t_last_exit_ns = now_ns

    def forget_before(self, t_ns: int) -> None:
        for instants_ns in (self.exits_ns, self.hangs_ns):
            while instants_ns and instants_ns[0] <= t_ns:
                instants_ns.popleft()

    def reason(self) -> ExitReason | None:
        if self.standing is not None:
            return self.standing
        if self.hangs_ns:
            return "hung"
        return "repeated_exits" if len(self.exits_ns) >= LOUD_EXITS else None


def _exited(record: _Record, fields: dict[str, str], now_ns: int) -> None:
    if fields.get("expected") == "1":
        record.note("expected", now_ns)
        record.standing = "not_restarted"
    else:
        record.note("unexpected", now_ns)
        record.exits_ns.append(now_ns)


def _backoff(record: _Record, fields: dict[str, str], now_ns: int) -> None:
    del fields
    record.note("backoff", now_ns)
    record.exits_ns.append(now_ns)
    record.standing = "cannot_start"


def _fatal(record: _Record, fields: dict[str, str], now_ns: int) -> None:
    del fields
    record.note("fatal", now_ns)
    record.standing = "fatal"


def _running(record: _Record, fields: dict[str, str], now_ns: int) -> None:
    del fields, now_ns
    record.standing = None


_HANDLERS: dict[str, Callable[[_Record, dict[str, str], int], None]] = {
    "PROCESS_STATE_EXITED": _exited,
    "PROCESS_STATE_BACKOFF": _backoff,
    "PROCESS_STATE_FATAL": _fatal,
    "PROCESS_STATE_RUNNING": _running,
}
EVENTS: tuple[str, ...] = tuple(_HANDLERS)
"""The supervisor events that `ExitBook.take` understands."""


class ExitBook:
    """The ends of all programs within the last minute, and the states that last."""

    def __init__(self) -> None:
        self._records: dict[str, _Record] = {}

    def take(self, event: str, fields: dict[str, str], now_ns: int) -> None:
        """Takes a supervisor event; others than process states, and broken ones, are ignored."""
        program = fields.get("processname")
        handle = _HANDLERS.get(event)
        if program is not None and handle is not None:
            handle(self._record(program), fields, now_ns)

    def hung(self, program: str, now_ns: int) -> None:
        """The hang check killed this program. The exit that follows is counted as any other."""
        record = self._record(program)
        record.hangs_ns.append(now_ns)
        record.hang_kills += 1

    def report(self, now_ns: int) -> dict[str, ProgramExits]:
        """Programs worth a word: ended within the last minute, ever killed, or down for good."""
        found: dict[str, ProgramExits] = {}
        for program, record in sorted(self._records.items()):
            record.forget_before(now_ns - WINDOW_NS)
            reason = record.reason()
            if reason is None and not record.exits_ns and not record.hang_kills:
                continue
            found[program] = ProgramExits(
                exits_60s=len(record.exits_ns),
                hang_kills=record.hang_kills,
                last_exit=record.last_exit,
                t_last_exit_ns=record.t_last_exit_ns,
                reason=reason,
            )
        return found

    def _record(self, program: str) -> _Record:
        return self._records.setdefault(program, _Record())
