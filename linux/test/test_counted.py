# SPDX-License-Identifier: GPL-2.0-only
"""Every host and every packet counts: thousands of hosts, and what is neither TCP nor UDP."""

import signal
import socket
import struct
from collections.abc import Iterator

import pytest
from conftest import StartGateway
from harness import arena, maps, net
from harness.arena import Arena
from harness.capture import ACK, PSH
from harness.fuzz import MESH, WIRED, Fields, ipv4, tcp
from harness.gateway import PATIENCE_S, Gateway, until
from harness.talk import Talk, others, raw

MANY = 5000
HOPS, PREFIX = 3, "10.1.0.0/16"
SERVER = socket.inet_aton("192.0.2.7")


@pytest.fixture
def place() -> Iterator[Arena]:
    with arena.routed() as made:
        yield made


def begin(place: Arena, start: StartGateway, **config: object) -> Gateway:
    network = net.Network(place.wired, place.gateway, [place.mesh])
    return start(network, law="even", **config)


def address(number: int) -> bytes:
    return socket.inet_aton(f"10.1.{16 + number // 250}.{1 + number % 250}")


def uploads(place: Arena) -> Iterator[tuple[int, bytes]]:
    """Each host sends a little, which is acknowledged."""
    for side in (MESH, WIRED):
        source, target = place.macs[side]
        for number in range(MANY):
            ends = (address(number), SERVER) if side == MESH else (SERVER, address(number))
            ports = (2000, 443) if side == MESH else (443, 2000)
            payload = b"x" * 100 if side == MESH else b""
            numbers = (1, 1) if side == MESH else (1, 101)
            fields = Fields(*ports, *numbers, ACK | PSH if payload else ACK)
            packet = ipv4(*ends, tcp(*ends, fields, payload), 61)
            yield side, target + source + b"\x08\x00" + packet


def test_five_thousand_hosts(place: Arena, start: StartGateway) -> None:
    """Tables of 4096 forgot who came first, and never wrote an entry again."""
    hosts = [{"address": PREFIX, "hops": HOPS, "mbps": 11.0}]
    gateway = begin(place, start, host=hosts)
    first = Talk(place, 3000)
    first.data(MESH, 0)
    first.acknowledge(WIRED, 1000)
    gateway.fresh_status()
    arena.send_all(place, uploads(place))

    def active() -> int:
        return sum(bool(row["active_up"]) for row in gateway.status()["hosts"])

    until(lambda: active() >= MANY, PATIENCE_S, gateway)
    status = gateway.status()
    rows = {row["address"]: row for row in status["hosts"]}
    assert len(rows) == MANY + 1
    assert status["counters"]["flows_evicted"] == 0
    last = rows[socket.inet_ntoa(address(MANY - 1))]
    assert (last["hops"], last["hops_source"], last["active_up"]) == (HOPS, "config", True)
    known = {
        key: struct.unpack_from("<I", value)[0] for key, value in maps.rows(gateway, "mp_hosts")
    }
    mapped = bytes(10) + b"\xff\xff"
    assert all(known[mapped + address(number)] == HOPS for number in range(MANY))
    first.data(MESH, 1000)
    gateway.fresh_status()  # two interfaces: an ACK can be there before its data
    first.acknowledge(WIRED, 2000)

    def first_goes_on() -> bool:
        # Of five thousand rows some are read before what has come meanwhile.
        status = gateway.status()
        row = next(row for row in status["hosts"] if row["address"] == "10.1.0.7")
        flow = gateway.flow(3000, "up")
        return bool(flow and flow["acked_bytes"] == 2000 and row["active_up"])

    until(first_goes_on, PATIENCE_S, gateway)


def test_what_is_neither_tcp_nor_udp_counts_for_its_host(place: Arena, start: StartGateway) -> None:
    """Tunnels, fragments and extension headers took air that was nobody's."""
    gateway = begin(place, start)
    packets = list(others())
    from_mesh = list(others(from_mesh=True))
    for (
        kind,
        packet,
    ) in from_mesh:  # who says nothing is a stranger, and to whom nothing came has no part
        raw(place, MESH, packet, kind)
    for kind, packet in packets:
        raw(place, WIRED, packet, kind)
    for kind, packet in from_mesh:
        raw(place, MESH, packet, kind)
    # ::ffff:10.1.0.7, and fd00::7
    ends = {bytes(10) + b"\xff\xff\x0a\x01\x00\x07": 0x0800, b"\xfd" + bytes(14) + b"\x07": 0x86DD}
    heard = dict(maps.rows(gateway, "mp_heard"))
    for host, kind in ends.items():
        down, up = struct.unpack_from("<8xQQ", heard[host])
        assert down == up == sum(len(packet) for is_, packet in packets if is_ == kind)


def queued(place: Arena) -> int:
    """Packets that netfilter has given to the daemon so far."""
    row = place.gateway.run("cat", "/proc/net/netfilter/nfnetlink_queue").split()
    return int(row[7])


def test_udp_goes_by_while_nobody_has_a_cap(place: Arena, start: StartGateway) -> None:
    """All of it crossed the daemon, for nothing; TCP does, to be paced."""
    begin(place, start, release="nfqueue")
    ends = SERVER, socket.inet_aton("10.1.0.7")
    datagram = struct.pack("!HHHH", 53, 2000, 108, 0) + bytes(100)
    for _ in range(20):
        raw(place, WIRED, ipv4(*ends, datagram, 64, protocol=socket.IPPROTO_UDP))
    assert queued(place) == 0
    Talk(place, 2000).data(WIRED, 0)
    until(lambda: queued(place) == 1, PATIENCE_S)


def test_a_map_that_cannot_be_written_ends_nothing(place: Arena, start: StartGateway) -> None:
    """Else one refused system call would end pacing for all, or leave rules behind."""
    gateway = begin(place, start)
    maps.freeze(gateway, "mp_hosts")
    gateway.configure({"law": "even", "host": [{"address": "10.1.0.0/16", "hops": HOPS}]})
    gateway.send(signal.SIGHUP)
    gateway.logged("configuration read again", 5)
    talk = Talk(place, 2000)
    talk.data(MESH, 0)
    talk.acknowledge(WIRED, 1000)
    gateway.logged("10.1.0.7: by defaults", 5)
    gateway.fresh_status()
    flow = gateway.flow(2000, "up")
    assert flow
    assert flow["acked_bytes"] == 1000
    assert gateway.stop() == 0
    assert "meshpace" not in place.gateway.run("iptables", "-t", "mangle", "-S")
