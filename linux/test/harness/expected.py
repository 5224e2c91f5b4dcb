# SPDX-License-Identifier: GPL-2.0-only
"""
What the gateway has to count, told by a reader of frames that shares no code with it.
Every packet at either hook is one of: TCP, a fragment, malformed, or something else.
"""

import struct
from collections import Counter
from dataclasses import dataclass, field

from harness.capture import RST, SYN, Frame

_VLAN = (0x8100, 0x88A8)
# The kernel takes the outermost tag off before the hooks; they look behind two more.
_TAGS = 3
_TCP = 6


@dataclass(frozen=True)
class Reading:
    """A frame's kind, and where it is TCP what decides about its flow."""

    kind: str
    source: tuple[bytes, int] = (b"", 0)
    target: tuple[bytes, int] = (b"", 0)
    flags: int = 0
    payload: int = 0


OTHER, FRAGMENT, MALFORMED, TCP = "other", "fragments", "malformed", "tcp"


def read(frame: bytes) -> Reading:
    at, tags = 14, 0
    (kind,) = struct.unpack_from("!H", frame, 12)
    while kind in _VLAN:
        if tags == _TAGS or len(frame) < at + 4:
            return Reading(OTHER)
        (kind,) = struct.unpack_from("!H", frame, at + 2)
        at, tags = at + 4, tags + 1
    packet = frame[at:]
    if kind == 0x0800:
        return _ipv4(packet)
    return _ipv6(packet) if kind == 0x86DD else Reading(OTHER)


def _ipv4(packet: bytes) -> Reading:
    if len(packet) < 20 or packet[0] >> 4 != 4 or packet[0] & 15 < 5:
        return Reading(MALFORMED)
    length, _, fragment = struct.unpack_from("!HHH", packet, 2)
    if fragment & 0x3FFF:
        return Reading(FRAGMENT)
    if packet[9] != _TCP:
        return Reading(OTHER)
    header = (packet[0] & 15) * 4
    return _tcp(packet, header, length, packet[12:16], packet[16:20])


def _ipv6(packet: bytes) -> Reading:
    if len(packet) < 40 or packet[0] >> 4 != 6:
        return Reading(MALFORMED)
    if packet[6] != _TCP:
        return Reading(OTHER)
    (length,) = struct.unpack_from("!H", packet, 4)
    return _tcp(packet, 40, 40 + length, packet[8:24], packet[24:40])


def _tcp(packet: bytes, start: int, end: int, source: bytes, target: bytes) -> Reading:
    if len(packet) < start + 20 or end > len(packet):
        return Reading(MALFORMED)
    header = (packet[start + 12] >> 4) * 4
    if header < 20 or end < start + header:
        return Reading(MALFORMED)
    ports = struct.unpack_from("!HH", packet, start)
    return Reading(
        TCP,
        (source, ports[0]),
        (target, ports[1]),
        packet[start + 13],
        end - start - header,
    )


@dataclass
class Expected:
    """Counters after a series of frames at the mesh interface."""

    counts: Counter[str] = field(default_factory=Counter)
    flows: set[tuple[object, ...]] = field(default_factory=set)

    def take(self, frame: Frame) -> None:
        """One frame: outgoing is to the mesh, else from it."""
        reading = read(frame.data)
        self.counts["packets"] += 1
        self.counts[reading.kind] += 1
        if reading.kind == TCP:
            self._follow(reading, frame.outgoing)

    def _follow(self, reading: Reading, to_mesh: bool) -> None:
        """
        A flow begins with its first data. A SYN or RST of one end alone changes none; that a SYN is
        answered by the other end, and its flows begin anew, does not come about among these frames.
        """
        mesh, wired = (
            (reading.target, reading.source) if to_mesh else (reading.source, reading.target)
        )
        if reading.flags & RST:
            return
        flow = (mesh, wired, to_mesh)
        if reading.payload and not reading.flags & SYN and flow not in self.flows:
            self.flows.add(flow)
            self.counts["flows_created"] += 1
