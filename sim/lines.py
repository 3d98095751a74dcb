"""Whole lines from a file descriptor that a selector watches. A dead end is a close."""

from __future__ import annotations

import os
from typing import Final

MAX_LINE_BYTES: Final = 4096


class LineReader:
    """Splits what arrives on `fd` into lines. `closed` once the other end is gone."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.closed = False
        self._rest = b""

    def read(self) -> list[str]:
        """The lines completed by what is readable now; call only when `fd` is readable."""
        try:
            data = os.read(self.fd, MAX_LINE_BYTES)
        except OSError:  # not our terminal any more
            data = b""
        self.closed = not data
        if self.closed:
            data = b"\n"  # the last line may lack its end
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[:MAX_LINE_BYTES]
        return [text for line in lines if (text := line.decode(errors="replace").strip())]
