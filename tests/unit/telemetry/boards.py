"""A board as a running stack fills it."""

from __future__ import annotations

from typing import Any

from proto.reasons import SIDES, Side
from proto.topics import ARM_STATES, ARM_TARGETS, HAND_POSES, health_topic
from services.telemetry.board import Board, Picture
from tests import samples

S = 1_000_000_000
START_NS = 100 * S
NOW_NS = 110 * S
SERVICES = ("telemetry", "ingest", "mapper", "arm-right", "arm-left")


def running(
    sides: tuple[Side, ...] = SIDES, services: tuple[str, ...] = SERVICES, t_ns: int = NOW_NS
) -> Board:
    """Every side engaged, every service heard at `t_ns`."""
    board = Board("sim", sides, services, START_NS)
    for side in sides:
        put_arm(board, side, t_ns)
    for family in services:
        put_service(board, family, t_ns)
    return board


def put_arm(board: Board, side: Side, t_ns: int, **changes: Any) -> None:
    """An arm_state of `side`."""
    topic = ARM_STATES[SIDES.index(side)]
    board.take(topic, samples.arm_state(side=side, **changes), t_ns)


def put_service(board: Board, family: str, t_ns: int, **changes: Any) -> None:
    """A service_health of `family`."""
    message = samples.service_health(**{"name": family, **changes})
    board.take(health_topic(family), message, t_ns)


def put_hand(board: Board, side: Side, t_ns: int, **changes: Any) -> None:
    """A hand_pose of `side`."""
    board.take(HAND_POSES[SIDES.index(side)], samples.hand_pose(side=side, **changes), t_ns)


def put_target(board: Board, side: Side, t_ns: int, **changes: Any) -> None:
    """An arm_target of `side`."""
    board.take(ARM_TARGETS[SIDES.index(side)], samples.arm_target(side=side, **changes), t_ns)


def picture(board: Board, now_ns: int = NOW_NS, **changes: Any) -> Picture:
    """What the web server's threads get."""
    return board.picture(now_ns, changes.get("exits", {}), changes.get("tap_subscriptions", 0))
