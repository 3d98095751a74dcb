"""The run directory: the same answer for daemon and shell, ours alone, one line when not."""

import os
from pathlib import Path

import pytest

from runtime.errors import RunDirError
from runtime.rundir import (
    IPC_NAME_MAX_BYTES,
    IPC_PATH_MAX_BYTES,
    fits_ipc,
    run_dir,
    temp_name,
)

ME = os.getuid()
OTHER = ME + 1


@pytest.fixture
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a path short enough for sockets, links resolved."""
    path = tmp_path_factory.mktemp("b").resolve()
    assert fits_ipc(path / "tmp" / "farhand-4294967295-01234567")
    return path


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_checkouts_own_directory_is_made_private(base: Path) -> None:
    (base / "run").mkdir(mode=0o755)
    assert run_dir(base, {}, base / "tmp") == base / "run"
    assert mode(base / "run") == 0o700
    assert run_dir(base, {}, base / "tmp") == base / "run"


def test_a_missing_directory_is_created_private(base: Path) -> None:
    assert run_dir(base, {}, base / "tmp") == base / "run"
    assert mode(base / "run") == 0o700


def test_neither_the_working_directory_nor_xdg_matters(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = {"XDG_RUNTIME_DIR": str(base / "xdg"), "HOME": str(base)}
    monkeypatch.chdir("/")
    assert run_dir(base, env, base / "tmp") == run_dir(base, {}, base / "tmp") == base / "run"


def test_a_link_to_the_checkout_counts_as_the_checkout(base: Path) -> None:
    (base / "real").mkdir()
    (base / "link").symlink_to(base / "real")
    assert run_dir(base / "link", {}, base) == base / "real" / "run"


def test_the_limit_is_the_longest_socket_path_not_the_directory() -> None:
    most = IPC_PATH_MAX_BYTES - 1 - IPC_NAME_MAX_BYTES
    assert fits_ipc(Path("/" + "a" * (most - 1)))
    assert not fits_ipc(Path("/" + "a" * most))
    assert not fits_ipc(Path("/" + "é" * (most // 2)))


def deep_checkout(base: Path) -> Path:
    deep = base / ("d" * 100)
    deep.mkdir()
    return deep


def test_a_deep_checkout_uses_the_temporary_folder(base: Path) -> None:
    deep = deep_checkout(base)
    found = run_dir(deep, {}, base)
    assert found.parent == base
    assert found.name.startswith(f"farhand-{ME}-")
    assert mode(found) == 0o700
    assert run_dir(deep, {}, base) == found
    assert not (deep / "run").exists()


def test_the_temporary_name_tells_users_and_checkouts_apart() -> None:
    names = {temp_name(Path(root), uid) for root in ("/a", "/b") for uid in (0, 1000)}
    assert len(names) == 4
    assert temp_name(Path("123456789"), 1000) == "farhand-1000-cbf43926"


def test_a_foreign_or_open_temporary_directory_is_refused(base: Path) -> None:
    deep = deep_checkout(base)
    foreign = base / temp_name(deep, OTHER)
    foreign.mkdir(mode=0o700)
    with pytest.raises(RunDirError, match=f"belongs to user id {ME}, not to {OTHER}"):
        run_dir(deep, {}, base, uid=OTHER)
    ours = run_dir(deep, {}, base)
    ours.chmod(0o750)
    with pytest.raises(RunDirError, match=f"chmod 700 {ours}"):
        run_dir(deep, {}, base)
    assert mode(ours) == 0o750


def test_a_planted_link_or_file_is_refused(base: Path) -> None:
    deep = deep_checkout(base)
    (base / "elsewhere").mkdir(mode=0o700)
    planted = base / temp_name(deep, ME)
    planted.symlink_to(base / "elsewhere")
    with pytest.raises(RunDirError, match="not a directory"):
        run_dir(deep, {}, base)
    planted.unlink()
    planted.touch()
    with pytest.raises(RunDirError, match=str(planted)):
        run_dir(deep, {}, base)


def test_the_override_wins_for_every_checkout(base: Path) -> None:
    env = {"FARHAND_RUN_DIR": str(base / "own")}
    assert run_dir(base / "x", env, base) == base / "own"
    assert run_dir(base / "y", env, base) == base / "own"
    assert mode(base / "own") == 0o700


def test_an_empty_override_is_none(base: Path) -> None:
    assert run_dir(base, {"FARHAND_RUN_DIR": ""}, base) == base / "run"


@pytest.mark.parametrize("value", ["relative/run", "/" + "x" * 90])
def test_a_relative_or_long_override_is_refused(base: Path, value: str) -> None:
    with pytest.raises(RunDirError, match=r"FARHAND_RUN_DIR=.*absolute path of at most 74 bytes"):
        run_dir(base, {"FARHAND_RUN_DIR": value}, base)


def test_an_override_open_to_others_is_refused_not_changed(base: Path) -> None:
    (base / "own").mkdir(mode=0o755)
    with pytest.raises(RunDirError, match=r"chmod 700 .*own"):
        run_dir(base, {"FARHAND_RUN_DIR": str(base / "own")}, base)
    assert mode(base / "own") == 0o755


def test_an_override_below_nothing_names_the_directory(base: Path) -> None:
    with pytest.raises(RunDirError, match=r"cannot use run directory .*no/own .*No such file"):
        run_dir(base, {"FARHAND_RUN_DIR": str(base / "no" / "own")}, base)


def test_another_users_checkout_is_refused_except_for_root(base: Path) -> None:
    (base / "run").mkdir(mode=0o700)
    with pytest.raises(RunDirError, match=f"belongs to user id {ME}, not to {OTHER}"):
        run_dir(base, {}, base, uid=OTHER)
    assert run_dir(base, {}, base, uid=0) == base / "run"


def test_a_directory_that_cannot_be_written_is_one_clear_line(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, how: False)
    with pytest.raises(RunDirError, match=r"is not writable.*FARHAND_RUN_DIR"):
        run_dir(base, {}, base)


def test_a_mode_that_cannot_be_set_is_one_clear_line(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (base / "run").mkdir(mode=0o755)

    def refuse(path: Path, how: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", refuse)
    with pytest.raises(RunDirError, match=r"Operation not permitted.*mode 700"):
        run_dir(base, {}, base)
