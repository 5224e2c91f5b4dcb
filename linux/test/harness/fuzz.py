# SPDX-License-Identifier: GPL-2.0-only
"""
Seeded hostile frames: a few hundred conversations whose packets are then damaged in every
way that a parser may trip over. The same seed gives the same frames.
"""

import random
import socket
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from harness.capture import ACK, FIN, PSH, RST, SYN

WIRED, MESH = 0, 1
_CONVERSATIONS = 300
_FRAME_MAX = 1514
_TCP = 6
_ETHERTYPES = {4: 0x0800, 6: 0x86DD}


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def pseudo_header(source: bytes, target: bytes, length: int) -> bytes:
    if len(source) == 4:
        return source + target + struct.pack("!BBH", 0, _TCP, length & 0xFFFF)
    return source + target + struct.pack("!IHBB", length, 0, 0, _TCP)


def ipv4(source: bytes, target: bytes, payload: bytes, ttl: int, **other: int) -> bytes:
    """An IPv4 packet with a right checksum whatever else is wrong with it."""
    options = bytes(other.get("option_words", 0) * 4)
    length = other.get("length", 20 + len(options) + len(payload)) & 0xFFFF
    first = other.get("version", 4) << 4 | other.get("ihl", 5 + len(options) // 4)
    head = struct.pack(
        "!BBHHHBBH4s4s",
        first,
        other.get("tos", 0),
        length,
        other.get("id", 0),
        other.get("fragment", 0x4000),
        ttl,
        other.get("protocol", _TCP),
        0,
        source,
        target,
    )
    sum_ = checksum(head + options)
    return head[:10] + struct.pack("!H", sum_) + head[12:] + options + payload


def ipv6(source: bytes, target: bytes, payload: bytes, ttl: int, **other: int) -> bytes:
    first = other.get("version", 6) << 28 | other.get("tos", 0) << 20
    length = other.get("length", len(payload)) & 0xFFFF
    head = struct.pack("!IHBB", first, length, other.get("protocol", _TCP), ttl)
    return head + source + target + payload


def tcp(source: bytes, target: bytes, fields: "Fields", payload: bytes) -> bytes:
    """A TCP segment with a right checksum."""
    offset = fields.offset if fields.offset is not None else 5 + (len(fields.options) + 3) // 4
    options = fields.options + bytes(-len(fields.options) % 4)
    head = struct.pack(
        "!HHIIBBHHH",
        fields.source_port,
        fields.target_port,
        fields.seq % 2**32,
        fields.ack % 2**32,
        (offset & 15) << 4,
        fields.flags,
        fields.window,
        0,
        0,
    )
    segment = head + options + payload
    sum_ = checksum(pseudo_header(source, target, len(segment)) + segment)
    return segment[:16] + struct.pack("!H", sum_) + segment[18:]


@dataclass
class Fields:
    """The TCP header of a packet to be made. `offset`: in words, None for the right one."""

    source_port: int
    target_port: int
    seq: int
    ack: int
    flags: int
    window: int = 500
    options: bytes = b""
    offset: int | None = None


@dataclass
class Conversation:
    """Both ends of a TCP connection, and how far each has sent. Index: WIRED, MESH."""

    version: int
    addresses: tuple[bytes, bytes]
    ports: tuple[int, int]
    sent: list[int]


class Fuzzer:
    """Frames from either side, addressed to the gateway's interfaces or straight across."""

    def __init__(self, seed: int, macs: tuple[tuple[bytes, bytes], tuple[bytes, bytes]]) -> None:
        """macs: for each side, source and target address of its frames."""
        self.chance = random.Random(seed)
        self.macs = macs
        self.conversations = [self._conversation(n) for n in range(_CONVERSATIONS)]
        self.ways: list[Callable[[int, Conversation], bytes]] = [
            self.plain,
            self.plain,
            self.plain,
            self.wrong_lengths,
            self.wrong_header,
            self.fragment,
            self.wrong_offset,
            self.wild_options,
            self.other_protocol,
            self.extension_headers,
            self.tagged,
            self.flipped,
            self.truncated,
            self.trailed,
            self.noise,
        ]

    def frames(self, count: int) -> Iterator[tuple[int, bytes]]:
        """So many (side, frame), about half from each side."""
        for _ in range(count):
            side = self.chance.randrange(2)
            way = self.chance.choice(self.ways)
            yield side, way(side, self.chance.choice(self.conversations))[:_FRAME_MAX]

    def _conversation(self, n: int) -> Conversation:
        hosts = self.chance.randrange(3, 60), self.chance.randrange(3, 60)
        if n % 3:
            text = f"192.0.2.{hosts[0]}", f"10.1.0.{hosts[1]}"
            version, family = 4, socket.AF_INET
        else:
            text = f"2001:db8::{hosts[0]:x}", f"fd00::{hosts[1]:x}"
            version, family = 6, socket.AF_INET6
        ends = socket.inet_pton(family, text[0]), socket.inet_pton(family, text[1])
        ports = self.chance.randrange(1, 65536), self.chance.randrange(1, 65536)
        start = [self.chance.randrange(2**32) for _ in range(2)]
        return Conversation(version, ends, ports, start)

    def _ethernet(self, side: int, kind: int, packet: bytes) -> bytes:
        source, target = self.macs[side]
        return target + source + struct.pack("!H", kind) + packet

    def _fields(self, side: int, talk: Conversation, payload: int) -> Fields:
        """What comes next in the conversation; now and then a jump, or strange flags."""
        rare = self.chance.random()
        flags = ACK | (PSH if rare < 0.2 else 0)
        if rare > 0.93:
            flags = self.chance.choice([SYN, SYN | ACK, FIN | ACK, RST, RST | ACK, 0, 0xFF, FIN])
        seq = talk.sent[side]
        if 0.2 < rare < 0.3:
            seq += self.chance.choice([-1448, 1448, 2**31, self.chance.randrange(2**32)])
        elif payload:
            talk.sent[side] += payload
        ack = talk.sent[1 - side] - self.chance.choice([0, 0, 0, 1, 500, 1448, 2**30])
        return Fields(talk.ports[side], talk.ports[1 - side], seq, ack, flags)

    def _payload(self) -> bytes:
        return self.chance.randbytes(self.chance.choice([0, 0, 0, 1, 3, 100, 536, 1400]))

    def _segment(self, side: int, talk: Conversation, fields: Fields | None = None) -> bytes:
        payload = self._payload()
        fields = fields or self._fields(side, talk, len(payload))
        return tcp(talk.addresses[side], talk.addresses[1 - side], fields, payload)

    def _packet(
        self, side: int, talk: Conversation, payload: bytes | None = None, **other: int
    ) -> bytes:
        make = ipv4 if talk.version == 4 else ipv6
        ttl = self.chance.choice([2, 50, 61, 64, 64, 64, 128, 255, self.chance.randrange(256)])
        payload = self._segment(side, talk) if payload is None else payload
        return make(talk.addresses[side], talk.addresses[1 - side], payload, ttl, **other)

    def _framed(self, side: int, talk: Conversation, packet: bytes) -> bytes:
        return self._ethernet(side, _ETHERTYPES[talk.version], packet)

    def plain(self, side: int, talk: Conversation) -> bytes:
        return self._framed(side, talk, self._packet(side, talk))

    def wrong_lengths(self, side: int, talk: Conversation) -> bytes:
        """The IP header's length contradicts what is there."""
        segment = self._segment(side, talk)
        header = 20 if talk.version == 4 else 0
        right = header + len(segment)
        near = right + self.chance.choice([-60, -21, -20, -9, -1, 1, 2, 8, 40])
        length = self.chance.choice(
            [0, 1, 19, 20, 39, 40, 59, 60, near, near, self.chance.randrange(65536)]
        )
        return self._framed(side, talk, self._packet(side, talk, segment, length=max(0, length)))

    def wrong_header(self, side: int, talk: Conversation) -> bytes:
        """Versions and header lengths that are wrong, or right with IPv4 options."""
        if self.chance.random() < 0.4:
            words = self.chance.randrange(1, 11)
            return self._framed(side, talk, self._packet(side, talk, option_words=words))
        wrong = self.chance.randrange(16)
        if self.chance.random() < 0.5:
            return self._framed(side, talk, self._packet(side, talk, ihl=wrong))
        return self._framed(side, talk, self._packet(side, talk, version=wrong))

    def fragment(self, side: int, talk: Conversation) -> bytes:
        bits = self.chance.choice([0x2000, 0x2001, 1, 5, 0x1FFF, 0x8000, 0x6000, 0xFFFF])
        if talk.version == 4:
            return self._framed(side, talk, self._packet(side, talk, fragment=bits))
        head = struct.pack("!BBHI", _TCP, 0, bits, self.chance.randrange(2**32))
        payload = head + self._segment(side, talk)
        return self._framed(side, talk, self._packet(side, talk, payload, protocol=44))

    def wrong_offset(self, side: int, talk: Conversation) -> bytes:
        fields = self._fields(side, talk, 0)
        fields.offset = self.chance.randrange(16)
        return self._framed(side, talk, self._packet(side, talk, self._segment(side, talk, fields)))

    def wild_options(self, side: int, talk: Conversation) -> bytes:
        """TCP options: broken lists, full headers, ours and the question for it among them."""
        fields = self._fields(side, talk, 0)
        ours = bytes([254, 8, 0x6D, 0x70]) + self.chance.randbytes(4)
        question = bytes([254, 4, 0x6D, 0x70])
        fields.options = self.chance.choice(
            [
                ours,
                ours * self.chance.randrange(1, 6),
                question,
                question + b"\1" * 4,
                b"\1" * 4 * self.chance.randrange(10) + question,
                bytes([8, 10]) + self.chance.randbytes(8) + bytes([5, 26]) + bytes(24) + b"\1\1",
                bytes([8, 0]) + bytes(10),
                bytes([8, 1]) + bytes(10),
                bytes([254, 40]) + bytes(6),
                b"\1" * self.chance.randrange(1, 41),
                self.chance.randbytes(self.chance.randrange(1, 41)),
            ]
        )
        return self._framed(side, talk, self._packet(side, talk, self._segment(side, talk, fields)))

    def other_protocol(self, side: int, talk: Conversation) -> bytes:
        protocol = self.chance.choice([17, 47, 50, 132, 4, 41, 255, self.chance.randrange(256)])
        payload = self.chance.randbytes(self.chance.randrange(0, 200))
        return self._framed(side, talk, self._packet(side, talk, payload, protocol=protocol))

    def extension_headers(self, side: int, talk: Conversation) -> bytes:
        """Chains of IPv6 extension headers, some of them too long; IPv4 gets options instead."""
        if talk.version == 4:
            return self.wrong_header(side, talk)
        kinds = [self.chance.choice([0, 43, 44, 51, 60, 135, 59]) for _ in range(3)]
        kinds = kinds[: self.chance.randrange(1, 4)]
        payload = self._segment(side, talk)
        for following in [_TCP, *kinds[:0:-1]]:
            # A header of pads, eight bytes; its length field is not always true.
            length = self.chance.choice([0, 0, 0, 1, 255])
            payload = bytes([following, length, 1, 4, 0, 0, 0, 0]) + payload
        return self._framed(side, talk, self._packet(side, talk, payload, protocol=kinds[0]))

    def tagged(self, side: int, talk: Conversation) -> bytes:
        """One to four VLAN tags, also cut off within them."""
        kind, packet = _ETHERTYPES[talk.version], self._packet(side, talk)
        for _ in range(self.chance.randrange(1, 5)):
            packet = struct.pack("!HH", self.chance.randrange(65536), kind) + packet
            kind = self.chance.choice([0x8100, 0x88A8])
        frame = self._ethernet(side, kind, packet)
        return frame[: self.chance.randrange(14, 40)] if self.chance.random() < 0.1 else frame

    def flipped(self, side: int, talk: Conversation) -> bytes:
        """Some bytes behind the addresses are others."""
        frame = bytearray(self.plain(side, talk))
        for _ in range(self.chance.randrange(1, 9)):
            frame[self.chance.randrange(12, min(len(frame), 90))] = self.chance.randrange(256)
        return bytes(frame)

    def truncated(self, side: int, talk: Conversation) -> bytes:
        frame = self.plain(side, talk)
        return frame[: self.chance.randrange(14, min(len(frame), 120) + 1)]

    def trailed(self, side: int, talk: Conversation) -> bytes:
        """More on the wire than the IP header says, as with padding."""
        return self.plain(side, talk) + self.chance.randbytes(self.chance.randrange(1, 50))

    def noise(self, side: int, talk: Conversation) -> bytes:
        """Random bytes, mostly under a known type."""
        kind = self.chance.choice([0x0800, 0x86DD, 0x8100, self.chance.randrange(65536)])
        packet = self.chance.randbytes(self.chance.randrange(0, 150))
        if kind == _ETHERTYPES[talk.version] and packet:
            packet = bytes([0x45 if talk.version == 4 else 0x60]) + packet[1:]
        return self._ethernet(side, kind, packet)
