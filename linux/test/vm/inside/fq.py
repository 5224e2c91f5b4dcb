# SPDX-License-Identifier: GPL-2.0-only
"""
Release by sch_fq, which the machine that tests run on need not have: spacing of paced flows.
What else holds of every release (order, kill -9, --clean) are the native tests, which run here too.
"""

import itertools
import socket
import time
from collections.abc import Iterator
from statistics import mean, median

import pytest
from conftest import StartGateway
from harness import net
from harness.capture import Capture, Segment, gaps_us, segments
from harness.gateway import Gateway, host, until
from harness.traces import Traces, left_behind
from harness.transfer import Transfer, window

TOLERANCE = 0.02
# Under emulation every wake-up is dear: the receiver's threads are woken every 22 segments only.
HOPS = 30
OPTIONS = window(128 * 1024) | {(socket.SOL_SOCKET, socket.SO_RCVLOWAT): 32 * 1024}


@pytest.fixture
def network() -> Iterator[net.Network]:
    with net.routed() as made:
        # A veth hands super packets over as they are, and no stamp takes them apart.
        made.segmentation(False)
        yield made


def far_host(network: net.Network, interval_ms: float) -> dict[str, object]:
    """
    Delays the mesh host's ACKs and returns its [[host]], so that the law's interval is about
    `interval_ms`: over many hops where transmission times are small, 2 RTT / h (GAP eq. 4). A round
    trip far above the emulator's own jitter keeps CoV, and so the interval, steady.
    """
    delay = f"{HOPS / 2 * interval_ms:g}ms"
    network.host.run("tc", "qdisc", "add", "dev", "eth0", "root", "netem", "delay", delay)
    return host(net.host4(0), mbps=1000.0, hops=HOPS)


def paced_flow(
    network: net.Network, gateway: Gateway, seconds: float
) -> tuple[list[Segment], list[float]]:
    """A flow's segments as the mesh host gets them, and the intervals reported meanwhile."""
    transfer = Transfer(network.wired, network.host, net.host4(0), options=OPTIONS).start()
    with transfer, Capture(network.host, "eth0", snap=128, late=True) as capture:
        port, reported = transfer.receiver_port, []
        until(lambda: (gateway.flow(port) or {}).get("samples", 0) > 60, 30, gateway)
        began = time.time_ns()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.5)
            flow = gateway.flow(port)
            assert flow
            reported.append(float(flow["interval_us"]))
        ended = time.time_ns()
        assert transfer.finish().intact
    found = segments(capture.stop(), port, sent_by=False)
    return [s for s in found if began < s.time_ns < ended and s.payload], reported


def check(flow: list[Segment], reported: list[float], interval_ms: float) -> None:
    gaps = gaps_us(flow)
    print(
        f"{len(gaps)} gaps: median {median(gaps):.1f} mean {mean(gaps):.1f} us; "
        f"reported: median {median(reported):.1f}, {min(reported):.1f} to {max(reported):.1f} us"
    )
    # The interval that was chosen: the test must be about this one and no other.
    assert 0.8 * interval_ms < median(reported) / 1e3 < 1.6 * interval_ms
    assert median(gaps) == pytest.approx(median(reported), rel=TOLERANCE)


@pytest.mark.parametrize("interval_ms", [0.5, 2.0, 10.0])
def test_spacing_is_the_interval(
    network: net.Network, start: StartGateway, interval_ms: float, full: bool
) -> None:
    before = Traces.of(network.gateway)
    gateway = start(network, release="fq", host=[far_host(network, interval_ms)])
    seconds = (20.0 if full else 5.0) if interval_ms < 5 else (60.0 if full else 8.0)
    flow, reported = paced_flow(network, gateway, seconds)
    check(flow, reported, interval_ms)
    order = [(s.seq - flow[0].seq) % 2**32 for s in flow]
    assert all(a < b for a, b in itertools.pairwise(order)), "reordered or sent again"
    assert gateway.stop() == 0
    assert not left_behind(network.gateway, before)
