# SPDX-License-Identifier: GPL-2.0-only
"""
Packets to and from mesh addresses where nobody is, by a process of its own. A mesh host swallows
what comes to them, so that it has used the same air as the host's own traffic.
"""

import contextlib
import itertools
import multiprocessing
import random
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass

from harness import net
from harness.capture import ACK
from harness.fuzz import Fields, ipv4, tcp
from harness.namespace import Namespace

PREFIX = "10.9.0.0/16"
WIRED = "198.51.100.1"
# Of a packet's payload, unless a test wants more.
PAYLOAD_BYTES = 200
# Where a living host swallows all that it is sent.
SILENT_PORT = 9


def swallow(network: net.Network) -> None:
    """The first mesh host is the way to all ghosts, and says nothing."""
    net.forwarding(network.host)
    network.host.ip("route", "add", "blackhole", PREFIX)
    network.gateway.ip("route", "add", PREFIX, "via", net.host4(0))
    silent = ("-p", "tcp", "--dport", str(SILENT_PORT), "-j", "DROP")
    network.host.run("iptables", "-A", "INPUT", *silent)


@dataclass(frozen=True)
class Ghosts:
    """
    So many packets a second, each of another flow, or of the same few: `flows`. To or from
    `address`, or ever other addresses.
    """

    per_s: float
    kind: str = "tcp"
    from_mesh: bool = False
    flows: int = 0
    address: str = ""
    payload: int = PAYLOAD_BYTES

    def _packets(self) -> Iterator[bytes]:
        chance = random.Random(5)
        wired = socket.inet_aton(WIRED)
        for index in itertools.count():
            which = index % self.flows if self.flows else index
            named = self.address or f"10.9.{which >> 8 & 255}.{which & 255}"
            ghost = socket.inet_aton(named)
            source, target = (ghost, wired) if self.from_mesh else (wired, ghost)
            port = 20_000 + which % 40_000
            ports = (port, SILENT_PORT) if not self.from_mesh else (SILENT_PORT, port)
            data = chance.randbytes(self.payload)
            if self.kind == "udp":
                header = b"".join(n.to_bytes(2, "big") for n in (*ports, 8 + len(data), 0))
                yield ipv4(source, target, header + data, 64, protocol=17)
                continue
            seq = index // self.flows * self.payload if self.flows else 1
            yield ipv4(source, target, tcp(source, target, Fields(*ports, seq, 1, ACK), data), 64)

    def _send(self, out: socket.socket, head: bytes) -> None:
        began = time.monotonic()
        for count, packet in enumerate(self._packets(), 1):
            with contextlib.suppress(OSError):  # the device is full
                out.send(head + packet)
            time.sleep(max(0.0, began + count / self.per_s - time.monotonic()))

    @contextlib.contextmanager
    def __call__(self, network: net.Network) -> Iterator[None]:
        sender: Namespace = network.host if self.from_mesh else network.wired
        via = "mesh0" if self.from_mesh else "eth0"
        out = sender.socket(socket.AF_PACKET, socket.SOCK_RAW)
        out.bind(("eth0", 0))
        head = network.gateway.mac(via) + sender.mac("eth0") + b"\x08\x00"
        process = multiprocessing.Process(target=self._send, args=(out, head), daemon=True)
        process.start()
        try:
            yield
        finally:
            process.kill()
            process.join()
            out.close()
