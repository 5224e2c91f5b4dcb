# SPDX-License-Identifier: GPL-2.0-only
"""A gateway that relays others' packets over 802.11s."""

import json
from pathlib import Path

from harness import net
from harness.gateway import Gateway, until
from harness.transfer import Transfer, window
from radios import Station, relayed


def sent(station: Station) -> int:
    """Packets, as its interface counts them."""
    shown = station.namespace.ip("-j", "-s", "link", "show", station.interface)
    return int(json.loads(shown)[0]["stats64"]["tx"]["packets"])


def test_what_a_gateway_relays_does_not_pass_unseen(tmp_path: Path) -> None:
    """Since Linux 6.4 its interface counts it as sent: else nothing is paced while it relays."""
    with net.namespaces("left", "right") as (left, right), relayed(left, right) as relay:
        for n, end in enumerate((left, right)):
            net.address(end, "eth0", f"{net.host4(n)}/16")
        ping = ("ping", "-c1", "-W1", net.host4(1))
        until(lambda: "1 received" in left.run(*ping, check=False), 30)
        gateway = Gateway(relay.namespace, tmp_path, "htb", {"law": "even"}, mesh="radio0")
        try:
            gateway.start()
            before = sent(relay)
            with Transfer(left, right, net.host4(1), options=window(64 * 1024)) as run:
                for _ in range(4):
                    was = run.received
                    until(lambda: run.received > was + 100_000, 60, gateway)  # noqa: B023
                    assert gateway.fresh_status()["state"] == "ready"
            print(f"counted as sent: {sent(relay) - before} packets")
        finally:
            gateway.end()
        assert not [line for line in gateway.log if "unseen" in line]
