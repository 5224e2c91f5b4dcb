# SPDX-License-Identifier: GPL-2.0-only
"""Traffic that nobody answers does no harm to who is active; by the shipped configuration."""

import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import StartGateway
from harness import air, net
from harness.gateway import Gateway
from harness.ghosts import Ghosts, swallow
from harness.record import Recorder
from harness.transfer import Transfer

pytestmark = pytest.mark.measured

RADIO = air.Radio(delay_ms=5.0, kbps=5000, queue=50)
SETTLING_S, BURST_S = 5.0, 4.0
# Ten times what the radio carries, in full packets.
LINE_RATE, FULL = 4500, 1400
KEPT = 0.95
# Of the daemon while a thousand ghosts come a second, of which 15,000 have come by then.
CPU_SHARE, GROWTH_KIB = 0.5, 48 * 1024


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
    """The part of its rate that an honest download keeps, from the first ghost on."""
    with Transfer(network.wired, network.host, net.host4(0)) as run:
        time.sleep(SETTLING_S)
        before = kbps(run, 4.0)
        with ghosts(network):
            during = kbps(run, BURST_S + seconds)
        flow = gateway.flow(run.receiver_port)
        assert flow
        assert flow["rate_kbps"], "it is paced all the time"
    print(f"{ghosts}: {before:.0f} kbit/s, with them {during:.0f}: {during / before:.3f}")
    return during / before


WIRES = [
    Ghosts(1000, "tcp"),
    Ghosts(1000, "udp"),
    Ghosts(LINE_RATE, "tcp", payload=FULL, flows=1, address="10.9.0.1"),
    Ghosts(LINE_RATE, "tcp", payload=FULL, flows=1, address=net.host4(0)),
    Ghosts(LINE_RATE, "tcp", payload=FULL, flows=1000, address=net.host4(0)),
]
NAMES = ["tcp", "udp", "one-flow", "one-flow-to-a-living-host", "1000-flows-to-a-living-host"]
# What is poured in at line rate takes a good part of the processors from whoever runs beside.
FROM_THE_WIRES = [
    pytest.param(ghosts, id=name, marks=[pytest.mark.alone] if ghosts.per_s == LINE_RATE else [])
    for ghosts, name in zip(WIRES, NAMES, strict=True)
]


@pytest.mark.parametrize("ghosts", FROM_THE_WIRES)
def test_from_the_wires(
    network: net.Network, start: StartGateway, record: Recorder, ghosts: Ghosts, full: bool
) -> None:
    """Else whoever sends to addresses of the mesh has its air."""
    gateway = start(network, law="even")
    kept = beside(network, gateway, ghosts, 60.0 if full else 6.0)
    record("an honest download keeps", "", kept, "at least .95")
    assert kept >= KEPT
    assert gateway.status()["counters"]["unanswered_dropped"] > 0


# Of 200 bytes, with headers of Ethernet, IP and TCP on the air. The first: one each five seconds.
SELDOM = [0.2, 1.0, 10.0, 100.0]
ON_THE_AIR_KBITS = (200 + 20 + 20 + 14) * 8e-3


def now_and_then() -> Iterator[Any]:
    """All combinations, of which one is tried each time."""
    for from_mesh, kind, per_s in itertools.product([True, False], ["tcp", "udp"], SELDOM):
        first = (from_mesh, kind, per_s) == (True, "tcp", SELDOM[0])
        name = f"{'mesh' if from_mesh else 'wires'}-{kind}-{per_s:g}-s"
        marks = [] if first else [pytest.mark.long]
        yield pytest.param(from_mesh, kind, per_s, id=name, marks=marks)


@pytest.mark.parametrize(("from_mesh", "kind", "per_s"), list(now_and_then()))
def test_now_and_then(
    network: net.Network,
    start: StartGateway,
    record: Recorder,
    from_mesh: bool,
    kind: str,
    per_s: float,
) -> None:
    """One packet each few seconds, ever of another address, took three quarters of a download."""
    ghosts = Ghosts(per_s, kind, from_mesh=from_mesh)
    kept = beside(network, start(network, law="even"), ghosts, 24.0)
    record("an honest download keeps", "", kept, "at least .95")
    # What comes from the mesh has used the air before anybody could mind.
    air_taken = per_s * ON_THE_AIR_KBITS / RADIO.kbps if from_mesh else 0.0
    assert kept >= KEPT * (1 - air_taken)


# Two runs are compared, and a thousand packets a second cross the radio in userspace.
@pytest.mark.alone
@pytest.mark.parametrize("kind", ["tcp", "udp"])
def test_from_the_mesh(
    network: net.Network, start: StartGateway, record: Recorder, kind: str, full: bool
) -> None:
    """Else whoever invents addresses has others slowed; what such packets take is the air's."""
    seconds = 60.0 if full else 6.0
    ghosts = Ghosts(1000, kind, from_mesh=True)
    gateway = start(network, law="even")
    at_first = gateway.memory_kib()
    with Transfer(network.wired, network.host, net.host4(0)) as run, ghosts(network):
        time.sleep(SETTLING_S + BURST_S)
        cpu, began = gateway.cpu_s(), time.monotonic()
        even = kbps(run, seconds)
        busy = (gateway.cpu_s() - cpu) / (time.monotonic() - began)
    growth = gateway.memory_kib() - at_first
    gateway.end()
    start(network, law="off")
    with Transfer(network.wired, network.host, net.host4(0)) as run, ghosts(network):
        time.sleep(SETTLING_S)
        off = kbps(run, seconds)
    print(f"{kind}: even {even:.0f} kbit/s, off {off:.0f}; {busy:.2f} of a CPU, {growth} KiB more")
    record("an honest download, by what it has with law off", "", even / off, "at least .95")
    record("of a CPU", "", busy, "under .5")
    record("the daemon grows by", "MiB", growth / 1024, f"under {GROWTH_KIB // 1024}")
    assert even >= KEPT * off
    assert busy < CPU_SHARE
    assert growth < GROWTH_KIB
