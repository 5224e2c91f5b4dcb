# SPDX-License-Identifier: GPL-2.0-only
"""Which release `auto` takes: the kernel's, else the daemon's."""

import shutil
from pathlib import Path

import pytest
from conftest import StartGateway
from harness import hooks, net
from harness.gateway import PATIENCE_S, host, until
from harness.transfer import Transfer

INGRESS = "qdisc ingress sits where clsact has to be"


def paced(network: net.Network, start: StartGateway) -> tuple[str, str]:
    """The release that was taken, and the log; a download has been paced by it."""
    gateway = start(network, release="auto", law="even", host=[host(net.host4(0), 11.0)])
    with Transfer(network.wired, network.host, net.host4(0)) as run:
        until(lambda: gateway.status()["counters"]["paced"] > 10, PATIENCE_S, gateway)
        assert run.finish().intact
    status = gateway.fresh_status()
    assert status["state"] == "ready"
    assert gateway.stop() == 0
    return str(status["release"]), "\n".join(gateway.log)


def test_the_kernel_holds_packets(network: net.Network, start: StartGateway) -> None:
    assert paced(network, start)[0] == "htb"


def test_where_filters_have_no_place_the_daemon_does(
    network: net.Network, start: StartGateway
) -> None:
    """
    SQM has the qdisc `ingress` on the interface: it stays, and is told. Where there is no tcx the
    programs themselves would need its place.
    """
    network.gateway.run("tc", "qdisc", "add", "dev", "mesh0", "handle", "ffff:", "ingress")
    if hooks.has_tcx(network.gateway, "mesh0"):
        release, log = paced(network, start)
        assert release == "nfqueue"
        assert f"release by htb is not possible: {INGRESS}" in log
    else:
        with pytest.raises(TimeoutError, match=f"meshpace: {INGRESS}"):
            start(network, release="auto")
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


def test_where_nothing_holds_it_is_told(
    network: net.Network, start: StartGateway, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Neither an ifb nor nft or iptables: else "ready" says that all is well."""
    index = network.gateway.run("cat", "/sys/class/net/mesh0/ifindex").strip()
    network.gateway.ip("link", "property", "add", "dev", "lo", "altname", f"mph{index}")
    (tmp_path / "ip").symlink_to(str(shutil.which("ip")))
    with monkeypatch.context() as few:
        few.setenv("PATH", str(tmp_path))
        gateway = start(network, release="auto", law="even")
    status = gateway.fresh_status()
    assert status["release"] == "observe"
    assert status["state"] == "this machine has no way to hold packets (see meshpace doctor)"
