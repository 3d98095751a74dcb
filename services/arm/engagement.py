"""What lives from engage to the end of it: follower, approach, gripper wish. Pure.

Gives the core one wish a tick and one reason; knows nothing of drivers or of the state machine.
"""

from __future__ import annotations

from typing import Final

from proto.messages import ArmTarget
from proto.reasons import Reason, first_reason
from runtime.se3 import Pose, vnorm, vsub
from runtime.settings import ArmSettings, MapperSettings
from services.arm.approach import FAR_REST_M, Approach
from services.arm.follow import Follower, Rules
from services.arm.options import pacer_options
from services.arm.pacers import make as make_pacer
from services.arm.slip import IDENTITY_SLIP, Slip

LEAD_MM: Final = 30.0


class Engagement:
    """At most one clutch at a time."""

    def __init__(self, arm: ArmSettings, mapper: MapperSettings) -> None:
        resume_ms = arm.resume_relative_ms if mapper.mode == "relative" else arm.resume_absolute_ms
        # A sender that applies the offsets itself has scaled its hand already.
        scale = mapper.scale if mapper.offsets_applied_by == "mapper" else 1.0
        self._rules = Rules(mapper.mode, int(resume_ms * 1e6), scale)
        self._pacer = make_pacer(arm.response, pacer_options(arm))
        self._follower: Follower | None = None
        self._approach: Approach | None = None
        self._aborted = False
        self._speed_limited = False
        self.rest_mm: float | None = None
        self.losses = 0

    @property
    def active(self) -> bool:
        """Whether a clutch is held."""
        return self._follower is not None

    def begin(self, target: ArmTarget, now_ns: int, held: Pose) -> None:
        """A clutch was taken by `target` with the arm holding `held`."""
        self._follower = Follower(self._rules, self._pacer, target, now_ns, held)
        self._aborted = False
        self._speed_limited = False
        self.rest_mm = None
        absolute = self._rules.mode == "absolute"
        self._approach = Approach(now_ns, self._rules.scale) if absolute else None

    def end(self) -> None:
        """The clutch is gone; nothing of it may move anything again."""
        self._follower = None
        self._approach = None
        self.rest_mm = None
        self._speed_limited = False

    def on_target(self, target: ArmTarget, now_ns: int, command: Pose) -> None:
        """One message of the mapper while engaged."""
        follower = self._follower
        if follower is None:
            return
        follower.on_target(target, now_ns, command)
        if self._approach is not None and follower.good.target is target:
            self._approach.on_sample(target.t_recv_ns, follower.good.p_m)

    def wish(self, now_ns: int, command: Pose | None) -> Pose | None:
        """Where the tool should be now; None: brake (or nothing is engaged)."""
        follower = self._follower
        if follower is None or command is None:
            return None
        was_braking = follower.braking
        wish = follower.tick(now_ns)
        self.losses += follower.braking and not was_braking
        if wish is not None and self._rules.mode == "absolute":
            self._judge_approach(now_ns, wish, command)
        return wish

    def _judge_approach(self, now_ns: int, wish: Pose, command: Pose) -> None:
        if self._approach is None:
            rest_mm = _distance_mm(wish, command)
            self.rest_mm = rest_mm if self._speed_limited else None
            if rest_mm > FAR_REST_M * 1000:
                self._approach = Approach(now_ns, self._rules.scale)
            return
        verdict, self.rest_mm = self._approach.judge(now_ns, wish, command)
        if verdict == "follow":
            self._approach = None
        self._aborted |= verdict == "abort"

    def on_limited(self, wish: Pose, inside: Pose, limited: Pose) -> None:
        """What became of the wish after the walls, and after the limits too."""
        if self._follower is None:
            return
        if self._rules.mode == "relative":
            self._speed_limited = self._follower.outran(wish, inside, limited)
        else:
            self._speed_limited = _distance_mm(inside, limited) > LEAD_MM

    @property
    def slow(self) -> bool:
        """Whether the limits of an approach hold."""
        return self._approach is not None

    @property
    def cause(self) -> Reason:
        """Why the clutch must end in a protective stop, "" while it need not."""
        return self._follower.cause if self._follower is not None else ""

    @property
    def let_go(self) -> bool:
        """Whether the mapper let go, or the approach was given up."""
        return self._aborted or (self._follower is not None and self._follower.let_go)

    @property
    def braking(self) -> bool:
        """Whether data are missing and the arm brakes."""
        return self._follower is not None and self._follower.braking

    @property
    def predicting(self) -> bool:
        """Whether the pose of this tick lies beyond the newest sample."""
        return self._follower is not None and self._follower.predicting

    @property
    def playout_delay_ms(self) -> float:
        """How far the pacer plays behind the newest sample on purpose."""
        return self._follower.playout_delay_ms if self._follower is not None else 0.0

    @property
    def glitches_rejected(self) -> int:
        """Samples that the pacer's gate kept out, of all clutches."""
        return self._pacer.glitches_rejected

    @property
    def slip(self) -> Slip:
        """How far the stream has been shifted since engage."""
        return self._follower.slip if self._follower is not None else IDENTITY_SLIP

    @property
    def newest(self) -> tuple[ArmTarget, int] | None:
        """The newest sample that counts, and when it was decoded here."""
        if self._follower is None:
            return None
        return self._follower.good.target, self._follower.good.t_target_ns

    @property
    def gripper_ratio(self) -> float | None:
        """The hand's gripper, undelayed; None (hold) while its data are missing."""
        if self._follower is None or self._follower.braking:
            return None
        return self._follower.good.target.gripper_ratio

    @property
    def t_recv_ns(self) -> int | None:
        """Receive stamp of the newest sample in the command, None when none is."""
        return self._follower.good.t_recv_ns if self._follower is not None else None

    def reason(self, now_ns: int) -> Reason:
        """Why the arm does not simply follow, "" if it does."""
        follower = self._follower
        if follower is None:
            return ""
        return first_reason(
            follower.waiting_reason(now_ns),
            "approach" if self._approach is not None else "",
            follower.good.target.reason,
            "speed_limited" if self._speed_limited else "",
        )


def _distance_mm(a: Pose, b: Pose) -> float:
    return 1000.0 * vnorm(vsub(a[0], b[0]))
