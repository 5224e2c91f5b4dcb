# SPDX-License-Identifier: GPL-2.0-only
"""Traffic that nobody answers does no harm to who is active; by the shipped configuration."""

import time
from collections.abc import Iterator

import pytest
from conftest import StartGateway
from harness import air, net
from harness.gateway import Gateway
from harness.ghosts import Ghosts, swallow
from harness.transfer import Transfer

pytestmark = pytest.mark.measured

RADIO = air.Radio(delay_ms=5.0, kbps=5000, queue=50)
SETTLING_S, BURST_S = 5.0, 4.0
# More than the radio carries tenfold, in full packets.
LINE_RATE, FULL = 4500, 1400
KEPT = 0.95


@pytest.fixture
def network() -> Iterator[net.Network]:
    with net.over_radio(RADIO) as made:
        swallow(made)
        yield made


def kbps(run: Transfer, seconds: float) -> float:
    began, before = time.monotonic(), run.received
    time.sleep(seconds)
    return (run.received - before) * 8e-3 / (time.monotonic() - began)


def beside(network: net.Network, gateway: Gateway, ghosts: Ghosts, seconds: float) -> float:
    """The part of its rate that an honest download keeps, once the first ghosts have passed."""
    with Transfer(network.wired, network.host, net.host4(0)) as run:
        time.sleep(SETTLING_S)
        before = kbps(run, 4.0)
        with ghosts(network):
            time.sleep(BURST_S)
            during = kbps(run, seconds)
        flow = gateway.flow(run.receiver_port)
        assert flow
        assert flow["rate_kbps"], "it is paced all the time"
    print(f"{ghosts}: {before:.0f} kbit/s, with them {during:.0f}: {during / before:.3f}")
    return during / before


WIRES = [
    Ghosts(1000, "udp"),
    Ghosts(LINE_RATE, "tcp", payload=FULL, flows=1, address=net.host4(0)),
]
NAMES = ["udp", "one-flow-to-a-living-host"]


@pytest.mark.parametrize("ghosts", WIRES, ids=NAMES)
def test_from_the_wires(
    network: net.Network, start: StartGateway, ghosts: Ghosts, full: bool
) -> None:
    """Else whoever sends to addresses of the mesh has its air."""
    gateway = start(network, law="even")
    assert beside(network, gateway, ghosts, 60.0 if full else 6.0) >= KEPT
    assert gateway.status()["counters"]["unanswered_dropped"] > 0
