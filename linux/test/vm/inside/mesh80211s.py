# SPDX-License-Identifier: GPL-2.0-only
"""Hops over 802.11s."""

from collections.abc import Iterator

import pytest
from conftest import StartGateway
from harness import net
from hops import found_hops
from radios import Mesh80211s, Station, path_table
from reach import reach


@pytest.fixture(scope="module")
def mesh() -> Iterator[net.Network]:
    with net.over_radio(Mesh80211s()) as network:
        reach(network)
        yield network


def test_the_chain_has_two_hops(mesh: net.Network) -> None:
    """Without this the other tests would show nothing."""
    paths = path_table(Station(mesh.gateway, "mesh0"))
    assert paths[Station(mesh.host, "eth0").mac] == 2
    assert sorted(paths.values()) == [1, 2]


def test_the_gateway_finds_them(mesh: net.Network, start: StartGateway) -> None:
    flow = found_hops(mesh, start, "802.11s")
    # hwsim's minstrel begins at 1 Mbit/s and knows nothing above 54.
    assert flow["mbps_source"] == "802.11s"
    assert 1 <= flow["mbps"] <= 54
