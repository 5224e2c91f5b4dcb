# SPDX-License-Identifier: GPL-2.0-only
"""Conversations, packet by packet, between ends that answer nothing by themselves."""

import socket
import struct
import time
from collections.abc import Iterator
from typing import TypedDict, Unpack

from harness.arena import Arena
from harness.capture import ACK, PSH, Capture
from harness.fuzz import MESH, WIRED, Fields, checksum, ipv4, ipv6, pseudo_header, tcp

_ETHERNET = 14
_WIRED_PORT = 443
# Sequence numbers that both wrap under way.
FIRST = (2**32 - 700, 2**32 - 50)


class _More(TypedDict, total=False):
    """What a packet has beside its flags."""

    seq: int
    ack: int
    payload: bytes
    options: bytes
    ttl: int


class Talk:
    """Each method sends one packet; numbers count from the conversation's beginning."""

    def __init__(self, place: Arena, mesh_port: int, host: str = "10.1.0.7") -> None:
        self.place, self.mesh_port = place, mesh_port
        self.addresses = socket.inet_aton("192.0.2.7"), socket.inet_aton(host)

    def send(self, side: int, flags: int = ACK, **more: Unpack[_More]) -> bytes:
        """Sends it and returns what of it should arrive: from the IP addresses on."""
        packet = self.packet(side, flags, **more)
        raw(self.place, side, packet)
        return packet[12:]

    def packet(
        self,
        side: int,
        flags: int = ACK,
        seq: int = 0,
        ack: int = 0,
        payload: bytes = b"",
        options: bytes = b"",
        ttl: int = 64,
    ) -> bytes:
        """As it is sent, from its IP header on."""
        ports = (_WIRED_PORT, self.mesh_port)
        numbers = FIRST[side] + seq, FIRST[1 - side] + ack
        fields = Fields(ports[side], ports[1 - side], *numbers, flags, options=options)
        ends = self.addresses[side], self.addresses[1 - side]
        return ipv4(*ends, tcp(*ends, fields, payload), ttl)

    def data(self, side: int, seq: int, ack: int = 0) -> None:
        """A thousand bytes."""
        self.send(side, ACK | PSH, seq=seq, ack=ack, payload=b"d" * 1000)

    def acknowledge(self, side: int, ack: int, options: bytes = b"", ttl: int = 64) -> bytes:
        return self.send(side, ACK, ack=ack, options=options, ttl=ttl)


def framed(place: Arena, side: int, packet: bytes, kind: int = 0x0800) -> bytes:
    """An IP packet in a frame of that side's."""
    source, target = place.macs[side]
    return target + source + struct.pack("!H", kind) + packet


def raw(place: Arena, side: int, packet: bytes, kind: int = 0x0800) -> None:
    """Sends an IP packet as a frame of that side's."""
    end = place.mesh if side == MESH else place.wired
    with end.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind(("eth0", 0))
        sender.send(framed(place, side, packet, kind))
    time.sleep(0.002)  # in order, one by one


def others(from_mesh: bool = False) -> Iterator[tuple[int, bytes]]:
    """(Ethernet type, packet): what is neither plain TCP nor plain UDP, to the mesh or from it."""
    ends4 = bytes([192, 0, 2, 7]), bytes([10, 1, 0, 7])
    ends6 = (
        bytes.fromhex("20010db8000000000000000000000007"),
        bytes.fromhex("fd000000000000000000000000000007"),
    )
    if from_mesh:
        ends4, ends6 = ends4[::-1], ends6[::-1]
    segment4 = tcp(*ends4, Fields(443, 2000, 1, 1, ACK), b"x" * 600)
    segment6 = tcp(*ends6, Fields(443, 2000, 1, 1, ACK), b"x" * 600)
    for protocol in (4, 41, 47, 50, 51, 132, 136):
        yield 0x0800, ipv4(*ends4, bytes(range(200)), 64, protocol=protocol)
        yield 0x86DD, ipv6(*ends6, bytes(range(200)), 64, protocol=protocol)
    for offset, part in ((0x2000, segment4[:400]), (50, segment4[400:])):
        yield 0x0800, ipv4(*ends4, part, 64, fragment=offset, id=7)
    for offset, part in ((1, segment6[:400]), (400, segment6[400:])):
        head = struct.pack("!BBHI", 6, 0, offset, 7)
        yield 0x86DD, ipv6(*ends6, head + part, 64, protocol=44)
    for kind in (0, 60):  # hop by hop, destination options: of pads
        yield 0x86DD, ipv6(*ends6, bytes([6, 0, 1, 4, 0, 0, 0, 0]) + segment6, 64, protocol=kind)


def arrived(capture: Capture) -> list[bytes]:
    """IPv4 packets that came in, from the addresses on; a wrong TCP checksum fails."""
    capture.quiet(0.2)
    packets = [
        frame.data[_ETHERNET:]
        for frame in capture.stop()
        if not frame.outgoing and frame.data[12:14] == b"\x08\x00"
    ]
    for packet in packets:
        if packet[9] == socket.IPPROTO_TCP and packet[6:8] == b"\x40\x00":
            segment = packet[20 : int.from_bytes(packet[2:4], "big")]
            ends = packet[12:16], packet[16:20]
            assert checksum(pseudo_header(*ends, len(segment)) + segment) == 0, packet.hex()
    return [packet[12 : int.from_bytes(packet[2:4], "big")] for packet in packets]


def options_of(packet: bytes) -> bytes:
    """TCP options of a packet as `arrived` returns it."""
    return packet[8 + 20 : 8 + (packet[8 + 12] >> 4) * 4]


__all__ = ["FIRST", "MESH", "WIRED", "Talk", "arrived", "options_of", "others", "raw"]
