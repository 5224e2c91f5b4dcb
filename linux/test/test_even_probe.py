# SPDX-License-Identifier: GPL-2.0-only
"""The law `even`: the gateway asks a path that was broken, before its sender tries again."""

import time
from dataclasses import dataclass

import pytest
from conftest import StartGateway
from harness import lossy, net
from harness.gateway import Gateway, host
from harness.transfer import Transfer

pytestmark = pytest.mark.measured

RADIO = lossy.Radio(delay_ms=10.0, kbps=5000)
HOST = "10.2.0.2"
BREAK_S, PATIENCE_S = 8.0, 30.0
# The gateway looks once a second; a probe, and the round trip after it.
AGAIN_S = 2.0


@dataclass(frozen=True)
class Outcome:
    """Of a break: what the gateway sent again in it, and how long nothing arrived after it."""

    probes: int
    silence_s: float


def broken(network: net.Network, gateway: Gateway) -> Outcome:
    assert network.air
    with Transfer(network.wired, network.host, HOST) as run:
        time.sleep(4)
        network.air.ip("route", "add", "blackhole", f"{HOST}/32")
        time.sleep(1)
        before, again = run.received, gateway.flow(run.receiver_port)
        time.sleep(BREAK_S - 1)
        assert run.received == before, "the path was not broken"
        flow = gateway.flow(run.receiver_port)
        assert again
        assert flow
        network.air.ip("route", "del", "blackhole", f"{HOST}/32")
        mended = time.monotonic()
        while run.received == before and time.monotonic() < mended + PATIENCE_S:
            time.sleep(0.01)
        probes = flow["local_retransmits"] - again["local_retransmits"]
        return Outcome(probes, time.monotonic() - mended)


def test_a_broken_path_is_asked(start: StartGateway) -> None:
    """Else a flow is silent as long again as its route was broken, and others have its share."""
    with net.relayed(RADIO) as network:
        path = [host(HOST, 11.0, 2)]
        gateway = start(network, law="gap", host=path)
        gap = broken(network, gateway)
        gateway.end()
        even = broken(network, start(network, law="even", host=path))
    print(f"gap {gap}, even {even}")
    assert gap.probes == 0
    # One a second but where the sender itself tries; the first second is not counted.
    assert BREAK_S / 2 - 1 <= even.probes <= BREAK_S
    assert even.silence_s <= AGAIN_S
