"""The C library for the Linux calls that Python lacks; loaded on first use, absent elsewhere."""

import sys
from typing import Any


def load() -> Any | None:
    """The process's own C library with errno kept, or None off Linux.

    ctypes is imported here and not above: only the paced processes need it, and it costs start-up.
    """
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    return ctypes.CDLL(None, use_errno=True)
