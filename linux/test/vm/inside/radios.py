# SPDX-License-Identifier: GPL-2.0-only
"""
A chain of simulated radios between the gateway and a mesh host, for net.over_radio:

    wired --- gateway mesh0 ))) relay ))) eth0 host

mac80211_hwsim lets every radio hear every other. The chain comes from the peering: links are
opened by hand between neighbours only, and 802.11s drops whatever a station sends that is no
peer, beacons apart.
"""

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.gateway import until
from harness.namespace import Namespace, run

_RADIOS = 3
# What hwsim begins with.
_POWERS_MBM = (2000, 2000, 2000)


@dataclass(frozen=True)
class Station:
    """An interface of the mesh, in its namespace."""

    namespace: Namespace
    interface: str

    @property
    def mac(self) -> str:
        return self.namespace.mac(self.interface).hex(":")

    def iw(self, *words: str, check: bool = True) -> str:
        return self.namespace.run("iw", "dev", self.interface, *words, check=check)

    def hears(self, other: "Station") -> bool:
        return other.mac in self.iw("station", "dump")

    def linked(self, other: "Station") -> bool:
        return "mesh plink:\tESTAB" in self.iw("station", "get", other.mac, check=False)


@dataclass(frozen=True)
class Mesh80211s:
    """Two hops of 802.11s, whose own path selection (HWMP) forwards."""

    powers_mbm: tuple[int, int, int] = _POWERS_MBM  # from one end to the other, 1/100 dBm

    @contextlib.contextmanager
    def between(self, a: Namespace, a_name: str, b: Namespace, b_name: str) -> Iterator[None]:
        with _chain([(a, a_name), (b, b_name)], True, self.powers_mbm):
            yield


@contextlib.contextmanager
def relayed(left: Namespace, right: Namespace) -> Iterator[Station]:
    """The same between the eth0 of two nodes; the one that forwards."""
    with _chain([(left, "eth0"), (right, "eth0")], forwarding=True) as stations:
        yield stations[1]


class BatmanAdv:
    """Two hops of batman-adv (the interfaces are its), with 802.11s for nothing but the links."""

    @contextlib.contextmanager
    def between(self, a: Namespace, a_name: str, b: Namespace, b_name: str) -> Iterator[None]:
        with _chain([(a, "radio0"), (b, "radio0")], forwarding=False) as stations:
            names = (a_name, "relay", b_name)
            meshes = [_batman(s, name) for s, name in zip(stations, names, strict=True)]
            until(lambda: all(_originators(mesh) == _RADIOS - 1 for mesh in meshes), 30)
            yield


@contextlib.contextmanager
def _chain(
    ends: list[tuple[Namespace, str]],
    forwarding: bool,
    powers_mbm: tuple[int, int, int] = _POWERS_MBM,
) -> Iterator[list[Station]]:
    """The radios, named as asked for at both ends, from one end to the other."""
    run("modprobe", "mac80211_hwsim", f"radios={_RADIOS}")
    relay = Namespace("relay")
    try:
        places = [ends[0], (relay, "radio0"), ends[1]]
        stations = [_join(n, *place, forwarding, powers_mbm[n]) for n, place in enumerate(places)]
        for left, right in itertools.pairwise(stations):
            _link(left, right)
        yield stations
    finally:
        relay.remove()
        run("modprobe", "-r", "mac80211_hwsim")


def _join(
    index: int, namespace: Namespace, interface: str, forwarding: bool, power_mbm: int
) -> Station:
    """Moves a radio into its namespace, names its interface and joins the mesh."""
    born = f"wlan{index}"
    phy = Path("/sys/class/net", born, "phy80211/name").read_text().strip()
    run("iw", "phy", phy, "set", "netns", "name", f"/run/netns/{namespace.name}")
    namespace.ip("link", "set", born, "name", interface)
    station = Station(namespace, interface)
    station.iw("set", "type", "mp")
    namespace.ip("link", "set", interface, "up")
    # Before it joins: Linux 6.12 does not change the power of a hwsim radio that is on a channel.
    station.iw("set", "txpower", "fixed", str(power_mbm))
    own = ("mesh_auto_open_plinks=0", f"mesh_fwding={int(forwarding)}")
    station.iw("mesh", "join", "meshpace", "freq", "2412", *own)
    return station


def _link(left: Station, right: Station) -> None:
    """Opens the link once both have heard the other's beacon."""
    until(lambda: left.hears(right) and right.hears(left), 20)
    left.iw("station", "set", right.mac, "plink_action", "open")
    until(lambda: left.linked(right) and right.linked(left), 20)


def _batman(under: Station, interface: str) -> Station:
    namespace = under.namespace
    namespace.ip("link", "set", under.interface, "mtu", "1560")  # room for its header
    mesh = ("batctl", "meshif", interface)
    namespace.run(*mesh, "interface", "add", under.interface)
    # It holds broadcasts back, ARP too, for half a minute after the start.
    namespace.run(*mesh, "bridge_loop_avoidance", "0")
    namespace.run(*mesh, "orig_interval", "200")  # five times as fast a start
    namespace.ip("link", "set", interface, "up")
    return Station(namespace, interface)


def _originators(mesh: Station) -> int:
    """To how many nodes it knows a way."""
    table = mesh.namespace.run("batctl", "meshif", mesh.interface, "originators", "-H", check=False)
    return sum(line.strip().startswith("*") for line in table.splitlines())


def path_table(station: Station) -> dict[str, int]:
    """Hops to each destination in the 802.11s path table."""
    heading, *rows = station.iw("mpath", "dump").splitlines()
    # "DEST ADDR" and "NEXT HOP" are two words each in the heading.
    column = heading.split().index("HOP_COUNT") - 2
    return {row.split()[0]: int(row.split()[column]) for row in rows}


def batman_hops(mesh: Station, mac: str) -> int:
    """Hops to the node behind a hardware address, as `batctl traceroute` counts them."""
    trace = mesh.namespace.run("batctl", "meshif", mesh.interface, "traceroute", mac)
    return len(trace.splitlines()) - 1  # a line a hop below the heading
