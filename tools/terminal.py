"""A terminal that hands over single keys, and is put back as it was whatever happens.

Owns the terminal's settings and the signals that end a tool; must never leave a terminal without
echo behind.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import termios
from collections.abc import Iterator
from typing import Final

from runtime.errors import ConfigError

ENDING: Final = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)
_LOCAL_FLAGS: Final = 3  # index in tcgetattr's list
_CLEAR_LINE: Final = "\r\x1b[K"


def read_key(fd: int) -> bytes:
    """What has been typed; empty if the terminal is gone."""
    try:
        return os.read(fd, 256)
    except OSError:
        return b""


@contextlib.contextmanager
def single_keys(fd: int) -> Iterator[None]:
    """Keys come at once and unseen; Ctrl-C and Ctrl-Z are keys like any other.

    Raises:
        ConfigError: `fd` is no terminal.
    """
    if not os.isatty(fd):
        raise ConfigError("this needs a terminal: run it in one, without a pipe")
    before = termios.tcgetattr(fd)
    single = list(before)
    single[_LOCAL_FLAGS] &= ~(termios.ICANON | termios.ECHO | termios.ISIG)
    termios.tcsetattr(fd, termios.TCSADRAIN, single)
    try:
        yield
    finally:
        with contextlib.suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(fd, termios.TCSADRAIN, before)


@contextlib.contextmanager
def ending_signals() -> Iterator[socket.socket]:
    """A socket that becomes readable when a signal asks to end; the old handlers come back."""
    inbox, outbox = socket.socketpair()
    inbox.setblocking(False)
    outbox.setblocking(False)
    handlers = {number: signal.signal(number, lambda *_: None) for number in ENDING}
    before_fd = signal.set_wakeup_fd(outbox.fileno(), warn_on_full_buffer=False)
    try:
        yield inbox
    finally:
        signal.set_wakeup_fd(before_fd)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        inbox.close()
        outbox.close()


def show(text: str) -> None:
    """Replaces the line the cursor is in; silent if nobody sees it any more."""
    with contextlib.suppress(OSError):
        width = os.get_terminal_size(sys.stdout.fileno()).columns or 80
        sys.stdout.write(_CLEAR_LINE + text[: width - 1])
        sys.stdout.flush()
