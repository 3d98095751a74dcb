"""services.arm.drivers.sim_faults: the file a whole-process test writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtime.errors import ConfigError
from runtime.log import log
from services.arm.drivers.sim_faults import NO_FAULTS, FaultsFile, SimFaults, parse
from tests.unit.arm.fakes import LogLines


def replace_file(path: Path, text: str) -> None:
    neighbour = path.with_suffix(".new")
    neighbour.write_text(text)
    neighbour.rename(path)


def test_all_fields() -> None:
    text = json.dumps(
        {
            "hang_s": 5,
            "raise_in": ["command"],
            "feedback": "silent",
            "freeze_motion": True,
            "refuse_enable": True,
            "drives_off": True,
            "faults": ["OVERTEMP"],
        }
    )
    assert parse(text) == SimFaults(5, ("command",), "silent", True, True, True, ("OVERTEMP",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "must be an object with any of: hang_s, .*faults"),
        ('{"hang": 1}', "must be an object with any of: hang_s"),
        ('{"hang_s": -1}', "hang_s must be seconds"),
        ('{"hang_s": "1"}', "hang_s must be seconds"),
        ('{"feedback": "dead"}', "feedback must be one of live, frozen, silent"),
        ('{"raise_in": ["close"]}', "raise_in must be a list of open, "),
        ('{"raise_in": [["open"]]}', "raise_in must be a list of open, "),
        ('{"raise_in": "open"}', "raise_in must be a list of open, "),
        ('{"faults": [1]}', "faults must be a list of texts"),
        ('{"faults": "HOT"}', "faults must be a list of texts"),
        ('{"drives_off": 1}', "flags must be true or false"),
    ],
)
def test_bad_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(text)


def test_the_file_is_read_once_a_change(tmp_path: Path) -> None:
    path = tmp_path / "faults.json"
    file = FaultsFile(path)
    assert file.changed() is None
    replace_file(path, '{"hang_s": 1}')
    assert file.changed() == SimFaults(hang_s=1)
    assert file.changed() is None
    replace_file(path, '{"hang_s": 1}')
    assert file.changed() == SimFaults(hang_s=1)  # the same text anew arms the hang anew
    path.unlink()
    assert file.changed() == NO_FAULTS
    assert file.changed() is None


def test_a_broken_file_changes_nothing_and_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = LogLines()
    monkeypatch.setattr(log, "sink", sink)
    path = tmp_path / "faults.json"
    replace_file(path, "nonsense")
    file = FaultsFile(path)
    assert file.changed() is None
    assert file.changed() is None
    assert sink.events == ["sim_faults_unreadable"]
