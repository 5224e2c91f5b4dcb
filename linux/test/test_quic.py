# SPDX-License-Identifier: GPL-2.0-only
"""
Downloads by real QUIC, CUBIC and BBR, through a gateway that reads nothing of them. Their host is
asked what waits for it, and held; all arrives as it was sent, whoever leaves, moves or dies.
"""

import contextlib
import itertools
import math
import signal
import socket
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import StartGateway
from harness import air, hang, net, quic
from harness.capture import Capture, Frame
from harness.gateway import PATIENCE_S, Gateway, host, until
from harness.record import Recorder
from harness.transfer import Transfer
from test_opaque import asked, cap_kbps
from test_shares import Flood

KBPS = 5000
# As test_opaque has it: a queue of 150 ms, of one for all.
RADIO = air.Radio(delay_ms=2.0, kbps=KBPS, queue=75)
CONGESTION = ["cubic", "bbr"]
# Look-ups before a download: the path is empty then, and the gateway learns what it takes.
LOOK_UPS_KBPS = 50.0
# Some 4 s of the path.
SIZE_BYTES = 2_500_000
# Far more than lies behind the gateway.
MORE_BYTES = 600_000
# As they come by a wire, where nothing joins them.
APART = ("--max-gso-dgrams", "1")
# As a container or a virtual machine has them: super packets.
JOINED: tuple[str, ...] = ()
# Fixed bit 0 or 1, spin bit, reserved bits, key phase (RFC 9000, 17.3; RFC 9287 greases the first);
# long headers of versions that nobody has (RFC 9000, 15).
FIRST_BYTES = [0x00, 0x20, 0x40, 0x60, 0x58, 0x44, 0x7F]
GREASED = [bytes([first]) + bytes(40) for first in FIRST_BYTES] + [
    bytes([first]) + b"\x1a\x2a\x3a\x4a" + bytes(1195) for first in (0x80, 0xC0, 0xFF)
]
GREASED_PORT = 9000
SETTLING_S, MEASURED_S, PING_S = 4.0, 12.0, 0.05
LOST_MS = 1000.0
# RFC 9002, 6.1.1: a sender takes for lost what so many later ones have overtaken.
REORDERED = 3


def begin(start: StartGateway, network: net.Network, **more: object) -> Gateway:
    """A gateway that knows what the empty path takes."""
    hosts = [host(net.host4(n), 11.0) for n in range(len(network.hosts))]
    gateway = start(network, release="htb", law="even", host=hosts, **more)
    if more.get("ask_hosts", True):
        with Flood(network.wired, network.host, net.host4(0), LOOK_UPS_KBPS):
            until(lambda: asked(gateway) > 0, PATIENCE_S, gateway)
    return gateway


def paced(gateway: Gateway) -> int:
    return int(gateway.status()["counters"]["paced"])


def is_held(gateway: Gateway) -> None:
    """Waits until it is."""
    before = paced(gateway)
    until(lambda: cap_kbps(gateway) and paced(gateway) > before + 20, PATIENCE_S, gateway)


def goes_on(run: quic.Download) -> None:
    before = run.received
    until(lambda: run.received > before + MORE_BYTES, PATIENCE_S)


@contextlib.contextmanager
def held(
    start: StartGateway, folder: Path, congestion: str, *words: str, size: int = SIZE_BYTES
) -> Iterator[tuple[net.Network, Gateway, quic.Download]]:
    """A download that the gateway holds; words: options of its client."""
    with net.over_radio(RADIO) as network:
        gateway = begin(start, network)
        ends = network.wired, network.host, net.WIRED4, folder
        with quic.Download(*ends, *words, congestion=congestion, size=size) as run:
            is_held(gateway)
            yield network, gateway, run


def greased(network: net.Network) -> None:
    """Datagrams as QUIC's may be, of each mark of ECN, there and back."""
    for wired, mesh in ((net.WIRED4, net.host4(0)), (net.WIRED6, net.host6(0))):
        six = ":" in wired
        family = socket.AF_INET6 if six else socket.AF_INET
        level, name = (
            (socket.IPPROTO_IPV6, socket.IPV6_TCLASS) if six else (socket.IPPROTO_IP, socket.IP_TOS)
        )
        with contextlib.ExitStack() as stack:
            ends = []
            for end, address in ((network.host, mesh), (network.wired, wired)):
                one = stack.enter_context(end.socket(family, socket.SOCK_DGRAM))
                one.bind((address, GREASED_PORT))
                ends.append((one, address))
            # From the mesh first: who never says anything is a stranger, and gets little.
            for (out, _), (_, address) in (ends, ends[::-1]):
                for traffic_class, data in itertools.product(range(4), GREASED):
                    out.setsockopt(level, name, traffic_class)
                    out.sendto(data, (address, GREASED_PORT))
                    time.sleep(0.002)


@dataclass(frozen=True)
class Passed:
    """Of the datagrams that came: how many passed, of these were marked, and did not pass."""

    count: int
    marked: int
    lost: int


def passed(came: list[Frame], left: list[Frame]) -> Passed:
    """
    Of the frames that came by one interface and left by the other: all datagrams are as they came,
    but for marks where ECN is spoken, and none has overtaken so many of its connection that they
    would be taken for lost.
    """
    before = quic.datagrams(came, outgoing=False)
    after = quic.datagrams(left, outgoing=True)
    more = Counter(one.same for one in after) - Counter(one.same for one in before)
    counts = Counter(one.told for one in before)
    changed = more - Counter(one.told for one in before if one.traffic_class & quic.ECN)
    assert not changed, f"{len(changed)} left that had not come so"
    places = {one.told: place for place, one in enumerate(before) if counts[one.told] == 1}
    by_ends: dict[object, list[int]] = {}
    for one in after:
        if one.told in places:
            by_ends.setdefault(one.ends, []).append(places[one.told])
    for order in by_ends.values():
        late = sum(there < before for before, there in itertools.pairwise(order))
        assert late < REORDERED
    return Passed(len(after), more.total(), len(before) - len(after))


@pytest.mark.parametrize("congestion", CONGESTION)
def test_nothing_is_changed(start: StartGateway, tmp_path: Path, congestion: str) -> None:
    """Marked by ECN, greased or spinning: else the gateway is in the way of what is to come."""
    with net.over_radio(RADIO) as network:
        gateway = begin(start, network)
        ends = network.wired, network.host, net.WIRED4, tmp_path
        with (
            Capture(network.gateway, "eth0") as eth0,
            Capture(network.gateway, "mesh0") as mesh0,
            quic.Download(*ends, congestion=congestion, size=SIZE_BYTES, served=APART) as run,
        ):
            is_held(gateway)
            greased(network)
            assert run.intact
            mesh0.quiet(0.5)
            wired, mesh = eth0.stop(), mesh0.stop()
        down, up = passed(wired, mesh), passed(mesh, wired)
        counters = gateway.fresh_status()["counters"]
    assert down.count > SIZE_BYTES / net.MTU
    assert up.count > 8 * len(GREASED)
    marks = Counter(one.traffic_class for one in quic.datagrams(mesh, outgoing=True))
    assert {0, 1, 2, 3} <= set(marks)
    assert marks[2] + down.marked > SIZE_BYTES / net.MTU, "ngtcp2 speaks ECN"
    assert (down.lost, up.lost) == (counters["udp_dropped"], 0)
    assert (down.marked, up.marked) == (counters["wait_marked"], 0)


def ports(capture: Capture) -> list[int]:
    """To which the server has sent so far, the first first."""
    sent = quic.datagrams(list(capture.frames), outgoing=True)
    return list(dict.fromkeys(one.ends[3] for one in sent if one.ends[1] == quic.PORT))


def test_a_client_that_moves_stays_held(start: StartGateway, tmp_path: Path) -> None:
    """It changes ports by itself (RFC 9000, 9): it is the same host's."""
    with net.over_radio(RADIO) as network:
        gateway = begin(start, network)
        ends = network.wired, network.host, net.WIRED4, tmp_path
        moves = "--change-local-addr=2s"
        with (
            Capture(network.gateway, "mesh0", snap=128) as capture,
            quic.Download(*ends, moves, congestion="bbr", size=SIZE_BYTES) as run,
        ):
            until(lambda: len(ports(capture)) == 2, PATIENCE_S, gateway)
            is_held(gateway)
            assert run.intact


def test_a_translator_that_forgets(start: StartGateway, tmp_path: Path) -> None:
    """Somebody's NAT in the mesh gives the client another port: likewise."""
    with net.over_radio(RADIO) as network:
        gateway = begin(start, network)
        ends = network.wired, network.host, net.WIRED4, tmp_path
        with (
            Capture(network.gateway, "mesh0", snap=128) as capture,
            quic.Translator(network.host, net.host4(0), net.WIRED4) as translator,
            quic.Download(
                *ends, congestion="cubic", size=SIZE_BYTES, dialled=translator.dialled
            ) as run,
        ):
            is_held(gateway)
            translator.rebind()
            until(lambda: len(ports(capture)) == 2, PATIENCE_S, gateway)
            is_held(gateway)
            assert run.intact


def test_who_vanishes_is_forgotten(start: StartGateway, tmp_path: Path) -> None:
    """In the middle, without a word: nobody is asked for ever, and nobody held for him."""
    with held(start, tmp_path, "cubic", size=1 << 24) as (network, gateway, run):
        run.vanish()
        network.host.ip("link", "set", "eth0", "down")
        until(lambda: cap_kbps(gateway) is None, PATIENCE_S, gateway)

        def silent() -> bool:
            before = asked(gateway)
            time.sleep(2)
            return asked(gateway) == before

        until(silent, PATIENCE_S, gateway)
        assert gateway.status()["state"] == "ready"


@pytest.mark.parametrize("congestion", CONGESTION)
def test_a_daemon_that_hangs_or_dies(start: StartGateway, tmp_path: Path, congestion: str) -> None:
    """Else the gateway is a hole in the middle of a download."""
    with held(start, tmp_path, congestion, size=20 * MORE_BYTES) as (_, gateway, run):
        with hang.stopped(gateway.pid):
            goes_on(run)
        is_held(gateway)
        gateway.kill()
        goes_on(run)
        assert run.intact


def echoes(frames: list[Frame], kind: int, outgoing: bool) -> dict[bytes, int]:
    """When ICMP echoes (8: asked, 0: answered) of the wired host passed, by number and identity."""
    found: dict[bytes, int] = {}
    for frame in frames:
        data = frame.data
        if data[12:14] == b"\x08\x00" and data[23] == socket.IPPROTO_ICMP and data[34] == kind:
            wired = socket.inet_ntoa(data[26:30] if kind else data[30:34])
            if frame.outgoing == outgoing and wired == net.WIRED4:
                found.setdefault(data[38:42], frame.time_ns)
    return found


@dataclass(frozen=True)
class Beside:
    """What was measured beside a download."""

    kbps: float
    pings_ms: list[float]  # from the gateway to the host and back; endless: lost
    held_pings_ms: list[float]  # in the gateway
    held_ms: list[float]  # of the download's datagrams, there
    gaps_ms: list[float]  # of these, as they leave

    @property
    def ping_ms(self) -> float:
        return statistics.mean(min(one, LOST_MS) for one in self.pings_ms)

    @property
    def p95_ms(self) -> float:
        return quantile(self.pings_ms, 0.95)

    def __str__(self) -> str:
        held = f"{quantile(self.held_pings_ms, 0.9):.1f} and {quantile(self.held_ms, 0.9):.1f}"
        return (
            f"{self.kbps:.0f} kbit/s, pings {self.ping_ms:.0f} ms, p95 {self.p95_ms:.0f}, "
            f"nine of ten pings and datagrams in the gateway {held}; "
            f"a tenth of gaps below {quantile(self.gaps_ms, 0.1):.2f} ms"
        )


def quantile(values: list[float], part: float) -> float:
    return sorted(values)[int(part * len(values))]


def beside(network: net.Network, run: quic.Download, seconds: float) -> Beside:
    """Pings from the wired host meanwhile."""
    before, began = run.received, time.monotonic()
    with (
        Capture(network.gateway, "eth0", snap=128, late=True) as eth0,
        Capture(network.gateway, "mesh0", snap=128, late=True) as mesh0,
    ):
        count = str(int(seconds / PING_S))
        network.wired.run("ping", "-q", "-i", str(PING_S), "-c", count, net.host4(0), check=False)
        kbps = (run.received - before) * 8e-3 / (time.monotonic() - began)
        wired, mesh = eth0.stop(), mesh0.stop()
    asked, left = echoes(wired, 8, False), echoes(mesh, 8, True)
    answered = echoes(mesh, 0, False)
    came = {one.payload: one.time_ns for one in quic.datagrams(wired, outgoing=False)}
    sent = [one for one in quic.datagrams(mesh, outgoing=True) if one.ip_bytes > net.MTU / 2]
    return Beside(
        kbps,
        [(answered[one] - left[one]) / 1e6 if one in answered else math.inf for one in left],
        [(left[one] - asked[one]) / 1e6 for one in left if one in asked],
        [(one.time_ns - came[one.payload]) / 1e6 for one in sent if one.payload in came],
        [(b.time_ns - a.time_ns) / 1e6 for a, b in itertools.pairwise(sent)],
    )


@pytest.mark.measured
@pytest.mark.parametrize(
    ("congestion", "served"),
    [
        pytest.param("cubic", APART, id="cubic"),
        pytest.param("bbr", APART, id="bbr"),
        pytest.param("cubic", JOINED, id="cubic-joined", marks=pytest.mark.smoke),
        pytest.param("bbr", JOINED, id="bbr-joined"),
    ],
)
def test_others_wait_less_beside_it(
    start: StartGateway,
    tmp_path: Path,
    record: Recorder,
    congestion: str,
    served: tuple[str, ...],
) -> None:
    """Than while nobody is asked; and what waits in the gateway is its own, however it came."""
    with net.over_radio(RADIO) as network:
        gateway = begin(start, network)
        ends = network.wired, network.host, net.WIRED4, tmp_path
        with quic.Download(*ends, congestion=congestion, served=served) as run:
            is_held(gateway)
            time.sleep(SETTLING_S)
            on = beside(network, run, MEASURED_S)
            gateway.configure({**gateway.config, "ask_hosts": False})
            gateway.send(signal.SIGHUP)
            until(lambda: cap_kbps(gateway) is None, PATIENCE_S, gateway)
            time.sleep(SETTLING_S)
            off = beside(network, run, MEASURED_S / 2)
    print(f"on: {on}\noff: {off}")
    record("pings, by those with ask_hosts off", "", on.ping_ms / off.ping_ms, "at most .5")
    record("their p95, likewise", "", on.p95_ms / off.p95_ms, "at most .5")
    record("goodput, likewise", "", on.kbps / off.kbps, "at least .8")
    held = quantile(on.held_pings_ms, 0.9), quantile(on.held_ms, 0.9)
    record("nine of ten pings in the gateway, by the download's datagrams", "", held[0] / held[1])
    assert on.kbps >= 0.8 * off.kbps
    assert held[0] < held[1] / 3
    assert on.ping_ms < (0.85 if served == JOINED else 1.1) * off.ping_ms
    # Nothing leaves in a burst: a tenth of the gaps is no shorter than half of what a frame takes.
    assert quantile(on.gaps_ms, 0.1) > net.MTU * 8 / KBPS / 2


@pytest.mark.measured
@pytest.mark.parametrize("congestion", CONGESTION)
def test_tcp_beside_it_has_as_much(
    start: StartGateway, tmp_path: Path, record: Recorder, congestion: str
) -> None:
    """Of two hosts one has QUIC: else who reads videos by it takes the others' air, or has none."""
    with net.over_radio(RADIO, hosts=2) as network:
        begin(start, network)
        ends = network.wired, network.hosts[0], net.WIRED4, tmp_path
        with (
            quic.Download(*ends, congestion=congestion) as one,
            Transfer(network.wired, network.hosts[1], net.host4(1)) as other,
        ):
            time.sleep(5 * SETTLING_S)
            before = one.received, other.received
            time.sleep(MEASURED_S)
            after = one.received, other.received
    got = [(b - a) * 8e-3 / MEASURED_S for a, b in zip(before, after, strict=True)]
    record("QUIC's part of both", "", got[0] / sum(got), ".45 to .55")
    record("both by what the radio carries", "", sum(got) / KBPS, "at least .8")
    assert sum(got) >= 0.8 * KBPS
    # Of what a datagram takes some 4% are headers, which count for its host; a segment's do not.
    assert 0.4 <= got[0] / sum(got) <= 0.6
