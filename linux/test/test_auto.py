# SPDX-License-Identifier: GPL-2.0-only
"""Which release `auto` takes: the kernel's, else the daemon's."""

import platform
import time

import pytest
from conftest import StartGateway
from harness import net
from harness.gateway import host
from harness.transfer import Transfer


def paced(network: net.Network, start: StartGateway) -> tuple[str, str]:
    """The release that was taken, and the log; a download has been paced by it."""
    gateway = start(network, release="auto", law="even", host=[host(net.host4(0), 11.0)])
    with Transfer(network.wired, network.host, net.host4(0)) as run:
        time.sleep(1)
        assert run.finish().intact
    status = gateway.fresh_status()
    assert status["state"] == "ready"
    assert status["counters"]["paced"] > 10
    assert gateway.stop() == 0
    return str(status["release"]), "\n".join(gateway.log)


def test_the_kernel_holds_packets(network: net.Network, start: StartGateway) -> None:
    assert paced(network, start)[0] == "htb"


@pytest.mark.skipif(
    tuple(map(int, platform.release().split(".")[:2])) < (6, 6),
    reason="programs themselves take clsact where there is no tcx",
)
def test_where_filters_have_no_place_the_daemon_does(
    network: net.Network, start: StartGateway
) -> None:
    """SQM has the qdisc `ingress` on the interface: it stays, and is told."""
    network.gateway.run("tc", "qdisc", "add", "dev", "mesh0", "handle", "ffff:", "ingress")
    release, log = paced(network, start)
    assert release == "nfqueue"
    assert "release by htb is not possible: qdisc ingress sits where clsact has to be" in log
    assert "qdisc ingress" in network.gateway.run("tc", "qdisc", "show", "dev", "mesh0")
    assert "mph" not in network.gateway.run("ip", "-o", "link")


def test_where_the_kernel_makes_no_ifb_the_daemon_does(
    network: net.Network, start: StartGateway
) -> None:
    """Its name is taken by something that the kernel does not give up."""
    index = network.gateway.run("cat", "/sys/class/net/mesh0/ifindex").strip()
    network.gateway.ip("link", "property", "add", "dev", "lo", "altname", f"mph{index}")
    release, log = paced(network, start)
    assert release == "nfqueue"
    assert "release by htb is not possible" in log
