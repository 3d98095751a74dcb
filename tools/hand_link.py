"""A tool's view of one hand: validated samples as ingest publishes them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import zmq

from proto.messages import HandPose
from proto.reasons import SIDES, Side
from proto.topics import HAND_POSES
from runtime import config
from runtime.bus import Subscriber
from runtime.clock import MonotonicClock
from runtime.rundir import run_dir
from runtime.service import identity


class HandLink:
    """One side's hand. Use it as a context manager."""

    def __init__(self, side: Side, directory: Path | None = None) -> None:
        where = directory or run_dir(config.REPO_ROOT, os.environ, Path(tempfile.gettempdir()))
        self._clock = MonotonicClock()
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        topic = HAND_POSES[SIDES.index(side)]
        self._poses = Subscriber(self._context, where, [topic], identity(), self._clock)

    def __enter__(self) -> HandLink:
        return self

    def __exit__(self, *_: object) -> None:
        self._context.destroy(linger=0)

    def poses(self, wait_ms: int) -> list[HandPose]:
        """What has arrived, waiting at most so long for the first; stops have no pose."""
        until_ns = self._clock.now_ns() + wait_ms * 1_000_000
        while True:
            left_ms = (until_ns - self._clock.now_ns()) // 1_000_000
            if left_ms <= 0:
                return []
            self._poses.socket.poll(left_ms)
            arrived = [r.message for r in self._poses.drain()]
            poses = [message for message in arrived if isinstance(message, HandPose)]
            if poses:
                return poses
