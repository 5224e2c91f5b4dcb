# SPDX-License-Identifier: GPL-2.0-only
"""A chain of three simulated radios in 802.11s: gateway -- relay -- far.

mac80211_hwsim lets every radio hear every other. The chain comes from the peering: links are
opened by hand between neighbours only, and 802.11s drops whatever a station sends that is no peer.
"""

from dataclasses import dataclass

from net import GATEWAY, Failed, namespace, run, until

CHAIN = (GATEWAY, "relay", "far")


@dataclass(frozen=True)
class Radio:
    """An interface of the mesh: where it is, its name, its hardware address."""

    space: str
    name: str
    mac: str


def chain(forwarding: bool) -> list[Radio]:
    """Builds the chain. `forwarding`: 802.11s finds the paths (HWMP); else somebody above it does."""
    run(GATEWAY, f"modprobe mac80211_hwsim radios={len(CHAIN)}")
    radios = []
    for index, space in enumerate(CHAIN):
        if space:
            namespace(space)
            phy = run(GATEWAY, f"cat /sys/class/net/wlan{index}/phy80211/name").strip()
            run(GATEWAY, f"iw phy {phy} set netns name /run/netns/{space}")
        radios.append(_join(space, f"wlan{index}", forwarding))
    for left, right in zip(radios, radios[1:], strict=False):
        _peer(left, right)
    return radios


def _join(space: str, interface: str, forwarding: bool) -> Radio:
    run(space, f"iw dev {interface} set type mp")
    run(space, f"ip link set {interface} up")
    run(
        space,
        f"iw dev {interface} mesh join meshpace freq 2412 "
        f"mesh_auto_open_plinks=0 mesh_fwding={int(forwarding)}",
    )
    mac = run(space, f"ip -br link show {interface}").split()[2]
    return Radio(space, interface, mac)


def _peer(left: Radio, right: Radio) -> None:
    """Opens the link from both ends, as soon as they have heard each other's beacons."""

    def knows(a: Radio, b: Radio) -> bool:
        return b.mac in run(a.space, f"iw dev {a.name} station dump")

    until(f"{left.name} and {right.name} hear each other",
          lambda: knows(left, right) and knows(right, left), 20)
    run(left.space, f"iw dev {left.name} station set {right.mac} plink_action open")
    until(f"link between {left.name} and {right.name}",
          lambda: _established(left, right) and _established(right, left), 20)


def _established(a: Radio, b: Radio) -> bool:
    dump = run(a.space, f"iw dev {a.name} station get {b.mac}", check=False)
    return "mesh plink:\tESTAB" in dump


def paths(radio: Radio) -> dict[str, int]:
    """Hops to each destination by the 802.11s path table of a radio."""
    lines = run(radio.space, f"iw dev {radio.name} mpath dump").splitlines()
    if not lines:
        raise Failed(f"{radio.name}: no path table")
    column = lines[0].split().index("HOP_COUNT") + 1  # "DEST ADDR" has a space, so has its value none
    return {fields[0]: int(fields[column - 1]) for fields in map(str.split, lines[1:])}
