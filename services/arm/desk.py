"""The command desk: which operator commands are acted on, and what is answered. Pure.

A command is for one process (its boot) and for now (its age limit): what waited while the arm was
down must not act when it comes back. An e-stop is the exception: always accepted.
"""

from __future__ import annotations

from collections import deque
from typing import Final, cast, get_args

from proto.messages import OperatorCommand
from services.arm.situation import Verb

VERBS: Final[tuple[Verb, ...]] = get_args(Verb)
MAX_AGE_MS: Final = 2000.0  # whatever the sender grants
QUEUE: Final = 16
TOO_OLD: Final = "too old; try again"


class Desk:
    """Takes commands in, hands out one a step, remembers the last answer."""

    def __init__(self, boot: int) -> None:
        self._boot = boot
        self._waiting: deque[OperatorCommand] = deque()
        self._pending: str | None = None
        self.last_id: int | None = None
        self.last_result = ""
        self.refused = 0

    def take_in(self, command: OperatorCommand, now_ns: int) -> bool:
        """Queues `command` or answers its refusal; True if it is an e-stop, to be served now."""
        if command.verb == "estop":
            self._waiting.appendleft(command)
            return True
        refusal = self._refusal(command, now_ns)
        if refusal:
            self.answer(command, f"refused: {refusal}")
            self.refused += 1
        else:
            self._waiting.append(command)
        return False

    def _refusal(self, command: OperatorCommand, now_ns: int) -> str:
        if command.verb not in VERBS:
            return f"unknown command {command.verb[:20]!r}"
        if command.to_boot != self._boot:
            return "meant for another run of this arm; try again"
        if _too_old(command, now_ns):
            return TOO_OLD
        return "" if len(self._waiting) < QUEUE else "too many commands"

    def flush(self, why: str) -> None:
        """Refuses all that waits: it was ordered before a stop, and must not undo it."""
        while self._waiting:
            self.answer(self._waiting.popleft(), f"refused: {why}")
            self.refused += 1

    def next(self, now_ns: int) -> OperatorCommand | None:
        """The command to serve in this step; e-stops that came together are one.

        What grew too old while it waited (one is served a step, and the process may have slept)
        is refused here.
        """
        while self._waiting and _too_old(self._waiting[0], now_ns):
            self.answer(self._waiting.popleft(), f"refused: {TOO_OLD}")
            self.refused += 1
        if not self._waiting:
            return None
        command = self._waiting.popleft()
        while command.verb == "estop" and self._waiting and self._waiting[0].verb == "estop":
            older = self._waiting.popleft()
            command = older if is_hard(older) else command
        return command

    def answer(self, command: OperatorCommand, result: str) -> None:
        """Makes `result` the last answer."""
        self.last_id = command.id
        self.last_result = result
        self._pending = command.verb if result == "pending" else None

    def settle(self, verb: Verb, result: str) -> None:
        """Turns a pending answer to `verb` into `result`; any other stands."""
        if self._pending == verb:
            self._pending = None
            self.last_result = result


def _too_old(command: OperatorCommand, now_ns: int) -> bool:
    if command.verb == "estop":
        return False
    age_ms = (now_ns - command.t_mono_ns) * 1e-6
    return command.max_age_ms is None or not 0 <= age_ms <= min(command.max_age_ms, MAX_AGE_MS)


def verb_of(command: OperatorCommand) -> Verb:
    """The checked verb of a command that `take_in` queued."""
    return cast(Verb, command.verb)


def is_hard(command: OperatorCommand) -> bool:
    """Whether an e-stop asks for the vendor's own stop."""
    return command.args.get("hard") is True


def confirmed(command: OperatorCommand) -> bool:
    """Whether the operator says that the arm may drop."""
    return command.args.get("confirm_drop") is True


def hold_ms_of(command: OperatorCommand) -> float | None:
    """`hold_ms` of a pedal's engage, bounded; None for a plain one."""
    value = command.args.get("hold_ms")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return max(50.0, min(float(value), 1000.0))
