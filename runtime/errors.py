"""Exit codes and the exception tree; each message is the one line a person reads.

    FarhandError
    ├── ConfigError    exit 78   unknown key, wrong type, out of bounds: a restart cannot heal it
    ├── RunDirError    exit 78   run directory too long, foreign, open to others, not writable
    ├── LockHeldError  exit 75   another process has this endpoint: restart and try again
    └── DeviceError    exit 75   CAN adapter unplugged, robot silent: restart and try again

Wire input never raises these: it is counted and dropped where it is decoded.
"""

from pathlib import Path

# Exit codes are the contract with the process supervisor: 0 and 78 are not restarted, 75 is.
# 75 and 78 are EX_TEMPFAIL and EX_CONFIG of sysexits(3).
EXIT_OK = 0
EXIT_DEVICE = 75
EXIT_CONFIG = 78


class FarhandError(Exception):
    """Anything this project stops for on purpose; `exit_code` says how the process ends."""

    exit_code = EXIT_DEVICE


class ConfigError(FarhandError, ValueError):
    """The configuration is refused; the message names the key and the valid choices."""

    exit_code = EXIT_CONFIG


class RunDirError(FarhandError, OSError):
    """The run directory cannot be used; the message names the directory and the fix."""

    exit_code = EXIT_CONFIG


class DeviceError(FarhandError, OSError):
    """A device was lost or does not answer in a way that a fresh process may heal."""

    exit_code = EXIT_DEVICE


class LockHeldError(FarhandError, TimeoutError):
    """Another process holds the lock, and kept it for the whole wait.

    Args:
        path: the lock file.
        holder_pid: process id written in it, or None if it is not readable yet.
    """

    exit_code = EXIT_DEVICE

    def __init__(self, path: Path, holder_pid: int | None) -> None:
        self.path = path
        self.holder_pid = holder_pid
        holder = "another process" if holder_pid is None else f"process {holder_pid}"
        super().__init__(
            f"{path} is held by {holder}: the same program already runs from this run directory; "
            f"stop it, or give this one its own with FARHAND_RUN_DIR"
        )
