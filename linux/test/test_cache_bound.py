# SPDX-License-Identifier: GPL-2.0-only
"""The retransmit cache beside flows that are never acknowledged: bounded, and of use to others."""

import socket
import struct
import time
from collections.abc import Iterator

import pytest
from conftest import StartGateway
from harness import net
from harness.capture import ACK
from harness.fuzz import Fields, ipv4, tcp
from harness.gateway import host
from harness.lossy import Radio
from harness.record import Recorder
from harness.transfer import Transfer, window

pytestmark = pytest.mark.measured

# Holes that lie apart, and time to fill them, as in test_integrity.py.
WINDOW = 32 * 1024
RADIO, ADDRESS = Radio(delay_ms=20.0, lost_each=2 * WINDOW // 1448), "10.2.0.2"
# A small cache fills in a short test; at full length it is the shipped one, and a minute.
CACHE_MIB, SHIPPED_MIB = 4, 32
# What the allocator keeps beside, and the daemon's tables.
BESIDE_MIB = 16
PAYLOAD_BYTES = 1448
# core's unanswered.h
UNANSWERED_WINDOW = 65535
# Together more than twice the bound.
SECONDS, FULL_SECONDS, PACKETS_PER_S = 7.0, 60.0, 5000
SEQ_AT = 14 + 20 + 4


def unanswered(network: net.Network, flows: int) -> Iterator[bytearray]:
    """Segments of so many flows by turns, to hosts of the mesh that do not exist."""
    head = network.gateway.mac("eth0") + network.wired.mac("eth0") + b"\x08\x00"
    wired = socket.inet_aton(net.WIRED4)
    frames = []
    for index in range(flows):
        mesh = struct.pack("!BBH", 10, 9, index)
        segment = tcp(mesh, wired, Fields(80, 5000, 0, 1, ACK), bytes(PAYLOAD_BYTES))
        frames.append(bytearray(head + ipv4(wired, mesh, segment, 64)))
    seq = 0
    while True:
        for frame in frames:
            struct.pack_into("!I", frame, SEQ_AT, seq)
            yield frame
        seq += PAYLOAD_BYTES


def pour(network: net.Network, flows: int, seconds: float) -> int:
    """Sends them for so long; how many."""
    frames, count, begin = unanswered(network, flows), 0, time.monotonic()
    with network.wired.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind(("eth0", 0))
        while (passed := time.monotonic() - begin) < seconds:
            for _ in range(int(passed * PACKETS_PER_S) - count):
                sender.send(next(frames))
                count += 1
            time.sleep(0.002)
    return count


@pytest.mark.parametrize("flows", [1, 1000])
def test_what_is_never_acknowledged_has_its_bound(
    start: StartGateway, record: Recorder, flows: int, full: bool
) -> None:
    with net.relayed(RADIO) as network:
        hosts = [host(ADDRESS, 20.0, 1)]
        retransmit_cache_mib, seconds = (
            (SHIPPED_MIB, FULL_SECONDS) if full else (CACHE_MIB, SECONDS)
        )
        config = {} if full else {"retransmit_cache_mib": retransmit_cache_mib}
        gateway = start(network, law="even", host=hosts, **config)
        at_first = gateway.memory_kib()
        sent = pour(network, flows, seconds)
        flood = gateway.fresh_status()["counters"]
        assert sent * PAYLOAD_BYTES > 2 * (retransmit_cache_mib + BESIDE_MIB) << 20
        options = window(WINDOW)
        # Who begins while the cache is full is paced, and his losses are mended from it.
        with Transfer(network.wired, network.host, ADDRESS, options=options) as transfer:
            more = pour(network, flows, seconds)
            gateway.fresh_status()
            flow = gateway.flow(transfer.receiver_port)
            counters = gateway.fresh_status()["counters"]
            grown = gateway.memory_kib() - at_first
            assert transfer.finish().intact
    print(f"{sent + more} packets, grown by {grown} KiB, {flow}, {counters}")
    what = f"the daemon grows by, retransmit_cache_mib = {retransmit_cache_mib}"
    record(what, "MiB", grown / 1024, f"under {retransmit_cache_mib + BESIDE_MIB}")
    assert grown < (retransmit_cache_mib + BESIDE_MIB) * 1024
    assert counters["cache_bytes"] <= retransmit_cache_mib << 20
    # Beyond a flow's first window nobody will ask for a copy.
    copied = flood["segments_stored"] + flood["segments_not_stored"]
    assert copied == min(sent, flows * (UNANSWERED_WINDOW // PAYLOAD_BYTES))
    room = (retransmit_cache_mib << 20) // PAYLOAD_BYTES
    assert counters["segments_evicted"] >= flood["segments_stored"] - room
    assert flow
    assert flow["interval_us"] > 0
    assert flow["local_retransmits"] > 5
    assert flow["retransmits"] < flow["local_retransmits"]
