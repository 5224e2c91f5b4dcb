# SPDX-License-Identifier: GPL-2.0-only
"""Hops over batman-adv."""

from collections.abc import Iterator

import pytest
from conftest import StartGateway
from harness import net
from hops import found_hops
from radios import BatmanAdv, Station, batman_hops
from reach import reach


@pytest.fixture(scope="module")
def mesh() -> Iterator[net.Network]:
    with net.over_radio(BatmanAdv()) as network:
        reach(network)
        yield network


def test_the_chain_has_two_hops(mesh: net.Network) -> None:
    """Without this the other tests would show nothing."""
    assert batman_hops(Station(mesh.gateway, "mesh0"), Station(mesh.host, "eth0").mac) == 2


def test_the_gateway_finds_them(mesh: net.Network, start: StartGateway) -> None:
    found_hops(mesh, start, "batman-adv")
