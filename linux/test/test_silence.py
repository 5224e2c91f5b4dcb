# SPDX-License-Identifier: GPL-2.0-only
"""While one host's bulk transfer keeps the air busy, another's page does not wait behind it."""

import itertools
import socket
import statistics
import time
from collections.abc import Callable, Iterator

import pytest
from conftest import StartGateway
from harness import air, net
from harness.gateway import Gateway, host
from harness.transfer import Transfer

KBPS = 6000
NEAR, FAR = net.host4(0), net.host4(1)
RADIO = air.Radio(delay_ms=5.0, kbps=KBPS, queue=50, hops={FAR: 3})
SETTLING_S = 3.0
# A page, and a person who reads it.
PAGE_BYTES, READS_S, PAGES = 50_000, 1.3, 8
# Half of a moment (core's silence.h).
PAUSE_S = 0.066
FLOOD_S = 6.0


def begin(start: StartGateway, network: net.Network) -> Gateway:
    return start(network, law="even", host=[host(NEAR, 11.0), host(FAR, 11.0, 3)])


def silences(gateway: Gateway) -> int:
    return int(gateway.fresh_status()["counters"]["silences"])


def longest_pause_s(run: Transfer, seconds: float) -> float:
    """The longest time without a byte."""
    before, since, longest = run.received, time.monotonic(), 0.0
    end = since + seconds
    while (now := time.monotonic()) < end:
        if run.received != before:
            before, since = run.received, now
        longest = max(longest, now - since)
        time.sleep(0.002)
    return longest


def kbps(run: Transfer, seconds: float) -> float:
    began, before = time.monotonic(), run.received
    time.sleep(seconds)
    return (run.received - before) * 8e-3 / (time.monotonic() - began)


@pytest.mark.measured
def test_a_page_silences_the_bulk_for_a_moment(start: StartGateway) -> None:
    """Else each of its round trips waits behind another's transfer."""
    with net.over_radio(RADIO, hosts=2) as network:
        gateway = begin(start, network)
        with Transfer(network.wired, network.hosts[0], NEAR) as bulk:
            time.sleep(SETTLING_S)
            before = kbps(bulk, 3.0)
            quiet = silences(gateway)
            pauses = []
            began, received = time.monotonic(), bulk.received
            for _ in range(PAGES):
                page = Transfer(
                    network.wired,
                    network.hosts[1],
                    net.WIRED4,
                    size=PAGE_BYTES,
                    sender_listens=True,
                )
                with page:
                    pauses.append(longest_pause_s(bulk, READS_S))
            during = (bulk.received - received) * 8e-3 / (time.monotonic() - began)
            asked = silences(gateway)
    print(
        f"pauses {[round(p, 3) for p in pauses]} s, {asked - quiet} silences; "
        f"bulk {before:.0f}, beside the pages {during:.0f} kbit/s"
    )
    assert quiet == 0, "its own flow began, and nobody else's"
    assert asked - quiet >= PAGES / 2
    assert statistics.median(pauses) >= PAUSE_S
    assert during >= 0.6 * before


def datagrams(network: net.Network) -> Iterator[None]:
    with network.hosts[1].socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        for port in itertools.cycle(range(10_000, 60_000)):
            out.sendto(bytes(20), (net.WIRED4, port))
            yield


def connections(network: net.Network) -> Iterator[None]:
    """That nobody accepts."""
    for port in itertools.cycle(range(10_000, 60_000)):
        with network.hosts[1].socket(socket.AF_INET, socket.SOCK_STREAM) as one:
            one.setblocking(False)
            one.connect_ex((net.WIRED4, port))
            yield


@pytest.mark.measured
@pytest.mark.parametrize("begins", [datagrams, connections])
def test_a_flood_of_beginnings_gains_nothing(
    start: StartGateway, begins: Callable[[net.Network], Iterator[None]]
) -> None:
    """Else one host of the mesh silences all others."""
    with net.over_radio(RADIO, hosts=2) as network:
        gateway = begin(start, network)
        with Transfer(network.wired, network.hosts[0], NEAR) as bulk:
            time.sleep(SETTLING_S)
            before = kbps(bulk, 3.0)
            began, received = time.monotonic(), bulk.received
            for _ in begins(network):
                time.sleep(0.005)
                if time.monotonic() - began > FLOOD_S:
                    break
            during = (bulk.received - received) * 8e-3 / (time.monotonic() - began)
            asked = silences(gateway)
    print(f"bulk {before:.0f}, beside the flood {during:.0f} kbit/s; {asked} silences")
    assert during >= 0.8 * before
