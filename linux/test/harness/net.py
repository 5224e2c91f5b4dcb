# SPDX-License-Identifier: GPL-2.0-only
"""
The networks of the tests: a wired host, the gateway, mesh hosts.

    wired eth0 --- eth0 gateway mesh0 --- eth0 host(s)

mesh0 is a veth, the veth of a bridge to several hosts, or a TAP whose other end is
a radio in userspace (lossy.py).
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from harness import offload
from harness.namespace import Namespace

WIRED4, WIRED6 = "192.0.2.1", "2001:db8::1"
GATEWAY_WIRED4, GATEWAY_WIRED6 = "192.0.2.254", "2001:db8::fe"
GATEWAY_MESH4, GATEWAY_MESH6 = "10.1.0.1", "fd00::1"
MTU = 1500


class Radio(Protocol):
    """What carries frames between two interfaces that it makes (lossy.py, vm/inside/radios.py)."""

    def between(
        self, a: Namespace, a_name: str, b: Namespace, b_name: str
    ) -> contextlib.AbstractContextManager[None]: ...


def host4(index: int) -> str:
    """IPv4 address of a mesh host, counted from 0."""
    return f"10.1.0.{index + 2}"


def host6(index: int) -> str:
    return f"fd00::{index + 2:x}"


@dataclass
class Network:
    """Who is there. `air` bridges the mesh hosts when they are several."""

    wired: Namespace
    gateway: Namespace
    hosts: list[Namespace]
    air: Namespace | None = None
    ends: list[tuple[Namespace, str]] = field(default_factory=list)

    @property
    def host(self) -> Namespace:
        return self.hosts[0]

    def segmentation(self, on: bool) -> None:
        """TSO, GSO and GRO of every interface but the mesh hosts'."""
        for namespace, interface in self.ends:
            offload.set_(namespace, interface, on, *offload.SEGMENTATION)

    def masquerade(self) -> None:
        """The mesh hides behind the gateway's wired addresses."""
        for tool in ("iptables", "ip6tables"):
            self.gateway.run(
                tool, "-t", "nat", "-A", "POSTROUTING", "-o", "eth0", "-j", "MASQUERADE"
            )
        # Without a way back but through the translation.
        self.wired.ip("route", "del", "default")
        self.wired.ip("-6", "route", "del", "default")


def veth(a: Namespace, a_name: str, b: Namespace, b_name: str) -> None:
    a.ip("link", "add", a_name, "type", "veth", "peer", "name", b_name, "netns", b.name)
    a.ip("link", "set", a_name, "up")
    b.ip("link", "set", b_name, "up")


def address(namespace: Namespace, interface: str, *addresses: str) -> None:
    for one in addresses:
        namespace.ip("addr", "add", one, "dev", interface, *(["nodad"] if ":" in one else []))


def forwarding(namespace: Namespace) -> None:
    namespace.sysctl("net.ipv4.ip_forward", "1")
    namespace.sysctl("net.ipv6.conf.all.forwarding", "1")
    namespace.sysctl("net.ipv4.conf.all.rp_filter", "0")


def default_route(namespace: Namespace, via4: str, via6: str, *words: str) -> None:
    namespace.ip("route", "replace", "default", "via", via4, *words)
    namespace.ip("-6", "route", "replace", "default", "via", via6, *words)


def wired_side(wired: Namespace, gateway: Namespace, quickack: bool = False) -> None:
    veth(gateway, "eth0", wired, "eth0")
    address(gateway, "eth0", f"{GATEWAY_WIRED4}/24", f"{GATEWAY_WIRED6}/64")
    address(wired, "eth0", f"{WIRED4}/24", f"{WIRED6}/64")
    default_route(wired, GATEWAY_WIRED4, GATEWAY_WIRED6, *(["quickack", "1"] if quickack else []))
    default_route(gateway, WIRED4, WIRED6)
    forwarding(gateway)


def mesh_addresses(network: Network) -> None:
    address(network.gateway, "mesh0", f"{GATEWAY_MESH4}/16", f"{GATEWAY_MESH6}/64")
    for index, host in enumerate(network.hosts):
        address(host, "eth0", f"{host4(index)}/16", f"{host6(index)}/64")
        # Every segment is acknowledged at once: no delayed ACK blurs a round trip.
        default_route(host, GATEWAY_MESH4, GATEWAY_MESH6, "quickack", "1")


def _air(network: Network) -> None:
    """A bridge that stands for the mesh: the gateway on one port, each host on another."""
    assert network.air is not None
    network.air.ip("link", "add", "air", "type", "bridge")
    network.air.ip("link", "set", "air", "up")
    network.air.ip("link", "set", "gate", "master", "air")
    for index, host in enumerate(network.hosts):
        veth(host, "eth0", network.air, f"port{index}")
        network.air.ip("link", "set", f"port{index}", "master", "air")


@contextlib.contextmanager
def namespaces(*labels: str) -> Iterator[list[Namespace]]:
    """Namespaces that are gone afterwards, also when making one of them fails."""
    with contextlib.ExitStack() as stack:
        made = []
        for label in labels:
            one = Namespace(label)
            stack.callback(one.remove)
            made.append(one)
        yield made


@contextlib.contextmanager
def routed(hosts: int = 1, radio: Radio | None = None, quickack: bool = False) -> Iterator[Network]:
    """
    The gateway routes between the wired host and the mesh hosts, over a veth or a radio. With
    quickack the wired host acknowledges every segment at once, as the mesh hosts do.
    """
    labels = ["wired", "gw", *(["air"] if hosts > 1 else []), *(f"m{i}" for i in range(hosts))]
    with namespaces(*labels) as made, contextlib.ExitStack() as stack:
        network = Network(made[0], made[1], made[-hosts:], made[2] if hosts > 1 else None)
        network.ends = [(made[0], "eth0"), (made[1], "eth0")]
        wired_side(network.wired, network.gateway, quickack)
        far = (network.air, "gate") if network.air else (network.host, "eth0")
        if radio:
            stack.enter_context(radio.between(network.gateway, "mesh0", *far))
        else:
            veth(network.gateway, "mesh0", *far)
            network.ends.append((network.gateway, "mesh0"))
        if network.air:
            _air(network)
        mesh_addresses(network)
        yield network


def over_radio(
    radio: Radio, hosts: int = 1, quickack: bool = False
) -> contextlib.AbstractContextManager[Network]:
    """As routed; mesh0 is one end of a radio in userspace."""
    return routed(hosts, radio, quickack)


@contextlib.contextmanager
def relayed(radio: Radio) -> Iterator[Network]:
    """
    As over_radio, with a node of the mesh before the radio, `air`, which forwards to the mesh
    host and has the rest of the mesh's addresses end in itself.
    """
    with namespaces("wired", "gw", "relay", "m0") as (wired, gateway, relay, host):
        network = Network(wired, gateway, [host], relay)
        wired_side(wired, gateway)
        veth(gateway, "mesh0", relay, "near")
        with radio.between(relay, "far", host, "eth0"):
            address(gateway, "mesh0", f"{GATEWAY_MESH4}/24", f"{GATEWAY_MESH6}/64")
            address(relay, "near", "10.1.0.254/24", "fd00::fe/64")
            address(relay, "far", "10.2.0.1/24", "fd02::1/64")
            address(host, "eth0", "10.2.0.2/24", "fd02::2/64")
            default_route(host, "10.2.0.1", "fd02::1", "quickack", "1")
            default_route(relay, GATEWAY_MESH4, GATEWAY_MESH6)
            forwarding(relay)
            for family, prefix in (("-4", "10.9.0.0/16"), ("-6", "fd09::/64")):
                relay.ip(family, "route", "add", "blackhole", prefix)
            for prefix, via in (("10.0.0.0/8", "10.1.0.254"), ("fd00::/8", "fd00::fe")):
                gateway.ip("-6" if ":" in via else "-4", "route", "add", prefix, "via", via)
            yield network
