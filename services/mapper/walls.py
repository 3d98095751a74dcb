"""The mapper's wall test: targets stop at the workspace, and a relative anchor slips along it.

Pure. The arm's own wall stage decides; this one makes a hand that comes back from beyond a wall
move the arm at once. Never clamps a rotation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from runtime.se3 import Vec3, vadd, vsub
from runtime.workspace import Clamp, Workspace, Zone
from services.mapper.mapping import Anchor
from services.mapper.views import ArmView, HandView

# After a flagged jump the arm waits this long for the hand to come back to its old track; an
# anchor moved by samples of a glitch would leave the arm somewhere else when it is over.
JUMP_NS: Final = 100_000_000


class Slid(NamedTuple):
    """A relative target after the wall test.

    Attributes:
        p_m: the target to publish, without slip.
        anchor: the anchor to map the next sample from.
        clamp: what the wall did to target + slip.
    """

    p_m: Vec3
    anchor: Anchor
    clamp: Clamp


class Walls:
    """The workspace of one arm as the mapper sees it."""

    def __init__(self, zone: Zone) -> None:
        """Knows no arm yet: exactly the zone."""
        self._workspace = Workspace(zone)
        self._slip_p_m: Vec3 = (0.0, 0.0, 0.0)
        self._fixed_until_ns: int | None = None

    def see_arm(self, arm: ArmView) -> None:
        """Follow the arm: outside the zone it may stay and come in, never go further out."""
        self._slip_p_m = arm.slip_p_m
        if arm.cmd_p_base_tool_m is None:
            return
        if arm.state == "ENGAGED":
            self._workspace.ratchet(arm.cmd_p_base_tool_m)
        else:
            self._workspace.admit(arm.cmd_p_base_tool_m)

    def absolute(self, p_target_m: Vec3) -> Clamp:
        """An absolute target: the nearest allowed point, and how far outside it was."""
        return self._workspace.clamp(p_target_m)

    def relative(self, p_target_m: Vec3, anchor: Anchor, hand: HandView) -> Slid:
        """A relative target: the wall meets target + slip, where the arm really goes.

        What the wall takes off is taken off the anchor too, so the next sample starts there;
        except for JUMP_NS from a flagged jump, whose samples stop at the wall and change nothing.
        """
        clamp = self._workspace.clamp(vadd(p_target_m, self._slip_p_m))
        fixed = self._anchor_is_fixed(hand)
        if not any(clamp.clamped):
            return Slid(p_target_m, anchor, clamp)
        p_m = vsub(clamp.p_m, self._slip_p_m)
        if fixed:
            return Slid(p_m, anchor, clamp)
        p_anchor_m = vadd(anchor.p_base_tool_m, vsub(p_m, p_target_m))
        return Slid(p_m, replace(anchor, p_base_tool_m=p_anchor_m), clamp)

    def _anchor_is_fixed(self, hand: HandView) -> bool:
        if hand.jump:
            self._fixed_until_ns = hand.t_recv_ns + JUMP_NS
        return self._fixed_until_ns is not None and hand.t_recv_ns < self._fixed_until_ns
