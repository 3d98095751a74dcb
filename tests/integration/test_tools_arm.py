"""python -m tools.arm against an arm on the real bus: orders, answers, refusals, silence."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from proto.messages import OperatorCommand
from tests.integration.fake_arm import FakeArm
from tools import arm, link

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def run_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A private one; waits for nobody are cut short."""
    directory = tmp_path / "run"
    directory.mkdir(mode=0o700)
    monkeypatch.setenv("FARHAND_RUN_DIR", str(directory))
    monkeypatch.setattr(link, "ANSWER_WAIT_MS", 600)
    monkeypatch.setattr(link, "PENDING_WAIT_MS", {"engage": 900})
    return directory


@pytest.mark.parametrize("verb", ["arm", "engage", "release", "clear", "home", "reset", "disarm"])
def test_an_order_goes_to_the_arm_as_it_runs_and_its_answer_is_told(
    run_dir: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    with FakeArm(run_dir) as fake:
        assert arm.main([verb, "right"]) == 0
    assert fake.verbs() == [verb]
    command = fake.commands[0][1]
    assert command.to_boot == fake.boot
    assert command.max_age_ms is not None
    told = capsys.readouterr().out
    assert f"right: {verb}: ok" in told
    assert "right: HOLD not_engaged: holding: python -m tools.arm engage right" in told


def test_a_refusal_is_told_word_for_word_and_fails(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeArm(run_dir, answer=lambda _: "refused: not armed"):
        assert arm.main(["engage", "right"]) == 1
    assert "right: engage: refused: not armed" in capsys.readouterr().out


@pytest.mark.parametrize(("settled", "code"), [("ok", 0), ("refused: hand moves", 1)])
def test_a_pending_answer_is_waited_for(
    run_dir: Path, capsys: pytest.CaptureFixture[str], settled: str, code: int
) -> None:
    with FakeArm(run_dir, answer=lambda _: "pending") as fake:
        settling = threading.Timer(0.2, lambda: fake.answer_last(settled))
        settling.start()
        assert arm.main(["engage", "right"]) == code
        settling.join()
    assert f"right: engage: {settled}" in capsys.readouterr().out


def test_the_other_side_is_not_served(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeArm(run_dir, "right") as fake:
        assert arm.main(["arm", "left"]) == 1
    assert fake.commands == []
    assert "arm-left is not running" in capsys.readouterr().out


def test_nobody_listens(capsys: pytest.CaptureFixture[str]) -> None:
    assert arm.main(["engage", "right"]) == 1
    told = capsys.readouterr().out
    assert "refused: arm-right is not running" in told
    assert "supervisorctl -c deploy/supervisord.conf status" in told


def test_an_unknown_side_or_verb_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["arm", "middle"], ["fly", "right"], ["calibrate", "scale", "right"], []):
        with pytest.raises(SystemExit) as ended:
            arm.main(words)
        assert ended.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_without_a_side_the_one_arm_that_runs_is_meant(run_dir: Path) -> None:
    with FakeArm(run_dir, "left") as fake:
        assert arm.main(["home"]) == 0
    assert fake.verbs() == ["home"]


def test_without_a_side_and_with_two_arms_a_side_is_asked_for(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeArm(run_dir, "left") as left, FakeArm(run_dir, "right") as right:
        assert arm.main(["engage"]) == 1
        assert arm.main(["disarm"]) == 0
    assert "say right or left" in capsys.readouterr().err
    assert left.verbs() == right.verbs() == ["disarm"]


def test_estop_asks_for_no_boot_and_no_age_and_reaches_both_arms(run_dir: Path) -> None:
    with FakeArm(run_dir, "left") as left, FakeArm(run_dir, "right") as right:
        assert arm.main(["estop", "--hard"]) == 0
    for fake in (left, right):
        assert set(fake.verbs()) == {"estop"}
        stop = fake.commands[0][1]
        assert (stop.to_boot, stop.max_age_ms, stop.args) == (None, None, {"hard": True})


def test_estop_is_sent_to_an_arm_that_says_nothing(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.integration.fake_arm.Publisher.publish", lambda *_: None)
    with FakeArm(run_dir) as fake:
        assert arm.main(["estop", "right"]) == 1
        fake.wait_for(lambda: "estop" in fake.verbs())


def test_confirm_drop_is_passed_on(run_dir: Path) -> None:
    with FakeArm(run_dir) as fake:
        arm.main(["clear", "right", "--confirm-drop"])
        arm.main(["clear", "right"])
    assert [command.args for _, command in fake.commands] == [{"confirm_drop": True}, {}]


def test_status_of_every_arm_that_runs(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeArm(run_dir, "left") as fake:
        fake.state = replace(fake.state, state="FAULT", reason="sdk_hung", reason_detail="enable")
        assert arm.main(["status"]) == 0
    told = capsys.readouterr().out
    assert "right: no arm runs on this side" in told
    assert "left: FAULT sdk_hung (enable): " in told


def test_status_of_nothing_fails() -> None:
    assert arm.main(["status", "right"]) == 1


def test_a_bad_run_directory_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FARHAND_RUN_DIR", "relative")
    assert arm.main(["status"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_an_arm_that_restarts_between_look_and_order_does_not_act(run_dir: Path) -> None:
    acted: list[OperatorCommand] = []

    def answer(command: OperatorCommand) -> str:
        acted.append(command)
        return "ok"

    with FakeArm(run_dir, answer=answer) as fake, link.ArmLink("right") as line:
        state = line.state()
        assert state is not None
        fake.boot += 1
        assert line.post("engage", {}, state.boot)
        fake.wait_for(lambda: len(fake.commands) == 1)
    assert acted == []
