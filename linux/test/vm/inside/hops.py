# SPDX-License-Identifier: GPL-2.0-only
"""Hops and bit rate of a mesh host two hops away, as the gateway finds them by itself."""

from typing import Any

from conftest import StartGateway
from harness import net
from harness.gateway import until
from harness.traces import Traces, left_behind
from harness.transfer import Transfer, window


def found_hops(network: net.Network, start: StartGateway, source: str) -> dict[str, Any]:
    """
    A download through the gateway, which must say two hops from `source` (TTL would say one, so
    would the default) and leave nothing behind. Returns the flow's status.
    """
    before = Traces.of(network.gateway)
    gateway = start(network)
    limits = window(64 * 1024)
    with Transfer(network.wired, network.host, net.host4(0), options=limits) as transfer:
        port = transfer.receiver_port

        def known() -> dict[str, Any] | None:
            flow = gateway.flow(port)
            return flow if flow and flow["hops_source"] == source else None

        flow: dict[str, Any] = until(known, 20, gateway)
        until(lambda: transfer.received > 200_000, 30, gateway)
        assert transfer.finish().intact
    assert flow["hops"] == 2
    hosts = {one["address"]: one for one in gateway.status()["hosts"]}
    assert hosts[net.host4(0)]["hops"] == 2
    assert hosts[net.host4(0)]["hops_source"] == source
    assert gateway.stop() == 0
    assert not left_behind(network.gateway, before)
    return flow
