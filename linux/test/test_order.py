# SPDX-License-Identifier: GPL-2.0-only
"""Packets of a connection leave the gateway in the order in which they came."""

import os
from collections.abc import Iterator

import pytest
from conftest import StartGateway
from harness import net
from harness.capture import FIN, Capture, Segment, segments
from harness.gateway import host, mbps_for
from harness.transfer import Transfer, window

Packet = tuple[int, int, int, int]


def packets(flow: list[Segment]) -> list[Packet]:
    """What tells packets apart, in their order."""
    return [(s.seq, s.ack, s.flags, s.payload) for s in flow]


@pytest.fixture
def one_cpu() -> Iterator[None]:
    """All on one processor: a veth itself reorders what two processors send at the same time."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


@pytest.mark.usefixtures("one_cpu")
@pytest.mark.parametrize("address", [net.host4(0), net.host6(0)])
def test_nothing_overtakes(
    network: net.Network, start: StartGateway, release: str, address: str
) -> None:
    """Data both ways, so that data, pure ACKs and FINs of one sender share the paced way."""
    network.segmentation(False)
    start(network, release=release, host=[host(address, mbps_for(1))])
    with (
        Capture(network.wired, "eth0", snap=160) as before,
        Capture(network.host, "eth0", snap=160) as after,
    ):
        run = Transfer(
            network.wired, network.host, address, 1_500_000, both_ways=True, options=window(65536)
        ).start()
        results = run.wait_all()
        after.quiet(0.5)
    assert all(result.intact for result in results)
    came = packets(segments(before.stop(), run.sender_port, sent_by=True))
    left = packets(segments(after.stop(), run.sender_port, sent_by=True))
    assert len(came) > 400
    assert left == came
    pure = sum(1 for _, _, _, payload in came if payload == 0)
    assert pure > 20, "the transfer had too few pure ACKs to show anything"


@pytest.mark.usefixtures("one_cpu")
def test_an_in_order_sender_arrives_in_order(network: net.Network, start: StartGateway) -> None:
    """Super packets are cut, still in order, and the FIN is last."""
    network.segmentation(True)
    start(network, host=[host(net.host4(0), mbps_for(0.5))])
    with Capture(network.host, "eth0", snap=160) as after:
        run = Transfer(
            network.wired, network.host, net.host4(0), 1_500_000, options=window(256 * 1024)
        ).start()
        assert run.wait().intact
        after.quiet(0.3)
    data = [s for s in segments(after.stop(), run.sender_port, sent_by=True) if s.payload]
    first = data[0].seq
    order = [(s.seq - first) % 2**32 for s in data]
    assert order == sorted(order)
    assert len(set(order)) == len(order), "a lossless way needs no retransmission"
    fin = [s for s in segments(after.frames, run.sender_port, sent_by=True) if s.flags & FIN]
    assert fin
    assert fin[0].time_ns >= data[-1].time_ns
