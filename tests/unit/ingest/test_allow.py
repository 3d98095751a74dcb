"""The allow-list at the edges of its networks, and what it refuses to be made of."""

from __future__ import annotations

import socket
import struct

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runtime.addresses import DEFAULT_ALLOW
from runtime.errors import ConfigError
from services.ingest.allow import AllowList

NUMBERS = st.integers(0, 2**32 - 1)


def dotted(number: int) -> str:
    """An address from its 32 bits."""
    return socket.inet_ntoa(struct.pack("!I", number))


@settings(max_examples=100)
@given(NUMBERS, st.integers(0, 32), st.integers(0, 32), NUMBERS)
@example(2**32 - 1, 32, 32, 0)
@example(0x01020304, 0, 0, 2**32 - 1)
def test_an_address_is_inside_if_it_shares_the_prefix(
    base: int, bits: int, shared: int, noise: int
) -> None:
    near = base ^ (noise >> shared)
    inside = base >> (32 - bits) == near >> (32 - bits)
    assert AllowList([f"{dotted(base)}/{bits}"]).contains(dotted(near)) is inside


@pytest.mark.parametrize(
    ("ip", "inside"),
    [
        ("127.0.0.1", True),
        ("127.255.255.255", True),
        ("128.0.0.0", False),
        ("100.64.0.0", True),
        ("100.127.255.255", True),
        ("100.128.0.0", False),
        ("100.63.255.255", False),
        ("192.168.1.20", True),
        ("192.168.1.21", False),
        ("10.1.2.3", True),
        ("10.1.3.3", False),
        ("::1", False),
        ("no address", False),
        ("", False),
    ],
)
def test_several_networks(ip: str, inside: bool) -> None:
    allow = AllowList([*DEFAULT_ALLOW, "192.168.1.20", "10.1.2.9/24"])
    assert allow.contains(ip) is inside
    assert allow.contains(ip) is inside  # the second answer is a remembered one


def test_answers_do_not_stick_between_addresses() -> None:
    allow = AllowList(["10.0.0.1"])
    assert [allow.contains(f"10.0.0.{last}") for last in (1, 2, 1, 2, 2)] == [1, 0, 1, 0, 0]


def test_an_empty_list_lets_nobody_in() -> None:
    assert not AllowList([]).contains("127.0.0.1")


@pytest.mark.parametrize(
    "text", ["", "lan", "10.0.0", "10.0.0.256", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/a", "/8"]
)
def test_what_is_no_network_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigError, match=r"\[network\] allow: .*192\.168\.1\."):
        AllowList(["127.0.0.0/8", text])
