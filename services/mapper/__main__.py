"""The mapper process: python -m services.mapper."""

from __future__ import annotations

from typing import Final

from proto.messages import ArmState, HandPose
from proto.reasons import SIDES, Side
from proto.topics import ARM_STATES, ARM_TARGETS, HAND_POSES
from runtime.service import Context, run_as_main
from services.mapper.side import SideMapper

STATE_TOPIC: Final = dict(zip(SIDES, ARM_STATES, strict=True))
TARGET_TOPIC: Final = dict(zip(SIDES, ARM_TARGETS, strict=True))


class Mapper:
    """Reads both streams, answers every fresh hand sample of a configured side."""

    def __init__(self, context: Context) -> None:
        self._context = context
        settings = context.settings
        self._sides: dict[Side, SideMapper] = {
            side: SideMapper(settings.mapper[side], settings.arm[side]) for side in settings.arm
        }
        self._hands = context.subscriber(*HAND_POSES)
        self._arms = context.latest(*ARM_STATES)
        context.loop.on_readable(self._hands.socket, self.drain)
        context.health.counters = self._counters

    def drain(self) -> None:
        """All hands that arrived, in order."""
        for received in self._hands.drain():
            if isinstance(received.message, HandPose):
                self._on_hand_pose(received.message)

    def _on_hand_pose(self, hand: HandPose) -> None:
        """Its arm is heard first, so that no hand is judged by an arm's old word."""
        side = self._sides.get(hand.side)
        if side is None:
            return
        now_ns = self._context.clock.now_ns()
        state = self._arms.take(STATE_TOPIC[hand.side])
        if isinstance(state, ArmState):
            side.on_arm_state(state, now_ns)
        target = side.on_hand_pose(hand, now_ns)
        self._context.publisher.publish(TARGET_TOPIC[hand.side], target)

    def _counters(self) -> dict[str, int]:
        mapped = {f"mapped_{name}": side.mapped for name, side in self._sides.items()}
        return {**mapped, **self._hands.counters}


def body(context: Context) -> None:
    """Sets the mapper up on the loop."""
    Mapper(context)


if __name__ == "__main__":
    run_as_main("mapper", body)
