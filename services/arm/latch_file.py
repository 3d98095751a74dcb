"""An e-stop outlives the arm's process: a file in the run directory says that one is latched.

Without it a killed arm would come back disarmed with the stop forgotten, and where `auto_arm` is on
it would move again. The loop never waits for the disk: a thread of its own writes.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

TEXT: Final = "an e-stop is latched: python -m tools.arm reset\n"


class LatchFile:
    """One arm's file. `latched` tells how it stood at our start."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.latched = path.exists()
        self._wanted = self.latched
        self._lock = threading.Lock()

    def keep(self, latched: bool) -> None:
        """Called each step with the present truth; writes only on a change."""
        if latched != self._wanted:
            self._wanted = latched
            threading.Thread(target=self._write, name="latch-file", daemon=True).start()

    def _write(self) -> None:
        """Brings the file to the newest wish, whichever thread comes last."""
        with self._lock:
            if self._wanted:
                self._path.write_text(TEXT)
            else:
                self._path.unlink(missing_ok=True)
