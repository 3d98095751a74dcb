"""A stand-in for a service under a real supervisor: beats, crashes, or refuses its config."""

import os
import sys
import time
from pathlib import Path

from runtime.heartbeat import Heartbeat


def beat_for_ever() -> None:
    """What a healthy service looks like from outside, as long as its supervisor lives."""
    parent = os.getppid()
    heart = Heartbeat(Path(os.environ["FARHAND_RUN_DIR"]), sys.argv[2], os.getpid())
    heart.start()
    while os.getppid() == parent:
        heart.beat(time.monotonic_ns())
        time.sleep(0.05)


def main() -> None:
    """Acts as the first argument says."""
    behaviour = sys.argv[1]
    if behaviour == "beat":
        beat_for_ever()
    time.sleep(0.3)
    sys.exit({"crash": 1, "refuse": 78}[behaviour])


if __name__ == "__main__":
    main()
