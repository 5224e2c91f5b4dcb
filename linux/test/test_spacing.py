# SPDX-License-Identifier: GPL-2.0-only
"""A paced flow's packets leave at the interval that status reports (median within 2%)."""

from collections.abc import Iterator

import pytest
from conftest import StartGateway
from harness import net
from harness.capture import Capture, segments
from harness.flow_table import FlowTable
from harness.gateway import Gateway, host, mbps_for, until
from harness.lossy import Radio
from harness.spacing import Spacing, spacing_of
from harness.transfer import SO_MAX_PACING_RATE, Transfer, window

TOLERANCE = 0.02
# A mesh of many hops, so long that what a busy machine adds to a round trip hardly varies it:
# else the interval would follow the machine's load by the law's factor 1 + 2 CoV.
RADIO = Radio(delay_ms=20.0)
RTT_MS, HOPS = 40.0, 255
# Packets that wait in the gateway, beside those under way, as the papers' 64 segments do.
WAITING = 64
# Some hundred packets.
SECONDS, PACKETS = 2.2, 300
# `status` is as of the daemon's latest look, and rounded.
STATUS_S, STATUS_TOLERANCE = 1.5, 0.01


def paced_host(address: str, interval_ms: float) -> dict[str, object]:
    return host(address, mbps_for(interval_ms, RTT_MS, HOPS), HOPS)


def backlogged(interval_ms: float) -> dict[tuple[int, int], int]:
    """The receiver's window for a flow of which something always waits in the gateway."""
    return window(round(RTT_MS / interval_ms + WAITING) * net.MTU)


@pytest.fixture
def mesh() -> Iterator[net.Network]:
    with net.over_radio(RADIO) as made:
        yield made


def spacing(network: net.Network, gateway: Gateway, port: int, seconds: float) -> Spacing:
    """Gaps on the wire, beside the interval in force; `status` must have told the same."""
    gateway.before_all_others()
    with FlowTable(gateway) as table:
        key = table.settled(port)
        with Capture(network.gateway, "mesh0", snap=128, late=True) as capture:
            looks = table.watch(key, seconds)
            flow = gateway.flow(port)
            frames = capture.stop()
    measured = spacing_of(
        segments(frames, port, sent_by=False), [(one.time_ns, one.interval_us) for one in looks]
    )
    print(measured)
    assert flow
    lately = [one for one in looks if one.time_ns > looks[-1].time_ns - STATUS_S * 1e9]
    check_told(flow["interval_us"], [one.interval_us for one in lately])
    check_told(flow["rtt_wireless_ms"], [one.rtt_ms for one in lately])
    check_told(1 + flow["cov"], [1 + one.cov for one in lately])
    return measured


def check_told(told: float, held: list[float]) -> None:
    """`status` tells what the table held at some time lately."""
    assert min(held) * (1 - STATUS_TOLERANCE) <= told <= max(held) * (1 + STATUS_TOLERANCE)


def check(network: net.Network, gateway: Gateway, transfer: Transfer, interval_ms: float) -> None:
    """The gaps are the interval."""
    seconds = max(SECONDS, PACKETS * interval_ms / 1e3)
    measured = spacing(network, gateway, transfer.receiver_port, seconds)
    # The rate that was chosen: the test must be about this interval and no other.
    assert 0.9 * interval_ms < measured.interval_ms < 1.5 * interval_ms
    assert measured.share == pytest.approx(1, abs=TOLERANCE)


@pytest.mark.measured
@pytest.mark.parametrize(
    ("interval_ms", "segmentation"),
    [
        pytest.param(0.5, True, id="0.5-tso"),
        pytest.param(0.5, False, id="0.5-no-tso"),
        pytest.param(2.0, True, id="2.0-tso"),
        pytest.param(2.0, False, id="2.0-no-tso"),
        pytest.param(10.0, True, id="10.0-tso", marks=pytest.mark.smoke),
        pytest.param(10.0, False, id="10.0-no-tso"),
    ],
)
def test_spacing_is_the_interval(
    mesh: net.Network, start: StartGateway, interval_ms: float, segmentation: bool
) -> None:
    mesh.segmentation(segmentation)
    gateway = start(mesh, host=[paced_host(net.host4(0), interval_ms)])
    with Transfer(mesh.wired, mesh.host, net.host4(0), options=backlogged(interval_ms)) as transfer:
        check(mesh, gateway, transfer, interval_ms)


@pytest.mark.measured
def test_spacing_over_ipv6(mesh: net.Network, start: StartGateway) -> None:
    gateway = start(mesh, host=[paced_host(net.host6(0), 2)])
    with Transfer(mesh.wired, mesh.host, net.host6(0), options=backlogged(2)) as transfer:
        check(mesh, gateway, transfer, 2)


@pytest.mark.measured
def test_three_hosts_each_at_its_own_rate(start: StartGateway) -> None:
    intervals = [1.0, 3.0, 8.0]
    with net.over_radio(RADIO, hosts=3) as network:
        hosts = [paced_host(net.host4(n), ms) for n, ms in enumerate(intervals)]
        # Without goodput control, which would slow the fastest of them.
        gateway = start(network, host=hosts, goodput_control=False)
        runs = [
            Transfer(network.wired, one, net.host4(n), options=backlogged(ms)).start()
            for n, (one, ms) in enumerate(zip(network.hosts, intervals, strict=True))
        ]
        try:
            for run, interval_ms in zip(runs, intervals, strict=True):
                check(network, gateway, run, interval_ms)
        finally:
            for run in runs:
                run.close()


@pytest.mark.measured
def test_a_flow_is_adopted_in_mid_life(mesh: net.Network, start: StartGateway) -> None:
    """The gateway starts during a transfer, which goes on and is paced from then on."""
    pace = backlogged(2) | {(1, SO_MAX_PACING_RATE): 2_000_000}
    with Transfer(mesh.wired, mesh.host, net.host4(0), options=pace) as transfer:
        until(lambda: transfer.received > 1_000_000)
        gateway = start(mesh, host=[paced_host(net.host4(0), 2)])
        check(mesh, gateway, transfer, 2)
        assert transfer.finish().intact


@pytest.mark.measured
def test_a_download_behind_masquerading_is_paced(mesh: net.Network, start: StartGateway) -> None:
    """The gateway sees the mesh side's addresses, whatever the wired side is told."""
    mesh.masquerade()
    gateway = start(mesh, host=[paced_host(net.host4(0), 2)])
    options = backlogged(2)
    download = Transfer(mesh.wired, mesh.host, net.WIRED4, sender_listens=True, options=options)
    with download:
        check(mesh, gateway, download, 2)
        flow = gateway.flow(download.receiver_port)
        assert flow
        assert flow["mesh"] == f"{net.host4(0)}:{download.receiver_port}"
        assert flow["wired"] == f"{net.WIRED4}:{download.sender_port}"
        assert download.finish().intact


def test_observing_touches_nothing(network: net.Network, start: StartGateway) -> None:
    """What was measured is shown; no rule leads packets to the daemon, and it holds none."""
    gateway = start(network, release="observe", host=[host(net.host4(0), mbps_for(2))])
    rules = [network.gateway.run(tool) for tool in ("iptables-save", "ip6tables-save")]
    assert not any("NFQUEUE" in rule for rule in rules)
    options = window(128 * 1024)
    with Transfer(network.wired, network.host, net.host4(0), options=options) as transfer:
        until(lambda: (gateway.flow(transfer.receiver_port) or {}).get("samples", 0) > 60)
        counters = gateway.fresh_status()["counters"]
        assert transfer.finish().intact
    assert (counters["paced"], counters["released_ipv4"]) == (0, 0)
