"""The pulse ends with its reader and with its parent."""

from itertools import chain, repeat

from tools import pulse


def test_pulses_every_20_ms_until_the_parent_changes() -> None:
    parents = chain(repeat(100, 4), repeat(1))
    written: list[bytes] = []
    slept_s: list[float] = []
    count = pulse.run(written.append, lambda: next(parents), slept_s.append)
    assert written == [b"."] * 3
    assert slept_s == [0.02] * 3
    assert count == 3


def test_ends_when_nobody_reads() -> None:
    written: list[bytes] = []

    def write(byte: bytes) -> None:
        if len(written) == 2:
            raise BrokenPipeError(32, "Broken pipe")
        written.append(byte)

    assert pulse.run(write, lambda: 100, lambda _: None) == 2
