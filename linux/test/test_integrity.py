# SPDX-License-Identifier: GPL-2.0-only
"""Every byte arrives, whatever the radio loses or reorders; local retransmission or not."""

import pytest
from conftest import StartGateway
from harness import net
from harness.gateway import host
from harness.lossy import Radio
from harness.transfer import Transfer, window

LOSSY = Radio(delay_ms=4, loss=0.02, reorder=0.02, seed=5)
SIZE_BYTES = 600_000
# A window holds one hole at most: of a second one the ACK that follows the first one's copy tells
# the sender by SACK, unless the law goes by that. And a hole is filled a round trip after the
# duplicate ACKs that the sender does not see, while it waits for two before it probes by itself
# (RFC 8985, 7.2): the other is what a busy machine may be late by.
WINDOW = 32 * 1024
ALONE = Radio(delay_ms=20, lost_each=2 * WINDOW // 1448)


@pytest.mark.parametrize("local", [True, False], ids=["local-retransmission", "plain"])
def test_transfers_survive_loss_and_reordering(
    start: StartGateway, release: str, local: bool, law: str
) -> None:
    hosts = [host(net.host4(0), 20.0), host(net.host6(0), 20.0)]
    with net.over_radio(LOSSY) as network:
        gateway = start(network, release=release, local_retransmission=local, host=hosts, law=law)
        runs = [
            Transfer(a, b, address, SIZE_BYTES, seed=n, options=window(128 * 1024)).start()
            for n, (a, b, address) in enumerate(
                [
                    (network.wired, network.host, net.host4(0)),
                    (network.wired, network.host, net.host6(0)),
                    (network.host, network.wired, net.WIRED4),
                    (network.host, network.wired, net.WIRED6),
                ]
            )
        ]
        results = [run.wait() for run in runs]
        counters = gateway.fresh_status()["counters"]
    print(counters, results)
    assert all(r.intact and r.received_bytes == SIZE_BYTES for r in results)
    assert (counters["dupacks_withheld"] > 0) == (local and release != "observe")


@pytest.mark.measured
@pytest.mark.parametrize("law", [pytest.param("even", marks=pytest.mark.smoke), "gap"])
def test_the_gateway_fills_holes_itself(start: StartGateway, law: str) -> None:
    """Losses on the radio are answered from the retransmit cache; the sender hears of few."""
    with net.over_radio(ALONE) as network:
        gateway = start(network, host=[host(net.host4(0), 5.0)], law=law)
        transfer = Transfer(
            network.wired, network.host, net.host4(0), SIZE_BYTES, options=window(WINDOW)
        ).start()
        assert transfer.wait().intact
        gateway.fresh_status()
        flow = gateway.flow(transfer.receiver_port)
    assert flow
    print(flow)
    assert flow["local_retransmits"] > 2
    assert flow["retransmits"] < flow["local_retransmits"]
