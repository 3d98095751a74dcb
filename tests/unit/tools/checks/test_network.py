"""What the doctor says about ports and addresses."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime import addresses, config
from runtime.port_holder import Holder
from runtime.settings import Settings
from tests.config_copy import copy_config
from tools.checks import network
from tools.run import OpenPort, ports_of

PORT = OpenPort(8888, "udp", "FARHAND_INGEST__PORT_RIGHT")
LAN = ["127.0.0.1", "192.168.7.5"]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return config.load({"ROBOT": "sim", "FARHAND_CONFIG_DIR": str(copy_config(tmp_path))})


def row_of(tmp_path: Path, holder: Holder | None, *, free: bool) -> tuple[str, str, str]:
    row = network.port_row(PORT, LAN, tmp_path, lambda *_: free, lambda *_: holder)
    assert row.name == "udp 8888"
    return row.status, row.says, row.fix


def test_a_free_port(tmp_path: Path) -> None:
    assert row_of(tmp_path, None, free=True) == ("ok", "free", "")


def test_a_port_that_is_held_on_one_of_the_addresses_is_not_free(tmp_path: Path) -> None:
    held_on = "192.168.7.5"
    row = network.port_row(
        PORT, LAN, tmp_path, lambda address, *_: address != held_on, lambda *_: None
    )
    assert row.status == "fail"


def test_a_port_of_our_own_service_is_as_it_should_be(tmp_path: Path) -> None:
    (tmp_path / "ingest.lock").write_text("77\n")
    status, says, _ = row_of(tmp_path, Holder(77, "process 77 (python)"), free=False)
    assert (status, says) == ("ok", "held by our ingest (process 77)")


@pytest.mark.parametrize(
    ("holder", "who"),
    [
        (Holder(78, "process 78 (python -m services.ingest)"), "process 78 (python -m"),
        (Holder(None, "a process of another user"), "a process of another user"),
        (None, "another process"),
    ],
)
def test_a_port_of_someone_else_fails_with_the_key_that_moves_it(
    tmp_path: Path, holder: Holder | None, who: str
) -> None:
    (tmp_path / "ingest.lock").write_text("77\n")
    status, says, fix = row_of(tmp_path, holder, free=False)
    assert status == "fail"
    assert f"held by {who}" in says
    assert "FARHAND_INGEST__PORT_RIGHT" in fix


def test_every_port_key_belongs_to_a_program(settings: Settings, tmp_path: Path) -> None:
    for port in ports_of(settings):
        row = network.port_row(port, LAN, tmp_path, lambda *_: False, lambda *_: None)
        assert row.status == "fail"


@pytest.mark.parametrize("text", ["", "abc", "\u0663", "-5"])
def test_a_lock_file_without_a_number_names_nobody(tmp_path: Path, text: str) -> None:
    (tmp_path / "ingest.lock").write_text(text, encoding="utf-8")
    assert network.lock_pid(tmp_path, "ingest") is None
    assert network.lock_pid(tmp_path, "mapper") is None
    assert network.lock_pid(None, "ingest") is None


def test_bound_addresses_are_read_from_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "udp").write_text(
        "  sl  local_address ...\n"
        "  1: 0100007F:22B8 00000000:0000 07\n"
        "  2: 0507A8C0:22B8 00000000:0000 07\n"
        "  3: 0507A8C0:22B9 00000000:0000 07\n"
        "\n"
    )
    assert network.bound_addresses(8888, tmp_path) == ["127.0.0.1", "192.168.7.5"]
    assert network.bound_addresses(8889, tmp_path) == ["192.168.7.5"]
    assert network.bound_addresses(8888, tmp_path / "none") == []


def test_the_address_to_type_in(settings: Settings) -> None:
    row = network.address_row(settings, [*LAN, "100.64.0.9"])
    assert row.status == "ok"
    assert row.says == "type in 192.168.7.5 or 100.64.0.9, port 8888 right hand, 8889 left"


def test_a_closed_simulator_is_no_fault_and_says_how_to_open_it(settings: Settings) -> None:
    row = network.address_row(settings, ["127.0.0.1"])
    assert row.status == "ok"
    assert "LISTEN=lan make run" in row.says


def test_a_robot_that_no_headset_can_reach_fails(tmp_path: Path) -> None:
    robot = config.load({"ROBOT": "piper", "FARHAND_CONFIG_DIR": str(copy_config(tmp_path))})
    row = network.address_row(robot, ["127.0.0.1"])
    assert row.status == "fail"
    assert "listen" in row.fix


def test_listening_everywhere_lists_real_addresses(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = [addresses.Interface("lo", "127.0.0.1", 8), addresses.Interface("e0", "10.1.1.1", 24)]
    monkeypatch.setattr(addresses, "interfaces", lambda: there)
    row = network.address_row(settings, [addresses.EVERY_ADDRESS])
    assert row.says.startswith("type in 10.1.1.1, port")


def test_an_absent_interface_matters_only_if_there_is_no_other_way_in() -> None:
    assert [row.status for row in network.absent_rows(["tailscale0"], LAN)] == ["ok"]
    assert [row.status for row in network.absent_rows(["eth9"], ["127.0.0.1"])] == ["warn"]
    assert network.absent_rows([], LAN) == []


def test_whose_packets_count_is_listed(settings: Settings) -> None:
    networks = addresses.allowed_networks(settings.network.allow, ["127.0.0.1"])
    assert "127.0.0.0/8, 100.64.0.0/10" in network.allow_row(networks).says
