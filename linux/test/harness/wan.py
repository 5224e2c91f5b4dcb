# SPDX-License-Identifier: GPL-2.0-only
"""
Long ways between the gateway and the wired host, beside the short one on eth0. Traffic goes
over one of them at a time, and changes over while flows go on.
"""

import contextlib
from collections.abc import Iterator

from harness import net
from harness.namespace import Namespace


class Ways:
    """The links wan0, wan1, ... of a network's gateway and wired host."""

    def __init__(self, network: net.Network, quickack: bool) -> None:
        self.network = network
        self._words = ["quickack", "1"] if quickack else []

    def use(self, index: int) -> None:
        """From now on the packets of both ends take this link."""
        link, gateway, wired = f"wan{index}", self.network.gateway, self.network.wired
        for host, address4, address6 in (
            (gateway, net.WIRED4, net.WIRED6),
            (wired, net.GATEWAY_WIRED4, net.GATEWAY_WIRED6),
        ):
            host.ip("route", "replace", f"{address4}/32", "dev", link)
            host.ip("-6", "route", "replace", f"{address6}/128", "dev", link)
        net.default_route(wired, net.GATEWAY_WIRED4, net.GATEWAY_WIRED6, "dev", link, *self._words)


@contextlib.contextmanager
def ways(network: net.Network, *carriers: net.Radio, quickack: bool = False) -> Iterator[Ways]:
    """
    A link for each carrier; the first is in use. With quickack the wired host acknowledges every
    segment at once.
    """
    with contextlib.ExitStack() as stack:
        ends = (network.gateway, network.wired)
        for end in ends:
            # Strict reverse path filtering would drop what comes by the way not in use.
            end.sysctl("net.ipv4.conf.all.rp_filter", "0")
            end.sysctl("net.ipv4.conf.default.rp_filter", "0")
        for index, carrier in enumerate(carriers):
            link = f"wan{index}"
            stack.enter_context(carrier.between(ends[0], link, ends[1], link))
            _know(network.gateway, net.WIRED4, net.WIRED6, network.wired, link)
            _know(network.wired, net.GATEWAY_WIRED4, net.GATEWAY_WIRED6, network.gateway, link)
        made = Ways(network, quickack)
        made.use(0)
        yield made


def _know(host: Namespace, address4: str, address6: str, other: Namespace, link: str) -> None:
    """The addresses are on eth0: over another link nobody would be asked or answer."""
    mac = other.mac(link).hex(":")
    for address in (address4, address6):
        host.ip("neigh", "replace", address, "lladdr", mac, "dev", link, "nud", "permanent")
