# SPDX-License-Identifier: GPL-2.0-only
"""What others have where the gateway's filters and its ifb have to be stays theirs, and is told."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import StartGateway
from harness import hooks, net
from harness.gateway import PATIENCE_S, Gateway, until
from test_unseen import GOES_ON, goes_on
from test_watch import download, mesh, paces, state

__all__ = ["mesh"]
FILTER = ("filter", "add", "dev", "mesh0", "egress", "prio", "28016", "protocol", "ip", "bpf")


def refused(gateway: Gateway, release: str) -> str:
    begun = gateway.call("gateway", "--mesh", "mesh0", "--release", release)
    assert begun.returncode in (1, 2), begun
    assert begun.stderr.count("meshpace: ") == 1
    return begun.stderr


def test_a_filter_in_the_place_of_ours_stays(
    mesh: net.Network, start: StartGateway, tmp_path: Path
) -> None:
    """Of another protocol the kernel takes none beside it: that ended the start, by auto, too."""
    mesh.gateway.run("tc", "qdisc", "add", "dev", "mesh0", "clsact")
    mesh.gateway.run("tc", *FILTER, "bytecode", GOES_ON)
    says = "somebody else's filter of priority 28016 sits on mesh0"
    begun = Gateway(mesh.gateway, tmp_path, "htb", {})
    assert says in refused(begun, "htb")
    if hooks.has_tcx(mesh.gateway, "mesh0"):
        gateway = start(mesh, release="auto", law="even")
        assert gateway.status()["release"] == "nfqueue"
        assert f"release by htb is not possible: {says}" in "\n".join(gateway.log)
        assert gateway.stop() == 0
    else:  # whatever the release, the programs need that place
        assert says in refused(begun, "auto")
    assert "pref 28016" in mesh.gateway.run("tc", "filter", "show", "dev", "mesh0", "egress")


@pytest.mark.parametrize("kind", ["ifb", "veth"])
def test_an_interface_in_the_place_of_ours_stays(
    mesh: net.Network, start: StartGateway, kind: str
) -> None:
    """An ifb of somebody else's was taken away, of another kind "File exists" was all."""
    name = "mph" + mesh.gateway.run("cat", "/sys/class/net/mesh0/ifindex").strip()
    mesh.gateway.ip("link", "add", name, "type", kind)
    gateway = start(mesh, release="auto", law="even")
    assert gateway.status()["release"] == "nfqueue"
    assert gateway.stop() == 0
    assert f"rename it, or if nobody needs it: ip link del {name}" in refused(gateway, "htb")
    assert f": {name}" in mesh.gateway.ip("-o", "link", "show", "type", kind)


def test_who_takes_the_programs_off_each_time_has_packets_pass(
    mesh: net.Network, start: StartGateway
) -> None:
    """Put back ten times a second for ever they fill the log, and what waits is lost each time."""
    ended = threading.Event()

    def take_off() -> None:
        while not ended.wait(0.1):
            mesh.gateway.run("tc", "qdisc", "del", "dev", "mesh0", "clsact", check=False)

    gateway = start(mesh, release="htb", law="even")
    with download(mesh) as run, ThreadPoolExecutor() as pool:
        paces(gateway)
        rival = pool.submit(take_off)
        try:
            found = state(gateway, "takes them off each time")
            assert found["release"] == "observe"
            goes_on(run)
            again = "at work again"
            until(lambda: sum(again in line for line in gateway.log) > 1, PATIENCE_S, gateway)
            assert gateway.status()["counters"]["put_back"] <= 10
            assert len(gateway.log) < 40
        finally:
            ended.set()
        rival.result()
        paces(gateway)
        assert run.finish().intact
