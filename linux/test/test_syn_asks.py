# SPDX-License-Identifier: GPL-2.0-only
"""A flood of SYNs from the mesh that ask for RTT_wired takes no place in the flow table."""

import socket
import struct
import time

from conftest import StartGateway
from harness import net
from harness.capture import SYN
from harness.fuzz import Fields, ipv4, tcp

QUESTION = bytes([254, 4, 0x6D, 0x70])
COUNT = 3000


def flood(network: net.Network) -> None:
    """SYNs that ask, each from another address and port, of a host that never goes on."""
    target, own = network.gateway.mac("mesh0"), network.host.mac("eth0")
    wired = socket.inet_aton(net.WIRED4)
    with network.host.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind(("eth0", 0))
        for index in range(COUNT):
            mesh = struct.pack("!BBH", 10, 1, 1024 + index)
            fields = Fields(1024 + index, 80, index, 0, SYN, options=QUESTION)
            packet = ipv4(mesh, wired, tcp(mesh, wired, fields, b""), 64)
            sender.send(target + own + b"\x08\x00" + packet)
            if index % 100 == 0:
                time.sleep(0.01)


def test_a_syn_that_asks_is_no_flow(network: net.Network, start: StartGateway) -> None:
    gateway = start(network, law="even")
    flood(network)
    status = gateway.fresh_status()
    assert status["counters"]["asks"] > 0.9 * COUNT, "the flood did not arrive"
    assert status["flows"] == []
