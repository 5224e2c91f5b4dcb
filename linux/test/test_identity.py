# SPDX-License-Identifier: GPL-2.0-only
"""The law `even`: a host is a host, by whichever of its addresses it is reached."""

import contextlib
import signal
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import StartGateway
from harness import air, lossy, net
from harness.gateway import PATIENCE_S, until
from harness.namespace import Namespace
from harness.record import Recorder
from harness.transfer import Transfer

# One rate for all, as of nodes that hear each other.
KBPS = 5000
RADIO = air.Radio(delay_ms=5.0, kbps=KBPS, queue=50)
SETTLING_S, MEASURED_S = 12.0, 7.0
PRIVACY6 = "fd00::aa02"


@contextlib.contextmanager
def transfers(
    wired: Namespace, *ends: tuple[Namespace, str], up: bool = False
) -> Iterator[list[Transfer]]:
    """One to each address of a host, or from each."""
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(
                Transfer(*((host, wired) if up else (wired, host)), address, sender_listens=up)
            )
            for host, address in ends
        ]


def rows(status: dict[str, Any]) -> dict[str, list[str]]:
    """Each host's addresses in use, by the one that stands for them."""
    return {host["address"]: host["addresses"] for host in status["hosts"]}


@pytest.mark.measured
@pytest.mark.parametrize(
    "up",
    [
        pytest.param(False, id="down", marks=pytest.mark.smoke),
        pytest.param(True, id="up", marks=pytest.mark.smoke),
    ],
)
def test_a_host_gets_no_more_by_more_addresses(
    start: StartGateway, record: Recorder, up: bool
) -> None:
    """
    Else IPv6 beside IPv4 takes two thirds of the rate, and a privacy address three quarters. What
    goes to the mesh waits in the queue, what comes from it the kernel holds to the cap.
    """
    with net.over_radio(RADIO, hosts=2) as network:
        many, one = network.hosts
        net.address(many, "eth0", f"{PRIVACY6}/64")
        gateway = start(network, law="even")
        three = [(many, a) for a in (net.host4(0), net.host6(0), PRIVACY6)]
        with transfers(network.wired, *three, (one, net.host4(1)), up=up) as runs:
            time.sleep(SETTLING_S)
            before, began = [run.received for run in runs], time.monotonic()
            time.sleep(MEASURED_S)
            seconds = time.monotonic() - began
            kbps = [
                (run.received - was) * 8e-3 / seconds for run, was in zip(runs, before, strict=True)
            ]
            status = gateway.status()
    both, other = sum(kbps[:3]), kbps[3]
    print(f"three addresses {both:.0f} {kbps[:3]}, one {other:.0f} kbit/s: {both / other:.2f}")
    record("three addresses by one", "", both / other, "1")
    assert both / other <= 1.5
    assert both + other >= 0.8 * KBPS, "evenness must not cost the others' share"
    assert rows(status) == {
        net.host4(0): [net.host4(0), net.host6(0), PRIVACY6],
        net.host4(1): [net.host4(1)],
    }


def test_a_64_behind_a_router_is_one_host_and_a_group_what_it_names(start: StartGateway) -> None:
    """Behind a router no MAC address tells; and the configuration goes before all."""
    with net.relayed(lossy.Radio()) as network:
        host = network.host
        net.address(host, "eth0", "fd02::3/64")
        gateway = start(network, law="even")
        ends = [(host, a) for a in ("10.2.0.2", "fd02::2", "fd02::3")]
        with transfers(network.wired, *ends, (_relay(network), "10.1.0.254")):
            apart = {
                "10.2.0.2": ["10.2.0.2"],
                "fd02::2": ["fd02::2", "fd02::3"],
                "10.1.0.254": ["10.1.0.254"],
            }
            until(lambda: rows(gateway.status()) == apart, PATIENCE_S, gateway)
            group = {"name": "home", "addresses": ["10.2.0.2", "fd02::/64"]}
            gateway.configure({"law": "even", "group": [group]})
            gateway.send(signal.SIGHUP)
            together = {
                "10.2.0.2": ["10.2.0.2", "fd02::2", "fd02::3"],
                "10.1.0.254": ["10.1.0.254"],
            }
            until(lambda: rows(gateway.status()) == together, PATIENCE_S, gateway)
            names = {h["address"]: h.get("group") for h in gateway.status()["hosts"]}
            assert names == {"10.2.0.2": "home", "10.1.0.254": None}


def _relay(network: net.Network) -> Namespace:
    assert network.air
    return network.air


def test_an_address_that_moves_is_its_new_owner_s(start: StartGateway) -> None:
    """Else who takes over an address has the other's cap, and the other none."""
    with net.routed(hosts=2) as network:
        first, second = network.hosts
        gateway = start(network, law="even")
        net.address(first, "eth0", "10.1.7.7/16")
        with transfers(network.wired, (first, net.host4(0)), (first, "10.1.7.7")):
            whole = {net.host4(0): [net.host4(0), "10.1.7.7"]}
            until(lambda: rows(gateway.status()) == whole, PATIENCE_S, gateway)
        first.ip("addr", "del", "10.1.7.7/16", "dev", "eth0")
        net.address(second, "eth0", "10.1.7.7/16")
        _announce(second, network, "10.1.7.7")
        with transfers(network.wired, (first, net.host4(0)), (second, "10.1.7.7")):
            apart = {net.host4(0): [net.host4(0)], "10.1.7.7": ["10.1.7.7"]}
            until(lambda: rows(gateway.status()) == apart, PATIENCE_S, gateway)


def _announce(host: Namespace, network: net.Network, address: str) -> None:
    """A packet from the address makes the gateway learn whose it is."""
    network.gateway.ip("neigh", "flush", "dev", "mesh0")
    with host.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.bind((address, 0))
        out.sendto(b"", (net.GATEWAY_MESH4, 9))
