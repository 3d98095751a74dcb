"""services.arm.mailbox: who may displace whom."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.arm.driver import Target
from services.arm.mailbox import Mailbox, PoseJob, StopJob, VerbJob

TARGET = Target((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 0.0)
OLD, NEW = PoseJob(TARGET, 1, 0), PoseJob(TARGET, 2, 0)
HOLD, ESTOP = StopJob("HOLD"), StopJob("ESTOP")
ENABLE = VerbJob("enable", False)


def put(mail: Mailbox, job: PoseJob | StopJob | VerbJob) -> bool:
    if isinstance(job, PoseJob):
        return mail.put_pose(job)
    if isinstance(job, VerbJob):
        return mail.put_verb(job)
    mail.put_stop(job)
    return mail.waiting == job


@pytest.mark.parametrize(
    ("waiting", "new", "accepted"),
    [
        (OLD, NEW, True),
        (OLD, HOLD, True),
        (OLD, ESTOP, True),
        (OLD, ENABLE, False),
        (HOLD, NEW, False),
        (HOLD, HOLD, True),
        (HOLD, ESTOP, True),
        (HOLD, ENABLE, False),
        (ESTOP, NEW, False),
        (ESTOP, HOLD, False),
        (ESTOP, ESTOP, True),
        (ESTOP, ENABLE, False),
        (ENABLE, NEW, False),
        (ENABLE, HOLD, True),
        (ENABLE, ESTOP, True),
        (ENABLE, VerbJob("clear", True), False),
    ],
)
def test_who_displaces_whom(
    waiting: PoseJob | StopJob | VerbJob, new: PoseJob | StopJob | VerbJob, accepted: bool
) -> None:
    mail = Mailbox()
    assert put(mail, waiting)
    assert put(mail, new) is accepted
    assert mail.take(0.0) == (new if accepted else waiting)
    assert mail.take(0.0) is None
    assert mail.waiting is None


def test_only_a_pose_over_a_pose_is_an_overrun() -> None:
    mail = Mailbox()
    for job in (OLD, NEW, NEW, HOLD, NEW, ESTOP):
        put(mail, job)
    assert mail.overruns == 2


def test_a_displaced_verb_is_given_back() -> None:
    mail = Mailbox()
    mail.put_verb(ENABLE)
    assert mail.put_stop(HOLD) == ENABLE
    assert mail.put_stop(ESTOP) is None


def test_wake_ends_a_wait_without_a_job() -> None:
    mail = Mailbox()
    mail.wake()
    assert mail.take(60.0) is None


def test_a_wait_in_the_past_is_no_wait() -> None:
    assert Mailbox().take(-1.0) is None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([OLD, NEW, HOLD, ESTOP, ENABLE, None]), max_size=40))
def test_one_take_for_one_filled_slot(jobs: list[PoseJob | StopJob | VerbJob | None]) -> None:
    """None takes. A take gets a job exactly when something was put since the last one."""
    mail = Mailbox()
    filled = False
    for job in jobs:
        if job is None:
            assert (mail.take(0.0) is not None) == filled
            filled = False
        else:
            put(mail, job)
            filled = True
