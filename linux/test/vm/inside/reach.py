# SPDX-License-Identifier: GPL-2.0-only
"""Waits until a mesh that has just been made carries packets."""

import contextlib
import socket

from harness import net
from harness.gateway import until

_PORT = 9


def reach(network: net.Network) -> None:
    """Until a datagram from the wired host has come to the mesh host."""
    sender = network.wired.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver = network.host.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with sender, receiver:
        receiver.bind((net.host4(0), _PORT))
        receiver.settimeout(0.2)

        def arrives() -> bool:
            sender.sendto(b"there?", (net.host4(0), _PORT))
            with contextlib.suppress(TimeoutError):
                return bool(receiver.recv(16))
            return False

        until(arrives, 30)
