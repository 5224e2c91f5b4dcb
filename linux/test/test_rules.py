# SPDX-License-Identifier: GPL-2.0-only
"""What brings packets before the daemon, when something else removes it: a firewall reloaded."""

import time
from pathlib import Path

import pytest
from conftest import StartGateway
from harness import lossy, net
from harness.gateway import PATIENCE_S, Gateway, host, until
from harness.record import Recorder
from harness.traces import Traces, left_behind
from harness.transfer import Transfer

RADIO = lossy.Radio(delay_ms=10.0, kbps=5000, queue=50)
FLUSH = ("iptables", "-t", "mangle", "-F")
# Pacing goes on after so long at most. Status is as of the latest second.
WITHIN_S, STATUS_S = 3.0, 1.0


def held(gateway: Gateway) -> int:
    return int(gateway.status()["counters"]["paced"])


def paces(gateway: Gateway) -> None:
    before = held(gateway)
    until(lambda: held(gateway) > before + 20, WITHIN_S + STATUS_S, gateway)


@pytest.mark.measured
@pytest.mark.smoke
def test_a_rule_that_is_removed_is_put_back(
    start: StartGateway, record: Recorder, full: bool
) -> None:
    """Else a firewall's reload ends pacing, and nobody is told."""
    with net.over_radio(RADIO) as network:
        gateway = start(network, release="nfqueue", law="even", host=[host(net.host4(0), 11.0)])
        with Transfer(network.wired, network.host, net.host4(0)) as run:
            time.sleep(2)
            slowest = 0.0
            for _ in range(20 if full else 3):
                paces(gateway)
                told = len(gateway.log)
                network.gateway.run(*FLUSH)
                began = time.monotonic()
                rules = ("iptables", "-t", "mangle", "-S", "POSTROUTING")
                until(lambda: "NFQUEUE" in network.gateway.run(*rules), WITHIN_S, gateway)  # noqa: B023
                slowest = max(slowest, time.monotonic() - began)
                paces(gateway)
                assert any("iptables" in line and "put back" in line for line in gateway.log[told:])
            record("put back after, at most", "s", slowest, "3")
            assert gateway.status()["state"] == "ready"
            assert run.finish().intact


def test_what_goes_around_is_told(network: net.Network, start: StartGateway) -> None:
    """Else status says that packets are paced that never come before the daemon."""
    gateway = start(network, release="nfqueue", law="even")
    assert gateway.status()["release"] == "nfqueue"
    # What is accepted before our rule never comes to it; so it is with flow offload.
    first = ("-I", "POSTROUTING", "1", "-o", "mesh0", "-j", "ACCEPT")
    network.gateway.run("iptables", "-t", "mangle", *first)
    with Transfer(network.wired, network.host, net.host4(0), options={}) as run:
        until(lambda: gateway.status()["release"] == "observe", PATIENCE_S, gateway)
        assert "POSTROUTING" in gateway.status()["state"]
        gateway.logged("nothing is paced")
        network.gateway.run("iptables", "-t", "mangle", "-D", "POSTROUTING", "1")
        until(lambda: gateway.status()["release"] == "nfqueue", PATIENCE_S, gateway)
        assert run.finish().intact


def test_two_gateways_on_one_box(network: net.Network, start: StartGateway, tmp_path: Path) -> None:
    """Each has a queue of its own, else the second would pace nothing."""
    before = Traces.of(network.gateway)
    first = start(network, release="nfqueue", law="even")
    network.gateway.ip("link", "add", "mesh1", "type", "veth", "peer", "name", "far1")
    network.gateway.ip("link", "set", "mesh1", "up")
    second = Gateway(network.gateway, tmp_path, "nfqueue", {"law": "even"}, mesh="mesh1")
    rules = ("iptables", "-t", "mangle", "-S", "POSTROUTING")
    try:
        assert second.start().status()["release"] == "nfqueue"
        found = network.gateway.run(*rules)
        assert "--queue-num 28016" in found
        assert "--queue-num 28017" in found
        assert first.stop() == 0
        found = network.gateway.run(*rules)
        assert "mesh0" not in found
        assert "-o mesh1" in found
        assert second.stop() == 0
    finally:
        second.end()
        network.gateway.ip("link", "del", "mesh1")
    assert not left_behind(network.gateway, before)


def test_what_turns_back_into_the_mesh_is_nobody_s(start: StartGateway) -> None:
    """
    From one mesh host to another by way of the gateway: the programs at the interface know nothing
    of such a flow, and it is neither held nor counted as let go.
    """
    with net.over_radio(RADIO, hosts=2) as network:
        first, second = network.hosts
        # Either of the two has the gateway tell them of the straight way.
        for interface in ("all", "mesh0"):
            network.gateway.sysctl(f"net.ipv4.conf.{interface}.send_redirects", "0")
        for one, other in ((first, net.host4(1)), (second, net.host4(0))):
            one.ip("route", "add", other, "via", net.GATEWAY_MESH4)
        gateway = start(network, release="nfqueue", law="even", host=[host(net.host4(1), 11.0)])
        with Transfer(first, second, net.host4(1)) as run:
            until(lambda: run.received > 500_000, PATIENCE_S, gateway)
            counters = gateway.fresh_status()["counters"]
            assert counters["hairpin"] > 300
            assert counters["released_ipv4"] == 0
            assert counters["paced"] == 0
            assert run.finish().intact
