"""The line a person reads when one of telemetry's TCP ports cannot be had. Binds nothing."""

from __future__ import annotations

import errno
import os
from typing import Final

from runtime import port_holder
from runtime.errors import DeviceError

LOOPBACK: Final = "127.0.0.1"


def not_bound(port: int, key: str, error_number: int) -> DeviceError:
    """Why `port` was refused and what to do.

    Args:
        port: TCP port on loopback.
        key: its key in [telemetry], e.g. "tap_port".
        error_number: errno of the failed bind.
    """
    what = f"cannot listen on TCP {LOOPBACK}:{port}: {os.strerror(error_number)}"
    if error_number == errno.EADDRINUSE:
        holder = port_holder.describe(port, transport="tcp") or "another process"
        return DeviceError(
            f"{what}; held by {holder}: stop it, or set FARHAND_TELEMETRY__{key.upper()} to a"
            f" free port (find it: ss -ltnp 'sport = :{port}')"
        )
    return DeviceError(f"{what}; choose another [telemetry] {key}")
