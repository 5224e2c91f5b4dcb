# SPDX-License-Identifier: GPL-2.0-only
"""What the sender leaves alone: loopback, neighbours, other sockets, what applications ask for."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import net
from harness.callbacks import CONNECT, LENGTH, PARSE, RTT, seen, watching
from harness.capture import Capture, segments
from harness.gateway import until
from harness.lossy import Radio
from harness.sender import NAME, Flow, Sender
from harness.transfer import Transfer

pytestmark = pytest.mark.sender

HOPS, MBPS = 8, 20.0
RATE = (socket.SOL_SOCKET, 47)  # SO_MAX_PACING_RATE, bytes/s
SLOW, NO_BOUND = 20_000, 0xFFFFFFFF
ASK = b"\xfe\x04\x6d\x70"
PORT = 5999


@pytest.fixture
def mesh() -> Iterator[net.Network]:
    with net.over_radio(Radio(delay_ms=2.0)) as made:
        yield made


@pytest.fixture
def sender(mesh: net.Network, tmp_path: Path) -> Iterator[Sender]:
    with Sender(mesh.host, tmp_path) as made:
        yield made


def after(sender: Sender, run: Transfer, bytes_: int) -> Flow:
    """The flow once so much of it is acknowledged."""

    def enough() -> Flow | None:
        flow = sender.flow(run.sender_port)
        return flow if flow and flow["acked_bytes"] >= bytes_ else None

    found: Flow = until(enough)
    return found


def pacing(run: Transfer) -> int:
    return run.sender_socket.getsockopt(*RATE) & NO_BOUND


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", net.host4(0), net.host6(0)])
def test_within_the_host_nothing_is_paced(mesh: net.Network, sender: Sender, address: str) -> None:
    """Though it is the default: databases and containers are not across the mesh."""
    sender.on(HOPS, MBPS, "--default")
    with Transfer(mesh.host, mesh.host, address, congestion=NAME) as run:
        flow = after(sender, run, 1_000_000)
        assert (flow["rate_kbps"], flow["interval_us"]) == (None, 0)
        assert pacing(run) == NO_BOUND


@pytest.mark.parametrize("address", [net.GATEWAY_MESH4, net.GATEWAY_MESH6])
def test_a_neighbour_is_not_across_the_gateway(
    mesh: net.Network, sender: Sender, address: str
) -> None:
    """Nor is what leaves by another interface; what goes through the gateway is paced."""
    sender.on(HOPS, MBPS, "--default")
    with Transfer(mesh.host, mesh.gateway, address, congestion=NAME) as run:
        assert after(sender, run, 100_000)["rate_kbps"] is None
        assert pacing(run) == NO_BOUND
    wired = net.WIRED6 if ":" in address else net.WIRED4
    with Transfer(mesh.host, mesh.wired, wired, congestion=NAME) as run:
        assert after(sender, run, 100_000)["rate_kbps"] > 0
        assert pacing(run) < NO_BOUND


def test_another_namespace_is_not_across_the_mesh(
    mesh: net.Network, sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interfaces are numbered in each anew: a container's may have the mesh interface's number."""
    sender.on(HOPS, MBPS)
    number = json.loads(mesh.host.ip("-j", "link", "show", "eth0"))[0]["ifindex"]
    with net.namespaces("inside", "outside") as (inside, outside):
        peer = ("peer", "name", "eth0", "netns", outside.name)
        inside.ip("link", "add", "name", "eth0", "index", str(number), "type", "veth", *peer)
        for namespace, own in ((inside, "10.7.0.2/24"), (outside, "10.7.0.1/24")):
            namespace.ip("link", "set", "eth0", "up")
            net.address(namespace, "eth0", own)
        net.address(outside, "lo", "10.8.0.1/32")
        inside.ip("route", "add", "default", "via", "10.7.0.1")
        monkeypatch.setattr(sender, "namespace", inside)
        with Transfer(inside, outside, "10.8.0.1", congestion=NAME) as run:
            flow = after(sender, run, 1_000_000)
            assert (flow["rate_kbps"], flow["interval_us"]) == (None, 0)
            assert pacing(run) == NO_BOUND
        monkeypatch.undo()


def test_an_applications_own_bound_holds_and_comes_back(mesh: net.Network, sender: Sender) -> None:
    """Set before or under way; and when it chooses another congestion control."""
    sender.on(HOPS, MBPS)
    own = {RATE: SLOW}
    with Transfer(mesh.host, mesh.wired, net.WIRED4, congestion=NAME, options=own) as run:
        assert after(sender, run, 20_000)["rate_kbps"] == SLOW * 8e-3
        assert pacing(run) == SLOW
        run.sender_socket.setsockopt(*RATE, 2 * SLOW)
        assert after(sender, run, 60_000)["rate_kbps"] == 2 * SLOW * 8e-3
        run.sender_socket.setsockopt(*RATE, -1)
        until(lambda: 2 * SLOW < pacing(run) < NO_BOUND)
        run.sender_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        until(lambda: pacing(run) == NO_BOUND)


def test_other_sockets_keep_their_callbacks(
    mesh: net.Network, sender: Sender, tmp_path: Path
) -> None:
    """Another program's are not ended, nothing is written there, and none is added."""
    sender.on(HOPS, MBPS)
    with (
        watching(PORT, tmp_path),
        Capture(mesh.host, "eth0", snap=128) as capture,
        mesh.wired.socket(socket.AF_INET, socket.SOCK_STREAM) as server,
        mesh.host.socket(socket.AF_INET, socket.SOCK_STREAM) as client,
    ):
        server.bind((net.WIRED4, PORT))
        server.listen()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        client.connect((net.WIRED4, PORT))
        port = client.getsockname()[1]
        with server.accept()[0] as accepted:
            for _ in range(20):
                client.sendall(b"some data")
                assert accepted.recv(100)
            found = seen()
        sent = segments(capture.stop(), port, sent_by=True)
    assert found[CONNECT] == 1
    # One for each packet with data at least: the program still writes options.
    assert found[LENGTH] >= 20
    assert (found[RTT], found[PARSE]) == (0, 0)
    assert sent
    assert not [one for one in sent if ASK in one.options]
