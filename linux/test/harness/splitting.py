# SPDX-License-Identifier: GPL-2.0-only
"""A host that acknowledges oftener than data comes: its kernel does not, so it is helped."""

import contextlib
import multiprocessing
import socket
import struct
from collections.abc import Iterator

from harness.capture import ACK
from harness.fuzz import checksum, pseudo_header
from harness.namespace import Namespace

_ALL_PROTOCOLS, _ETHERNET, _IPV4, _TCP = 3, 14, b"\x08\x00", 6
# In the identification field: what is sent here is seen here, too.
_OURS = 0x5917


def _pure_ack(frame: bytes) -> int:
    """Where the TCP header of a pure ACK over IPv4 begins that is not one of ours; else 0."""
    if frame[12:14] != _IPV4 or frame[_ETHERNET + 9] != _TCP:
        return 0
    length, mark = struct.unpack_from("!HH", frame, _ETHERNET + 2)
    at = _ETHERNET + (frame[_ETHERNET] & 15) * 4
    bare = length == at - _ETHERNET + (frame[at + 12] >> 4) * 4
    return at if bare and frame[at + 13] == ACK and mark != _OURS else 0


def _older(frame: bytes, at: int, bytes_: int) -> bytes:
    """The same ACK of so many bytes less."""
    ip, tcp = bytearray(frame[_ETHERNET:at]), bytearray(frame[at:])
    ack = (struct.unpack_from("!I", tcp, 8)[0] - bytes_) % 2**32
    struct.pack_into("!HHI", ip, 4, _OURS, 0x4000, struct.unpack_from("!I", ip, 8)[0] & 0xFFFF0000)
    struct.pack_into("!H", ip, 10, checksum(bytes(ip)))
    struct.pack_into("!I", tcp, 8, ack)
    struct.pack_into("!H", tcp, 16, 0)
    pseudo = pseudo_header(bytes(ip[12:16]), bytes(ip[16:20]), len(tcp))
    struct.pack_into("!H", tcp, 16, checksum(pseudo + tcp))
    return frame[:_ETHERNET] + ip + tcp


def _split(link: socket.socket, parts: int) -> None:
    while True:
        frame, (_, _, kind, *_) = link.recvfrom(2048)
        at = _pure_ack(frame) if kind == socket.PACKET_OUTGOING else 0
        for number in range(1, parts if at else 1):
            link.send(_older(frame, at, number))


@contextlib.contextmanager
def splitting(host: Namespace, parts: int) -> Iterator[None]:
    """Each ACK that the host sends takes so many packets."""
    with host.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_PROTOCOLS)) as link:
        link.bind(("eth0", 0))
        process = multiprocessing.Process(target=_split, args=(link, parts), daemon=True)
        process.start()
        try:
            yield
        finally:
            process.terminate()
            process.join()
