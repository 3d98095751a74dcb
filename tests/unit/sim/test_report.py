"""What a simulated headset prints."""

from __future__ import annotations

import json

from proto.feedback import FeedbackPacket
from proto.reasons import Reason, State
from sim.report import Report, format_line


def test_text_and_json_lines() -> None:
    values: dict[str, object] = {"side": "left", "p": [0.1, 0.25], "n": 3, "x": None, "r": ""}
    assert format_line("status", values, False) == "status side=left p=0.1,0.25 n=3 x=- r=-"
    assert json.loads(format_line("status", values, True)) == {"event": "status", **values}


def test_one_line_per_change_of_state_or_reason() -> None:
    lines: list[tuple[object, ...]] = []

    def emit(event: str, **values: object) -> None:
        lines.append((event, *values.values()))

    def word(state: State, reason: Reason) -> FeedbackPacket:
        return FeedbackPacket(seq=0, side="right", state=state, reason=reason)

    report = Report(emit, 0.0)
    report.on_feedback([word("HOLD", "not_engaged"), word("HOLD", "not_engaged")])
    report.on_feedback([word("ENGAGED", ""), word("ENGAGED", "clamped"), word("ENGAGED", "")])
    assert lines == [
        ("feedback", "right", "HOLD", "not_engaged"),
        ("feedback", "right", "ENGAGED", ""),
        ("feedback", "right", "ENGAGED", "clamped"),
        ("feedback", "right", "ENGAGED", ""),
    ]
