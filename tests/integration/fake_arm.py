"""An arm and a hand as the tools see them: the bus is real, what is behind it is made up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import zmq

from proto.messages import ArmState, HandPose, OperatorCommand, Vec3
from proto.reasons import SIDES, Side
from proto.topics import ARM_STATES, HAND_POSES
from runtime.bus import CommandServer, Publisher, ipc_endpoint
from runtime.clock import MonotonicClock
from runtime.service import identity

PERIOD_S = 0.01
Answer = Callable[[OperatorCommand], str]


class FakeArm:
    """Publishes arm_state at 100 Hz and answers commands, until the block is left.

    Attributes:
        commands: every command with its arrival in seconds.
        state: what is published; replace it at any time.
        boot: of the "process".
    """

    def __init__(self, run_dir: Path, side: Side = "right", answer: Answer | None = None) -> None:
        self.commands: list[tuple[float, OperatorCommand]] = []
        self.state = ArmState(
            side=side,
            driver="sim",
            simulated=True,
            state="HOLD",
            reason="not_engaged",
            t_tick_ns=1,
            meas_p_base_tool_m=(0.3, 0.1, 0.4),
        )
        self._answer: Answer = answer or (lambda _: "ok")
        self._run_dir = run_dir
        self._topic = ARM_STATES[SIDES.index(side)]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        who = identity()
        self.boot = who.boot
        self._who = who

    def __enter__(self) -> FakeArm:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def verbs(self) -> list[str]:
        return [command.verb for _, command in self.commands]

    def answer_last(self, result: str) -> None:
        """Changes the answer to the last command."""
        self.state = replace(self.state, last_command_result=result)

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Until `condition`, or the test has failed."""
        give_up_s = time.monotonic() + 10.0
        while not condition():
            assert time.monotonic() < give_up_s, f"only {self.verbs()[-10:]}"
            time.sleep(0.005)

    def _serve(self) -> None:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        endpoint = ipc_endpoint(self._run_dir, self._topic.endpoint)
        publisher = Publisher(context, endpoint, self._who, MonotonicClock())
        server = CommandServer(context, self._run_dir, self.state.side)
        while not self._stop.is_set():
            server.socket.poll(int(PERIOD_S * 1000))
            for command in server.drain():
                self._take(command)
            publisher.publish(self._topic, self.state)
        context.destroy(linger=0)

    def _take(self, command: OperatorCommand) -> None:
        self.commands.append((time.monotonic(), command))
        wrong_boot = command.verb != "estop" and command.to_boot != self.boot
        result = "refused: meant for another run" if wrong_boot else self._answer(command)
        self.state = replace(self.state, last_command_id=command.id, last_command_result=result)


class FakeHand:
    """Publishes one hand at 100 Hz along `path`, a function of the seconds since its start."""

    def __init__(self, run_dir: Path, path: Callable[[float], Vec3], side: Side = "right") -> None:
        self._path = path
        self._run_dir = run_dir
        self._side = side
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> FakeHand:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _serve(self) -> None:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        clock = MonotonicClock()
        endpoint = ipc_endpoint(self._run_dir, "ingest")
        publisher = Publisher(context, endpoint, identity(), clock)
        topic = HAND_POSES[SIDES.index(self._side)]
        start_s = time.monotonic()
        while not self._stop.wait(PERIOD_S):
            publisher.publish(topic, self._pose(time.monotonic() - start_s, clock.now_ns()))
        context.destroy(linger=0)

    def _pose(self, since_s: float, now_ns: int) -> HandPose:
        fields: dict[str, Any] = {"t_send_s": since_s, "t_recv_ns": now_ns}
        return HandPose(
            side=self._side,
            session=5,
            p_vr_hand_m=self._path(since_s),
            q_vr_hand_xyzw=(0.0, 0.0, 0.0, 1.0),
            gripper_ratio=0.0,
            tracking_valid=True,
            enable=None,
            estop=False,
            estop_count=0,
            authenticated=False,
            jump=False,
            **fields,
        )
