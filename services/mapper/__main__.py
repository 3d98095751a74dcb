"""The mapper process: python -m services.mapper."""

from __future__ import annotations

from proto.messages import ArmState, HandPose
from proto.reasons import SIDES, Side
from proto.topics import ARM_TARGETS
from runtime.service import Context, run_as_main
from services.mapper.side import SideMapper

TARGET_TOPIC = dict(zip(SIDES, ARM_TARGETS, strict=True))


class Mapper:
    """Reads both streams, answers every fresh hand sample of a configured side."""

    def __init__(self, context: Context) -> None:
        self._context = context
        settings = context.settings
        self._sides: dict[Side, SideMapper] = {
            side: SideMapper(settings.mapper[side], settings.arm[side]) for side in settings.arm
        }
        self._subscriber = context.subscriber()
        context.loop.on_readable(self._subscriber.socket, self.drain)
        context.health.counters = self._counters

    def drain(self) -> None:
        """All that arrived, in order: an offer must be seen before the hand that takes it."""
        for received in self._subscriber.drain():
            message = received.message
            if isinstance(message, ArmState):
                self._on_arm_state(message)
            elif isinstance(message, HandPose):
                self._on_hand_pose(message)

    def _on_arm_state(self, state: ArmState) -> None:
        side = self._sides.get(state.side)
        if side is not None:
            side.on_arm_state(state, self._context.clock.now_ns())

    def _on_hand_pose(self, hand: HandPose) -> None:
        side = self._sides.get(hand.side)
        if side is not None:
            target = side.on_hand_pose(hand, self._context.clock.now_ns())
            self._context.publisher.publish(TARGET_TOPIC[hand.side], target)

    def _counters(self) -> dict[str, int]:
        mapped = {f"mapped_{name}": side.mapped for name, side in self._sides.items()}
        return {**mapped, **self._subscriber.counters}


def body(context: Context) -> None:
    """Sets the mapper up on the loop."""
    Mapper(context)


if __name__ == "__main__":
    run_as_main("mapper", body)
