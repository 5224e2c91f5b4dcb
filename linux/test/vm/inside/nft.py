# SPDX-License-Identifier: GPL-2.0-only
"""
Release by nftables alone, which the machine that tests run on need not have (nft_queue): packets
are held, pass a daemon that is stopped, and are held again after `nft flush ruleset`.
"""

import socket
import time
from pathlib import Path

import pytest
from conftest import StartGateway
from harness import hang, net
from harness.gateway import Gateway, host, until
from harness.traces import Traces, left_behind
from harness.transfer import SO_MAX_PACING_RATE, Transfer, window

pytestmark = pytest.mark.measured

# Bytes a second: an emulated machine carries no more.
LOAD_BYTES_PER_S = 300_000
OPTIONS = window(64 * 1024) | {(socket.SOL_SOCKET, SO_MAX_PACING_RATE): LOAD_BYTES_PER_S}


def received(run: Transfer, seconds: float) -> int:
    before = run.received
    time.sleep(seconds)
    return run.received - before


def queued(network: net.Network) -> int:
    """Packets that netfilter has given to the queue so far."""
    rows = network.gateway.run("cat", "/proc/net/netfilter/nfnetlink_queue").split()
    return int(rows[7]) if rows else 0


def tables(network: net.Network) -> str:
    return network.gateway.run("nft", "list", "ruleset")


def test_nftables_holds_only_for_a_daemon_that_is_well(
    network: net.Network, start: StartGateway
) -> None:
    """Else routers without iptables would not be paced, or be black holes when the daemon hangs."""
    before = Traces.of(network.gateway)
    gateway = start(network, law="even", host=[host("10.1.0.0/16", 11.0)])
    assert any("nftables brings packets" in line for line in gateway.log)
    with Transfer(network.wired, network.host, net.host4(0), options=OPTIONS) as run:
        well = received(run, 4)
        assert queued(network) > 50
        with hang.stopped(gateway.pid):
            time.sleep(2)
            was = queued(network)
            hung = received(run, 3)
            assert queued(network) == was, "packets are still given to the queue"
        print(f"{well} bytes in 4 s, {hung} in 3 s while stopped")
        assert hung >= 0.8 * well * 3 / 4
        was = queued(network)
        until(lambda: queued(network) > was + 20, 4, gateway)
        told = len(gateway.log)
        network.gateway.run("nft", "flush", "ruleset")
        until(lambda: "queue" in tables(network), 4, gateway)
        until(lambda: any("put back" in line for line in gateway.log[told:]), 4, gateway)
        was = queued(network)
        until(lambda: queued(network) > was + 20, 4, gateway)
        assert gateway.status()["release"] == "nfqueue"
        assert run.finish().intact
    gateway.kill()
    assert gateway.clean().returncode == 0
    assert tables(network) == ""
    assert not left_behind(network.gateway, before)


def test_two_gateways_hold_by_their_own_heartbeats(
    network: net.Network, start: StartGateway, tmp_path: Path
) -> None:
    """Else the first table takes the heartbeats of both: one holds nothing, one a hung daemon's."""
    first = start(network, law="even", host=[host("10.1.0.0/16", 11.0)])
    network.gateway.ip("link", "add", "mesh1", "type", "veth", "peer", "name", "far1")
    network.gateway.ip("link", "set", "mesh1", "up")
    second = Gateway(network.gateway, tmp_path, "nfqueue", {"law": "even"}, mesh="mesh1")

    def holds(mesh: str) -> bool:
        held = network.gateway.run("nft", "list", "set", "inet", f"meshpace_{mesh}", "held")
        return "tcp" in held

    try:
        second.start()
        until(lambda: holds("mesh0") and holds("mesh1"), 4, first)
        with hang.stopped(first.pid):
            until(lambda: not holds("mesh0"), 4)
            assert holds("mesh1")
        until(lambda: holds("mesh0"), 4, first)
        with hang.stopped(second.pid):
            until(lambda: not holds("mesh1"), 4)
            assert holds("mesh0")
    finally:
        second.end()
        network.gateway.ip("link", "del", "mesh1")
