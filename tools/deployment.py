"""Where the supervisor's files of this checkout are, and how a person calls supervisorctl.

The supervisor's socket lives in run/ of the checkout. Where that path is too long for a unix
socket, the whole checkout is reached through a short link in the run directory of the temporary
folder: supervisord takes its paths from the way its configuration file was named.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from runtime.config import REPO_ROOT
from runtime.errors import RunDirError
from runtime.rundir import fits_ipc, run_dir

_LINK: Final = "tree"


class Deployment(NamedTuple):
    """One way to reach the checkout: `root` is short enough for its unix socket."""

    root: Path

    @property
    def conf(self) -> Path:
        """The generated configuration of supervisord."""
        return self.root / "deploy" / "supervisord.conf"

    @property
    def socket(self) -> Path:
        """The supervisor's socket."""
        return self.root / "run" / "supervisor.sock"

    @property
    def pidfile(self) -> Path:
        """The supervisor's pid file."""
        return self.root / "run" / "supervisord.pid"

    def ctl(self, checkout: Path = REPO_ROOT) -> str:
        """What a person types in the checkout before the supervisor's command."""
        conf = "deploy/supervisord.conf" if self.root == checkout else str(self.conf)
        return f".venv/bin/supervisorctl -c {conf}"


def find(checkout: Path = REPO_ROOT, tmp: Path | None = None) -> Deployment:
    """The deployment of `checkout`; makes the short link if one is needed.

    Args:
        checkout: the repository's root, links resolved.
        tmp: the system's temporary folder.

    Raises:
        RunDirError: a link is needed and cannot be made.
    """
    if fits_ipc(checkout / "run"):
        return Deployment(checkout)
    folder = run_dir(checkout, {}, tmp or Path(tempfile.gettempdir()))
    link = folder / _LINK
    if not fits_ipc(link / "run"):
        raise RunDirError(f"{checkout} and {folder} are too long for a unix socket: move either")
    point(link, checkout)
    return Deployment(link)


def point(link: Path, checkout: Path) -> None:
    """Makes `link` lead to `checkout`; its folder is ours alone, so nobody races us."""
    try:
        if link.is_symlink() and link.readlink() == checkout:
            return
        fresh = link.with_name(f"{_LINK}.{os.getpid()}")
        fresh.symlink_to(checkout)
        fresh.replace(link)
    except OSError as error:
        raise RunDirError(f"cannot make {link} ({error.strerror}): remove it") from error
