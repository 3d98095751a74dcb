"""One hand and one arm: hand_pose and arm_state in, arm_target out. Pure.

Every fresh sample gives one target, in order; the arm decides what moves.
"""

from __future__ import annotations

from typing import NamedTuple

from proto.messages import ArmTarget, HandPose, Quat, Vec3
from proto.reasons import Reason, first_reason
from runtime.se3 import quat_from_rpy_deg, quat_to_euler
from runtime.settings import ArmSettings, MapperSettings
from runtime.zone import zone_of
from services.mapper.clutch import Clutch, Output
from services.mapper.mapping import MappingConfig, map_absolute, map_relative
from services.mapper.views import ArmView
from services.mapper.walls import Walls

NO_AXES = (False, False, False)


class Wish(NamedTuple):
    """A mapped pose after the wall test; None where this sample has none."""

    p_m: Vec3 | None = None
    q_xyzw: Quat | None = None
    clamped: tuple[bool, bool, bool] = NO_AXES
    outside_mm: float = 0.0


class SideMapper:
    """Clutch, mapping and walls of one side."""

    def __init__(self, mapper: MapperSettings, arm: ArmSettings) -> None:
        self._mode = mapper.mode
        self._config = mapping_config(mapper)
        self._clutch = Clutch(mapper.engage_on)
        self._walls = Walls(zone_of(arm))
        self._rpy_deg: Vec3 | None = None
        self.mapped = 0

    @property
    def settled(self) -> bool:
        """Whether nothing is decided by the arm's very newest word: it follows, as it said."""
        return self._clutch.confirmed

    def on_arm_state(self, state: ArmView, now_ns: int) -> None:
        """An arm_state of this side, in order."""
        self._clutch.see_arm(state, now_ns)
        self._walls.see_arm(state)

    def on_hand_pose(self, hand: HandPose, now_ns: int) -> ArmTarget:
        """A fresh hand_pose of this side, in order."""
        self.mapped += 1
        output = self._clutch.see_hand(hand, now_ns)
        wish = self._map(hand, output)
        reason: Reason = "untracked" if wish.p_m is None and not hand.estop else ""
        walls: Reason = "clamped" if any(wish.clamped) else ""
        return ArmTarget(
            side=hand.side,
            mode=self._mode,
            clutch_id=output.clutch_id,
            engaged=output.engaged,
            jump=hand.jump,
            session=hand.session,
            ingest_boot=hand.boot,
            enable=hand.enable,
            authenticated=hand.authenticated,
            t_send_s=hand.t_send_s,
            t_recv_ns=hand.t_recv_ns,
            t_map_ns=now_ns,
            target_p_base_tool_m=wish.p_m,
            target_q_base_tool_xyzw=wish.q_xyzw,
            target_rpy_base_tool_deg=self._euler(wish.q_xyzw),
            gripper_ratio=hand.gripper_ratio,
            tracking_valid=hand.tracking_valid,
            clamped=wish.clamped,
            outside_mm=wish.outside_mm,
            reason=first_reason(output.reason, reason, walls),
        )

    def _map(self, hand: HandPose, output: Output) -> Wish:
        p_m, q_xyzw = hand.p_vr_hand_m, hand.q_vr_hand_xyzw
        if p_m is None or q_xyzw is None or not hand.tracking_valid:
            return Wish()
        if self._mode == "absolute":
            p_target_m, q_target = map_absolute(p_m, q_xyzw, self._config)
            clamp = self._walls.absolute(p_target_m)
            return Wish(clamp.p_m, q_target, clamp.clamped, clamp.outside_mm)
        if output.anchor is None:
            return Wish()
        p_target_m, q_target = map_relative(output.anchor, p_m, q_xyzw, self._config)
        slid = self._walls.relative(p_target_m, output.anchor, hand)
        self._clutch.move_anchor(slid.anchor)
        return Wish(slid.p_m, q_target, slid.clamp.clamped, slid.clamp.outside_mm)

    def _euler(self, q_xyzw: Quat | None) -> Vec3 | None:
        """For people and tools, on the branch nearest to the last one told."""
        if q_xyzw is not None:
            self._rpy_deg = quat_to_euler(q_xyzw, self._rpy_deg)
        return self._rpy_deg if q_xyzw is not None else None


def mapping_config(mapper: MapperSettings) -> MappingConfig:
    """The mapping that the settings describe."""
    return MappingConfig(
        mode=mapper.mode,
        scale=mapper.scale,
        position_offset_m=mapper.position_offset_m,
        rotation_offset_deg=mapper.rotation_offset_deg,
        offset_frame=mapper.offset_frame,
        offsets_applied_by=mapper.offsets_applied_by,
        vr_axes=mapper.vr_axes,
        vr_origin_m=mapper.vr_origin_m,
        heading_deg=mapper.heading_deg,
        T_torso_base=(mapper.torso_base_p_m, quat_from_rpy_deg(mapper.torso_base_rpy_deg)),
    )
