"""A view is a part of its message: same names, same types, and nothing of its own."""

from __future__ import annotations

import typing

import pytest

from proto.envelope import decode, encode
from proto.messages import ArmState, HandPose, Message
from proto.views import ArmClutch, ArmFeedback, HandStop
from tests.unit.arm.make import hand

VIEWS: list[tuple[type[Message], type[Message]]] = [
    (HandStop, HandPose),
    (ArmClutch, ArmState),
    (ArmFeedback, ArmState),
]


@pytest.mark.parametrize(("view", "whole"), VIEWS)
def test_fields_are_the_messages_own(view: type[Message], whole: type[Message]) -> None:
    of_whole = typing.get_type_hints(whole)
    for name, hint in typing.get_type_hints(view).items():
        assert of_whole[name] == hint, name


def test_a_stop_counts_whatever_else_is_wrong_with_its_message() -> None:
    broken = encode(hand(estop=True, estop_count=4, p_vr_hand_m=(float("nan"), 0.0, 0.0)))
    stop = decode(HandStop, broken)
    assert (stop.side, stop.estop, stop.estop_count) == ("right", True, 4)
