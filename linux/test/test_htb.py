# SPDX-License-Identifier: GPL-2.0-only
"""The kernel holds packets: in time, whoever takes away what holds them, and as long as wanted."""

import contextlib
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import StartGateway
from harness import air, arena, hang, maps, net
from harness.fuzz import MESH, WIRED
from harness.gateway import PATIENCE_S, Gateway, host, until
from harness.lossy import Radio
from harness.record import Recorder
from harness.talk import Talk, framed
from harness.transfer import Transfer, bounded
from test_spacing import RADIO as LONG
from test_spacing import backlogged, paced_host, spacing

RADIO = Radio(delay_ms=10.0, kbps=5000, queue=50)
# Arrives within seconds, many times over.
MORE_BYTES = 500_000
# Gaps from p1 to p99 are within so much of the interval.
WITHIN = 0.1
# What is told of a daemon that no longer beats: half a second, one more, and a TCP time-out.
GIVEN_UP_S = 3.0
# A timer of the machine comes so late when others use it.
LATE_MS = 0.1


@pytest.fixture
def mesh() -> Iterator[net.Network]:
    with net.over_radio(RADIO) as made:
        yield made


def ifb(network: net.Network) -> str:
    """The name of the interface behind which packets wait; "": there is none."""
    found = re.search(r"\b(mph\d+)", network.gateway.ip("-o", "link"))
    return found[1] if found else ""


def held(gateway: Gateway) -> int:
    return int(gateway.status()["counters"]["paced"])


def paces(gateway: Gateway) -> None:
    before = held(gateway)
    until(lambda: held(gateway) > before + 20, PATIENCE_S, gateway)


@contextlib.contextmanager
def download(mesh: net.Network, start: StartGateway) -> Iterator[tuple[Gateway, Transfer]]:
    """Of one host, which the kernel holds; at its end all has arrived."""
    gateway = start(mesh, release="htb", law="even", host=[host(net.host4(0), 11.0)])
    with Transfer(mesh.wired, mesh.host, net.host4(0), options=bounded()) as run:
        paces(gateway)
        yield gateway, run
        assert run.finish().intact


def goes_on(run: Transfer) -> None:
    """Waits until more has arrived, whether or not the gateway is there."""
    before = run.received
    until(lambda: run.received > before + MORE_BYTES, PATIENCE_S)


# Alone: with every processor taken a timer comes by more than a tenth of the interval late.
@pytest.mark.alone
@pytest.mark.measured
@pytest.mark.parametrize(
    "interval_ms", [0.5, pytest.param(2.0, marks=pytest.mark.smoke), 10.0, 100.0]
)
def test_gaps_are_the_interval(start: StartGateway, record: Recorder, interval_ms: float) -> None:
    """Median within 1%, and the first and the last of a hundred within a tenth."""
    with net.over_radio(LONG) as network:
        config = {"host": [paced_host(net.host4(0), interval_ms)]}
        gateway = start(network, release="htb", **config)
        options = backlogged(interval_ms)
        with Transfer(network.wired, network.host, net.host4(0), options=options) as run:
            seconds = max(2.2, 100 * interval_ms / 1e3)
            measured = spacing(network, gateway, run.receiver_port, seconds)
    shares = sorted(measured.shares)
    first, last = shares[len(shares) // 100], shares[-1 - len(shares) // 100]
    record(f"gaps of {interval_ms} ms, median", "", measured.share, "1 +- .01")
    record(f"gaps of {interval_ms} ms, p1", "", first, "at least .9")
    record(f"gaps of {interval_ms} ms, p99", "", last, "at most 1.1")
    assert measured.share == pytest.approx(1, abs=WITHIN / 10)
    beyond = WITHIN + LATE_MS / interval_ms
    assert first >= 1 - beyond
    assert last <= 1 + beyond


def remove_ifb(network: net.Network) -> None:
    network.gateway.ip("link", "del", ifb(network))


def take_ifb_down(network: net.Network) -> None:
    network.gateway.ip("link", "set", ifb(network), "down")


def remove_qdiscs(network: net.Network) -> None:
    network.gateway.run("tc", "qdisc", "del", "dev", ifb(network), "root")


def remove_filters(network: net.Network) -> None:
    network.gateway.run("tc", "filter", "del", "dev", "mesh0", "egress")


def remove_clsact(network: net.Network) -> None:
    network.gateway.run("tc", "qdisc", "del", "dev", "mesh0", "clsact")


TAKEN = [remove_ifb, take_ifb_down, remove_qdiscs, remove_filters, remove_clsact]


@pytest.mark.parametrize("take", TAKEN, ids=lambda take: take.__name__)
def test_what_others_take_away_is_put_back(
    mesh: net.Network, start: StartGateway, take: Callable[[net.Network], None]
) -> None:
    """Else the gateway is a hole, or paces nothing any more and says that it does."""
    with download(mesh, start) as (gateway, run):
        for n in range(2):
            take(mesh)
            goes_on(run)
            paces(gateway)
            assert gateway.status()["counters"]["put_back"] == n + 1
        assert gateway.status()["state"] == "ready"
    assert gateway.stop() == 0
    assert ifb(mesh) == ""


def test_who_changes_it_each_time_has_packets_pass(mesh: net.Network, start: StartGateway) -> None:
    """As a rule of udev's may: made again ten times a second, what waits is lost for ever."""
    ended = threading.Event()

    def change() -> None:
        while not ended.wait(0.05):
            mesh.gateway.run("tc", "qdisc", "replace", "dev", name, "root", "pfifo", check=False)

    with download(mesh, start) as (gateway, run), ThreadPoolExecutor() as pool:
        name = ifb(mesh)
        rival = pool.submit(change)
        try:
            until(lambda: "changes mph" in gateway.status()["state"], gateway=gateway)
            assert gateway.status()["release"] == "observe"
            goes_on(run)
            assert gateway.status()["counters"]["put_back"] < 20
        finally:
            ended.set()
        rival.result()
        paces(gateway)


@pytest.mark.parametrize("take", [remove_ifb, take_ifb_down], ids=lambda take: take.__name__)
def test_nobody_need_be_there_to_put_it_back(
    mesh: net.Network, start: StartGateway, take: Callable[[net.Network], None]
) -> None:
    """A daemon that is stopped, and then its ifb is gone: packets pass without either."""
    with download(mesh, start) as (gateway, run):
        with hang.stopped(gateway.pid):
            take(mesh)
            goes_on(run)
        paces(gateway)


def test_nothing_stays(mesh: net.Network, start: StartGateway) -> None:
    """Neither of a gateway that ends nor, once somebody cleans, of one that was killed."""
    gateway = start(mesh, release="htb", law="even", host=[host(net.host4(0), 11.0)])
    assert ifb(mesh) != ""
    assert gateway.status()["attached"] == "clsact"
    with Transfer(mesh.wired, mesh.host, net.host4(0), options=bounded()) as run:
        paces(gateway)
        assert gateway.stop() == 0
        assert ifb(mesh) == ""
        assert "clsact" not in mesh.gateway.run("tc", "qdisc", "show", "dev", "mesh0")
        gateway.start()
        paces(gateway)
        gateway.kill()
        goes_on(run)
        assert ifb(mesh) != "", "what holds packets is still there, and empty"
        assert gateway.clean().returncode == 0
        assert ifb(mesh) == ""
        assert "clsact" not in mesh.gateway.run("tc", "qdisc", "show", "dev", "mesh0")
        assert run.finish().intact


def stop(gateway: Gateway, _: Gateway) -> None:
    assert gateway.stop() == 0


def replace(gateway: Gateway, newer: Gateway) -> None:
    newer.start("--replace")
    assert gateway.wait() == 0


def timeouts(network: net.Network) -> int:
    """Retransmission timeouts of the wired host so far."""
    names, values = network.wired.run("cat", "/proc/net/netstat").splitlines()[:2]
    return int(dict(zip(names.split(), values.split(), strict=True))["TCPTimeouts"])


@pytest.mark.measured
@pytest.mark.parametrize("end", [stop, replace], ids=lambda end: end.__name__)
def test_nothing_that_waits_is_lost(
    start: StartGateway, end: Callable[[Gateway, Gateway], None]
) -> None:
    """An ifb takes along what waits behind it, here a whole window: it has to be empty first."""
    with net.over_radio(LONG) as network:
        gateway = start(network, release="htb", host=[paced_host(net.host4(0), 10)])
        newer = Gateway(gateway.namespace, gateway.directory, "htb", gateway.config)
        with Transfer(network.wired, network.host, net.host4(0), options=backlogged(10)) as run:
            paces(gateway)
            until(lambda: gateway.status()["counters"]["queue_waiting"] > 10, PATIENCE_S, gateway)
            before = timeouts(network)
            try:
                end(gateway, newer)
                goes_on(run)
            finally:
                newer.end()
            assert run.finish().intact
            assert timeouts(network) == before


def test_what_left_unseen_waits_no_more(start: StartGateway) -> None:
    """Else what left while the filters were off is counted for ever, and its class stays."""
    with net.over_radio(LONG) as network:
        gateway = start(network, release="htb", host=[paced_host(net.host4(0), 10)])
        with Transfer(network.wired, network.host, net.host4(0), options=backlogged(10)) as run:
            paces(gateway)
            until(lambda: gateway.status()["counters"]["queue_waiting"] > 10, PATIENCE_S, gateway)
            remove_filters(network)
            paces(gateway)
            assert run.finish().intact
        until(lambda: gateway.status()["counters"]["queue_waiting"] == 0, PATIENCE_S, gateway)


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_a_line_that_never_empties_is_given_up(start: StartGateway, how: str) -> None:
    """Else a flow whose sender keeps it full would be held for ever at a dead daemon's rate."""
    with net.over_radio(LONG) as network:
        gateway = start(network, release="htb", host=[paced_host(net.host4(0), 10)])
        with Transfer(network.wired, network.host, net.host4(0), options=backlogged(10)) as run:
            paces(gateway)
            until(lambda: gateway.status()["counters"]["queue_waiting"] > 10, PATIENCE_S, gateway)
            with hang.stopped(gateway.pid) if how == "stopped" else contextlib.nullcontext():
                if how == "killed":
                    gateway.kill()
                time.sleep(GIVEN_UP_S)
                before = run.received
                time.sleep(2)
                kbps = (run.received - before) * 8 / 2e3
            assert kbps > 2 * 12e3 / 10, "twice what an interval of 10 ms allows"
            assert run.finish().intact


def test_an_idle_flow_s_class_goes(mesh: net.Network, start: StartGateway) -> None:
    """Else classes of all flows that ever were would make new ones slow."""
    gateway = start(mesh, release="htb", law="even", host=[host(net.host4(0), 11.0)])
    shows = ("tc", "class", "show", "dev", ifb(mesh))
    with Transfer(mesh.wired, mesh.host, net.host4(0)) as run:
        paces(gateway)
        assert "htb 1:2 parent 1:1 leaf" in mesh.gateway.run(*shows)
        assert run.finish().intact
    until(lambda: "htb" not in mesh.gateway.run(*shows), PATIENCE_S, gateway)


def test_a_number_that_a_host_s_class_had_is_a_flow_s(start: StartGateway) -> None:
    """Else what waits for all would be lost with the next flow after the first host has gone."""
    with net.over_radio(RADIO, hosts=2) as mesh:
        gateway = start(mesh, release="htb", host=[host(net.host4(n), 11.0) for n in (0, 1)])

        def shows(text: str) -> bool:
            return text in mesh.gateway.run("tc", "class", "show", "dev", ifb(mesh))

        def to(n: int) -> Transfer:
            return Transfer(mesh.wired, mesh.hosts[n], net.host4(n))

        with to(0) as first:
            until(lambda: shows("htb 1:2 parent 1:1 "), PATIENCE_S, gateway)
            with to(1) as stays:
                until(lambda: shows("htb 1:4 parent 1:3 "), PATIENCE_S, gateway)
                assert first.finish().intact
                until(lambda: not shows("htb 1:1 "), PATIENCE_S, gateway)
                with to(1) as second:
                    until(lambda: shows("htb 1:1 parent 1:3 "), PATIENCE_S, gateway)
                    paces(gateway)
                    assert second.finish().intact
                assert stays.finish().intact
        assert gateway.fresh_status()["counters"]["put_back"] == 0


def test_who_takes_the_place_of_clsact_keeps_it(mesh: net.Network, start: StartGateway) -> None:
    """As SQM does when it starts: the gateway holds nothing from then on, says so, and goes."""
    with download(mesh, start) as (gateway, run):
        with hang.stopped(gateway.pid):
            mesh.gateway.run("tc", "qdisc", "del", "dev", "mesh0", "clsact")
            mesh.gateway.run("tc", "qdisc", "add", "dev", "mesh0", "ingress")
        until(lambda: "qdisc ingress" in gateway.status()["state"], PATIENCE_S, gateway)
        goes_on(run)
    assert gateway.stop() == 0
    assert ifb(mesh) == ""
    assert "qdisc ingress" in mesh.gateway.run("tc", "qdisc", "show", "dev", "mesh0")


def test_two_gateways_on_one_box(mesh: net.Network, start: StartGateway, tmp_path: Path) -> None:
    """Each has an ifb of its own, and the end of one is not the other's."""
    with download(mesh, start) as (gateway, run):
        mesh.gateway.ip("link", "add", "mesh1", "type", "veth", "peer", "name", "far1")
        mesh.gateway.ip("link", "set", "mesh1", "up")
        second = Gateway(mesh.gateway, tmp_path, "htb", {"law": "even"}, mesh="mesh1")
        try:
            assert second.start().status()["release"] == "htb"
            assert mesh.gateway.run("ip", "-o", "link").count(": mph") == 2
            paces(gateway)
            assert second.stop() == 0
        finally:
            second.end()
            mesh.gateway.ip("link", "del", "mesh1")
        paces(gateway)
        goes_on(run)
        assert gateway.status()["counters"]["put_back"] == 0


def test_a_slow_cap_is_no_fault(start: StartGateway) -> None:
    """By the shipped configuration, at 60 ms a packet: else what waits for its turn would pass."""
    slow = air.Radio(delay_ms=5.0, kbps=400, queue=50)
    with net.over_radio(slow, hosts=2) as network:
        gateway = start(network, release="htb", law="even")
        runs = [Transfer(network.wired, one, net.host4(n)) for n, one in enumerate(network.hosts)]
        with runs[0], runs[1]:
            until(lambda: capped(gateway) == 2, PATIENCE_S, gateway)
            before = gateway.status()["counters"]["paced"]
            time.sleep(8)
            counters = gateway.fresh_status()["counters"]
            assert counters["paced"] > before + 50
            assert counters["unheld"] == 0
            assert all(run.finish().intact for run in runs)


def capped(gateway: Gateway) -> int:
    """Hosts that have a cap."""
    return sum(row["cap_down_kbps"] is not None for row in gateway.status()["hosts"])


def classes_of(gateway: Gateway) -> dict[str, int]:
    """Lines that have a class, by the end of their host's address."""
    ends = [key[12:16] for key, _ in maps.rows(gateway, "mp_classes")]
    return {address: ends.count(socket.inet_aton(address)) for address in (HOSTILE, HONEST)}


HOSTILE, HONEST = "10.1.0.7", "10.1.0.8"


def answered(place: arena.Arena, ports: range, host: str) -> None:
    """Flows whose receiver answers, and which go on: the law gives each an interval."""
    talks = [Talk(place, port, host) for port in ports]
    for n in range(3):
        data = [talk.packet(WIRED, seq=1000 * n, payload=b"d" * 1000) for talk in talks]
        acks = [talk.packet(MESH, ack=1000 * (n + 1)) for talk in talks]
        for side, packets in ((WIRED, data), (MESH, acks)):
            arena.send_all(place, ((side, framed(place, side, packet)) for packet in packets))
            time.sleep(0.05)
    last = [talk.packet(WIRED, seq=3000, payload=b"d" * 1000) for talk in talks]
    arena.send_all(place, ((WIRED, framed(place, WIRED, packet)) for packet in last))


def test_who_takes_all_classes_gives_way(start: StartGateway) -> None:
    """Else one host of the mesh with a thousand flows would be the end of pacing for all others."""
    with arena.routed() as place:
        network = net.Network(place.wired, place.gateway, [place.mesh])
        gateway = start(network, release="htb", host=[host(HOSTILE, 11.0), host(HONEST, 11.0)])
        answered(place, range(2000, 3300), HOSTILE)
        until(lambda: classes_of(gateway)[HOSTILE] >= 900, PATIENCE_S, gateway)
        assert classes_of(gateway)[HOSTILE] <= 1000
        answered(place, range(5000, 5001), HONEST)
        until(lambda: classes_of(gateway)[HONEST] == 1, PATIENCE_S, gateway)
        assert gateway.alive
        assert gateway.status()["state"] == "ready"


def test_longer_frames_than_before_pass(mesh: net.Network, start: StartGateway) -> None:
    """Of an interface whose MTU somebody raises: what holds packets would drop them as too long."""
    gateway = start(mesh, release="htb", law="even", host=[host(net.host4(0), 11.0)])
    for end, name in ((mesh.gateway, "mesh0"), (mesh.gateway, "eth0"), (mesh.wired, "eth0")):
        end.ip("link", "set", name, "mtu", "3000")
    gateway.logged("made again")
    with Transfer(mesh.wired, mesh.host, net.host4(0)) as run:
        paces(gateway)
        assert "mpu 3022b" in mesh.gateway.run("tc", "-d", "class", "show", "dev", ifb(mesh))
        assert run.finish().intact


def test_a_table_of_classes_that_is_full_paces_nobody(
    mesh: net.Network, start: StartGateway
) -> None:
    """Its packets pass, and the gateway lives; as soon as there is room it paces."""
    gateway = start(mesh, release="htb", law="even", host=[host(net.host4(0), 11.0)])
    with contextlib.ExitStack() as stack:
        with maps.filled(gateway, "mp_classes"):
            run = Transfer(mesh.wired, mesh.host, net.host4(0), options=bounded())
            stack.enter_context(run)
            goes_on(run)
            gateway.logged("a line passes, having no class")
            goes_on(run)
            assert sum("having no class" in line for line in gateway.log) == 1
        paces(gateway)
        assert run.finish().intact
