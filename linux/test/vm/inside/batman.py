# SPDX-License-Identifier: GPL-2.0-only
"""Hops over batman-adv."""

from collections.abc import Iterator

import pytest
from harness import net
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
