# SPDX-License-Identifier: GPL-2.0-only
"""batman-adv over the chain of radios: 802.11s carries the links only, bat0 is the mesh."""

import radio
from net import Failed, run, until


def chain() -> list[radio.Radio]:
    """Builds bat0 on gateway, relay and far, with the far end two hops away; returns the bat0s."""
    ends = []
    for under in radio.chain(forwarding=False):
        run(under.space, f"ip link set {under.name} mtu 1532")  # room for batman-adv's header
        run(under.space, f"batctl meshif bat0 interface add {under.name}")
        run(under.space, "ip link set bat0 up")
        mac = run(under.space, "ip -br link show bat0").split()[2]
        ends.append(radio.Radio(under.space, "bat0", mac))
    until("the gateway finds two originators", lambda: len(_originators(ends[0])) == 2, 30)
    return ends


def _originators(end: radio.Radio) -> set[str]:
    lines = run(end.space, "batctl meshif bat0 originators -H", check=False).splitlines()
    return {line.split()[1] for line in lines if line.strip().startswith("*")}


def hops(here: radio.Radio, far_mac: str) -> int:
    """Hops to the node behind a hardware address of the mesh, as `batctl traceroute` counts them."""
    lines = run(here.space, f"batctl meshif bat0 traceroute {far_mac}").splitlines()
    if not lines or " to " not in lines[0]:
        raise Failed(f"batctl traceroute {far_mac}: {lines}")
    return len(lines) - 1  # a line a hop after the heading
