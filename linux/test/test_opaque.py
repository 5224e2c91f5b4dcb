# SPDX-License-Identifier: GPL-2.0-only
"""
Hosts that get datagrams of which nothing can be read (core's opaque.h): they are asked what waits on their paths, and held
by what they answer.
"""

import math
import re
import statistics
import subprocess
import time

import pytest
from conftest import StartGateway
from harness import air, net
from harness.gateway import PATIENCE_S, Gateway, host, until
from harness.record import Recorder
from test_shares import Flood

KBPS = 5000
# Of which 1200 bytes' datagrams are this part, with their headers.
PAYLOAD_KBPS = KBPS * 1200 / 1242
# A queue of 150 ms, as unmanaged ones are.
RADIO = air.Radio(delay_ms=2.0, kbps=KBPS, queue=75)
SETTLING_S, MEASURED_S = 15.0, 6.0


def begin(start: StartGateway, network: net.Network, asks: bool = True) -> Gateway:
    return start(network, law="even", ask_hosts=asks, host=[host(net.host4(0), 11.0)])


def cap_kbps(gateway: Gateway) -> float | None:
    rows = {row["address"]: row for row in gateway.fresh_status()["hosts"]}
    cap: float | None = rows.get(net.host4(0), {}).get("cap_down_kbps")
    return cap


def asked(gateway: Gateway) -> int:
    return int(gateway.fresh_status()["counters"]["hosts_asked"])


def ping_ms(network: net.Network, seconds: float) -> float:
    """What most packets of somebody else to the host, and back, take at most; endless, where most are lost."""
    count = int(seconds / 0.1)
    command = ["ping", "-c", str(count), "-i", "0.1", net.host4(0)]
    done = subprocess.run(
        ["ip", "netns", "exec", network.wired.name, *command], capture_output=True, text=True, check=False
    )
    times = [float(ms) for ms in re.findall(r"time=([\d.]+)", done.stdout)]
    return statistics.median(times + [math.inf] * (count - len(times)))


@pytest.mark.measured
@pytest.mark.smoke
def test_what_waits_on_the_path_is_bounded(start: StartGateway, record: Recorder) -> None:
    """A flood of datagrams fills the radio's queue, unless its host is asked; it gets as much either way."""
    waits, goodput = {}, {}
    for asks in (False, True):
        with net.over_radio(RADIO) as network:
            gateway = begin(start, network, asks)
            with Flood(network.wired, network.host, net.host4(0), 1.5 * KBPS) as flood:
                time.sleep(SETTLING_S)
                before, began = flood.received, time.monotonic()
                waits[asks] = ping_ms(network, MEASURED_S)
                goodput[asks] = (flood.received - before) * 8e-3 / (time.monotonic() - began)
                print(asks, waits[asks], goodput[asks], cap_kbps(gateway), asked(gateway))
            gateway.end()
    record("wait of a ping beside a flood, of that without asking", "", waits[True] / waits[False], None)
    assert waits[True] < waits[False] / 2
    assert goodput[True] > 0.8 * goodput[False]
