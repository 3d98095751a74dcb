"""An arm and a mapper that is none: old clutches, wrong poses and nonsense move nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import zmq

from proto.envelope import encode, encode_stamped
from proto.messages import ArmState, ArmTarget
from proto.topics import ARM_TARGET_RIGHT
from runtime.bus import Identity, Publisher, ipc_endpoint
from runtime.clock import NS_PER_MS, MonotonicClock
from runtime.se3 import ZERO, Vec3, quat_from_rotvec, quat_mul, vadd, vscale
from runtime.service import identity
from tests.integration.live.motion import apart_m, command, moved_m, stood_still
from tests.integration.live.rig import FRAME_S, Rig

pytestmark = pytest.mark.integration

SESSION = 7


@dataclass
class _OffsetClock:
    """The real clock, so much earlier."""

    behind_ns: int = 0

    def now_ns(self) -> int:
        return MonotonicClock().now_ns() - self.behind_ns


@dataclass
class Impostor:
    """Binds the mapper's endpoint and says what it likes."""

    rig: Rig
    context: zmq.Context[zmq.Socket[bytes]]
    clock: _OffsetClock = field(default_factory=_OffsetClock)
    sent: list[ArmTarget] = field(default_factory=list)
    honest: bool = True

    def __post_init__(self) -> None:
        self.who = identity()
        endpoint = ipc_endpoint(self.rig.stack.run_dir, "mapper")
        self.publisher = Publisher(self.context, endpoint, self.who, self.clock)

    def be_mapper(self, who: Identity) -> None:
        """From now on another process, as it were."""
        self.honest = False
        self.publisher.close()
        self.clock.behind_ns = 0
        self.who = who
        endpoint = ipc_endpoint(self.rig.stack.run_dir, "mapper")
        self.publisher = Publisher(self.context, endpoint, who, self.clock)
        self.rig.run(0.15)  # until the arm has found it

    def offer(self) -> ArmState:
        """Brings the arm to HOLD, with an offer that stands."""
        rig = self.rig
        if not self.honest:
            self.be_mapper(identity())
            self.honest = True
        if not rig.is_in("HOLD") or rig.state().clutch_offer is None:
            if not rig.is_in("HOLD"):
                rig.order("right", "release" if rig.is_in("ENGAGED") else "reset")
            rig.until_state("HOLD")
            rig.post("right", "engage")
            rig.until(lambda: rig.state().clutch_offer is not None, "an offer")
        self.sent.clear()
        return rig.until_still()

    def target(self, state: ArmState, **changes: Any) -> ArmTarget:
        """A target on the pose that `state` holds, taking its offer; fresh and tracked."""
        p_m, q_xyzw = command(state)
        now_ns = MonotonicClock().now_ns()
        fair = ArmTarget(
            side="right",
            mode="relative",
            clutch_id=state.clutch_offer or state.clutch_id,
            engaged=True,
            jump=False,
            session=SESSION,
            ingest_boot=1,
            enable=None,
            authenticated=False,
            t_send_s=now_ns * 1e-9,
            t_recv_ns=now_ns,
            t_map_ns=now_ns,
            target_p_base_tool_m=p_m,
            target_q_base_tool_xyzw=q_xyzw,
            target_rpy_base_tool_deg=ZERO,
            gripper_ratio=1.0,
            tracking_valid=True,
            clamped=(False, False, False),
            outside_mm=0.0,
            reason="",
        )
        return replace(fair, **changes)

    def say(self, target: ArmTarget) -> None:
        self.sent.append(target)
        self.publisher.publish(ARM_TARGET_RIGHT, target)

    def drive(self, by_m: Vec3, frames: int) -> None:
        """Honestly takes the offer, if there is one, and moves the arm by so much."""
        start = self.rig.state()
        for number in range(frames + 1):
            p_m = vadd(command(start)[0], vscale(by_m, number / frames))
            self.say(self.target(start, target_p_base_tool_m=p_m))
            self.rig.run(FRAME_S)


@pytest.fixture(scope="module")
def impostor() -> Iterator[Impostor]:
    """One arm of a stack that has no mapper and no ingest, on `tracking`."""
    with Rig(("arm-right",)) as rig, zmq.Context() as context:
        impostor = Impostor(rig, context)
        rig.until_state("HOLD")
        rig.until(lambda: rig.state().clutch_offer is not None, "an offer")
        yield impostor
        impostor.publisher.close()


def test_a_fair_mapper_drives_the_arm(impostor: Impostor) -> None:
    """What the other tests do wrong, done right: else they would prove nothing."""
    rig, held = impostor.rig, impostor.offer()
    mark = rig.mark()
    impostor.drive((0.02, 0.0, 0.0), 10)
    states = rig.states("right", mark)
    first = next(s for s in states if s.state == "ENGAGED")
    assert first.clutch_id == held.clutch_offer
    assert command(first) == command(held)
    assert moved_m(states) > 0.010


def test_recorded_targets_of_an_earlier_clutch_move_nothing(impostor: Impostor) -> None:
    rig = impostor.rig
    impostor.offer()
    impostor.drive((0.02, 0.01, 0.0), 10)
    recorded = list(impostor.sent)
    assert rig.is_in("ENGAGED")
    impostor.say(impostor.target(rig.state(), engaged=False))
    rig.until_state("HOLD")
    held = rig.until_still()
    rig.until(lambda: rig.state().clutch_offer is not None, "a new offer")
    mark = rig.mark()
    for target in recorded:
        impostor.say(target)
        impostor.say(replace(target, t_recv_ns=MonotonicClock().now_ns()))
        rig.run(FRAME_S / 4)
    rig.run(0.1)
    states = rig.states("right", mark)
    assert {s.state for s in states} == {"HOLD"}
    assert stood_still([held, *states])


def _turned(state: ArmState) -> dict[str, Any]:
    turn = quat_from_rotvec((0.0, 0.0, math.radians(0.5)))
    return {"target_q_base_tool_xyzw": quat_mul(turn, command(state)[1])}


def _aside(state: ArmState) -> dict[str, Any]:
    return {"target_p_base_tool_m": vadd(command(state)[0], (0.0, 0.0015, 0.0))}


def _wrong_clutch(state: ArmState) -> dict[str, Any]:
    return {"clutch_id": (state.clutch_offer or 0) ^ 1 << 20}


WRONG: list[Callable[[ArmState], dict[str, Any]]] = [
    _wrong_clutch,
    _aside,
    _turned,
    lambda _: {"clutch_id": None},
    lambda _: {"engaged": False},
    lambda _: {"tracking_valid": False},
    lambda _: {"jump": True},
    lambda _: {"target_p_base_tool_m": None},
]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_first_target_is_not_taken(
    impostor: Impostor, wrong: Callable[[ArmState], dict[str, Any]]
) -> None:
    rig, held = impostor.rig, impostor.offer()
    mark = rig.mark()
    for _ in range(5):
        impostor.say(impostor.target(held, **wrong(held)))
        rig.run(FRAME_S)
    assert {s.state for s in rig.states("right", mark)} == {"HOLD"}
    assert stood_still([held, *rig.states("right", mark)])


def _as_always(_: Impostor) -> None: ...


def _with_old_messages(impostor: Impostor) -> None:
    impostor.clock.behind_ns = 150 * NS_PER_MS
    impostor.honest = False


def _on_another_machine(impostor: Impostor) -> None:
    impostor.be_mapper(replace(identity(), host=12345))


@pytest.mark.parametrize(
    ("become", "sample_age_ms", "said"),
    [
        (_with_old_messages, 0, "no_packets"),
        (_as_always, 150, ""),
        (_on_another_machine, 0, "clock_domain"),
    ],
)
def test_targets_that_are_old_or_cannot_be_dated_move_nothing(
    impostor: Impostor, become: Callable[[Impostor], None], sample_age_ms: int, said: str
) -> None:
    rig, held = impostor.rig, impostor.offer()
    become(impostor)
    mark = rig.mark()
    for number in range(12):
        ahead_m = vadd(command(held)[0], (0.0, 0.0, 0.0004 * number))
        t_recv_ns = MonotonicClock().now_ns() - sample_age_ms * NS_PER_MS
        changes = {"target_p_base_tool_m": ahead_m, "t_recv_ns": t_recv_ns}
        impostor.say(impostor.target(held, **changes))
        rig.run(FRAME_S / 2)
    assert stood_still([held, *rig.states("right", mark)])
    if said:
        assert rig.is_in("HOLD")
        rig.until(lambda: rig.state().reason_detail == said, said)
        rig.until(lambda: rig.state().reason_detail != "clock_domain", "it is over")


def test_nonsense_is_counted_by_reason(impostor: Impostor) -> None:
    rig, held = impostor.rig, impostor.offer()
    topic = ARM_TARGET_RIGHT.name.encode()
    fair = encode(impostor.target(held))
    nonsense: dict[str, list[tuple[bytes, ...]]] = {
        "bad_frames": [(topic,), (topic, fair, b"")],
        "unknown_topic": [(topic + b"x", fair)],
        "bad_msgpack": [(topic, b"\xc1"), (topic, fair[:-1]), (topic, b"")],
        "not_a_map": [(topic, b"\x90")],
        "missing_field": [(topic, b"\x80")],
        "too_long": [(topic, fair + bytes(20_000))],
        "bad_field": [
            (topic, _spoiled(impostor, held, target_p_base_tool_m=bad))
            for bad in ((math.nan, 0.0, 0.0), (0.0, math.inf, 0.0), (0.0, 0.0), "abc", 7)
        ],
    }
    rig.fresh_health("arm-right")
    before = {name: rig.counter("arm-right", name) for name in nonsense}
    mark = rig.mark()
    for frames in (f for several in nonsense.values() for f in several):
        impostor.publisher.socket.send_multipart(frames)
    rig.run(0.05)
    rig.fresh_health("arm-right")
    rose = {name: rig.counter("arm-right", name) - count for name, count in before.items()}
    assert rose == {name: len(several) for name, several in nonsense.items()}
    assert stood_still([held, *rig.states("right", mark)])
    impostor.drive((0.01, 0.0, 0.0), 5)
    rig.until(lambda: apart_m(held, rig.state()) > 0.005, "the next good targets are followed")
    assert "service_crashed" not in rig.stack.log("arm-right")


def _spoiled(impostor: Impostor, state: ArmState, **changes: Any) -> bytes:
    header = {"seq": 1, "boot": impostor.who.boot, "host": impostor.who.host, "t_mono_ns": 1}
    return encode_stamped(impostor.target(state, **changes), header)


def _new_mapper(impostor: Impostor) -> dict[str, Any]:
    impostor.be_mapper(identity())
    return {}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_new_mapper, "upstream_restarted"),
        (lambda _: {"ingest_boot": 2}, "upstream_restarted"),
        (lambda _: {"session": SESSION + 1}, "session_changed"),
    ],
)
def test_another_mapper_ingest_or_session_stops_an_engaged_arm(
    impostor: Impostor, change: Callable[[Impostor], dict[str, Any]], reason: str
) -> None:
    rig = impostor.rig
    impostor.offer()
    impostor.drive((0.01, 0.0, 0.0), 5)
    assert rig.is_in("ENGAGED")
    engaged = rig.state()
    mark = rig.mark()
    changes = change(impostor)
    for number in range(8):
        far_m = vadd(command(engaged)[0], (0.0, 0.0, 0.01 * number))
        impostor.say(impostor.target(engaged, target_p_base_tool_m=far_m, **changes))
        rig.run(FRAME_S / 2)
    states = rig.states("right", mark)
    stop = next(s for s in states if s.state == "PROTECTIVE_STOP")
    assert stop.reason == reason
    assert {s.clutch_id for s in states if s.t_tick_ns >= stop.t_tick_ns} == {None}
    assert moved_m([s for s in states if s.t_tick_ns >= stop.t_tick_ns]) < 0.005
