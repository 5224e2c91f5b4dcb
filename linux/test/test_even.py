# SPDX-License-Identifier: GPL-2.0-only
"""The law `even`: a path carries as much as without it, with little waiting on the way."""

import signal
import statistics
import time
from dataclasses import dataclass

import pytest
from conftest import StartGateway
from harness import lossy, net
from harness.gateway import PATIENCE_S, Gateway, host, until
from harness.pulse import Pulse
from harness.traces import Traces, left_behind
from harness.transfer import Transfer

# A path of 5 Mbit/s, 20 ms there and back when empty, with room for 120 ms of packets.
RADIO = lossy.Radio(delay_ms=10.0, kbps=5000, queue=50)
EMPTY_MS = 20.0
# By the law: what may wait at a hop (core's mp_law_even).
HOP_WAIT_MS = 3 * 5.484
SETTLING_S, MEASURED_S = 8.0, 12.0


@dataclass(frozen=True)
class Outcome:
    """Of a bulk download once it has settled; the round trip is the radio's."""

    kbps: float
    rtt_ms: float


def download(network: net.Network, gateway: Gateway) -> Outcome:
    with Transfer(network.wired, network.host, net.host4(0)) as run:
        time.sleep(SETTLING_S)
        began, before = time.monotonic(), run.received
        rtts = []
        while time.monotonic() < began + MEASURED_S:
            flow = gateway.flow(run.receiver_port)
            rtts.append(flow["rtt_wireless_ms"] if flow else None)
            time.sleep(0.5)
        kbps = (run.received - before) * 8e-3 / (time.monotonic() - began)
    return Outcome(kbps, statistics.median(rtt for rtt in rtts if rtt))


@pytest.mark.measured
def test_a_path_stays_full_and_its_queue_short(start: StartGateway) -> None:
    """Else the law takes goodput, or leaves the queue to the radio; the same path with both."""
    hops = 1
    with net.over_radio(RADIO) as network:
        path = [host(net.host4(0), 11.0, hops)]
        gateway = start(network, law="off", host=path)
        off = download(network, gateway)
        gateway.end()
        with Pulse() as pulse:
            even = download(network, start(network, law="even", host=path))
            late = pulse.late_share
    print(f"off {off}, even {even}, goodput {even.kbps / off.kbps:.3f}, late {late:.1%}")
    assert off.rtt_ms > EMPTY_MS + 60, "without the law the radio's queue did not fill"
    # Pauses of the machine are pauses of the radio, to which the law yields.
    assert even.kbps >= 0.9 * off.kbps, f"this machine was late for {late:.1%} of the time"
    # A packet's own time, and twice what may wait: the search goes on for ever.
    assert even.rtt_ms < EMPTY_MS + 2 * hops * HOP_WAIT_MS < 0.6 * off.rtt_ms


@pytest.mark.parametrize("killed", [False, True], ids=["stop", "kill"])
def test_shares_come_with_a_reload_and_leave_nothing(
    network: net.Network, start: StartGateway, killed: bool
) -> None:
    """Else a gateway that takes up the law caps nobody, or leaves something behind."""
    before = Traces.of(network.gateway)
    gateway = start(network, law="gap")
    gateway.configure({"law": "even"})
    gateway.send(signal.SIGHUP)
    assert until(lambda: gateway.fresh_status()["shares"], PATIENCE_S, gateway)
    if killed:
        gateway.kill()
        assert gateway.clean().returncode == 0
    else:
        assert gateway.stop() == 0
    assert not left_behind(network.gateway, before)
