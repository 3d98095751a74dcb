"""ENGAGED: turns the targets of one clutch into a wish for this tick, or into "brake". Pure.

Owns what is known of the operator's stream: its age, its losses, its jumps, and `slip`, the
offset by which the stream is shifted so that nothing ever jumps. Never limits, never commands.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Final

from proto.messages import ArmTarget, Quat, Vec3
from proto.reasons import Reason
from runtime.se3 import quat_angle_rad, vnorm, vsub
from services.arm.pacers.base import Pacer, PacerOutput, PacerSample
from services.arm.slip import IDENTITY_SLIP, Slip, apply_slip, grow_slip, reseat_slip

BRAKE_AGE_NS: Final = 100_000_000
JUMP_RETURN_NS: Final = 100_000_000  # a jumped hand that is not back by then is another hand
LOSSES: Final = 5
LOSS_WINDOW_NS: Final = 10_000_000_000
# What a hand can do: the same bound by which ingest flags a step.
HAND_MAX_MPS: Final = 3.0
HAND_STEP_M: Final = 0.010
HAND_MAX_RADPS: Final = 10.0
HAND_STEP_RAD: Final = math.radians(3.0)
UNTRACKED_FRESH_NS: Final = 200_000_000  # packets still come, only without a hand


@dataclass(frozen=True, slots=True)
class Rules:
    """`resume_ns`: longest gap that resumes by itself. `scale`: robot metres per hand metre."""

    mode: str
    resume_ns: int
    scale: float


@dataclass(frozen=True, slots=True)
class Good:
    """Newest sample that the pacer was given, as sent by the mapper (without slip)."""

    p_m: Vec3
    q_xyzw: Quat
    t_recv_ns: int
    target: ArmTarget
    t_target_ns: int


class Follower:
    """One clutch, from engage to its end. `cause` is why it must end, "" while it need not."""

    def __init__(
        self, rules: Rules, pacer: Pacer, target: ArmTarget, now_ns: int, held: tuple[Vec3, Quat]
    ) -> None:
        self._rules = rules
        self._pacer = pacer
        self._session = target.session
        self._boots = (target.boot, target.ingest_boot)
        self._losses: deque[int] = deque()
        self._jumped_at_ns: int | None = None
        self._untracked_at_ns: int | None = None
        self.cause: Reason = ""
        self.let_go = False
        self.braking = False
        self.slip: Slip = IDENTITY_SLIP
        self.predicting = False
        self.playout_delay_ms = 0.0
        self._stand: tuple[Vec3, Quat] | None = None
        self.good = _good(target, now_ns)
        pacer.reset()
        if rules.mode == "relative":
            # Rounding on the way (≤ 1 mm, ≤ 0.2°) goes into slip: the first command is the held
            # pose to the last bit.
            self._seat(self.good, held)
        pacer.reseat(_sample(self.good))

    def on_target(self, target: ArmTarget, now_ns: int, command: tuple[Vec3, Quat]) -> None:
        """One message of the mapper, in order. `command` is the pose commanded last."""
        if (target.boot, target.ingest_boot) != self._boots:
            self._end("upstream_restarted")
        elif target.session != self._session:
            self._end("session_changed")
        elif not target.engaged:
            self.let_go = True
        elif target.target_p_base_tool_m is None or not target.tracking_valid:
            self._untracked_at_ns = now_ns
        elif target.t_recv_ns > self.good.t_recv_ns and self._on_track(target):
            self._take(_good(target, now_ns), now_ns, command)

    def _end(self, cause: Reason) -> None:
        self.cause = self.cause or cause

    def _on_track(self, target: ArmTarget) -> bool:
        """False while the hand is somewhere that no hand can reach from where it was."""
        if target.jump and self._jumped_at_ns is None:
            self._jumped_at_ns = target.t_recv_ns
        if self._jumped_at_ns is None:
            return True
        # One more leap may lead back however long it took; without one only a hand that is where
        # it was: with time alone any place would come into reach.
        until_ns = target.t_recv_ns if target.jump else self._jumped_at_ns
        if self._reachable(_good(target, 0), until_ns):
            self._jumped_at_ns = None
            return True
        if target.t_recv_ns - self._jumped_at_ns > JUMP_RETURN_NS:
            self._end("jump")
        return False

    def _reachable(self, new: Good, until_ns: int) -> bool:
        """Whether a hand gets to `new` by then; what a wall cut off the target counts as way."""
        dt_s = (until_ns - self.good.t_recv_ns) * 1e-9
        cut_mm = abs(new.target.outside_mm - self.good.target.outside_mm)
        far_m = vnorm(vsub(new.p_m, self.good.p_m)) + cut_mm * 1e-3
        far_rad = quat_angle_rad(new.q_xyzw, self.good.q_xyzw)
        near = far_m <= self._rules.scale * (HAND_MAX_MPS * dt_s + HAND_STEP_M)
        return near and far_rad <= HAND_MAX_RADPS * dt_s + HAND_STEP_RAD

    def _take(self, new: Good, now_ns: int, command: tuple[Vec3, Quat]) -> None:
        if now_ns - new.t_recv_ns > BRAKE_AGE_NS:
            return  # it waited behind a stage that stood still: not fresh, and never played
        gap_ns = now_ns - self.good.t_recv_ns
        self.good = new
        if not self.braking:
            self._pacer.push(_sample(new))
        elif gap_ns > self._rules.resume_ns:
            self._end(self._lost_reason(now_ns))
        else:
            self._resume(new, command)

    def _resume(self, new: Good, command: tuple[Vec3, Quat]) -> None:
        """After braking the stream starts again from the command: no sample counts as motion."""
        self.braking = False
        if self._rules.mode == "relative":
            self._seat(new, command)
        self._pacer.reseat(_sample(new))

    def _seat(self, sample: Good, command: tuple[Vec3, Quat]) -> None:
        """Shifts the stream so that `sample` means `command`, which stands for one exact tick."""
        self.slip = reseat_slip((sample.p_m, sample.q_xyzw), command)
        self._stand = command

    def tick(self, now_ns: int) -> tuple[Vec3, Quat] | None:
        """The wish for this tick in the base frame, slip applied; None: brake."""
        age_ns = now_ns - self.good.t_recv_ns
        if age_ns > BRAKE_AGE_NS and not self.braking:
            self.braking = True
            self._count_loss(now_ns)
        if age_ns > self._rules.resume_ns:
            self._end(self._lost_reason(now_ns))
        if self.braking:
            return None
        stand, self._stand = self._stand, None
        out = self._pacer.tick(now_ns)
        if stand is not None or out is None:
            return stand
        self.predicting = out.predicting
        self.playout_delay_ms = out.playout_delay_ms
        return self._shifted(out)

    def _shifted(self, out: PacerOutput) -> tuple[Vec3, Quat]:
        pose = (out.p_m, out.q_xyzw)
        return apply_slip(pose, self.slip) if self._rules.mode == "relative" else pose

    def _count_loss(self, now_ns: int) -> None:
        self._losses.append(now_ns)
        while self._losses and now_ns - self._losses[0] > LOSS_WINDOW_NS:
            self._losses.popleft()
        if len(self._losses) > LOSSES:
            self._end("tracking_unstable")

    def _lost_reason(self, now_ns: int) -> Reason:
        seen_ns = self._untracked_at_ns
        recent = seen_ns is not None and now_ns - seen_ns <= UNTRACKED_FRESH_NS
        return "untracked" if recent else "stale"

    def waiting_reason(self, now_ns: int) -> Reason:
        """Why it brakes now; "" while it follows."""
        return self._lost_reason(now_ns) if self.braking else ""

    def outran(self, wish: tuple[Vec3, Quat], limited: tuple[Vec3, Quat]) -> bool:
        """Relative mode: lets the stream slip where the hand outruns the limits; True if it did."""
        if self._rules.mode != "relative":
            return False
        grown = grow_slip(wish, limited, self.slip)
        slipped = grown != self.slip
        self.slip = grown
        return slipped


def _good(target: ArmTarget, now_ns: int) -> Good:
    p_m, q_xyzw = target.target_p_base_tool_m, target.target_q_base_tool_xyzw
    if p_m is None or q_xyzw is None:
        raise ValueError("a target without a pose cannot be followed")
    return Good(p_m, q_xyzw, target.t_recv_ns, target, now_ns)


def _sample(good: Good) -> PacerSample:
    sent_s = good.target.t_send_s
    return PacerSample(
        t_send_s=good.t_recv_ns * 1e-9 if sent_s is None else sent_s,
        t_recv_ns=good.t_recv_ns,
        p_m=good.p_m,
        q_xyzw=good.q_xyzw,
        jump=good.target.jump,
    )
