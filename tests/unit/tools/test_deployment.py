"""Which path leads to the supervisor's socket."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from runtime.errors import RunDirError
from tools import deployment

LONG = "d" * 100


def test_a_short_checkout_is_used_as_it_is() -> None:
    found = deployment.find(Path("/srv/farhand"))
    assert found.root == Path("/srv/farhand")
    assert found.conf == Path("/srv/farhand/deploy/supervisord.conf")
    assert found.ctl(Path("/srv/farhand")).endswith("-c deploy/supervisord.conf")


def test_a_long_checkout_is_reached_through_a_link_that_is_made_once(tmp_path: Path) -> None:
    checkout = tmp_path / LONG / "checkout"
    (checkout / "deploy").mkdir(parents=True)
    with TemporaryDirectory() as tmp:  # shorter than pytest's own
        found = deployment.find(checkout, Path(tmp))
        assert (found.root / "deploy").samefile(checkout / "deploy")
        made_ns = found.root.lstat().st_mtime_ns
        assert deployment.find(checkout, Path(tmp)) == found
        assert found.root.lstat().st_mtime_ns == made_ns
        assert str(found.conf) in found.ctl(checkout)


def test_a_link_that_leads_elsewhere_is_replaced(tmp_path: Path) -> None:
    link, checkout = tmp_path / "tree", tmp_path / "checkout"
    checkout.mkdir()
    link.symlink_to(tmp_path / "gone")
    deployment.point(link, checkout)
    assert link.readlink() == checkout
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["checkout", "tree"]


def test_what_is_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    with pytest.raises(RunDirError, match=r"tree .*remove it"):
        deployment.point(tmp_path / "tree", tmp_path)


def test_no_short_place_at_all_is_one_line(tmp_path: Path) -> None:
    tmp = tmp_path / LONG
    tmp.mkdir()
    with pytest.raises(RunDirError, match="too long for a unix socket"):
        deployment.find(tmp_path / LONG / "checkout", tmp)
