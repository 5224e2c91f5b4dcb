# SPDX-License-Identifier: GPL-2.0-only
"""Somebody renames the interface behind which the kernel holds packets, as a rule of udev's may."""

from collections.abc import Iterator

import pytest
from conftest import StartGateway
from harness import net
from test_htb import RADIO, download, goes_on, ifb, paces


@pytest.fixture
def mesh() -> Iterator[net.Network]:
    with net.over_radio(RADIO) as made:
        yield made


def ifbs(network: net.Network) -> list[str]:
    """All there are, whatever they are called."""
    lines = network.gateway.ip("-o", "link", "show", "type", "ifb").splitlines()
    return [line.split(": ")[1] for line in lines]


def rename(network: net.Network) -> list[str]:
    """Its name then: the old one before Linux 6.2, where none that is up is renamed."""
    before = ifb(network)
    done = network.gateway.run("ip", "link", "set", before, "name", "renamed", check=False)
    assert ifbs(network) in (["renamed"], [before]), done
    return ifbs(network)


def test_one_that_is_renamed_goes_on(mesh: net.Network, start: StartGateway) -> None:
    """Else one after the other is made, what waits behind each is lost, and all of them stay."""
    with download(mesh, start) as (gateway, run):
        called = rename(mesh)
        for _ in range(3):
            goes_on(run)
            paces(gateway)
        status = gateway.fresh_status()
        assert ifbs(mesh) == called
        assert (status["state"], status["release"]) == ("ready", "htb")
        assert status["counters"]["put_back"] == 0
    assert gateway.stop() == 0
    assert ifbs(mesh) == []


def test_one_that_a_killed_gateway_left_is_taken_away(
    mesh: net.Network, start: StartGateway
) -> None:
    """Else it stays for ever: the notes know the name that it had."""
    with download(mesh, start) as (gateway, _):
        rename(mesh)
        gateway.kill()
        assert gateway.clean().returncode == 0
        assert ifbs(mesh) == []
