"""Progress of long commands, on stderr; results stay alone on stdout."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """One line of progress."""
    print(text, file=sys.stderr, flush=True)
