"""Chooses the run directory: sockets, locks, heartbeats; ours alone, and the same for everyone.

A daemon and an operator's shell must come to the same answer, so it depends only on where the
checkout stands and on FARHAND_RUN_DIR (never on XDG_RUNTIME_DIR, which a daemon does not have).
"""

import os
import stat
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path

from runtime.errors import RunDirError

ENV_NAME = "FARHAND_RUN_DIR"

# sun_path of unix(7) holds 108 bytes with the closing zero; 104 on macOS.
IPC_PATH_MAX_BYTES = 107 if sys.platform == "linux" else 103
# Room kept for the longest file name of an ipc endpoint below the directory.
IPC_NAME_MAX_BYTES = 32

_MODE = 0o700


def run_dir(repo_root: Path, env: Mapping[str, str], tmp: Path, uid: int | None = None) -> Path:
    """Picks, creates and checks the run directory.

    Args:
        repo_root: the checkout; links in its path are resolved, so that each way to it counts once.
        env: the environment; only FARHAND_RUN_DIR is read.
        tmp: the system's temporary directory, used when the checkout's path is too long for ipc.
        uid: our user id; the real one unless given.

    Returns:
        An absolute path, 0700, short enough for every ipc endpoint.

    Raises:
        RunDirError: one line that names the directory and the fix.
    """
    uid = os.getuid() if uid is None else uid
    override = env.get(ENV_NAME, "")
    if override:
        path = Path(override)
        if not path.is_absolute() or not fits_ipc(path):
            raise RunDirError(_override_message(path))
        return _strict(path, uid)
    repo_root = repo_root.resolve()
    own = repo_root / "run"
    if fits_ipc(own):
        return _of_checkout(own, uid)
    return _strict(tmp / temp_name(repo_root, uid), uid)


def fits_ipc(path: Path) -> bool:
    """Whether every ipc endpoint below the directory stays within the kernel's path limit."""
    return len(os.fsencode(path)) + 1 + IPC_NAME_MAX_BYTES <= IPC_PATH_MAX_BYTES


def temp_name(repo_root: Path, uid: int) -> str:
    """Name of the directory in the temporary folder: one for each user and checkout.

    A CRC is enough: a collision of two checkouts of one user is met by the lock files.
    """
    return f"farhand-{uid}-{zlib.crc32(os.fsencode(repo_root)):08x}"


def _override_message(path: Path) -> str:
    most = IPC_PATH_MAX_BYTES - 1 - IPC_NAME_MAX_BYTES
    return f"{ENV_NAME}={path}: must be an absolute path of at most {most} bytes (socket limit)"


def _of_checkout(path: Path, uid: int) -> Path:
    """The committed directory: git cannot keep its mode, so it is set here."""
    info = _create(path)
    if info.st_uid != uid and uid != 0:
        raise RunDirError(
            f"{path} belongs to user id {info.st_uid}, not to {uid}: run as that user, "
            f"or set {ENV_NAME} to a directory of your own"
        )
    if stat.S_IMODE(info.st_mode) != _MODE:
        try:
            path.chmod(_MODE)
        except OSError as error:
            raise _unusable(path, error) from error
    return _writable(path)


def _strict(path: Path, uid: int) -> Path:
    """A directory in a shared place: whatever we did not make just so is refused, not mended."""
    info = _create(path)
    if info.st_uid != uid:
        raise RunDirError(
            f"{path} belongs to user id {info.st_uid}, not to {uid}: set {ENV_NAME} to a "
            f"directory of your own"
        )
    if stat.S_IMODE(info.st_mode) & 0o077:
        raise RunDirError(f"{path} is open to other users: chmod 700 {path}")
    return _writable(path)


def _create(path: Path) -> os.stat_result:
    try:
        path.mkdir(mode=_MODE, exist_ok=True)
        info = path.lstat()
    except OSError as error:
        raise _unusable(path, error) from error
    if not stat.S_ISDIR(info.st_mode):
        raise RunDirError(f"{path} is not a directory (links are refused): remove it")
    return info


def _writable(path: Path) -> Path:
    if not os.access(path, os.W_OK | os.X_OK):
        raise RunDirError(f"{path} is not writable: chmod 700 {path}, or set {ENV_NAME}")
    return path


def _unusable(path: Path, error: OSError) -> RunDirError:
    return RunDirError(
        f"cannot use run directory {path} ({error.strerror}): make it a directory of your own "
        f"with mode 700, or set {ENV_NAME}"
    )
