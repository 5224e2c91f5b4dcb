# SPDX-License-Identifier: GPL-2.0-only
"""Of a host that has a cap flows leave the line of new ones, and nothing overtakes on the way."""

import contextlib
import socket
import statistics
import struct
import time
from collections.abc import Iterator, Sequence

import pytest
from conftest import StartGateway
from harness import air, maps, net
from harness.capture import SYN, Capture, segment, segments
from harness.fuzz import Fields, ipv4, tcp
from harness.gateway import PATIENCE_S, Gateway, host, until
from harness.transfer import Transfer, window
from test_shares import caps

pytestmark = pytest.mark.measured

RADIO = air.Radio(delay_ms=5.0, kbps=5000, queue=50)
# A sender may have so much under way: two thousand packets.
WINDOW = window(3 << 20)
SETTLING_S, SAMPLES = 6.0, 10
# What a flow held to half of the radio waits for at most: a quarter of a second.
TARGET_PACKETS, FIRST_BYTE_S = 64, 1.0
# struct mp_class: its lock, its number, then struct mp_hold, of which the counts follow five times.
CAME = struct.Struct("=8x40xII")
UDP_PORT, UDP_FLOWS = 9, 8
# Of a call, and of two floods; by these ports each is in a bucket of its own.
CALL_PORTS = (40_001, 40_002, 40_003)
# Half of the radio takes a second for them.
BURST, BURST_BYTES, SOON_NS = 250, 1200, 300_000_000


@contextlib.contextmanager
def two_capped(start: StartGateway) -> Iterator[tuple[net.Network, Gateway]]:
    """Each of two hosts has a download of its own, for as long as both have caps."""
    with net.over_radio(RADIO, hosts=2) as network, contextlib.ExitStack() as stack:
        hosts = [host(net.host4(n), 11.0) for n in (0, 1)]
        gateway = start(network, release="htb", law="even", host=hosts)
        for n in (0, 1):
            stack.enter_context(
                Transfer(network.wired, network.hosts[n], net.host4(n), options=window(65536))
            )
        until(lambda: len(caps(gateway)) == 2, PATIENCE_S, gateway)
        yield network, gateway


def came(gateway: Gateway, port: int) -> int:
    """So many packets have come to the line of the flow to this port of the mesh, so far."""
    for key, value in maps.rows(gateway, "mp_classes"):
        if key[32:34] == struct.pack("!H", port):
            return int(CAME.unpack_from(value)[0])
    return 0


def first_byte_s(network: net.Network) -> float:
    """Until the first byte of a new connection is there."""
    with network.host.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind((net.host4(0), 0))
        listener.listen()
        with network.wired.socket(socket.AF_INET, socket.SOCK_STREAM) as out:
            out.connect(listener.getsockname())
            into, _ = listener.accept()
            with into:
                began = time.monotonic()
                out.sendall(b"x" * 1000)
                into.settimeout(PATIENCE_S)
                into.recv(1)
                return time.monotonic() - began


def test_a_download_leaves_the_line_of_new_flows(start: StartGateway) -> None:
    """Else nothing bounds its queue but its window, and what else is new of its host is lost."""
    with two_capped(start) as (network, gateway):
        with Transfer(network.wired, network.host, net.host4(0), options=WINDOW) as run:
            time.sleep(SETTLING_S)
            before = came(gateway, run.receiver_port)
            waiting, firsts = [], []
            for _ in range(SAMPLES):
                time.sleep(1)
                waiting.append(gateway.status()["counters"]["queue_waiting"])
                firsts.append(first_byte_s(network))
            own = came(gateway, run.receiver_port) - before
        print(f"waiting {waiting}, first bytes {firsts}, {own} in its own line")
        assert own > 100
        assert statistics.median(waiting) <= TARGET_PACKETS
        assert max(firsts) <= FIRST_BYTE_S


def test_nothing_overtakes_as_caps_come_and_go(start: StartGateway) -> None:
    """Else each time that a host is alone again its data passes what of it still waits."""
    with net.over_radio(RADIO, hosts=2) as network:
        network.segmentation(False)
        hosts = [host(net.host4(n), 11.0) for n in (0, 1)]
        gateway = start(network, release="htb", law="even", host=hosts)
        with (
            Capture(network.wired, "eth0", snap=160) as before,
            Capture(network.gateway, "mesh0", snap=160) as after,
            Transfer(network.wired, network.host, net.host4(0), options=WINDOW) as run,
        ):
            for _ in range(3):
                with Transfer(network.wired, network.hosts[1], net.host4(1)):
                    until(lambda: len(caps(gateway)) == 2, PATIENCE_S, gateway)
                    time.sleep(1)
                until(lambda: net.host4(0) not in caps(gateway), PATIENCE_S, gateway)
                time.sleep(1)
        sent = [(s.seq, s.ack) for s in segments(before.frames, run.sender_port, sent_by=True)]
        left = [(s.seq, s.ack) for s in segments(after.frames, run.sender_port, sent_by=True)]
    assert len(left) > 1000
    place = iter(sent)
    assert all(one in place for one in left), "some left before others that came earlier"


def syns() -> Iterator[bytes]:
    """SYNs of ever other connections, with data."""
    ends = socket.inet_aton(net.WIRED4), socket.inet_aton(net.host4(0))
    for port in range(10_000, 10_000 + BURST):
        yield ipv4(*ends, tcp(*ends, Fields(port, 9, 1, 0, SYN), bytes(BURST_BYTES)), 64)


def test_a_syn_with_data_waits_as_data_does(start: StartGateway) -> None:
    """Else whoever writes data into SYNs passes every cap."""
    with two_capped(start) as (network, _):
        with (
            network.wired.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as out,
            Capture(network.gateway, "mesh0", snap=160) as after,
        ):
            for packet in syns():
                out.sendto(packet, (net.host4(0), 0))
            time.sleep(2)
        found = [segment(frame) for frame in after.frames if frame.outgoing]
        left = [s.time_ns for s in found if s and s.flags & SYN and s.payload]
    soon = sum(at < left[0] + SOON_NS for at in left)
    print(f"{len(left)} of {BURST} left, {soon} of them soon")
    assert soon < BURST // 2


def waits_ms(before: Capture, after: Capture) -> dict[int, list[float]]:
    """Of datagrams, by the port that they come from: how long each was between the two captures."""
    came: dict[tuple[int, bytes], int] = {}
    waits: dict[int, list[float]] = {}
    for frame in before.frames + after.frames:
        if frame.data[12:14] != b"\x08\x00" or frame.data[23] != socket.IPPROTO_UDP:
            continue
        key = int.from_bytes(frame.data[34:36], "big"), frame.data[42:46]
        if key in came:
            waits.setdefault(key[0], []).append((frame.time_ns - came[key]) / 1e6)
        came.setdefault(key, frame.time_ns)
    return waits


@contextlib.contextmanager
def datagrams(
    start: StartGateway, ports: Sequence[int]
) -> Iterator[tuple[net.Network, list[socket.socket]]]:
    """Sockets from which datagrams go to UDP_PORT of a capped host; port 0: any."""
    with (
        two_capped(start) as (network, _),
        network.host.socket(socket.AF_INET, socket.SOCK_DGRAM) as into,
        contextlib.ExitStack() as stack,
    ):
        into.bind((net.host4(0), UDP_PORT))
        flows = []
        for port in ports:
            flow = network.wired.socket(socket.AF_INET, socket.SOCK_DGRAM)
            stack.enter_context(flow).bind((net.WIRED4, port))
            flows.append(flow)
        yield network, flows


def test_a_call_passes_floods_of_its_host(start: StartGateway) -> None:
    """By fq_codel's rule what sends seldom goes first: else it stands behind one of two floods."""
    with datagrams(start, CALL_PORTS) as (network, flows):
        with (
            Capture(network.wired, "eth0", snap=160) as before,
            Capture(network.gateway, "mesh0", snap=160) as after,
        ):
            for turn in range(400):
                for flow in flows[1:]:
                    flow.sendto(struct.pack("!I", turn) * 300, (net.host4(0), UDP_PORT))
                if turn % 4 == 0:
                    flows[0].sendto(struct.pack("!I", turn) * 40, (net.host4(0), UDP_PORT))
                time.sleep(0.005)
        waits = waits_ms(before, after)
    call, *floods = (statistics.median(waits[port][len(waits[port]) // 4 :]) for port in CALL_PORTS)
    print(f"a call waits for {call:.1f} ms, floods for {floods}")
    assert len(waits[CALL_PORTS[0]]) > 90, "of a call nothing is lost"
    assert all(call < flood / 4 for flood in floods)


def test_datagrams_of_a_flow_stay_in_order(start: StartGateway) -> None:
    """Else the second of a burst passes the first, which waits behind others' first ones."""
    with datagrams(start, [0] * UDP_FLOWS) as (network, flows):
        with Capture(network.gateway, "mesh0", snap=160) as after:
            for burst in range(20):
                for n in range(UDP_FLOWS + 2):
                    # Of the last there are three.
                    flow = flows[min(n, UDP_FLOWS - 1)]
                    flow.sendto(struct.pack("!H", 20 * burst + n) * 600, (net.host4(0), UDP_PORT))
                time.sleep(0.25)
        ports = [flow.getsockname()[1] for flow in flows]
    left: dict[int, list[int]] = {port: [] for port in ports}
    for frame in after.frames:
        if frame.outgoing and frame.data[12:14] == b"\x08\x00" and frame.data[23] == 17:
            port, number = (int.from_bytes(frame.data[at : at + 2], "big") for at in (34, 42))
            left[port].append(number)
    print(left[ports[-1]])
    assert len(left[ports[-1]]) > 10
    assert all(numbers == sorted(numbers) for numbers in left.values())
