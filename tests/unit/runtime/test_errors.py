"""The exception tree: exit codes, stdlib siblings, and messages that survive them."""

from pathlib import Path

import pytest

from runtime import errors
from runtime.errors import ConfigError, DeviceError, FarhandError, LockHeldError, RunDirError


def test_exit_codes_are_the_supervisors_contract() -> None:
    assert (errors.EXIT_OK, errors.EXIT_DEVICE, errors.EXIT_CONFIG) == (0, 75, 78)


@pytest.mark.parametrize(
    ("error", "code", "sibling"),
    [
        (ConfigError("mode: unknown"), 78, ValueError),
        (RunDirError("run: not writable"), 78, OSError),
        (DeviceError("can0: gone"), 75, OSError),
        (LockHeldError(Path("run/a.lock"), 7), 75, TimeoutError),
        (FarhandError("other"), 75, Exception),
    ],
)
def test_each_error_has_its_exit_code_and_sibling(
    error: FarhandError, code: int, sibling: type[Exception]
) -> None:
    assert error.exit_code == code
    assert isinstance(error, sibling)
    assert isinstance(error, FarhandError)
    assert "\n" not in str(error)


def test_os_error_siblings_keep_the_message_as_given() -> None:
    assert str(RunDirError("run: not writable")) == "run: not writable"
    assert str(DeviceError("can0: gone")) == "can0: gone"


def test_lock_held_names_the_file_the_holder_and_the_fix() -> None:
    error = LockHeldError(Path("run/arm-right.lock"), 4711)
    assert (error.path, error.holder_pid) == (Path("run/arm-right.lock"), 4711)
    for part in ("run/arm-right.lock", "process 4711", "FARHAND_RUN_DIR"):
        assert part in str(error)


def test_lock_held_says_so_when_the_holder_is_unknown() -> None:
    assert "another process" in str(LockHeldError(Path("x.lock"), None))
