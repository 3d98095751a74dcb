"""docs/specs: tables agree with the code, and the documented senders send what they should."""

from __future__ import annotations

import re
import runpy
import socket
import struct
import time
from pathlib import Path

import pytest

from proto import feedback, rctp
from proto.reasons import REASONS, STATES

SPECS = Path(__file__).resolve().parents[2] / "docs" / "specs"
SPEC = (SPECS / "rctp.md").read_text()
SENDER = (SPECS / "writing-a-sender.md").read_text()


def section(title: str) -> str:
    """The text from the heading that begins with `title` to the next heading."""
    body = re.split(rf"^#+ {re.escape(title)}.*$", SPEC, maxsplit=1, flags=re.M)[1]
    return re.split(r"^#", body, maxsplit=1, flags=re.M)[0]


def rows(title: str) -> list[list[str]]:
    """The cells of every table row in a section, without the heading rows."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if not set(row[0]) <= {"-"} and row[0] not in {"offset", "bit"}]


def spans(title: str) -> list[tuple[int, int]]:
    """(offset, size) of each field of a byte table."""
    return [(int(row[0]), int(row[1])) for row in rows(title) if row[0].isdigit()]


@pytest.mark.parametrize(
    ("title", "start", "end"),
    [
        ("2. Hand packet", 0, rctp.PACKET_BYTES),
        ("3. Trailer", rctp.PACKET_BYTES, rctp.SIGNED_BYTES),
        ("9. Feedback packet", 0, feedback.PACKET_BYTES),
    ],
)
def test_byte_tables_have_no_gap_and_the_right_end(title: str, start: int, end: int) -> None:
    position = start
    for offset, size in spans(title):
        assert offset == position
        position += size
    assert position == end


def test_feedback_fields_are_aligned() -> None:
    widths = {"u8": 1, "u16": 2, "u32": 4, "f32": 4, "f64": 8, "bytes": 1}
    for row in rows("9. Feedback packet"):
        if row[0].isdigit():
            assert int(row[0]) % widths[row[2].split()[-1]] == 0


def test_published_offsets_of_the_hand_packet() -> None:
    offsets = [offset for offset, _ in spans("2. Hand packet")]
    assert offsets == [0, 4, 12, 16, 20, 24, 28, 32, 36, 40, 44]


def test_state_and_reason_codes() -> None:
    states = [(int(row[0]), row[1].strip("`")) for row in rows("9.2 States") if row[0].isdigit()]
    assert states == list(enumerate(STATES))
    reasons = [(int(row[0]), row[1].strip("`")) for row in rows("9.3 Reasons") if row[0].isdigit()]
    assert reasons == list(enumerate(REASONS))


def test_feedback_flags() -> None:
    table = {row[2]: int(row[1], 16) for row in rows("9.1 Flags") if row[1]}
    code = {
        name.removeprefix("FLAG_").lower(): value
        for name, value in vars(feedback).items()
        if name.startswith("FLAG_")
    }
    assert table == code
    assert all(1 << int(row[0]) == int(row[1], 16) for row in rows("9.1 Flags") if row[1])


def test_every_reject_reason_is_a_check_of_the_receiver() -> None:
    named = re.findall(r"drop, `(\w+)`", section("5. Duties of a receiver"))
    assert sorted(named) == sorted(rctp.REJECT_REASONS)


def test_every_feedback_reject_reason_is_named_in_order() -> None:
    named = re.findall(r"\(`(\w+)`\)", section("9.4 Reading it"))
    assert tuple(named) == feedback.FEEDBACK_REJECT_REASONS


class FakeSocket:
    """Keeps what is sent."""

    sent: list[tuple[bytes, tuple[str, int]]]

    def __init__(self, family: int, kind: int) -> None:
        assert (family, kind) == (socket.AF_INET, socket.SOCK_DGRAM)
        FakeSocket.sent = []

    def sendto(self, data: bytes, address: tuple[str, int]) -> None:
        """As socket.sendto."""
        FakeSocket.sent.append((data, address))


class EnoughError(Exception):
    """Ends the endless sender."""


def test_the_python_sender_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    now_s = [100.0]

    def sleep(duration_s: float) -> None:
        now_s[0] += duration_s
        if len(FakeSocket.sent) == 72:
            raise EnoughError

    monkeypatch.setattr(socket, "socket", FakeSocket)
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(time, "sleep", sleep)
    (code,) = re.findall(r"```python\n(.*?)```", SENDER, flags=re.S)
    assert len(code.splitlines()) <= 15
    (tmp_path / "sender.py").write_text(code)
    with pytest.raises(EnoughError):
        runpy.run_path(str(tmp_path / "sender.py"))
    packets = [rctp.decode(data) for data, _ in FakeSocket.sent]
    assert {address for _, address in FakeSocket.sent} == {("127.0.0.1", 8888)}
    assert [packet.t_send_s for packet in packets] == pytest.approx([i / 72 for i in range(72)])
    assert all(packet.tracking_valid and not packet.estop for packet in packets)
    assert packets[0].p_vr_hand_m == pytest.approx((0.1, 1.2, -0.4))
    assert len({packet.p_vr_hand_m for packet in packets}) == 72


CSHARP = "\n".join(re.findall(r"```csharp\n(.*?)```", SENDER, flags=re.S))


def test_csharp_offsets_and_order_are_the_packet() -> None:
    puts = re.findall(r"PutFloat\(data, (\d+), (\w+)\)", CSHARP)
    names = ["px", "py", "pz", "qx", "qy", "qz", "qw", "gripper"]
    assert puts == [(str(12 + 4 * index), name) for index, name in enumerate(names)]
    gets = dict(re.findall(r"feedback\.(\w+) = GetFloat\(data, (\d+)\)", CSHARP))
    layout = ("Gripper", "Haptic", "LatencyMs", "Px", "Py", "Pz", "Qx", "Qy", "Qz", "Qw")
    assert gets == {name: str(24 + 4 * index) for index, name in enumerate(layout)}
    assert struct.calcsize("<4sd") == 12


def test_csharp_names_are_the_tables() -> None:
    (states,) = re.findall(r"StateNames =\s*\{(.*?)\};", CSHARP, flags=re.S)
    (reasons,) = re.findall(r"ReasonNames =\s*\{(.*?)\};", CSHARP, flags=re.S)
    assert tuple(re.findall(r'"(\w*)"', states)) == STATES
    assert tuple(re.findall(r'"(\w*)"', reasons)) == REASONS


def test_csharp_flags_are_the_table() -> None:
    flags = re.findall(r"bool (\w+) => \(Flags & (0x\w+)\) != 0", CSHARP)
    assert len(flags) == 7
    for name, value in flags:
        constant = "FLAG_" + re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()
        assert getattr(feedback, constant) == int(value, 16)
