"""The e-stop level and its count."""

from __future__ import annotations

from services.ingest.estop import EstopLevel

MS = 1_000_000


def test_clear_until_seen() -> None:
    estop = EstopLevel()
    assert not estop.level(0)
    assert estop.count == 0


def test_the_level_lasts_300_ms_after_the_last_bit() -> None:
    estop = EstopLevel()
    for now_ns in (0, 20 * MS, 320 * MS):
        estop.seen(now_ns)
    assert estop.level(320 * MS)
    assert estop.level(620 * MS)
    assert not estop.level(620 * MS + 1)


def test_the_count_is_of_rises_not_of_packets() -> None:
    estop = EstopLevel()
    for now_ns in (0, 20 * MS, 320 * MS):  # one press, with losses
        estop.seen(now_ns)
    assert estop.count == 1
    estop.seen(620 * MS + 1)
    assert estop.count == 2
