"""A running stack, scripted hands and an operator's desk, all on one loop in the test's thread.

Waiting never sleeps: while a test waits, hands send at 50 Hz and the bus is recorded. Bounds are
generous, since a loaded machine is no failure; they only end a test that will not pass.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import ClassVar, Final

import zmq

from proto.messages import ArmState, ArmTarget, HandPose, OperatorCommand
from proto.reasons import SIDES, Side, State
from runtime.bus import CommandClient
from runtime.clock import MonotonicClock
from runtime.se3 import ZERO, Vec3, vnorm, vsub
from runtime.service import identity
from tests.config_copy import copy_config
from tests.integration.live.hand import Hand
from tests.integration.live.motion import command
from tests.integration.live.watch import Watch
from tools.link import command_id
from tools.stack import PrivateStack

FRAME_S: Final = 0.02
PATIENCE_S: Final = 15.0
PIPE: Final = ("arm-right", "arm-left", "ingest", "mapper")
MAX_AGE_MS: Final = 2000.0
# Longer than a stream stays silent at rest before "it stands" is believed.
STILL_STATES: Final = 8
# An arm brakes 100 ms after its last sample; two frames late are half of that.
STALL_S: Final = 0.05
# Tests push arms around; one that comes so near its walls is started anew, at its home.
ROAM_M: Final = 0.15
# Of `lead`: slower than any arm's limit here.
LEAD_MPS: Final = 0.12
NEAR_M: Final = 0.002
TRIES: Final = 5
# [mapper] scale of every robot's configuration.
SCALE: Final = 0.75


def hand_step_m(by_m: Vec3) -> Vec3:
    """The hand's motion that leads the arm by so much: base (x, y, z) is openxr (-z, -x, y)."""
    x, y, z = by_m
    return (-y / SCALE, z / SCALE, -x / SCALE)


Mark = dict[Side, tuple[int, int, int]]


class Rig:
    """Use as a context manager. `hands` are on 127.0.0.1; more may be added with `another_hand`.

    Attributes:
        running: every rig that is up: what a test leaves running may be theirs, and nobody's else.
    """

    running: ClassVar[set[Rig]] = set()

    def __init__(self, programs: Sequence[str] = PIPE, **env: str) -> None:
        """Args: env: configuration keys as FARHAND_<name>, e.g. ARM__CONTROL_HZ="50"."""
        keys = {f"FARHAND_{name}": value for name, value in env.items()}
        self.stack = PrivateStack(tuple(programs), keys)
        self.stack.env["FARHAND_CONFIG_DIR"] = str(copy_config(self.stack.run_dir))
        self._clock = MonotonicClock()
        self._zmq: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._desks: dict[Side, CommandClient] = {}
        self._home_m: dict[Side, Vec3] = {}
        self.watch = Watch(self._zmq, self.stack.run_dir, self._clock)
        self.hands = {side: Hand(port) for side, port in zip(SIDES, self.stack.ports, strict=True)}
        self._senders = list(self.hands.values())
        self._next_frame_s = self.now_s()
        self._latest_s = 0.0

    def __enter__(self) -> Rig:
        self.running.add(self)
        self.stack.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for hand in self._senders:
            hand.close()
        self._zmq.destroy(linger=0)
        for process in self.stack.processes.values():
            process.send_signal(signal.SIGCONT)  # nothing for a process that runs, or is gone
        self.stack.__exit__(kind, error, trace)
        self.running.discard(self)

    # --- time ------------------------------------------------------------------------------------

    def now_s(self) -> float:
        return time.monotonic()

    def run(self, seconds: float) -> None:
        """Lets so much time pass."""
        self._pump(lambda: False, seconds)

    def until(self, met: Callable[[], bool], what: str, within_s: float = PATIENCE_S) -> None:
        """Lets time pass until `met`; fails with `what` if that does not come."""
        assert self._pump(met, within_s), f"not within {within_s} s: {what}; {self.story()}"

    def _pump(self, met: Callable[[], bool], limit_s: float) -> bool:
        give_up_s = self.now_s() + limit_s
        while True:
            self.step()
            if met():
                return True
            left_s = give_up_s - self.now_s()
            if left_s <= 0.0:
                return False
            self.watch.wait(min(left_s, self._next_frame_s - self.now_s()))

    def step(self) -> None:
        """One look: the frame that is due, what has arrived."""
        now_s = self.now_s()
        if now_s >= self._next_frame_s:
            self._latest_s = max(self._latest_s, now_s - self._next_frame_s)
            self._next_frame_s = max(self._next_frame_s + FRAME_S, now_s)
            for hand in self._senders:
                hand.frame(now_s)
        self.watch.drain()

    @property
    def stalled(self) -> bool:
        """Whether packets left late, or targets came late, since `forget_stalls`."""
        return max(self._latest_s, self.watch.slowest_ns * 1e-9) > STALL_S

    def forget_stalls(self) -> None:
        """From now on count anew."""
        self.watch.drain()
        self._latest_s, self.watch.slowest_ns = 0.0, 0
        self._next_frame_s = self.now_s()

    # --- what was seen ---------------------------------------------------------------------------

    def mark(self) -> Mark:
        """Now, for `states`, `targets` and `poses`."""
        self.watch.drain()
        watch = self.watch
        return {
            side: (len(watch.states[side]), len(watch.targets[side]), len(watch.hands[side]))
            for side in SIDES
        }

    def states(self, side: Side, mark: Mark) -> list[ArmState]:
        """At least one: after a stall of the machine the next one is waited for."""
        since = mark[side][0]
        self.until(lambda: len(self.watch.states[side]) > since, f"any state of {side}")
        return self.watch.states[side][since:]

    def targets(self, side: Side, mark: Mark) -> list[ArmTarget]:
        return self.watch.targets[side][mark[side][1] :]

    def poses(self, side: Side, mark: Mark) -> list[HandPose]:
        return self.watch.hands[side][mark[side][2] :]

    def state(self, side: Side = "right") -> ArmState:
        """The newest state."""
        assert self.watch.states[side], f"no arm_state of {side}; {self.story()}"
        return self.watch.states[side][-1]

    def is_in(self, state: State, side: Side = "right") -> bool:
        states = self.watch.states[side]
        return bool(states) and states[-1].state == state

    def until_state(self, state: State, side: Side = "right", reason: str | None = None) -> None:
        """Until the arm is in `state` (for `reason`)."""
        self.until(
            lambda: self.is_in(state, side) and reason in (None, self.state(side).reason),
            f"{side} {state} {reason or ''}",
        )

    def until_still(self, side: Side = "right") -> ArmState:
        """Until the command stands; returns the state that says so."""
        self.until(lambda: self._stands(side), f"{side} stands")
        return self.state(side)

    def until_followed(self, side: Side = "right") -> ArmState:
        """Until the command stands where the hand's last motion led; the state that says so."""
        self.until(lambda: self._arrived(side) and self._stands(side), f"{side} follows")
        return self.state(side)

    def _arrived(self, side: Side) -> bool:
        state = self.state(side)
        newest_s = state.t_send_s
        return not state.braking and newest_s is not None and newest_s >= self.hands[side].rests_t_s

    def _stands(self, side: Side) -> bool:
        last = self.watch.states[side][-STILL_STATES:]
        poses = {(s.cmd_p_base_tool_m, s.cmd_q_base_tool_xyzw) for s in last}
        return len(last) == STILL_STATES and len(poses) == 1

    def counter(self, program: str, name: str) -> int:
        """A count of the newest health message; 0 before the first one."""
        health = self.watch.health.get(program)
        return 0 if health is None else health.counters.get(name, 0)

    def fresh_health(self, program: str) -> None:
        """Until `program` has told its counters anew."""
        before = self.watch.health.get(program)
        self.until(lambda: self.watch.health.get(program) is not before, f"health of {program}")

    def story(self) -> str:
        """For a person who reads why a test failed."""
        lines = []
        for side in SIDES:
            for state in self.watch.states[side][-1:]:
                lines.append(
                    f"{side}: {state.state} {state.reason} {state.reason_detail!r}"
                    f" braking={state.braking} answer={state.last_command_result!r}"
                )
        for program in self.stack.processes:
            lines.extend(self.stack.log(program).splitlines()[-4:])
        return "\n".join(lines)

    # --- what an operator does -------------------------------------------------------------------

    def order(self, side: Side, verb: str, **args: object) -> str:
        """Sends one command to the arm as it runs now; its answer once that is not `pending`."""
        number = self.post(side, verb, **args)
        self.until(lambda: self._answered(side, number), f"answer to {side} {verb}")
        return self.state(side).last_command_result

    def post(self, side: Side, verb: str, **args: object) -> int:
        """Sends one command, waits for nothing; its id."""
        number = command_id()
        boot = None if verb == "estop" else self.state(side).boot
        command = OperatorCommand(
            id=number, to_boot=boot, verb=verb, args=dict(args), max_age_ms=MAX_AGE_MS
        )
        assert self._desk(side).send(command), f"nobody takes commands for {side}"
        return number

    def _desk(self, side: Side) -> CommandClient:
        if side not in self._desks:
            self._desks[side] = CommandClient(
                self._zmq, self.stack.run_dir, side, identity(), self._clock
            )
        return self._desks[side]

    def _answered(self, side: Side, number: int) -> bool:
        state = self.state(side)
        return state.last_command_id == number and state.last_command_result != "pending"

    def another_hand(self, side: Side, source: str) -> Hand:
        """One more sender for this side, from an address of its own."""
        hand = Hand(self.stack.ports[SIDES.index(side)], source)
        self._senders.append(hand)
        return hand

    def drop_hand(self, hand: Hand) -> None:
        """Ends a sender that was added."""
        self._senders.remove(hand)
        hand.close()

    def glide(self, by_m: Vec3, over_s: float, side: Side = "right", turn_rad: Vec3 = ZERO) -> None:
        """Moves the hand smoothly and waits until it is there."""
        self.hands[side].glide(self.now_s(), by_m, over_s, turn_rad)
        self.run(over_s + 2 * FRAME_S)

    def lead(self, to_m: Vec3, side: Side = "right") -> ArmState:
        """Brings an engaged arm to a place by its hand, and back there if a stall cost motion."""
        for _ in range(TRIES):
            by_m = vsub(to_m, command(self.until_followed(side))[0])
            if vnorm(by_m) < NEAR_M:
                break
            self.glide(hand_step_m(by_m), vnorm(by_m) / LEAD_MPS + 0.1, side)
        else:
            raise AssertionError(f"{side} cannot be led to {to_m}; {self.story()}")
        return self.state(side)

    def kill(self, program: str) -> None:
        """SIGKILL, and waits for the end."""
        process = self.stack.processes[program]
        process.kill()
        process.wait()

    def stop(self, program: str) -> int:
        """SIGTERM, as a supervisor asks for it; the exit code."""
        process = self.stack.processes.pop(program)
        process.terminate()
        try:
            self.until(lambda: process.poll() is not None, f"{program} ends")
        finally:
            process.kill()
        return process.wait()

    def restart(self, program: str) -> None:
        """Kills `program`, starts it anew and waits for its first word."""
        self.kill(program)
        self.start(program)

    def start(self, program: str) -> None:
        """Starts `program` and waits for its first word of health."""
        self.stack.start(program)
        pid = self.stack.processes[program].pid
        health = self.watch.health
        self.until(lambda: program in health and health[program].pid == pid, f"{program} up")

    # --- bringing an arm where a test begins -----------------------------------------------------

    def calm(self, side: Side = "right") -> ArmState:
        """To HOLD with the clutch let go for good, a hand that stands still streaming in."""
        self.calm_hand(side)
        give_up_s = self.now_s() + 2 * PATIENCE_S
        while not (self._calmed(side) and self.order(side, "release") == "ok"):
            assert self.now_s() < give_up_s, f"{side} does not come to HOLD; {self.story()}"
            self.run(2 * FRAME_S)
        return self.until_still(side)

    def _roamed(self, side: Side) -> bool:
        """Whether the arm stands far from where its simulator starts."""
        at_m = self.state(side).cmd_p_base_tool_m
        if at_m is None:
            return False
        home_m = self._home_m.setdefault(side, at_m)
        return vnorm(vsub(at_m, home_m)) > ROAM_M

    def calm_hand(self, side: Side) -> None:
        """A tracked hand that stands still where it is, streaming in."""
        self.hands[side].behave()
        self.hands[side].sending = True

    def _calmed(self, side: Side) -> bool:
        self.until(lambda: bool(self.watch.states[side]), f"any state of {side}")
        if self._roamed(side):
            self.restart(f"arm-{side}")
        verb = _WAY_TO_HOLD[self.state(side).state]
        return verb is None or (self.order(side, verb) == "ok" and self.is_in("HOLD", side))

    def engage(self, side: Side = "right") -> ArmState:
        """Orders an engage with the hand as it is; the first engaged state."""
        mark = self.mark()
        answer = self.order(side, "engage")
        assert answer == "ok", f"{answer}; {self.story()}"
        return next(s for s in self.states(side, mark) if s.state == "ENGAGED")


_WAY_TO_HOLD: Final[dict[State, str | None]] = {
    "DISARMED": "arm",
    "HOLD": None,
    "HOMING": "release",
    "ENGAGED": "release",
    "PROTECTIVE_STOP": "reset",
    "ESTOP_LATCHED": "reset",
    "FAULT": "clear",
}
