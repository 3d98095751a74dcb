"""The mapper process: python -m services.mapper."""

from __future__ import annotations

from typing import Final

from proto.messages import ArmState, HandPose
from proto.reasons import SIDES, Side
from proto.topics import ARM_STATES, ARM_TARGETS, HAND_POSES
from proto.views import ArmClutch
from runtime import config
from runtime.service import Context, run_as_main
from services.mapper.side import SideMapper

# Above the slowest hand stream and the slowest arm (20 Hz each), below the clutch's 300 ms.
OLD_WORD_NS: Final = 120_000_000
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
        self._arms = context.latest(*ARM_STATES, views={ArmState: ArmClutch})
        self._heard_ns: dict[Side, int] = dict.fromkeys(self._sides, 0)
        context.loop.on_readable(self._hands.socket, self.drain)
        context.health.counters = self._counters

    def drain(self) -> None:
        """All hands that arrived, in order."""
        for received in self._hands.drain():
            if isinstance(received.message, HandPose):
                self._on_hand_pose(received.message)

    def _on_hand_pose(self, hand: HandPose) -> None:
        side = self._sides.get(hand.side)
        if side is None:
            return
        now_ns = self._context.clock.now_ns()
        if not side.settled or now_ns - self._heard_ns[hand.side] > OLD_WORD_NS:
            self._hear_arm(hand.side, side)
        target = side.on_hand_pose(hand, now_ns)
        self._context.publisher.publish(TARGET_TOPIC[hand.side], target)
        self._hear_arm(hand.side, side)

    def _hear_arm(self, name: Side, side: SideMapper) -> None:
        """The arm's newest word. While it follows it is heard after the target has left, since
        reading it would delay the target; else, and after a pause, before the hand is judged."""
        state = self._arms.take(STATE_TOPIC[name])
        if isinstance(state, ArmClutch):
            self._heard_ns[name] = self._context.clock.now_ns()
            side.on_arm_state(state, self._heard_ns[name])

    def _counters(self) -> dict[str, int]:
        mapped = {f"mapped_{name}": side.mapped for name, side in self._sides.items()}
        return {**mapped, **self._hands.counters}


def body(context: Context) -> None:
    """Sets the mapper up on the loop."""
    for warning in config.warnings(context.settings):
        context.log.warning("config_doubtful", why=warning)
    Mapper(context)


if __name__ == "__main__":
    run_as_main("mapper", body)
