# SPDX-License-Identifier: GPL-2.0-only
"""Makes senders keep to the scenario's window.

The window that Linux advertises depends on how packets happen to be merged on arrival (from 6.6
on, whatever a route or TCP_WINDOW_CLAMP asks for), so the sender is bound: by ``cwnd lock`` of its
route. The kernel reads that from its cache of metrics, into which a destination comes when a
connection to it ends; so each sender makes one before its flows begin.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping

from pacelab.emulation.netns import call, inside, write_sysctls
from pacelab.emulation.plan import FlowPlan
from pacelab.errors import RunError

PATIENCE_S = 10.0
PORT = 5200


def bind_to_windows(
    plans: list[FlowPlan], namespaces: Mapping[str, str], addresses: Mapping[str, str]
) -> None:
    """For all TCP flows, over the mesh as it stands; RunError when a receiver is not reached.

    ``namespaces`` and ``addresses`` are by node.
    """
    pairs = {(p.sender, p.receiver) for p in plans if p.flow.traffic != "cbr"}
    for sender, receiver in sorted(pairs):
        there, here = namespaces[receiver], namespaces[sender]
        write_sysctls(here, {"net.ipv4.tcp_no_metrics_save": "0"})
        _connect_once(here, there, addresses[receiver])
        _wait_for_metrics(here, addresses[receiver])
        write_sysctls(here, {"net.ipv4.tcp_no_metrics_save": "1"})


def _connect_once(here: str, there: str, address: str) -> None:
    with inside(there):
        listener = socket.create_server((address, PORT))
    with inside(here):
        sender = socket.socket()
    with listener, sender:
        listener.settimeout(PATIENCE_S)
        sender.settimeout(PATIENCE_S)
        try:
            sender.connect((address, PORT))
            accepted, _ = listener.accept()
        except TimeoutError:
            raise RunError(f"{address} is not reached over the emulated mesh") from None
        sender.close()
        with accepted:
            accepted.settimeout(PATIENCE_S)
            accepted.recv(1)


def _wait_for_metrics(here: str, address: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while address not in call("ip", "-n", here, "tcp_metrics", "show").split():
        if time.monotonic() > deadline:
            raise RunError(f"the kernel keeps no metrics of {address}; the window has no bound")
        time.sleep(0.02)
