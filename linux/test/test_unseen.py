# SPDX-License-Identifier: GPL-2.0-only
"""Packets do not come by the gateway's programs, since a filter before them lets them pass."""

import socket
import struct
import time

import pytest
from conftest import StartGateway
from harness import net, offload
from harness.gateway import PATIENCE_S, until
from harness.transfer import Transfer
from test_watch import download, mesh, paces, state

__all__ = ["mesh"]
IN_FRONT = "a filter of priority 1 is asked before meshpace's"


# Programs for a filter: all packets match, and without an action pass at once; or none does.
MATCHES, GOES_ON = "1,6 0 0 4294967295", "1,6 0 0 0"


def put(network: net.Network, at: str, bytecode: str) -> None:
    words = ("filter", "add", "dev", "mesh0", at, "prio", "1", "protocol", "all")
    network.gateway.run("tc", *words, "bpf", "bytecode", bytecode)


def goes_on(run: Transfer) -> None:
    before = run.received
    until(lambda: run.received > before + 200_000, PATIENCE_S)


@pytest.mark.parametrize("at", ["egress", "ingress"])
def test_a_filter_in_front_is_told(mesh: net.Network, start: StartGateway, at: str) -> None:
    """Else pacing is off, or all hosts seem to have left, and status says that all is well."""
    gateway = start(mesh, release="htb", law="even")
    with download(mesh) as run:
        paces(gateway)
        put(mesh, at, MATCHES)
        verb = "leave" if at == "egress" else "come"
        found = state(gateway, f"packets {verb} unseen: {IN_FRONT}")
        assert found["release"] == "observe"
        goes_on(run)
        mesh.gateway.run("tc", "filter", "del", "dev", "mesh0", at, "prio", "1")
        state(gateway, "ready")
        paces(gateway)
        assert run.finish().intact
    assert len([line for line in gateway.log if IN_FRONT in line]) == 1


def test_a_filter_in_front_that_goes_on_is_none_s_fault(
    mesh: net.Network, start: StartGateway
) -> None:
    """Else who counts or marks packets there has no pacing."""
    gateway = start(mesh, release="htb", law="even")
    for at in ("egress", "ingress"):
        put(mesh, at, GOES_ON)
    with download(mesh) as run:
        for _ in range(4):
            paces(gateway)
            goes_on(run)
            assert gateway.fresh_status()["state"] == "ready"
        assert run.finish().intact


SOL_PACKET, PACKET_VNET_HDR = 263, 15
PAYLOAD, SEGMENT = 20_000, 1448
# struct virtio_net_hdr: TCP over IPv4, its checksum to be completed; of segments their size.
VIRTIO = struct.pack("=BBHHHH", 1, 1, 54, SEGMENT, 34, 16)


def super_packet() -> bytes:
    """A frame of data to the first host, of many segments."""
    ends = socket.inet_aton(net.WIRED4), socket.inet_aton(net.host4(0))
    ether = bytes.fromhex("0200000000070200000000090800")
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40 + PAYLOAD, 1, 0x4000, 64, 6, 0, *ends)
    tcp = struct.pack("!HHIIBBHHH", 5201, 5999, 1, 1, 0x50, 0x10, 1000, 0, 0)
    return ether + ip + tcp + bytes(PAYLOAD)


def test_super_packets_that_do_not_count_their_segments_are_seen(
    network: net.Network, start: StartGateway
) -> None:
    """As a virtual machine gets them by virtio: else nothing is paced there."""
    gateway = start(network, release="htb", law="even")
    offload.set_(network.gateway, "mesh0", False, "tso")
    frame = super_packet()
    with network.gateway.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
        out.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        out.bind(("mesh0", 0))
        until_s = time.monotonic() + 6
        while time.monotonic() < until_s:
            out.send(VIRTIO + frame)
            time.sleep(0.02)
        assert gateway.fresh_status()["state"] == "ready"
    assert not [line for line in gateway.log if "unseen" in line]
