"""The mapper's targets as the arm sees them, engaged or not: the newest, and what it lacks. Pure.

Never judges motion; that is the follower's part.
"""

from __future__ import annotations

from typing import Final

from proto.messages import ArmTarget
from runtime.settings import MapperSettings

# A hand is here while its newest sample is younger: twice the age at which an arm brakes.
HERE_NS: Final = 200_000_000
FOREIGN_HOST_NS: Final = 1_000_000_000


class Stream:
    """Remembers the newest target.

    Attributes:
        target: the newest one, None before the first.
    """

    def __init__(self, mapper: MapperSettings) -> None:
        self._mapper = mapper
        self._foreign_ns: int | None = None
        self._enable_rose = False
        self.target: ArmTarget | None = None

    def take(self, target: ArmTarget) -> bool:
        """Makes `target` the newest; False for one that was overtaken or is here twice."""
        before = self.target
        if before is not None and _overtaken(target, before):
            return False
        was_low = before is not None and before.enable is False
        self._enable_rose |= was_low and target.enable is True
        self.target = target
        return True

    def on_foreign_host(self, now_ns: int) -> None:
        """Targets come from another machine, whose stamps cannot be compared with ours."""
        self._foreign_ns = now_ns

    def clock_foreign(self, now_ns: int) -> bool:
        """Whether targets of another machine were seen in the last second."""
        return self._foreign_ns is not None and now_ns - self._foreign_ns < FOREIGN_HOST_NS

    def take_enable_rise(self) -> bool:
        """Whether the enable bit went high since the last call."""
        rose, self._enable_rose = self._enable_rose, False
        return rose

    @property
    def enable_low(self) -> bool:
        """Whether the enable bit is seen released."""
        return self.target is not None and self.target.enable is False

    @property
    def enable_let_go(self) -> bool:
        """Whether a deadman's switch is in use and not pressed: a stream without it is neither."""
        if self._mapper.engage_on != "enable_bit" or self.target is None:
            return False
        return self.target.enable is not True

    def is_here(self, now_ns: int) -> bool:
        """Whether a fresh sample of a tracked hand is known."""
        target = self.target
        return target is not None and target.tracking_valid and self._fresh(target, now_ns)

    def lacks(self, now_ns: int) -> str:
        """What an engage waits for, in a reason's own word where there is one; "" if unknown."""
        target = self.target
        if self.clock_foreign(now_ns):
            return "clock_domain"
        if target is None or not self._fresh(target, now_ns):
            return "no_packets"
        if not target.tracking_valid:
            return "untracked"
        if target.mode != self._mapper.mode:
            return f"the mapper runs in {target.mode} mode, this arm in {self._mapper.mode}"
        return ""

    @staticmethod
    def _fresh(target: ArmTarget, now_ns: int) -> bool:
        return now_ns - target.t_recv_ns < HERE_NS


def _overtaken(target: ArmTarget, newest: ArmTarget) -> bool:
    """Stamps of one source only grow: an older one is a copy on a detour."""
    if _source(target) != _source(newest):
        return False
    return target.t_recv_ns < newest.t_recv_ns or target == newest


def _source(target: ArmTarget) -> tuple[int, int, int]:
    return target.boot, target.ingest_boot, target.session
