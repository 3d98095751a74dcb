"""Which addresses we listen on and whose packets count."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import addresses
from runtime.addresses import EVERY_ADDRESS, Interface, allowed_networks, is_allowed, parse_network
from runtime.errors import ConfigError

ETH = Interface("eth0", "192.168.7.5", 24)
TAIL = Interface("tailscale0", "100.101.102.103", 32)
LO = Interface("lo", "127.0.0.1", 8)


def resolve(
    listen: list[str], *, tunnel: bool = True, route: str | None = ETH.address
) -> list[str]:
    present = [LO, ETH, *([TAIL] if tunnel else [])]
    return addresses.resolve_listen(listen, present=lambda: present, route=lambda: route)


def test_names_addresses_and_the_default_route_resolve_after_loopback() -> None:
    assert resolve(["default-route", "tailscale0"]) == [
        "127.0.0.1",
        "192.168.7.5",
        "100.101.102.103",
    ]
    assert resolve(["192.168.7.5"]) == ["127.0.0.1", "192.168.7.5"]
    assert resolve(["127.0.0.1"]) == ["127.0.0.1"]
    assert resolve([]) == ["127.0.0.1"]


def test_one_address_by_two_names_is_bound_once() -> None:
    assert resolve(["eth0", "default-route", "192.168.7.5"]) == ["127.0.0.1", "192.168.7.5"]


def test_every_address_only_when_written_out() -> None:
    assert resolve(["eth0", EVERY_ADDRESS]) == [EVERY_ADDRESS]


def test_what_is_down_is_left_out_and_told() -> None:
    wanted = ["default-route", "tailscale0", "eth0"]
    assert resolve(wanted, tunnel=False, route=None) == ["127.0.0.1", "192.168.7.5"]
    missing = addresses.unresolved(wanted, present=lambda: [LO, ETH], route=lambda: None)
    assert missing == ["default-route", "tailscale0"]


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "192.168.7",
        "192.168.7.256",
        "192.168.07.5",
        "1.2.3.4.5",
        "fe80::1",
        "10.0.0.0/8",
        "x" * 16,
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(entry: str) -> None:
    with pytest.raises(ConfigError, match=r"\[network\] listen: ") as refusal:
        resolve([entry])
    assert repr(entry) in str(refusal.value)


def test_allow_defaults_to_ourselves_the_tunnel_and_our_own_networks() -> None:
    networks = allowed_networks([], [LO.address, ETH.address], present=lambda: [LO, ETH])
    assert [str(network) for network in networks] == [
        "127.0.0.0/8",
        "100.64.0.0/10",
        "192.168.7.0/24",
    ]
    assert is_allowed("192.168.7.200", networks)
    assert is_allowed("100.127.0.1", networks)
    assert not is_allowed("192.168.8.1", networks)
    assert not is_allowed("100.128.0.1", networks)


def test_a_written_allow_list_replaces_the_default() -> None:
    networks = allowed_networks(["10.1.0.0/16", "10.2.3.4"], [ETH.address], present=lambda: [ETH])
    assert [str(network) for network in networks] == ["10.1.0.0/16", "10.2.3.4/32"]
    assert not is_allowed("127.0.0.1", networks)


def test_listening_everywhere_allows_every_network_we_are_in() -> None:
    networks = addresses.subnets_of([EVERY_ADDRESS], present=lambda: [LO, ETH, TAIL])
    assert [str(n) for n in networks] == ["127.0.0.0/8", "192.168.7.0/24", "100.101.102.103/32"]


def test_a_mask_that_the_system_does_not_tell_is_taken_for_a_home_network() -> None:
    assert [str(n) for n in addresses.subnets_of(["10.9.8.7"], present=list)] == ["10.9.8.0/24"]


@pytest.mark.parametrize("text", ["", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "10.0.0/8", "lan"])
def test_bad_networks_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"\[network\] allow: "):
        parse_network(text)


@given(st.ip_addresses(v=4), st.ip_addresses(v=4), st.integers(0, 32))
def test_membership_agrees_with_the_standard_library(
    host: ipaddress.IPv4Address, inside: ipaddress.IPv4Address, prefix: int
) -> None:
    theirs = ipaddress.ip_network(f"{inside}/{prefix}", strict=False)
    ours = parse_network(f"{inside}/{prefix}")
    assert str(ours) == str(theirs)
    assert is_allowed(str(host), [ours]) == (host in theirs)
    assert is_allowed(str(inside), [ours])


def test_off_linux_only_addresses_and_the_default_route_resolve(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert addresses.interfaces() == []
    assert addresses.resolve_listen(["en0"], route=lambda: None) == ["127.0.0.1"]


def test_this_machine_has_loopback() -> None:
    assert LO in addresses.interfaces() or not addresses.interfaces()


def test_networks_on_a_log_line_are_readable() -> None:
    assert f"{[parse_network('10.1.2.3/8')]}" == "[10.0.0.0/8]"
