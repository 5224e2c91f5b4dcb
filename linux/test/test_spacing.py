# SPDX-License-Identifier: GPL-2.0-only
"""A paced flow's packets leave at the interval that status reports (issue: within 2%, median)."""

import time
from statistics import median

import pytest
from conftest import StartGateway
from harness import net
from harness.capture import Capture, gaps_us, segments
from harness.gateway import Gateway, host, mbps_for, until
from harness.transfer import SO_MAX_PACING_RATE, Transfer, window

TOLERANCE = 0.02
# The receiver's window bounds what waits in the gateway, as the papers' 64 segments do.
WINDOW = window(128 * 1024)


def spacing(
    network: net.Network, gateway: Gateway, transfer: Transfer, interval_ms: float
) -> tuple[float, float]:
    """Medians, in us: of the gaps on the wire, of the intervals that status reports meanwhile."""
    port, reported = transfer.receiver_port, []
    until(lambda: (gateway.flow(port) or {}).get("samples", 0) > 60, 20, gateway)
    # Long enough for some hundred packets.
    with Capture(network.host, "eth0", snap=128) as capture:
        end = time.monotonic() + max(2.0, 0.3 * interval_ms)
        while time.monotonic() < end:
            flow = gateway.flow(port)
            assert flow
            reported.append(flow["interval_us"])
            time.sleep(0.05)
    gaps = gaps_us(segments(capture.stop(), port, sent_by=False))
    print(f"{len(gaps)} gaps, median {median(gaps):.1f} us; reported {sorted(reported)}")
    return median(gaps), median(reported)


def check(measured: tuple[float, float], interval_ms: float) -> None:
    gap, interval = measured
    # The rate that was chosen: the test must be about this interval and no other.
    assert 0.8 * interval_ms < interval / 1e3 < 1.6 * interval_ms
    assert gap == pytest.approx(interval, rel=TOLERANCE)


@pytest.mark.parametrize("segmentation", [True, False], ids=["tso", "no-tso"])
@pytest.mark.parametrize("interval_ms", [0.5, 2.0, 10.0])
def test_spacing_is_the_interval(
    network: net.Network, start: StartGateway, interval_ms: float, segmentation: bool
) -> None:
    network.segmentation(segmentation)
    gateway = start(network, host=[host(net.host4(0), mbps_for(interval_ms))])
    with Transfer(network.wired, network.host, net.host4(0), options=WINDOW) as transfer:
        check(spacing(network, gateway, transfer, interval_ms), interval_ms)


def test_spacing_over_ipv6(network: net.Network, start: StartGateway) -> None:
    gateway = start(network, host=[host(net.host6(0), mbps_for(2))])
    with Transfer(network.wired, network.host, net.host6(0), options=WINDOW) as transfer:
        check(spacing(network, gateway, transfer, 2), 2)


def test_three_hosts_each_at_its_own_rate(start: StartGateway) -> None:
    intervals = [1.0, 3.0, 8.0]
    with net.routed(hosts=3) as network:
        hosts = [host(net.host4(n), mbps_for(ms)) for n, ms in enumerate(intervals)]
        # Without goodput control, which would slow the fastest of them.
        gateway = start(network, host=hosts, goodput_control=False)
        runs = [
            Transfer(network.wired, one, net.host4(n), options=WINDOW).start()
            for n, one in enumerate(network.hosts)
        ]
        try:
            for n, (run, interval_ms) in enumerate(zip(runs, intervals, strict=True)):
                one = net.Network(network.wired, network.gateway, [network.hosts[n]])
                check(spacing(one, gateway, run, interval_ms), interval_ms)
        finally:
            for run in runs:
                run.close()


def test_a_flow_is_adopted_in_mid_life(network: net.Network, start: StartGateway) -> None:
    """The gateway starts during a transfer, which goes on and is paced from then on."""
    pace = WINDOW | {(1, SO_MAX_PACING_RATE): 2_000_000}
    with Transfer(network.wired, network.host, net.host4(0), options=pace) as transfer:
        until(lambda: transfer.received > 1_000_000)
        gateway = start(network, host=[host(net.host4(0), mbps_for(2))])
        check(spacing(network, gateway, transfer, 2), 2)
        assert transfer.finish().intact


def test_a_download_behind_masquerading_is_paced(network: net.Network, start: StartGateway) -> None:
    """The gateway sees the mesh side's addresses, whatever the wired side is told."""
    network.masquerade()
    gateway = start(network, host=[host(net.host4(0), mbps_for(2))])
    with Transfer(
        network.wired, network.host, net.WIRED4, sender_listens=True, options=WINDOW
    ) as download:
        check(spacing(network, gateway, download, 2), 2)
        flow = gateway.flow(download.receiver_port)
        assert flow
        assert flow["mesh"] == f"{net.host4(0)}:{download.receiver_port}"
        assert flow["wired"] == f"{net.WIRED4}:{download.sender_port}"
        assert download.finish().intact


def test_observing_touches_nothing(network: net.Network, start: StartGateway) -> None:
    """What was measured is shown; a transfer is as fast as without a gateway."""
    gateway = start(network, release="observe", host=[host(net.host4(0), mbps_for(2))])
    rules = [network.gateway.run(tool) for tool in ("iptables-save", "ip6tables-save")]
    assert not any("NFQUEUE" in rule for rule in rules)
    with Transfer(network.wired, network.host, net.host4(0), options=WINDOW) as transfer:
        until(lambda: (gateway.flow(transfer.receiver_port) or {}).get("samples", 0) > 60)
        until(lambda: transfer.received > 20_000_000)
        assert transfer.finish().kbps > 100_000
