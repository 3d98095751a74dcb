"""The event-listener protocol of supervisord, as bytes in and events out. Pure, never raises.

Form: http://supervisord.org/events.html#event-listener-notification-protocol
"""

from typing import NamedTuple

READY = b"READY\n"
RESULT_OK = b"RESULT 2\nOK"

# Our events carry under 200 bytes. A header or payload beyond these is not from supervisord.
HEADER_MAX_BYTES = 4096
PAYLOAD_MAX_BYTES = 1 << 20


class Event(NamedTuple):
    """One notification: its name and the key:value tokens of its payload."""

    name: str
    fields: dict[str, str]


class EventParser:
    """Cuts a byte stream into events.

    Attributes:
        bad_headers: headers that made no sense; what was received with them is dropped. supervisord
            sends nothing more before its event is answered, so the stream is in step again then.
    """

    def __init__(self) -> None:
        self.bad_headers = 0
        self._buffer = b""

    def feed(self, data: bytes) -> list[Event | None]:
        """Takes received bytes.

        Returns:
            What is complete, in order, each to be answered: an event, or None for a bad header.
        """
        self._buffer += data
        found: list[Event | None] = []
        while (step := self._next()) is not None:
            found.append(step[0])
        return found

    def _next(self) -> tuple[Event | None] | None:
        head, newline, rest = self._buffer.partition(b"\n")
        if not newline and len(head) <= HEADER_MAX_BYTES:
            return None
        header = tokens(head)
        length = _length(header)
        if not newline or length is None:
            self.bad_headers += 1
            self._buffer = b""
            return (None,)
        if len(rest) < length:
            return None
        self._buffer = rest[length:]
        payload_line = rest[:length].partition(b"\n")[0]
        return (Event(header["eventname"], tokens(payload_line)),)


def tokens(line: bytes) -> dict[str, str]:
    """The `key:value` words of a line; other words are left out."""
    words = line.decode("utf-8", "replace").split()
    pairs = (word.partition(":") for word in words)
    return {key: value for key, colon, value in pairs if colon}


def _length(header: dict[str, str]) -> int | None:
    text = header.get("len", "")
    if "eventname" not in header or not (text.isascii() and text.isdigit() and len(text) < 8):
        return None
    return int(text) if int(text) <= PAYLOAD_MAX_BYTES else None
