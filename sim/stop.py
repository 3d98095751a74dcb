"""How a simulator program is asked to stop: SIGTERM and SIGINT set a flag that its loop reads."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Final

MAX_WAIT_S: Final = 0.1  # loops wait no longer than this, so the flag is seen in time


class StopFlag:
    """`stop.asked` turns true once and stays."""

    def __init__(self) -> None:
        self.asked = False

    def ask(self) -> None:
        """Asks the loop to end."""
        self.asked = True

    def listen(self) -> None:
        """Installs the handlers. Main thread only.

        SIGTTIN would stop a background job that reads its terminal; ignored, the read just fails.
        """
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        signal.signal(signal.SIGTTIN, signal.SIG_IGN)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.ask()
