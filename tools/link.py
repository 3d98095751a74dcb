"""A tool's line to a running arm: arm_state in, operator commands out, answers awaited."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, Final

import zmq

from proto.messages import ArmState, OperatorCommand
from proto.reasons import Side
from proto.topics import ARM_STATES, Topic
from runtime import config
from runtime.bus import CommandClient, Subscriber
from runtime.clock import MonotonicClock
from runtime.rundir import run_dir
from runtime.service import draw_u64, identity

ANSWER_WAIT_MS: Final = 1500
# How long an order may be pending: an engage 2 s, switching the drives on 3 s.
PENDING_WAIT_MS: Final = {"engage": 3000, "arm": 4000}
MAX_AGE_MS: Final = 1000.0
STOP_REPEATS: Final = 3


def state_topic(side: Side) -> Topic:
    """The arm_state topic of `side`."""
    return next(topic for topic in ARM_STATES if topic.name.endswith(side))


def command_id() -> int:
    """A number that tells one command from all others (53 bits: exact in JSON)."""
    return draw_u64() >> 11


class ArmLink:
    """One side's arm. Close it, or use it as a context manager."""

    def __init__(self, side: Side, directory: Path | None = None) -> None:
        where = directory or run_dir(config.REPO_ROOT, os.environ, Path(tempfile.gettempdir()))
        self._clock = MonotonicClock()
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.side = side
        who = identity()
        self._states = Subscriber(self._context, where, [state_topic(side)], who, self._clock)
        self._commands = CommandClient(self._context, where, side, who, self._clock)

    def __enter__(self) -> ArmLink:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the sockets."""
        self._context.destroy(linger=0)

    def state(self, wait_ms: int = ANSWER_WAIT_MS) -> ArmState | None:
        """The newest state, waiting for one; None if the arm's process says nothing."""
        until_ns = self._clock.now_ns() + wait_ms * 1_000_000
        while True:
            left_ms = (until_ns - self._clock.now_ns()) // 1_000_000
            if left_ms <= 0:
                return None
            self._states.socket.poll(left_ms)
            newest = self.newest()
            if newest is not None:
                return newest

    @property
    def incoming(self) -> zmq.Socket[bytes]:
        """For a poller: readable when `newest` may have something."""
        return self._states.socket

    def newest(self) -> ArmState | None:
        """The newest state that has arrived since the last look, without waiting."""
        states = [r.message for r in self._states.drain() if isinstance(r.message, ArmState)]
        return states[-1] if states else None

    def post(
        self, verb: str, args: dict[str, Any], to_boot: int, max_age_ms: float = MAX_AGE_MS
    ) -> bool:
        """Sends one command to that run of the arm without waiting; False if nobody listens."""
        command = OperatorCommand(
            id=command_id(), to_boot=to_boot, verb=verb, args=args, max_age_ms=max_age_ms
        )
        return self._commands.send(command, timeout_ms=0)

    def send(self, verb: str, args: dict[str, Any] | None = None) -> str:
        """Sends one command to the arm as it runs now and returns its answer."""
        state = self.state()
        if state is None:
            return self.nobody()
        command = OperatorCommand(
            id=command_id(),
            to_boot=state.boot,
            verb=verb,
            args=args or {},
            max_age_ms=MAX_AGE_MS,
        )
        if not self._commands.send(command):
            return self.nobody()
        return self._answer(command.id, PENDING_WAIT_MS.get(verb, ANSWER_WAIT_MS))

    def estop(self, args: dict[str, Any] | None = None) -> str:
        """Asks for an e-stop: needs no boot and no age, and is sent without waiting for a state."""
        command = OperatorCommand(id=command_id(), to_boot=None, verb="estop", args=args or {})
        sent = [self._commands.send(command) for _ in range(STOP_REPEATS)]
        return self._answer(command.id, ANSWER_WAIT_MS) if any(sent) else self.nobody()

    def _answer(self, wanted: int, wait_ms: int) -> str:
        until_ns = self._clock.now_ns() + wait_ms * 1_000_000
        result = ""
        while self._clock.now_ns() < until_ns:
            state = self.state(200)
            if state is not None and state.last_command_id == wanted:
                result = state.last_command_result
                if result != "pending":
                    return result
        return result or "no answer from the arm; try again"

    def nobody(self) -> str:
        """What to say when no arm answers."""
        return (
            f"refused: arm-{self.side} is not running; see"
            " supervisorctl -c deploy/supervisord.conf status"
        )
