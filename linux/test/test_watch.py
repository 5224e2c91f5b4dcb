# SPDX-License-Identifier: GPL-2.0-only
"""
What the gateway set up, others take away: programs, the mesh interface itself, its place beside a
bridge. It is noticed, said and put back, or status tells the truth.
"""

import contextlib
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import StartGateway
from harness import hooks, net
from harness.gateway import PATIENCE_S, Gateway, until
from harness.namespace import run
from harness.record import Recorder
from harness.transfer import Transfer, window

# What operators are promised: noticed in so long, paced again in so long.
NOTICED_S, PACED_S = 2.0, 3.0
WINDOW = window(64 * 1024)


def rounds(full: bool) -> int:
    """Whoever takes the programs off more often in a minute has packets pass (test_others.py)."""
    return 10 if full else 3


def radio(network: net.Network) -> None:
    """A qdisc stands for the radio: 5 Mbit/s, behind which packets wait."""
    shape = ("rate", "5mbit", "burst", "3kb", "latency", "400ms")
    network.gateway.run("tc", "qdisc", "replace", "dev", "mesh0", "root", "tbf", *shape)


def mesh_interface(network: net.Network) -> None:
    """Makes mesh0 once more, with its addresses and the host at its other end."""
    net.veth(network.gateway, "mesh0", network.host, "eth0")
    net.mesh_addresses(network)
    radio(network)


@pytest.fixture
def mesh(network: net.Network) -> net.Network:
    radio(network)
    return network


def download(network: net.Network) -> Transfer:
    return Transfer(network.wired, network.host, net.host4(0), options=WINDOW)


def paces(gateway: Gateway, within_s: float = PATIENCE_S) -> float:
    """
    Waits until programs see packets and the daemon releases them; how long that took. It need not
    hold any: a packet that comes when it is due leaves at once.
    """
    began = time.monotonic()
    before = gateway.fresh_status()["counters"]

    def more() -> bool:
        status = gateway.status()
        now = status["counters"]
        grown = all(now[name] > before[name] for name in ("tcp", gateway.let_go))
        return grown and status["release"] == gateway.release and status["state"] == "ready"

    until(more, within_s - (time.monotonic() - began), gateway)
    return time.monotonic() - began


def state(gateway: Gateway, text: str, within_s: float = PATIENCE_S) -> dict[str, object]:
    """Waits until status tells of a state; returns the status."""

    def told() -> dict[str, object] | None:
        status = gateway.status()
        return status if text in status["state"] else None

    found: dict[str, object] = until(told, within_s, gateway)
    return found


def take_off(mesh: net.Network, gateway: Gateway) -> None:
    """Takes both programs off the interface, in whichever way they are attached."""
    if gateway.attached == "clsact":
        mesh.gateway.run("tc", "qdisc", "del", "dev", "mesh0", "clsact")
    else:
        assert hooks.detach(gateway.pid) == 2


def programs_taken_off(mesh: net.Network, gateway: Gateway, times: int, within_s: float) -> float:
    """Detaches them again and again, under load; seconds until packets were held, at most."""
    with download(mesh) as transfer:
        paces(gateway)
        slowest_s = 0.0
        for n in range(times):
            take_off(mesh, gateway)
            slowest_s = max(slowest_s, paces(gateway, within_s))
            assert gateway.status()["counters"]["put_back"] == n + 1
        assert transfer.finish().intact
    lines = [line for line in gateway.log if "took the programs off" in line]
    assert len(lines) == times
    assert gateway.status()["attached"] == gateway.attached
    return slowest_s


def test_programs_taken_off_come_back(mesh: net.Network, start: StartGateway) -> None:
    """`bpftool link detach`, else nothing is paced any more; how soon stands below."""
    programs_taken_off(mesh, start(mesh, law="even"), 3, PATIENCE_S)


@pytest.mark.measured
def test_programs_taken_off_are_put_back(
    mesh: net.Network, start: StartGateway, record: Recorder, full: bool
) -> None:
    """In time. Of the three seconds two are status's: as of the latest look, before and after."""
    slowest_s = programs_taken_off(mesh, start(mesh, law="even"), rounds(full), PACED_S)
    record("paced again after, at most", "s", slowest_s, "3")


def test_filters_taken_off_are_put_back(mesh: net.Network, start: StartGateway) -> None:
    """Where the kernel has no tcx: the qdisc clsact deleted, as SQM does, or one filter."""
    with hooks.no_tcx(mesh.gateway, "mesh0"):
        gateway = start(mesh, law="even")
        assert gateway.status()["attached"] == "clsact"
        with download(mesh) as transfer:
            paces(gateway)
            mesh.gateway.run("tc", "qdisc", "del", "dev", "mesh0", "clsact")
            paces(gateway)
            mesh.gateway.run("tc", "filter", "del", "dev", "mesh0", "egress")
            paces(gateway)
            assert transfer.finish().intact
        assert gateway.status()["attached"] == "clsact"
        assert gateway.stop() == 0
    assert "clsact" not in mesh.gateway.run("tc", "qdisc", "show", "dev", "mesh0")


def test_what_cannot_be_put_back_is_told(mesh: net.Network, start: StartGateway) -> None:
    """All places of tcx are taken, and `ingress` sits where clsact would have to be."""
    gateway = start(mesh, release="nfqueue", law="even")
    mesh.gateway.run("tc", "qdisc", "add", "dev", "mesh0", "ingress")
    gateway.send(signal.SIGSTOP)
    assert hooks.detach(gateway.pid) == 2
    with hooks.no_tcx(mesh.gateway, "mesh0"):
        gateway.send(signal.SIGCONT)
        found = state(gateway, "programs are not attached")
        assert (found["attached"], found["release"]) == ("none", "observe")
        with download(mesh) as transfer:
            until(lambda: transfer.received > 200_000, PATIENCE_S, gateway)
            assert transfer.finish().intact
    state(gateway, "ready")
    with download(mesh):
        paces(gateway)
    assert len([line for line in gateway.log if "programs are not attached" in line]) == 1


def made_anew(
    mesh: net.Network, gateway: Gateway, times: int, noticed_s: float, paced_s: float
) -> float:
    """
    As `batctl if destroy` and `create`, or a reload of the network does, under load; seconds until
    packets were held, at most.
    """
    with download(mesh) as transfer:
        paces(gateway)
        slowest_s = 0.0
        for n in range(times):
            mesh.gateway.ip("link", "del", "mesh0")
            if n == 0:
                found = state(gateway, "waiting for mesh0", noticed_s)
                assert (found["attached"], found["release"]) == ("none", "observe")
            mesh_interface(mesh)
            slowest_s = max(slowest_s, paces(gateway, paced_s))
        assert transfer.finish().intact
    assert len([line for line in gateway.log if "waiting for mesh0" in line]) <= times
    assert gateway.stop() == 0
    assert hooks.count(mesh.gateway, "mesh0") == 0
    return slowest_s


def test_an_interface_made_anew_is_taken_up(mesh: net.Network, start: StartGateway) -> None:
    """Else nothing is paced any more; how soon stands below."""
    made_anew(mesh, start(mesh, law="even"), 3, PATIENCE_S, PATIENCE_S)


@pytest.mark.measured
def test_an_interface_made_anew_is_paced_again(
    mesh: net.Network, start: StartGateway, record: Recorder, full: bool
) -> None:
    """In time."""
    slowest_s = made_anew(mesh, start(mesh, law="even"), rounds(full), NOTICED_S, PACED_S)
    record("paced again after, at most", "s", slowest_s, "3")


def test_down_and_up_and_renamed(mesh: net.Network, start: StartGateway) -> None:
    gateway = start(mesh, law="even")
    for words in (("down",), ("up",)):
        mesh.gateway.ip("link", "set", "mesh0", *words)
    # What goes down loses its IPv6 addresses.
    net.address(mesh.gateway, "mesh0", f"{net.GATEWAY_MESH6}/64")
    with download(mesh) as transfer:
        paces(gateway)
        assert transfer.finish().intact
    mesh.gateway.ip("link", "set", "mesh0", "down")
    mesh.gateway.ip("link", "set", "mesh0", "name", "other")
    state(gateway, "waiting for mesh0, which is called other now")
    assert hooks.count(mesh.gateway, "other") == 0
    mesh.gateway.ip("link", "set", "other", "name", "mesh0")
    mesh.gateway.ip("link", "set", "mesh0", "up")
    with download(mesh):
        paces(gateway)


def test_one_that_is_renamed_and_then_deleted(mesh: net.Network, start: StartGateway) -> None:
    """Else status names for good what is no more. Its old name may be one beside its own."""
    gateway = start(mesh, law="even")
    mesh.gateway.ip("link", "set", "mesh0", "down")
    mesh.gateway.ip("link", "set", "mesh0", "name", "other")
    state(gateway, "waiting for mesh0, which is called other now")
    mesh.gateway.ip("link", "property", "add", "dev", "other", "altname", "mesh0")
    mesh.gateway.ip("link", "set", "other", "name", "third")
    state(gateway, "waiting for mesh0, which is called third now")
    mesh.gateway.ip("link", "del", "third")
    until(lambda: gateway.status()["state"] == "waiting for mesh0", PATIENCE_S, gateway)
    mesh_interface(mesh)
    state(gateway, "ready")


def test_a_tunnel_in_the_place_of_the_interface(mesh: net.Network, start: StartGateway) -> None:
    """It has no link-layer header: the programs have to read packets another way."""
    gateway = start(mesh, law="even")
    mesh.gateway.ip("link", "del", "mesh0")
    mesh.gateway.ip("tuntap", "add", "mesh0", "mode", "tun")
    mesh.gateway.ip("link", "set", "mesh0", "up")
    state(gateway, "ready")
    before = gateway.fresh_status()["counters"]
    mesh.gateway.ip("route", "add", "10.1.0.0/16", "dev", "mesh0")
    with mesh.gateway.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        one.setblocking(False)
        one.connect_ex((net.host4(0), 80))
        until(lambda: gateway.status()["counters"]["tcp"] > before["tcp"], PATIENCE_S, gateway)
    assert gateway.status()["counters"]["malformed"] == before["malformed"]


def in_a_bridge(network: net.Network) -> None:
    network.gateway.ip("link", "add", "br-lan", "type", "bridge")
    network.gateway.ip("link", "set", "br-lan", "up")
    network.gateway.ip("link", "set", "mesh0", "master", "br-lan")


def test_a_port_of_a_bridge_is_refused(network: net.Network, start: StartGateway) -> None:
    """Packets leave by the bridge, so no rule for the port ever sees one."""
    in_a_bridge(network)
    gateway = start(network, release="observe", law="even")
    assert gateway.status()["state"] == "ready"
    assert gateway.stop() == 0
    refused = gateway.call("gateway", "--mesh", "mesh0")
    remedy = "mesh0 is a port of br-lan; packets leave by br-lan: use --mesh br-lan"
    assert (refused.returncode, remedy in refused.stderr) == (2, True), refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
    assert remedy in gateway.call("doctor", "--mesh", "mesh0").stdout


def test_an_alternative_name_is_refused(network: net.Network, tmp_path: Path) -> None:
    """Rules, notes and locks go by the interface's own: else half of it works."""
    network.gateway.ip("link", "property", "add", "dev", "mesh0", "altname", "mesh-far")
    gateway = Gateway(network.gateway, tmp_path, "observe", {})
    file = ("--config", str(tmp_path / "new.toml"))
    for words in (("gateway",), ("doctor",), ("sender", "on"), ("setup", "--no-start", *file)):
        refused = gateway.call(*words, "--mesh", "mesh-far")
        assert refused.returncode == 2, refused
        assert "mesh-far is another name of mesh0; name it mesh0" in refused.stderr
        assert refused.stderr.count("\n") == 1
    wired = gateway.call("setup", *file, "--mesh", "eth0", "--wired", "mesh-far")
    assert (wired.returncode, "name it mesh0" in wired.stderr) == (2, True)


def test_an_interface_that_becomes_a_port(mesh: net.Network, start: StartGateway) -> None:
    gateway = start(mesh, law="even")
    in_a_bridge(mesh)
    found = state(gateway, "mesh0 is a port of br-lan")
    assert found["release"] == "observe"
    mesh.gateway.ip("link", "set", "mesh0", "nomaster")
    state(gateway, "ready")
    with download(mesh) as transfer:
        paces(gateway)
        assert transfer.finish().intact


def test_the_wired_interface_made_anew(mesh: net.Network, start: StartGateway) -> None:
    """Nothing of the gateway's is there but offloads; it must not end."""
    gateway = start(mesh, law="even")
    mesh.gateway.ip("link", "del", "eth0")
    gateway.fresh_status()
    net.wired_side(mesh.wired, mesh.gateway)
    with download(mesh) as transfer:
        paces(gateway)
        assert transfer.finish().intact


def test_two_gateways_side_by_side(mesh: net.Network, start: StartGateway, tmp_path: Path) -> None:
    """Two mesh interfaces of one box: who stops takes away what is its own."""
    mesh.gateway.ip("link", "add", "mesh1", "type", "veth", "peer", "name", "peer1")
    mesh.gateway.ip("link", "set", "mesh1", "up")
    gateway = start(mesh, law="even")
    other = Gateway(mesh.gateway, tmp_path, gateway.release, {"law": "even"}, mesh="mesh1")
    try:
        other.start()
        assert other.status()["state"] == "ready"
    finally:
        other.end()
    assert gateway.status()["state"] == "ready"
    assert hooks.count(mesh.gateway, "mesh1") == 0
    with download(mesh) as transfer:
        paces(gateway)
        assert transfer.finish().intact


@contextlib.contextmanager
def small_run(folder: Path) -> Iterator[Path]:
    """The run folder of a gateway, on a file system of its own that is soon full."""
    folder.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        run("umount", "-l", str(folder))


def fill(folder: Path) -> Path:
    rest = folder / "rest"
    with contextlib.suppress(OSError), rest.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(512))
    return rest


def test_a_full_run_folder_hinders_nothing(
    mesh: net.Network, start: StartGateway, tmp_path: Path
) -> None:
    """What it cannot note it does all the same, here filters in the place of links."""
    with small_run(tmp_path / "run") as folder:
        gateway = start(mesh, release="nfqueue", law="even")
        rest = fill(folder)
        gateway.send(signal.SIGSTOP)
        assert hooks.detach(gateway.pid) == 2
        with hooks.no_tcx(mesh.gateway, "mesh0"):
            gateway.send(signal.SIGCONT)
            gateway.logged("not noted")
            assert gateway.fresh_status()["attached"] == "clsact"
            with download(mesh) as transfer:
                paces(gateway)
                assert transfer.finish().intact
        rest.unlink()
        gateway.logged("are noted again")
        assert gateway.stop() == 0
    assert "clsact" not in mesh.gateway.run("tc", "qdisc", "show", "dev", "mesh0")


def test_a_run_folder_removed_is_made_again(
    mesh: net.Network, start: StartGateway, tmp_path: Path
) -> None:
    gateway = start(mesh, law="even")
    shutil.rmtree(tmp_path / "run")
    gateway.logged("socket of status; made again")
    assert gateway.status()["state"] == "ready"
    second = gateway.call("gateway", "--mesh", "mesh0", "--config", str(gateway.file))
    assert second.returncode == 1
    assert "runs on mesh0 already" in second.stderr
    gateway.kill()
    assert gateway.clean().returncode == 0
    assert "meshpace" not in mesh.gateway.run("iptables-save", "-t", "mangle")
