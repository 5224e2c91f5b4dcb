# SPDX-License-Identifier: GPL-2.0-only
"""The law `even`: what the gateway holds of a flow stays small, whatever its sender's window is."""

import statistics
import time
from dataclasses import dataclass
from typing import Any

import pytest
from conftest import StartGateway
from harness import lossy, net
from harness.gateway import Gateway, host
from harness.transfer import Transfer, window

pytestmark = pytest.mark.measured

RADIO = lossy.Radio(delay_ms=10.0, kbps=5000, queue=50)
# A sender may have so much under way: two thousand packets.
WINDOW = window(3 << 20)
SETTLING_S, SAMPLES = 6.0, 10
# The law's target is 1.25 (T + D*), 70 ms here; nothing ever waits four times as long.
TARGET_PACKETS, LIMIT = 32, 4


@dataclass(frozen=True)
class Outcome:
    """Of a bulk download: goodput, packets waiting each second, what status says at the end."""

    kbps: float
    waiting: list[int]
    flow: dict[str, Any]
    counters: dict[str, int]


def download(network: net.Network, gateway: Gateway) -> Outcome:
    with Transfer(network.wired, network.host, net.host4(0), options=WINDOW) as run:
        time.sleep(SETTLING_S)
        began, before, waiting = time.monotonic(), run.received, []
        for _ in range(SAMPLES):
            time.sleep(1)
            waiting.append(gateway.status()["counters"]["queue_waiting"])
        kbps = (run.received - before) * 8e-3 / (time.monotonic() - began)
        flow = gateway.flow(run.receiver_port)
        assert flow
        return Outcome(kbps, waiting, flow, gateway.status()["counters"])


@pytest.mark.parametrize(
    ("ecn", "by"),
    [(False, "htb"), (True, "htb"), (True, "nfqueue")],
    ids=["loss", "ecn", "ecn-nfqueue"],
)
def test_the_queue_held_stays_near_its_target(start: StartGateway, ecn: bool, by: str) -> None:
    """Else it grows to the window: seconds of delay for nothing; or ending it costs goodput."""
    with net.over_radio(RADIO) as network:
        for end in (network.wired, network.host):
            end.sysctl("net.ipv4.tcp_ecn", str(int(ecn)))
        gateway = start(network, law="off")
        off = download(network, gateway)
        gateway.end()
        hosts = [host(net.host4(0), 11.0, 2)]
        even = download(network, start(network, release=by, law="even", host=hosts))
    names = ("wait_dropped", "wait_marked", "dupacks_withheld")
    told = {name: even.counters[name] for name in names}
    print(f"{even.kbps:.0f} kbit/s, off {off.kbps:.0f}, waiting {even.waiting}, {told}")
    assert statistics.median(even.waiting) <= 1.25 * TARGET_PACKETS
    assert max(even.waiting) <= LIMIT * TARGET_PACKETS
    assert even.kbps >= 0.9 * off.kbps
    assert even.flow["rtt_wired_ms"] is not None
    # What was lost here is the sender's to send again: there is no copy in the gateway.
    assert told["dupacks_withheld"] == 0
    if ecn:
        assert told["wait_marked"] > 0
        assert even.flow["retransmits"] == 0
    else:
        assert told["wait_dropped"] > 0
