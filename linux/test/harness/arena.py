# SPDX-License-Identifier: GPL-2.0-only
"""
Where hostile frames meet the gateway: raw senders on both sides, captures behind it. The
gateway routes them, or bridges them, which lets through what routing would never pass on.
"""

import contextlib
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from harness import net
from harness.capture import Capture, Frame
from harness.fuzz import MESH, WIRED
from harness.namespace import Namespace

# The neighbours behind which all addresses of a side are.
_BEHIND_WIRED = ("192.0.2.253", "fe80::253")
_BEHIND_MESH = ("10.1.255.254", "fe80::254")
_OWN = {
    socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)
    for text in (
        net.GATEWAY_WIRED4,
        net.GATEWAY_MESH4,
        net.GATEWAY_WIRED6,
        net.GATEWAY_MESH6,
    )
}
# So many frames in a row, then a breath, lest a queue of the kernel's overflow.
_BURST, _BREATH_S = 32, 0.001
_QUIET_S = 0.4


@dataclass
class Arena:
    """The three namespaces; macs: source and target address of each side's frames."""

    wired: Namespace
    gateway: Namespace
    mesh: Namespace
    macs: tuple[tuple[bytes, bytes], tuple[bytes, bytes]]


@dataclass(frozen=True)
class Passage:
    """What came through: behind the gateway on each side, and at its mesh interface."""

    arrived: tuple[Counter[bytes], Counter[bytes]]
    at_mesh0: list[Frame]


@contextlib.contextmanager
def _sides() -> Iterator[tuple[Namespace, Namespace, Namespace]]:
    """Ends without any address: what they receive they neither answer nor forward."""
    with net.namespaces("wired", "gw", "mesh") as (wired, gateway, mesh):
        for end in (wired, mesh):
            end.sysctl("net.ipv6.conf.default.disable_ipv6", "1")
        net.veth(gateway, "eth0", wired, "eth0")
        net.veth(gateway, "mesh0", mesh, "eth0")
        yield wired, gateway, mesh


@contextlib.contextmanager
def routed() -> Iterator[Arena]:
    with _sides() as (wired, gateway, mesh):
        net.forwarding(gateway)
        net.address(gateway, "eth0", f"{net.GATEWAY_WIRED4}/32", f"{net.GATEWAY_WIRED6}/128")
        net.address(gateway, "mesh0", f"{net.GATEWAY_MESH4}/32", f"{net.GATEWAY_MESH6}/128")
        _behind(gateway, "eth0", wired, _BEHIND_WIRED, "default", "default")
        _behind(gateway, "mesh0", mesh, _BEHIND_MESH, "10.1.0.0/16", "fd00::/64")
        macs = tuple(
            (end.mac("eth0"), gateway.mac(port)) for end, port in ((wired, "eth0"), (mesh, "mesh0"))
        )
        yield Arena(wired, gateway, mesh, (macs[WIRED], macs[MESH]))


def _behind(
    gateway: Namespace, port: str, end: Namespace, neighbours: tuple[str, str], *prefixes: str
) -> None:
    mac = end.mac("eth0").hex(":")
    for neighbour, prefix in zip(neighbours, prefixes, strict=True):
        gateway.ip("neigh", "add", neighbour, "lladdr", mac, "dev", port, "nud", "permanent")
        family = "-6" if ":" in neighbour else "-4"
        gateway.ip(family, "route", "add", prefix, "via", neighbour, "dev", port, "onlink")


@contextlib.contextmanager
def bridged() -> Iterator[Arena]:
    """
    As a bridge of both sides, by redirection at their hooks: of a bridge's port, by which no packet
    leaves for the gateway's rules, a gateway that paces wants nothing.
    """
    with _sides() as (wired, gateway, mesh):
        gateway.sysctl("net.ipv6.conf.all.disable_ipv6", "1")
        for here, there in (("eth0", "mesh0"), ("mesh0", "eth0")):
            gateway.run("tc", "qdisc", "add", "dev", here, "clsact")
            gateway.run(*_redirection(here, there))
        ends = wired.mac("eth0"), mesh.mac("eth0")
        yield Arena(wired, gateway, mesh, (ends, ends[::-1]))


def _redirection(here: str, there: str) -> tuple[str, ...]:
    """All that comes, after the gateway's own filter where that is one (priority 0x6d70)."""
    hook = ("tc", "filter", "add", "dev", here, "ingress", "pref", "50000", "protocol", "all")
    every = ("u32", "match", "u32", "0", "0")
    return (*hook, *every, "action", "mirred", "egress", "redirect", "dev", there)


def _own(data: bytes) -> bool:
    """Said by the gateway itself, such as an ICMP error, and not forwarded."""
    if data[12:14] == b"\x08\x00":
        return data[26:30] in _OWN
    if data[12:14] == b"\x86\xdd":
        return data[22:38] in _OWN or data[22:24] == b"\xfe\x80"
    return data[12:14] == b"\x08\x06"


def send_all(arena: Arena, frames: Iterable[tuple[int, bytes]]) -> None:
    senders = []
    for end in (arena.wired, arena.mesh):
        sender = end.socket(socket.AF_PACKET, socket.SOCK_RAW)
        sender.bind(("eth0", 0))
        senders.append(sender)
    with senders[WIRED], senders[MESH]:
        for count, (side, frame) in enumerate(frames):
            senders[side].send(frame)
            if count % _BURST == 0:
                time.sleep(_BREATH_S)


def passage(
    arena: Arena,
    frames: Iterable[tuple[int, bytes]],
    settled: Callable[[], object] = lambda: None,
) -> Passage:
    """Sends frames from both sides and waits until it is `settled` and no more comes through."""
    with (
        Capture(arena.wired, "eth0") as wired,
        Capture(arena.mesh, "eth0") as mesh,
        Capture(arena.gateway, "mesh0") as mesh0,
    ):
        send_all(arena, frames)
        settled()
        for capture in (wired, mesh):
            capture.quiet(_QUIET_S)
    arrived = [
        Counter(f.data for f in capture.stop() if not f.outgoing and not _own(f.data))
        for capture in (wired, mesh)
    ]
    return Passage((arrived[WIRED], arrived[MESH]), mesh0.stop())
