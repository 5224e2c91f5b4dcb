# SPDX-License-Identifier: GPL-2.0-only
"""
Release by sch_fq, which the machine that tests run on need not have: spacing of paced flows.
What else holds of every release (order, kill -9, --clean) are the native tests, which run here too.
"""

import itertools
import json
import socket
import time
from collections.abc import Iterator
from statistics import mean, median
from typing import Any

import pytest
from conftest import StartGateway
from harness import net
from harness.capture import Capture, Segment, gaps_us, segments
from harness.gateway import Gateway, host, until
from harness.traces import Traces, left_behind
from harness.transfer import Transfer, window

TOLERANCE = 0.02
# A round trip far above the emulator's own jitter keeps CoV, and so the interval, steady.
RTT_MS = 100.0
MAX_HOPS = 255
# Under emulation every wake-up is dear.
RARE_WAKING = {(socket.SOL_SOCKET, socket.SO_RCVLOWAT): 8 * 1024}

Reported = tuple[int, float]  # time in ns, interval in us


@pytest.fixture
def network() -> Iterator[net.Network]:
    with net.routed() as made:
        # A veth hands super packets over as they are, and no stamp takes them apart.
        made.segmentation(False)
        yield made


def hops_for(interval_ms: float) -> int:
    """With small transmission times the interval is 2 RTT / h (GAP eq. 4): h for RTT_MS."""
    return min(MAX_HOPS, round(2 * RTT_MS / interval_ms))


def far_host(network: net.Network, interval_ms: float) -> dict[str, object]:
    """Delays the mesh host's ACKs and returns its [[host]], for about this interval."""
    hops = hops_for(interval_ms)
    delay = f"{hops * interval_ms / 2:g}ms"
    network.host.run("tc", "qdisc", "add", "dev", "eth0", "root", "netem", "delay", delay)
    return host(net.host4(0), mbps=1000.0, hops=hops)


def ask(gateway: Gateway, port: int) -> dict[str, Any] | None:
    """As Gateway.flow, without starting a program, which would disturb what is measured."""
    with socket.socket(socket.AF_UNIX) as s, s.makefile() as answer:
        s.connect(str(gateway.directory / "run" / "mesh0.sock"))
        flows = json.load(answer)["flows"]
    mine = (f for f in flows if f["direction"] == "down" and f["mesh"].endswith(f":{port}"))
    return next(mine, None)


def paced_flow(
    network: net.Network, gateway: Gateway, interval_ms: float, seconds: float
) -> tuple[list[Segment], list[Reported]]:
    """A flow's data as the mesh host gets it, and the intervals reported meanwhile."""
    # Twice what is under way: something always waits in the gateway, though not for long.
    options = window(hops_for(interval_ms) * net.MTU) | RARE_WAKING
    transfer = Transfer(network.wired, network.host, net.host4(0), options=options).start()
    port, reported = transfer.receiver_port, []
    with transfer:
        until(lambda: (ask(gateway, port) or {}).get("samples", 0) > 100, 30, gateway)
        with Capture(network.host, "eth0", snap=128, late=True) as capture:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                time.sleep(0.25)
                flow = ask(gateway, port)
                assert flow
                reported.append((time.time_ns(), float(flow["interval_us"])))
            assert transfer.finish().intact
    found = segments(capture.frames, port, sent_by=False)
    return [s for s in found if s.payload], reported


def check(flow: list[Segment], reported: list[Reported], interval_ms: float) -> None:
    """The median gap between two reports is the interval that they report, in the median."""
    intervals = [interval for _, interval in reported]
    ratios, seen = [], 0
    for (begin, _), (end, interval) in itertools.pairwise(reported):
        gaps = gaps_us(s for s in flow if begin <= s.time_ns < end)
        seen += len(gaps)
        ratios.append(median(gaps) / interval if gaps else 0.0)
    print(
        f"{seen} gaps of about {median(intervals):.1f} us ({min(intervals):.0f} to "
        f"{max(intervals):.0f}); gap/interval: median {median(ratios):.4f} mean {mean(ratios):.4f}"
    )
    # The interval that was chosen: the test must be about this one and no other.
    assert 0.8 * interval_ms < median(intervals) / 1e3 < 1.6 * interval_ms
    assert median(ratios) == pytest.approx(1, abs=TOLERANCE)


@pytest.mark.parametrize("interval_ms", [0.5, 2.0, 10.0])
def test_spacing_is_the_interval(
    network: net.Network, start: StartGateway, interval_ms: float, full: bool
) -> None:
    before = Traces.of(network.gateway)
    gateway = start(network, release="fq", host=[far_host(network, interval_ms)])
    flow, reported = paced_flow(network, gateway, interval_ms, 60.0 if full else 8.0)
    check(flow, reported, interval_ms)
    assert gateway.stop() == 0
    assert not left_behind(network.gateway, before)
