# SPDX-License-Identifier: GPL-2.0-only
"""Real kernels' connections that a gateway might break: TCP-MD5, MPTCP, two gateways in a row."""

import contextlib
import hashlib
import random
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import StartGateway
from harness import net, offload
from harness.capture import Capture
from harness.gateway import Gateway
from harness.lossy import Radio
from harness.namespace import Namespace
from harness.transfer import Transfer
from test_option import check, read

SIZE_BYTES = 400_000
TCP_MD5SIG = 14
IPPROTO_MPTCP = 262


def signed_by(address: str) -> bytes:
    """struct tcp_md5sig: what comes from there, and goes there, is signed with this key."""
    peer = struct.pack("=HH4s120x", socket.AF_INET, 0, socket.inet_aton(address))
    return peer + struct.pack("=BBHi80s", 0, 0, 6, 0, b"secret")


def a_socket(where: Namespace, protocol: int = 0, peer: str | None = None) -> socket.socket:
    one = where.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    one.settimeout(15)
    if peer:
        one.setsockopt(socket.IPPROTO_TCP, TCP_MD5SIG, signed_by(peer))
    return one


def hand_over(source: socket.socket, sink: socket.socket) -> bool:
    """Sends bytes and compares their hashes."""
    data = random.Random(3).randbytes(SIZE_BYTES)
    got = hashlib.sha256()

    def take() -> None:
        left = SIZE_BYTES
        while left:
            part = sink.recv(min(left, 65536))
            if not part:
                return
            got.update(part)
            left -= len(part)

    taker = threading.Thread(target=take, daemon=True)
    taker.start()
    source.sendall(data)
    taker.join(20)
    return not taker.is_alive() and got.digest() == hashlib.sha256(data).digest()


@contextlib.contextmanager
def connection(
    network: net.Network, protocol: int = 0, signed: bool = False
) -> Iterator[tuple[socket.socket, socket.socket]]:
    """(mesh end, wired end)."""
    server = a_socket(network.wired, protocol, net.host4(0) if signed else None)
    client = a_socket(network.host, protocol, net.WIRED4 if signed else None)
    with server, client:
        server.bind((net.WIRED4, 0))
        server.listen(1)
        client.connect(server.getsockname())
        accepted = server.accept()[0]
        accepted.settimeout(15)
        with accepted:
            yield client, accepted


def test_md5_signed_connections_work(start: StartGateway, law: str) -> None:
    """Eight bytes more in an ACK change what is signed: such an ACK is lost to its sender."""
    with net.over_radio(Radio(delay_ms=2, loss=0.01, seed=3)) as network:
        gateway = start(network, option="always", law=law)
        try:
            ends = connection(network, signed=True)
            with ends as (mesh, wired):
                assert hand_over(mesh, wired)
                assert hand_over(wired, mesh)
        except OSError as error:
            if error.errno == 92:  # ENOPROTOOPT: a kernel without TCP-MD5
                pytest.skip("this kernel has no TCP-MD5")
            raise
        counters = gateway.fresh_status()["counters"]
    assert counters["options_signed"] > 10
    assert counters["options_written"] == 0


def test_mptcp_connections_work(start: StartGateway, law: str) -> None:
    """Its messages travel on ACKs that repeat the one before; none is withheld."""
    with net.over_radio(Radio(delay_ms=2, loss=0.01, seed=5)) as network:
        gateway = start(network, option="always", law=law)
        try:
            ends = connection(network, IPPROTO_MPTCP)
            with ends as (mesh, wired):
                assert hand_over(mesh, wired)
                assert hand_over(wired, mesh)
        except OSError as error:
            if error.errno in (92, 93):  # ENOPROTOOPT, EPROTONOSUPPORT
                pytest.skip("this kernel has no MPTCP")
            raise
        counters = gateway.fresh_status()["counters"]
    assert counters["dupacks_mptcp"] > 0
    assert counters["dupacks_withheld"] == 0


@contextlib.contextmanager
def in_a_row() -> Iterator[tuple[net.Network, net.Network]]:
    """
    wired eth0 --- eth0 outer mesh0 --- eth0 inner mesh0 --- eth0 host

    The outer gateway's network, and the inner one's, which have the ends in common.
    """
    with net.namespaces("wired", "outer", "inner", "host") as (wired, outer, inner, host):
        net.veth(outer, "eth0", wired, "eth0")
        net.veth(outer, "mesh0", inner, "eth0")
        net.veth(inner, "mesh0", host, "eth0")
        net.address(wired, "eth0", f"{net.WIRED4}/24")
        net.address(outer, "eth0", f"{net.GATEWAY_WIRED4}/24")
        net.address(outer, "mesh0", "10.8.0.1/24")
        net.address(inner, "eth0", "10.8.0.2/24")
        net.address(inner, "mesh0", f"{net.GATEWAY_MESH4}/16")
        net.address(host, "eth0", f"{net.host4(0)}/16")
        for one in (outer, inner):
            net.forwarding(one)
        wired.ip("route", "add", "default", "via", net.GATEWAY_WIRED4)
        outer.ip("route", "add", "10.1.0.0/16", "via", "10.8.0.2")
        inner.ip("route", "add", "default", "via", "10.8.0.1")
        host.ip("route", "add", "default", "via", net.GATEWAY_MESH4)
        # Checksums that are left to the hardware are not to be read in a capture.
        for end, port in ((wired, "eth0"), (outer, "eth0"), (outer, "mesh0"), (inner, "mesh0")):
            offload.set_(end, port, False, "tso", "gso", "gro", "tx-checksum")
        yield net.Network(wired, outer, [host]), net.Network(wired, inner, [host])


def test_of_two_gateways_the_inner_one_tells(start: StartGateway, tmp_path: Path) -> None:
    """Both wrote: a sender heard of two places at once, by turns."""
    with in_a_row() as (outer, inner):
        config = {"law": "even", "option": "always"}
        far = Gateway(outer.gateway, _folder(tmp_path), "nfqueue", config)
        try:
            far.start()
            near = start(inner, **config)
            with Capture(inner.host, "eth0") as capture:
                run = Transfer(inner.host, inner.wired, net.WIRED4, 10 * SIZE_BYTES).start()
                assert run.wait().intact
                capture.quiet(0.3)
            reads = [read(frame) for frame in capture.stop() if not frame.outgoing]
            counters = near.fresh_status()["counters"]
            written = far.fresh_status()["counters"]["options_written"]
        finally:
            far.end()
    told = check([one for one in reads if one])  # at most one option in a packet
    assert written > 10
    assert counters["options_blanked"] == written
    assert told == counters["options_written"] > 10


def _folder(parent: Path) -> Path:
    folder = parent / "outer"
    folder.mkdir()
    return folder
