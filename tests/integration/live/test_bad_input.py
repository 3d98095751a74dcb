"""Whatever arrives on ports and sockets: counted by its reason, nothing moves, nothing breaks."""

from __future__ import annotations

import socket
from collections import Counter
from hashlib import shake_256
from pathlib import Path

import pytest
import zmq

from proto.reasons import SIDES, Side
from proto.topics import COMMAND_ENDPOINTS
from runtime.bus import ipc_endpoint
from tests.integration.live.hand import MAGIC, packet
from tests.integration.live.motion import apart_m, stood_still
from tests.integration.live.rig import PIPE, Rig

pytestmark = pytest.mark.integration

NAN, INF = float("nan"), float("inf")
REST = (0.15, -0.20, -0.40)
BIGGEST_DATAGRAM = 65_507  # of IPv4


def _noise(size: int) -> bytes:
    """Bytes without any order, the same in every run."""
    return shake_256(b"noise").digest(size)


def _bad_datagrams(t_s: float) -> list[tuple[str, bytes]]:
    """(reason to be counted under, bytes)."""
    good = packet(t_s)
    return [
        ("short", b""),
        ("short", b"R"),
        ("short", good[:44]),
        ("bad_magic", packet(t_s, magic=b"RCTQ")),
        ("bad_magic", bytes(45)),
        ("bad_magic", _noise(77)),
        ("not_finite", packet(NAN)),
        ("not_finite", packet(t_s, (NAN, 0.0, 0.0))),
        ("not_finite", packet(t_s, (0.0, INF, 0.0))),
        ("not_finite", packet(t_s, (0.0, 0.0, -INF))),
        ("not_finite", packet(t_s, REST, (NAN, 0.0, 0.0, 1.0))),
        ("not_finite", packet(t_s, REST, gripper_ratio=NAN)),
        ("bad_quat", packet(t_s, REST, (0.0, 0.0, 0.0, 0.0))),
        ("bad_quat", packet(t_s, REST, (0.0, 0.0, 0.0, 1.2))),
        ("bad_quat", packet(t_s, REST, (1e38, 0.0, 0.0, 0.0))),
        ("out_of_range", packet(t_s, (1e38, 0.0, 0.0))),
        ("out_of_range", packet(t_s, (0.0, -10.5, 0.0))),
        ("old", packet(t_s - 0.2)),
    ]


def _huge_datagrams() -> list[bytes]:
    """The kernel may drop such a one for want of buffer; if it lets it in, it is no packet."""
    return [b"\0" * BIGGEST_DATAGRAM, _noise(BIGGEST_DATAGRAM), b"RCT" + bytes(30_000)]


def _counts(rig: Rig, side: Side, names: set[str]) -> dict[str, int]:
    return {name: rig.counter("ingest", f"{name}_{side}") for name in names}


def test_bad_datagrams_on_both_ports_are_counted_by_reason_and_move_nothing(duo: Rig) -> None:
    for side in SIDES:
        duo.calm(side)
    engaged = {side: duo.engage(side) for side in SIDES}
    duo.fresh_health("ingest")
    bad = _bad_datagrams(duo.now_s())
    huge = _huge_datagrams()
    wanted = Counter(reason for reason, _ in bad)
    names = {*wanted, "kernel_drops"}
    before = {side: _counts(duo, side, names) for side in SIDES}
    mark = duo.mark()
    for side in SIDES:
        for _, data in bad:
            duo.hands[side].send(data)
            duo.step()
        for data in huge:
            duo.hands[side].send(data)
            duo.run(0.02)
    duo.fresh_health("ingest")
    for side in SIDES:
        after = _counts(duo, side, names)
        rose = {name: after[name] - before[side][name] for name in names}
        huge_seen = rose.pop("kernel_drops") + rose["bad_magic"] - wanted["bad_magic"]
        assert huge_seen == len(huge)
        rose["bad_magic"] = wanted["bad_magic"]
        assert rose == wanted
        assert {s.clutch_id for s in duo.states(side, mark)} == {engaged[side].clutch_id}
        assert stood_still(duo.states(side, mark))
        duo.hands[side].glide(duo.now_s(), (0.04, 0.0, 0.0), 0.4)
    for side in SIDES:
        _followed(duo, engaged[side].clutch_id, side)
    _all_well(duo)


def _followed(rig: Rig, clutch_id: int | None, side: Side) -> None:
    start = rig.state(side)
    rig.until(lambda: apart_m(start, rig.state(side)) > 0.003, f"{side} follows the next packets")
    assert rig.state(side).clutch_id == clutch_id


def _all_well(rig: Rig) -> None:
    """The processes that were started are the ones that run, and none met an exception."""
    for program in PIPE:
        assert rig.stack.processes[program].poll() is None, rig.stack.log(program)
        log = rig.stack.log(program)
        assert "service_crashed" not in log and "Traceback" not in log, log


def test_a_packet_with_bytes_behind_it_is_a_packet(duo: Rig) -> None:
    duo.calm()
    hand, mark = duo.hands["right"], duo.mark()
    hand.sending = False
    duo.run(0.05)
    t_s = duo.now_s()
    hand.send(packet(t_s) + b"S1" + b"?" * 100)
    duo.until(lambda: duo.watch.hands["right"][-1].t_send_s == t_s, "taken")
    assert duo.poses("right", mark)[-1].tracking_valid


def _sockets(run_dir: Path) -> list[Path]:
    return sorted(run_dir.glob("*.ipc"))


def test_raw_bytes_on_every_ipc_socket_break_nothing(duo: Rig) -> None:
    duo.calm()
    engaged = duo.engage()
    mark = duo.mark()
    paths = _sockets(duo.stack.run_dir)
    assert len(paths) >= len(PIPE) + len(COMMAND_ENDPOINTS)
    for path in paths:
        for data in (_noise(1000), b"\xff" + bytes(8) + b"\x7f" + _noise(300), MAGIC):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as raw:
                raw.connect(str(path))
                raw.send(data)
            duo.step()
    duo.run(0.3)
    assert stood_still(duo.states("right", mark))
    assert {s.clutch_id for s in duo.states("right", mark)} == {engaged.clutch_id}
    assert duo.order("right", "engage") == "ok"
    duo.hands["right"].glide(duo.now_s(), (0.04, 0.0, 0.0), 0.4)
    _followed(duo, engaged.clutch_id, "right")
    _all_well(duo)


def test_nonsense_on_the_command_sockets_is_counted_and_obeyed_by_nobody(duo: Rig) -> None:
    for side in SIDES:
        duo.calm(side)
    nonsense = {
        "command_bad_frames": [[b"x"], [b"a", b"b", b"c"]],
        "command_bad_msgpack": [[b"operator_command.right", b"\xc1"]],
        "command_not_a_map": [[b"operator_command.right", b"\x01"]],
        "command_missing_field": [[b"operator_command.right", b"\x80"]],
        "command_too_long": [[b"operator_command.right", bytes(20_000)]],
    }
    for side in SIDES:
        duo.fresh_health(f"arm-{side}")
    before = {(side, name): duo.counter(f"arm-{side}", name) for side in SIDES for name in nonsense}
    mark = duo.mark()
    with zmq.Context() as context:
        for side in SIDES:
            rogue = context.socket(zmq.PUSH)
            rogue.setsockopt(zmq.LINGER, 1000)
            rogue.connect(ipc_endpoint(duo.stack.run_dir, COMMAND_ENDPOINTS[side]))
            for frames in (f for several in nonsense.values() for f in several):
                rogue.send_multipart(frames)
            rogue.send_multipart([b"t", bytes(1_000_000)])  # over the socket's limit: cut off
            rogue.close()
        duo.run(0.1)
    for side in SIDES:
        duo.fresh_health(f"arm-{side}")
        for name, several in nonsense.items():
            rose = duo.counter(f"arm-{side}", name) - before[side, name]
            assert (name, rose) == (name, len(several))
        assert {s.state for s in duo.states(side, mark)} == {"HOLD"}
        assert stood_still(duo.states(side, mark))
        assert duo.order(side, "engage") == "ok"
    _all_well(duo)
