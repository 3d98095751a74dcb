"""One process an endpoint: a lock file taken before binding, freed by the kernel at any death.

Needed because a second process can bind a live ipc path and silently steal its traffic. The file
is never deleted: removing a lock file while another process waits for it lets two hold "the" lock.
"""

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

from runtime.clock import NS_PER_S, Clock, MonotonicClock
from runtime.errors import LockHeldError, RunDirError

# A restarted program finds its predecessor's lock free at once; the wait is for one that is
# still shutting down.
DEFAULT_WAIT_S = 2.0
_RETRY_S = 0.02


class Lock:
    """A held lock; lasts until `release` or the end of the process."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd: int | None = fd

    def release(self) -> None:
        """Frees the lock; may be called again."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def acquire(
    path: Path,
    wait_s: float = DEFAULT_WAIT_S,
    clock: Clock | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Lock:
    """Takes the lock and writes our process id into it.

    Args:
        path: lock file in the run directory, created if missing.
        wait_s: how long to wait for a holder to let go.
        clock: for the wait; the monotonic clock unless given.
        sleep: called with seconds between tries.

    Raises:
        LockHeldError: still held after `wait_s`.
        RunDirError: the file cannot be opened.
    """
    clock = clock or MonotonicClock()
    give_up_ns = clock.now_ns() + round(wait_s * NS_PER_S)
    fd = _open(path)
    while not _try_lock(fd, path):
        if clock.now_ns() >= give_up_ns:
            holder_pid = _read_pid(fd)
            os.close(fd)
            raise LockHeldError(path, holder_pid)
        sleep(_RETRY_S)
    os.ftruncate(fd, 0)
    os.pwrite(fd, b"%d\n" % os.getpid(), 0)
    return Lock(path, fd)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise RunDirError(
            f"cannot open lock file {path} ({error.strerror}): make its directory writable, "
            f"or set FARHAND_RUN_DIR to one that is"
        ) from error


def _try_lock(fd: int, path: Path) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        os.close(fd)
        raise RunDirError(
            f"cannot lock {path} ({error.strerror}): set FARHAND_RUN_DIR to a local file system"
        ) from error
    return True


def _read_pid(fd: int) -> int | None:
    text = os.pread(fd, 32, 0).strip()
    return int(text) if text.isdigit() else None
