# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel tells of its TCP sockets (sock_diag, struct tcp_info), cheap enough for 10 Hz.

``ss`` would have to be started for every look; here one netlink socket stays open.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from pacelab.emulation.netns import inside

NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
NLMSG_ERROR, NLMSG_DONE = 2, 3
NLM_F_REQUEST, NLM_F_DUMP = 0x1, 0x300
INET_DIAG_INFO = 2
CONNECTED_STATES = 0xFFFF & ~(1 << 10) & ~(1 << 6) & ~(1 << 7)  # neither LISTEN nor gone
HEADER = struct.Struct("=LHHLL")  # nlmsghdr
REQUEST = struct.Struct("=BBBxL48x")  # inet_diag_req_v2 with an empty inet_diag_sockid
PORTS_AT, MESSAGE_BYTES = 4, 72  # of inet_diag_msg
# linux/tcp.h; struct tcp_info only ever grows at its end.
RTT_US = struct.Struct("=L"), 68
SEND_CWND = struct.Struct("=L"), 80  # segments
TOTAL_RETRANS = struct.Struct("=L"), 100
BYTES_ACKED = struct.Struct("=Q"), 120
BYTES_RECEIVED = struct.Struct("=Q"), 128
TOTAL_RTO = struct.Struct("=H"), 240  # from Linux 6.7 on


@dataclass(frozen=True)
class TcpSocket:
    """One socket's counters. ``timeouts`` is None on kernels that do not count them."""

    local_port: int
    remote_port: int
    rtt_us: int
    retransmits: int
    timeouts: int | None
    acked_bytes: int
    received_bytes: int
    cwnd_segments: int


def _field(info: bytes, place: tuple[struct.Struct, int]) -> int | None:
    form, offset = place
    if len(info) < offset + form.size:
        return None
    return int(form.unpack_from(info, offset)[0])


def _tcp_socket(message: bytes) -> TcpSocket | None:
    """The socket that an inet_diag_msg describes; None when it comes without tcp_info."""
    local, remote = struct.unpack_from("!HH", message, PORTS_AT)
    at = MESSAGE_BYTES
    while at + 4 <= len(message):
        length, kind = struct.unpack_from("=HH", message, at)
        if kind == INET_DIAG_INFO:
            info = message[at + 4 : at + length]
            return TcpSocket(
                local,
                remote,
                _field(info, RTT_US) or 0,
                _field(info, TOTAL_RETRANS) or 0,
                _field(info, TOTAL_RTO),
                _field(info, BYTES_ACKED) or 0,
                _field(info, BYTES_RECEIVED) or 0,
                _field(info, SEND_CWND) or 0,
            )
        at += max(length + 3 & ~3, 4)
    return None


class TcpSockets:
    """The connected IPv4 TCP sockets of a namespace."""

    def __init__(self, netns: str) -> None:
        with inside(netns):
            self._netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG)

    def close(self) -> None:
        """Gives the descriptor back."""
        self._netlink.close()

    def read(self) -> list[TcpSocket]:
        """All sockets as of now."""
        body = REQUEST.pack(
            socket.AF_INET, socket.IPPROTO_TCP, 1 << (INET_DIAG_INFO - 1), CONNECTED_STATES
        )
        header = HEADER.pack(
            HEADER.size + len(body), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 1, 0
        )
        self._netlink.send(header + body)
        found = map(_tcp_socket, self._messages())
        return [one for one in found if one is not None]

    def _messages(self) -> Iterator[bytes]:
        while True:
            data = self._netlink.recv(1 << 17)
            at = 0
            while at < len(data):
                length, kind = HEADER.unpack_from(data, at)[:2]
                if kind == NLMSG_DONE:
                    return
                body = data[at + HEADER.size : at + length]
                if kind == NLMSG_ERROR:
                    raise OSError(-struct.unpack_from("=i", body)[0], "sock_diag")
                yield body
                at += length + 3 & ~3
