# SPDX-License-Identifier: GPL-2.0-only
"""
The sender's option harms no flow: not at a plain receiver, not behind firewalls, not with GRO on
the way, whether a gateway answers or not.

    wired --- gateway --- relay ))) host        firewalls are in relay and gateway
"""

import itertools
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import StartGateway
from harness import net, offload
from harness.capture import Capture, Frame, segments
from harness.lossy import Radio
from harness.namespace import Namespace
from harness.sender import Flow, Sender
from harness.transfer import Transfer

pytestmark = [pytest.mark.measured, pytest.mark.sender]

RADIO = Radio(delay_ms=2.0)
# About 1.3 MB/s: half a second, in which a flow that hears nothing has asked again.
HOPS, MBPS, SIZE = 16, 40.0, 700_000
STALL_S = 1.0
MESH = ("10.2.0.2", "fd02::2")
ASK = b"\xfe\x04\x6d\x70"
NEW, BAD = ("-m", "conntrack", "--ctstate", "NEW"), ("-m", "conntrack", "--ctstate", "INVALID")
TCP = ("-p", "tcp")

# Rules by words; a number of packets that a rule with -j DROP took is a failure.
FIREWALLS: dict[str, list[tuple[str, ...]]] = {
    "none": [],
    "conntrack": [
        ("-A", "FORWARD", *BAD, "-j", "DROP"),
        ("-A", "FORWARD", *TCP, "!", "--syn", *NEW, "-j", "DROP"),
    ],
    "strip": [
        ("-t", "mangle", "-A", "FORWARD", *TCP, "-j", "TCPOPTSTRIP", "--strip-options", "254")
    ],
    "synproxy": [
        ("-t", "raw", "-A", "PREROUTING", *TCP, "--syn", "-j", "CT", "--notrack"),
        (
            *("-A", "FORWARD", *TCP, "-m", "conntrack", "--ctstate", "INVALID,UNTRACKED"),
            *("-j", "SYNPROXY", "--sack-perm", "--timestamp", "--wscale", "7", "--mss", "1460"),
        ),
        ("-A", "FORWARD", *BAD, "-j", "DROP"),
    ],
}


@dataclass(frozen=True)
class Outcome:
    """Of a flow: what status showed at its end, how often it asked on SYN and on data."""

    flow: Flow
    asked: tuple[int, int]


@pytest.fixture
def network() -> Iterator[net.Network]:
    with net.relayed(RADIO) as made:
        for index, place in enumerate((made.air, made.gateway, made.wired)):
            assert place
            names = (["near"], ["eth0", "mesh0"], ["eth0"])[index]
            for name in names:
                offload.set_(place, name, True, *offload.SEGMENTATION)
        yield made


def forbid(network: net.Network, firewall: str) -> None:
    for place, tool in itertools.product((network.air, network.gateway), ("iptables", "ip6tables")):
        assert place
        for rule in FIREWALLS[firewall]:
            place.run(tool, *rule)
        if firewall == "synproxy":
            place.sysctl("net.netfilter.nf_conntrack_tcp_loose", "0")


def dropped(place: Namespace) -> int:
    """Packets that rules took, apart from those that SYNPROXY answers."""
    shown = [place.run(tool, "-L", "-v", "-x", "-n") for tool in ("iptables", "ip6tables")]
    return sum(int(n) for one in shown for n in re.findall(r"^\s*(\d+)\s+\d+\s+DROP", one, re.M))


def uploads(network: net.Network, sender: Sender, dialled: bool = False) -> list[Outcome]:
    """An IPv4 and an IPv6 flow at a time; both arrive whole, without a stall."""
    runs = [
        Transfer(
            network.host,
            network.wired,
            listener,
            SIZE,
            sender_listens=dialled,
            congestion="meshpace",
        )
        for listener in (MESH if dialled else (net.WIRED4, net.WIRED6))
    ]
    flows: dict[int, Flow] = {}
    with Capture(network.host, "eth0", snap=128) as capture, ThreadPoolExecutor() as pool:
        # At the same time: a proxy or a lost SYN may hold up the beginning of either.
        list(pool.map(Transfer.start, runs))
        while any(run.running for run in runs):
            flows |= sender.flows()
            time.sleep(0.05)
        for run in runs:
            result = run.wait()
            assert result.intact
            assert result.received_bytes == SIZE
            assert result.stall_s < STALL_S
    frames = capture.stop()
    return [Outcome(flows[run.sender_port], _asked(frames, run.sender_port)) for run in runs]


def _asked(frames: list[Frame], port: int) -> tuple[int, int]:
    asking = [s for s in segments(frames, port, sent_by=True) if ASK in s.options]
    on_data = sum(bool(one.payload) for one in asking)
    return len(asking) - on_data, on_data


@pytest.mark.parametrize("firewall", FIREWALLS)
def test_where_a_gateway_answers(
    network: net.Network, tmp_path: Path, start: StartGateway, firewall: str
) -> None:
    """The question reaches it on the SYN or later; RTT_wired comes back through the relay."""
    start(network)
    forbid(network, firewall)
    with Sender(network.host, tmp_path).on(HOPS, MBPS) as sender:
        outcomes = uploads(network, sender)
    print(outcomes)
    for outcome in outcomes:
        assert outcome.asked[0] == 1
        assert (outcome.flow["signals"] > 100) == (firewall != "strip")
        assert outcome.flow["retransmits"] == 0
    assert network.air
    assert dropped(network.air) + dropped(network.gateway) == 0


@pytest.mark.parametrize("firewall", FIREWALLS)
def test_where_nobody_answers(network: net.Network, tmp_path: Path, firewall: str) -> None:
    """The question goes all the way to the receiver, on the SYN and on data."""
    forbid(network, firewall)
    with Sender(network.host, tmp_path).on(HOPS, MBPS) as sender:
        outcomes = uploads(network, sender)
    print(outcomes)
    for outcome in outcomes:
        assert outcome.asked[0] == 1
        assert outcome.asked[1] >= 1
        assert outcome.flow["signals"] == 0
        assert outcome.flow["retransmits"] == 0
    assert network.air
    assert dropped(network.air) + dropped(network.gateway) == 0


@pytest.mark.parametrize("dialled", [False, True], ids=["dials", "dialled"])
def test_a_firewall_that_drops_what_asks(
    network: net.Network, tmp_path: Path, dialled: bool
) -> None:
    """Costs a lost SYN and some lost packets, not the flow."""
    assert network.air
    for tool in ("iptables", "ip6tables"):
        network.air.run(tool, "-A", "FORWARD", *TCP, "--tcp-option", "254", "-j", "DROP")
    with Sender(network.host, tmp_path).on(HOPS, MBPS) as sender:
        outcomes = uploads(network, sender, dialled)
    print(outcomes)
    assert dropped(network.air) > 0
    for outcome in outcomes:
        assert outcome.flow["retransmits"] < 20
