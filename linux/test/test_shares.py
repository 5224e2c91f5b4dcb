# SPDX-License-Identifier: GPL-2.0-only
"""The law `even`: hosts get evenly, whatever each has open; and nobody is slowed for nothing."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from conftest import StartGateway
from harness import air, hang, net
from harness.gateway import PATIENCE_S, Gateway, host, until
from harness.namespace import Namespace
from harness.sender import NAME, Sender
from harness.transfer import Transfer

# One rate for all, as of nodes that hear each other.
KBPS = 5000
# Of which a full frame's payload is this part: 1448 bytes of 1514.
PAYLOAD_KBPS = KBPS * 1448 / 1514
RADIO = air.Radio(delay_ms=5.0, kbps=KBPS, queue=50)
SETTLING_S, MEASURED_S = 25.0, 20.0
UDP_PORT, UDP_BYTES = 9, 1200
ECN_ECT0, ECN_CE = 2, 3


@dataclass
class Flood:
    """
    UDP from one namespace to another, at a rate of its own, until left. Its receiver says twice a
    second that it is there, as RTP's do: who never says anything is a stranger, and gets little.
    """

    sender: Namespace
    receiver: Namespace
    address: str
    kbps: float
    ecn: int = 0  # of its IP headers
    answered: bool = True
    received: int = 0
    marked: int = 0  # datagrams that came with "congestion experienced"
    _over: threading.Event = field(default_factory=threading.Event)

    def _send(self) -> None:
        with self.sender.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            out.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, self.ecn)
            due = time.monotonic()
            while not self._over.is_set():
                out.sendto(bytes(UDP_BYTES), (self.address, UDP_PORT))
                due += UDP_BYTES * 8e-3 / self.kbps
                time.sleep(max(0.0, due - time.monotonic()))

    def _receive(self, into: socket.socket) -> None:
        said = 0.0
        while not self._over.is_set():
            with contextlib.suppress(TimeoutError):
                data, control, _, sender = into.recvmsg(2048, socket.CMSG_SPACE(1))
                self.received += len(data)
                self.marked += any(value[0] & ECN_CE == ECN_CE for _, _, value in control)
                if self.answered and time.monotonic() > said + 0.5:
                    said = time.monotonic()
                    into.sendto(b"here", sender)

    def passed_kbps(self, seconds: float) -> float:
        """What comes through from now on."""
        before, began = self.received, time.monotonic()
        time.sleep(seconds)
        return (self.received - before) * 8e-3 / (time.monotonic() - began)

    def passed_without_kbps(self, gateway: Gateway, how: str) -> float:
        """What comes through while the daemon is stopped, or once it is killed, from 2 s on."""
        with hang.stopped(gateway.pid) if how == "stopped" else contextlib.nullcontext():
            if how == "killed":
                gateway.kill()
            time.sleep(2)
            return self.passed_kbps(4)

    def __enter__(self) -> "Flood":
        into = self.receiver.socket(socket.AF_INET, socket.SOCK_DGRAM)
        into.bind((self.address, UDP_PORT))
        into.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        into.settimeout(0.2)
        self._threads = [
            threading.Thread(target=self._send, daemon=True),
            threading.Thread(target=self._receive, args=(into,), daemon=True),
        ]
        self._into = into
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(5)
        self._into.close()


@contextlib.contextmanager
def downloads(network: net.Network, *counts: int) -> Iterator[list[list[Transfer]]]:
    """So many to each host."""
    with contextlib.ExitStack() as stack:
        yield [
            [
                stack.enter_context(Transfer(network.wired, network.hosts[n], net.host4(n)))
                for _ in range(count)
            ]
            for n, count in enumerate(counts)
        ]


def begin(start: StartGateway, network: net.Network, **more: object) -> Gateway:
    hosts = [host(net.host4(n), 11.0) for n in range(len(network.hosts))]
    return start(network, law="even", host=hosts, **more)


def caps(gateway: Gateway) -> dict[str, Any]:
    """Of the hosts that have one towards them, in kbit/s."""
    hosts = gateway.status()["hosts"]
    return {h["address"]: h["cap_down_kbps"] for h in hosts if h["cap_down_kbps"] is not None}


def settled_kbps(runs: list[list[Transfer]]) -> list[float]:
    """What each host's connections get together once caps have settled."""
    time.sleep(SETTLING_S)
    began, before = time.monotonic(), [sum(run.received for run in group) for group in runs]
    time.sleep(MEASURED_S)
    seconds = time.monotonic() - began
    after = [sum(run.received for run in group) for group in runs]
    return [(b - a) * 8e-3 / seconds for a, b in zip(before, after, strict=True)]


@pytest.mark.measured
def test_a_host_gets_no_more_by_opening_more(start: StartGateway) -> None:
    """Else eight connections take eight times what one does."""
    with net.over_radio(RADIO, hosts=2) as network:
        gateway = begin(start, network)
        with downloads(network, 8, 1) as runs:
            many, one = settled_kbps(runs)
            capped = caps(gateway)
    print(
        f"8 connections {many:.0f}, 1 connection {one:.0f} kbit/s: {many / one:.3f}; caps {capped}"
    )
    assert many / one <= 1.35
    assert many + one >= 0.85 * KBPS, "evenness must not cost the others' share"


@pytest.mark.measured
def test_this_box_s_own_downloads_are_its_host_s(start: StartGateway) -> None:
    """A proxy's, which are not held: else its user has eight times what another has."""
    with net.over_radio(RADIO, hosts=2) as network, contextlib.ExitStack() as stack:
        gateway = begin(start, network)
        ends = [(network.gateway, 0)] * 8 + [(network.wired, 1)]
        runs = [
            stack.enter_context(Transfer(sender, network.hosts[n], net.host4(n)))
            for sender, n in ends
        ]
        many, one = settled_kbps([runs[:8], runs[8:]])
        capped, counters = caps(gateway), gateway.status()["counters"]
    print(f"8 of the box {many:.0f}, 1 across {one:.0f} kbit/s: {many / one:.3f}; caps {capped}")
    assert many / one <= 1.35
    assert many + one >= 0.85 * KBPS
    assert counters["wait_dropped"] > 0


@contextlib.contextmanager
def uploads(
    network: net.Network, *counts: int, congestion: str = "cubic"
) -> Iterator[list[list[Transfer]]]:
    """So many from each host."""
    with contextlib.ExitStack() as stack:
        yield [
            [
                stack.enter_context(
                    Transfer(network.hosts[n], network.wired, net.WIRED4, congestion=congestion)
                )
                for _ in range(count)
            ]
            for n, count in enumerate(counts)
        ]


@pytest.mark.measured
@pytest.mark.parametrize("ecn", [False, True], ids=["loss", "ecn"])
def test_a_host_sends_no_more_by_opening_more(start: StartGateway, ecn: bool) -> None:
    """Else four uploads take four times what one does; their senders know nothing of the law."""
    with net.over_radio(RADIO, hosts=2) as network:
        for end in (network.wired, *network.hosts):
            end.sysctl("net.ipv4.tcp_ecn", str(int(ecn)))
        gateway = begin(start, network)
        with uploads(network, 4, 1) as runs:
            many, one = settled_kbps(runs)
            status = gateway.status()
    capped = {h["address"]: h["cap_up_kbps"] for h in status["hosts"] if h["cap_up_kbps"]}
    told = {name: status["counters"][name] for name in ("up_dropped", "up_marked")}
    print(f"4 uploads {many:.0f}, 1 upload {one:.0f} kbit/s: {many / one:.3f}; {capped}, {told}")
    assert 1 / 1.3 <= many / one <= 1.3
    assert many + one >= 0.85 * KBPS, "what is lost here has used the air"
    assert (told["up_dropped"] > 0, told["up_marked"] > 0) == (not ecn, ecn)


@pytest.mark.measured
@pytest.mark.sender
def test_senders_of_ours_keep_to_what_they_are_told(start: StartGateway, tmp_path: Path) -> None:
    """Else their caps, too, cost windows, and what is lost here has used the air."""
    with net.over_radio(RADIO, hosts=2) as network:
        gateway = begin(start, network)
        with (
            Sender(network.hosts[0], tmp_path).on(1, 11.0, "--law", "even") as sender,
            uploads(network, 4, 1, congestion=NAME) as runs,
        ):
            many, one = settled_kbps(runs)
            limits = [flow["limit_kbps"] for flow in sender.flows().values()]
            status = gateway.status()
    capped = {h["address"]: h["cap_up_kbps"] for h in status["hosts"] if h["cap_up_kbps"]}
    lost = status["counters"]["up_dropped"]
    print(f"4 {many:.0f}, 1 {one:.0f} kbit/s: {many / one:.3f}; {capped}, {lost} lost")
    assert 1 / 1.3 <= many / one <= 1.3
    assert many + one >= 0.9 * PAYLOAD_KBPS
    assert net.host4(0) in capped
    assert any(limits), "its senders are told"
    # Others lose 127 to 200 packets for the same (test_a_host_sends_no_more_by_opening_more).
    assert lost <= 20


@pytest.mark.measured
@pytest.mark.smoke
def test_udp_to_one_host_leaves_the_other_its_share(start: StartGateway) -> None:
    """Else a flood takes the channel from whoever gives way."""
    with net.over_radio(RADIO, hosts=2) as network:
        gateway = begin(start, network)
        flood = Flood(network.wired, network.hosts[0], net.host4(0), 4000)
        with flood, downloads(network, 0, 1) as (_, (run,)):
            time.sleep(SETTLING_S)
            began, before = time.monotonic(), (run.received, flood.received)
            time.sleep(MEASURED_S)
            seconds = time.monotonic() - began
            after = (run.received, flood.received)
            capped, counters = caps(gateway), gateway.status()["counters"]
    tcp, udp = ((b - a) * 8e-3 / seconds for a, b in zip(before, after, strict=True))
    print(f"TCP {tcp:.0f}, UDP {udp:.0f} kbit/s, caps {capped}")
    assert tcp >= 0.6 * (tcp + udp) / 2
    assert udp >= 0.6 * (tcp + udp) / 2, "datagrams up to their host's share are no flood"
    assert counters["udp_dropped"] > 0


@pytest.mark.measured
@pytest.mark.parametrize("ecn", [0, ECN_ECT0], ids=["loss", "ecn"])
def test_datagrams_from_a_host_keep_to_its_cap(start: StartGateway, ecn: int) -> None:
    """Else uploads by QUIC have all the air that they can get, who yields has the rest."""
    with net.over_radio(RADIO, hosts=2) as network:
        gateway = begin(start, network)
        flood = Flood(network.hosts[0], network.wired, net.WIRED4, 4000, ecn)
        with flood, downloads(network, 0, 1):
            time.sleep(SETTLING_S)
            began, before = time.monotonic(), flood.received
            limits = []
            while time.monotonic() < began + MEASURED_S:
                time.sleep(1)
                shown = {h["address"]: h["cap_up_kbps"] for h in gateway.status()["hosts"]}
                limits.append(shown[net.host4(0)])
            passed = (flood.received - before) * 8e-3 / (time.monotonic() - began)
            marked, counters = flood.marked, gateway.status()["counters"]
    told = {name: counters[name] for name in ("up_dropped", "up_marked")}
    print(f"{passed:.0f} kbit/s pass, by caps {limits}; {marked} came marked, {told}")
    assert all(limits), "it has a part"
    # Of 1200 bytes with headers, and a sixteenth more than the cap.
    assert 0.6 * max(limits) <= passed <= 1.1 * max(limits)
    assert told["up_dropped"] > 0, "who heeds nothing loses"
    assert (marked > 0, told["up_marked"] > 0) == (bool(ecn), bool(ecn))


@pytest.mark.measured
@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_a_dead_daemon_loses_no_datagrams_of_hosts(start: StartGateway, how: str) -> None:
    """Else a cap that nobody follows any more takes uploads for good."""
    with net.over_radio(RADIO, hosts=2) as network:
        gateway = begin(start, network)
        flood = Flood(network.hosts[0], network.wired, net.WIRED4, 3000)

        def lost() -> int:
            return int(gateway.fresh_status()["counters"]["up_dropped"])

        with flood, downloads(network, 0, 1):
            until(lambda: lost() > 0, PATIENCE_S, gateway)
            kbps = flood.passed_without_kbps(gateway, how)
            print(f"{kbps:.0f} kbit/s pass")
            assert kbps > 0.85 * flood.kbps, "all that crosses the radio"
            if how == "stopped":
                held = lost()
                until(lambda: lost() > held, PATIENCE_S, gateway)


@pytest.mark.measured
def test_a_flood_leaves_its_own_host_s_download_a_part(start: StartGateway) -> None:
    """Else what a host may have is its datagrams' alone."""
    with net.over_radio(RADIO, hosts=2) as network:
        begin(start, network)
        flood = Flood(network.wired, network.hosts[0], net.host4(0), 4000)
        with flood, downloads(network, 1, 1) as runs:
            own, other = settled_kbps(runs)
    print(f"the same host's download {own:.0f}, the other's {other:.0f} kbit/s")
    assert own >= 0.3 * other, "of the host's share, about as much as the other's, half is its own"


def test_a_lone_host_has_no_cap(start: StartGateway) -> None:
    """Its own flows are not compared with one another."""
    with net.over_radio(RADIO, hosts=2) as network:
        gateway = begin(start, network)
        with downloads(network, 4, 0):
            end = time.monotonic() + 15
            while time.monotonic() < end:
                assert caps(gateway) == {}
                time.sleep(0.5)
