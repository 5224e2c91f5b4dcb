# SPDX-License-Identifier: GPL-2.0-only
"""The law `even`: the gateway wakes up the sender of an upload whose path was broken."""

import time
from dataclasses import dataclass

import pytest
from conftest import StartGateway
from harness import lossy, net
from harness.gateway import Gateway, host
from harness.transfer import Transfer

pytestmark = pytest.mark.measured

RADIO = lossy.Radio(delay_ms=10.0, kbps=5000)
HOST4, HOST6 = "10.2.0.2", "fd02::2"
# Linux doubles a time-out of 0.2 to 0.4 s: after so long it waits for 6 s and more.
BREAK_S, PATIENCE_S = 13.0, 30.0
# The sender is asked while the path is broken, too, each time that lasts an eighth longer, when the
# gateway looks, once a second. Each ask takes one doubling back, so that the sender's time-out
# settles at what lies between two of them: both may have to pass.
AGAIN_S = 2 * (BREAK_S / 8 + 1.0)
# One a second for so long, then fewer.
EACH_SECOND = 8


@dataclass(frozen=True)
class Outcome:
    """Of a break: how long it was, its wake_ups, and how long nothing arrived after it."""

    broken_s: float
    wake_ups: int
    silence_s: float


@dataclass(frozen=True)
class Break:
    """Of an upload's path: what is not routed while it lasts."""

    wired: str
    lost: tuple[str, ...]


# The data alone: what an ICMP message is for. Its ACKs as well: the latest is missed, then.
DATA = Break(net.WIRED4, (net.WIRED4,))
BOTH = Break(net.WIRED6, (net.WIRED6, HOST6))


def route(network: net.Network, change: str, destinations: tuple[str, ...]) -> None:
    assert network.air
    for destination in destinations:
        family, length = ("-6", 128) if ":" in destination else ("-4", 32)
        network.air.ip(family, "route", change, "blackhole", f"{destination}/{length}")


def wake_ups(gateway: Gateway) -> int:
    """So far, as of the gateway's latest look, at most a second ago."""
    sent: int = gateway.status()["counters"]["wake_ups"]
    return sent


def broken(network: net.Network, gateway: Gateway, at: Break) -> Outcome:
    with Transfer(network.host, network.wired, at.wired) as run:
        time.sleep(4)
        earlier = wake_ups(gateway)
        broke = time.monotonic()
        route(network, "add", at.lost)
        time.sleep(1)
        before = run.received
        time.sleep(BREAK_S - 1)
        assert run.received == before, "the path was not broken"
        # Those of the silence that goes on after the break are not the break's.
        within = wake_ups(gateway) - earlier
        route(network, "del", at.lost)
        mended = time.monotonic()
        while run.received == before and time.monotonic() < mended + PATIENCE_S:
            time.sleep(0.01)
        silence_s = time.monotonic() - mended
        return Outcome(mended - broke, within, silence_s)


@pytest.mark.parametrize("at", [DATA, BOTH], ids=["data", "both"])
def test_a_silent_sender_is_woken_up(start: StartGateway, at: Break) -> None:
    """Else it is silent as long again as its route was broken, and others have its share."""
    with net.relayed(RADIO) as network:
        path = [host(HOST4, 11.0, 2), host(HOST6, 11.0, 2)]
        gateway = start(network, law="gap", host=path)
        gap = broken(network, gateway, at)
        gateway.end()
        even = broken(network, start(network, law="even", host=path), at)
    print(f"gap {gap}, even {even}")
    assert gap.wake_ups == 0
    assert EACH_SECOND <= even.wake_ups < even.broken_s
    assert even.silence_s <= AGAIN_S < gap.silence_s
