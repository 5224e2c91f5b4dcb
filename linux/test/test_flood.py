# SPDX-License-Identifier: GPL-2.0-only
"""Floods of connections: memory stays bounded, and an established paced flow keeps its rate."""

import random
import socket
import time
from collections.abc import Iterator

import pytest
from conftest import StartGateway
from harness import net
from harness.capture import ACK, SYN
from harness.fuzz import Fields, ipv4, ipv6, tcp
from harness.gateway import PATIENCE_S, Gateway, host, mbps_for, until
from harness.lossy import Radio
from harness.pulse import idle_share
from harness.transfer import SO_MAX_PACING_RATE, Transfer, window

# A flood takes a whole processor.
pytestmark = [pytest.mark.measured, pytest.mark.alone]

MAX_FLOWS = 16_384
CACHE_MIB = 8
# The daemon's slim copy of the flow table, the cache's budget, and what the allocator keeps
# beside: several floods after one another need no more than one.
GROWTH_KIB = 2 * MAX_FLOWS + CACHE_MIB * 1024 + 24 * 1024
# 2 KiB a flow, keys and the hash table beside them, and the fixed maps.
MEMLOCK_KIB = MAX_FLOWS * 5 // 2 + 12 * 1024
RATE_TOLERANCE = 0.10
# What the machine forwards with its two cores and the transfer beside it.
PACE_PACKETS_PER_S = 20_000
# The flood and the transfer themselves take about one processor of two.
IDLE_NEEDED = 0.6
# Round trips beside which the flood's delays are small: the law has no reason to change the rate.
RADIO, RTT_MS, HOPS = Radio(delay_ms=20.0), 40.0, 128
ADDRESS = "10.2.0.2"


def unused(index: int, chance: random.Random) -> tuple[bytes, bytes]:
    """Addresses of a flow from the wired side to the mesh, IPv6 every fourth."""
    low = chance.randrange(1, 65535)
    if index % 4:
        wired = socket.inet_pton(socket.AF_INET, f"198.51.{low >> 8}.{low & 255}")
        return wired, socket.inet_pton(socket.AF_INET, f"10.9.{low & 255}.{low >> 8}")
    wired = socket.inet_pton(socket.AF_INET6, f"2001:db8:1::{low:x}")
    return wired, socket.inet_pton(socket.AF_INET6, f"fd09::{low:x}")


def flood(count: int, kind: str) -> Iterator[tuple[int, bytes]]:
    """(IP version, packet) of as many flows: SYNs, or data that begins at once."""
    chance = random.Random(11)
    for index in range(count):
        source, target = unused(index, chance)
        flags, payload = (SYN, b"") if kind == "syn" else (ACK, b"x" * 64)
        ports = chance.randrange(1024, 65536), chance.randrange(1, 65536)
        fields = Fields(*ports, chance.randrange(2**32), 1, flags)
        segment = tcp(source, target, fields, payload)
        version, make = (4, ipv4) if len(source) == 4 else (6, ipv6)
        yield version, make(source, target, segment, 64)


def pour(network: net.Network, packets: Iterator[tuple[int, bytes]]) -> None:
    """Sends packets to the gateway from the wired side, evenly."""
    target, own = network.gateway.mac("eth0"), network.wired.mac("eth0")
    heads = {version: target + own + kind for version, kind in _KINDS.items()}
    sender = network.wired.socket(socket.AF_PACKET, socket.SOCK_RAW)
    begin = time.monotonic()
    with sender:
        sender.bind(("eth0", 0))
        for count, (version, packet) in enumerate(packets):
            sender.send(heads[version] + packet)
            if count % 100 == 0:
                time.sleep(max(0.0, begin + count / PACE_PACKETS_PER_S - time.monotonic()))


_KINDS = {4: b"\x08\x00", 6: b"\x86\xdd"}


@pytest.fixture
def network() -> Iterator[net.Network]:
    """The flood's addresses end in the first node of the mesh, which says nothing."""
    with net.relayed(RADIO) as made:
        yield made


def paced() -> list[dict[str, object]]:
    return [host(ADDRESS, mbps_for(2, RTT_MS, HOPS), HOPS)]


def rate_kbps(transfer: Transfer, seconds: float) -> float:
    before, begin = transfer.received, time.monotonic()
    time.sleep(seconds)
    return (transfer.received - before) * 8 / 1e3 / (time.monotonic() - begin)


def check_memory(gateway: Gateway, at_first_kib: int) -> None:
    resident, memlock = gateway.memory_kib(), gateway.memlock_kib()
    print(f"resident {at_first_kib} -> {resident} KiB, maps {memlock} KiB")
    assert resident - at_first_kib < GROWTH_KIB
    assert memlock < MEMLOCK_KIB


def keeps_its_rate(network: net.Network, transfer: Transfer, count: int, kind: str) -> bool:
    """Whether a flood leaves the transfer its rate."""
    before = rate_kbps(transfer, 1.5)
    was, begin = transfer.received, time.monotonic()
    pour(network, flood(count, kind))
    during = (transfer.received - was) * 8 / 1e3 / (time.monotonic() - begin)
    print(f"{before:.0f} kbit/s before, {during:.0f} during")
    return during == pytest.approx(before, rel=RATE_TOLERANCE)


# Who makes a flow and what makes room is decided before any law: `gap` is tried at full length.
BY_LAW = pytest.mark.parametrize("law", ["even", pytest.param("gap", marks=pytest.mark.long)])


@BY_LAW
@pytest.mark.parametrize("kind", ["syn", "data"])
@pytest.mark.parametrize("release", ["nfqueue", "observe"])
def test_a_flood_of_flows(
    network: net.Network, start: StartGateway, law: str, release: str, kind: str, full: bool
) -> None:
    gateway = start(network, release=release, law=law, retransmit_cache_mib=CACHE_MIB, host=paced())
    # Observed flows are not paced: there the sender's own pace is what must stay.
    pace = window(64 * 1024) | {(1, SO_MAX_PACING_RATE): 700_000}
    count = 200_000 if full else 40_000
    with Transfer(network.wired, network.host, ADDRESS, options=pace) as transfer:
        until(lambda: transfer.received > 1_000_000, PATIENCE_S, gateway)
        at_first = gateway.memory_kib()
        idle = idle_share(0.5)
        kept = any(keeps_its_rate(network, transfer, count, kind) for _ in range(3))
        if not kept and idle < IDLE_NEEDED:
            pytest.skip(f"inconclusive: the machine was busy with other work, {idle:.0%} idle")
        assert kept
        check_memory(gateway, at_first)
        status = gateway.fresh_status()
        assert transfer.finish().intact
    # The table may have changed while it was read.
    assert len(status["flows"]) <= 1.01 * MAX_FLOWS
    if kind == "syn":
        assert len(status["flows"]) < 10, "a SYN alone is no flow"
    elif release == "nfqueue":
        assert len(status["flows"]) < 0.25 * MAX_FLOWS, "what nobody answers takes few places"
    else:
        assert len(status["flows"]) > 0.9 * MAX_FLOWS, "the table is full, and shown as a whole"
        assert status["counters"]["flows_evicted"] > 0


@BY_LAW
def test_a_small_table_makes_room(network: net.Network, start: StartGateway, law: str) -> None:
    """Least recently used out first: the busy flow stays, the flood's flows go."""
    gateway = start(network, law=law, max_flows=1024, host=paced())
    with Transfer(network.wired, network.host, ADDRESS, options=window(64 * 1024)) as transfer:
        until(lambda: (gateway.flow(transfer.receiver_port) or {}).get("samples", 0) > 50)
        before = gateway.flow(transfer.receiver_port)
        pour(network, flood(10_000, "data"))
        assert len(gateway.fresh_status()["flows"]) <= 1024
        flow = gateway.flow(transfer.receiver_port)
        assert before
        assert flow
        assert flow["age_s"] > before["age_s"], "forgotten and adopted anew"
        assert transfer.finish().intact
