# SPDX-License-Identifier: GPL-2.0-only
"""
Hosts that get datagrams of which nothing can be read (core's opaque.h): they are asked what waits
on their paths, and held by what they answer.
"""

import math
import re
import signal
import statistics
import subprocess
import time

import pytest
from conftest import StartGateway
from harness import air, net
from harness.gateway import PATIENCE_S, Gateway, host, until
from harness.transfer import Transfer
from test_shares import ECN_ECT0, UDP_BYTES, Flood

KBPS = 5000
# A queue of 150 ms, as unmanaged ones are.
RADIO = air.Radio(delay_ms=2.0, kbps=KBPS, queue=75)
SETTLING_S, MEASURED_S = 15.0, 6.0
# Before somebody downloads he looks names up.
QUIET_S, QUIET_KBPS = 2.5, 50.0


def begin(start: StartGateway, network: net.Network, asks: bool = True) -> Gateway:
    return start(network, law="even", ask_hosts=asks, host=[host(net.host4(0), 11.0)])


def cap_kbps(gateway: Gateway, address: str = net.host4(0)) -> float | None:
    rows = {row["address"]: row for row in gateway.fresh_status()["hosts"]}
    cap: float | None = rows.get(address, {}).get("cap_down_kbps")
    return cap


def asked(gateway: Gateway) -> int:
    return int(gateway.fresh_status()["counters"]["hosts_asked"])


def dropped(gateway: Gateway) -> int:
    return int(gateway.fresh_status()["counters"]["udp_dropped"])


def ping_ms(network: net.Network, seconds: float) -> float:
    """What most packets of others take to the host and back; endless, where most are lost."""
    count = int(seconds / 0.1)
    command = ["ping", "-c", str(count), "-i", "0.1", net.host4(0)]
    done = subprocess.run(
        ["ip", "netns", "exec", network.wired.name, *command],
        capture_output=True,
        text=True,
        check=False,
    )
    times = [float(ms) for ms in re.findall(r"time=([\d.]+)", done.stdout)]
    return statistics.median(times + [math.inf] * (count - len(times)))


def beside(start: StartGateway, asks: bool) -> tuple[float, float]:
    """
    Beside more datagrams than the radio carries: what others' packets wait, ms, and what the host
    gets, kbit/s.
    """
    with net.over_radio(RADIO) as network:
        gateway = begin(start, network, asks)
        with Flood(network.wired, network.host, net.host4(0), QUIET_KBPS) as flood:
            time.sleep(QUIET_S)
            flood.kbps = 1.5 * KBPS
            time.sleep(SETTLING_S)
            before, began = flood.received, time.monotonic()
            wait_ms = ping_ms(network, MEASURED_S)
            kbps = (flood.received - before) * 8e-3 / (time.monotonic() - began)
        print(f"asks {asks}: {wait_ms:.0f} ms, {kbps:.0f} kbit/s, cap {cap_kbps(gateway)}")
        gateway.end()
    return wait_ms, kbps


@pytest.mark.measured
@pytest.mark.smoke
def test_what_waits_on_the_path_is_bounded(start: StartGateway) -> None:
    """Else the radio's queue is full: most packets of others are lost there."""
    full_ms, most_kbps = beside(start, False)
    wait_ms, kbps = beside(start, True)
    assert wait_ms < full_ms / 2
    assert kbps > 0.8 * most_kbps


@pytest.mark.parametrize("why", ["quiet", "mute"])
def test_nobody_is_held_without_need(start: StartGateway, why: str) -> None:
    """Who gets few datagrams, as a call has, and who does not answer."""
    with net.over_radio(RADIO) as network:
        if why == "mute":
            network.host.run("sysctl", "-qw", "net.ipv4.icmp_echo_ignore_all=1")
        gateway = begin(start, network)
        kbps = QUIET_KBPS if why == "quiet" else 1.5 * KBPS
        with Flood(network.wired, network.host, net.host4(0), kbps) as flood:
            until(lambda: asked(gateway) > 0, PATIENCE_S, gateway)
            time.sleep(8)
            assert flood.received > 0
            assert cap_kbps(gateway) is None
            # One asks for T; who fills the path is asked on.
            assert (asked(gateway) <= 2) == (why == "quiet")
        if why == "mute":
            time.sleep(5)
            before = asked(gateway)
            time.sleep(2)
            assert asked(gateway) == before, "nothing comes any more"


@pytest.mark.parametrize("ecn", [0, ECN_ECT0])
def test_who_sends_more_than_his_host_is_held_to_is_told(start: StartGateway, ecn: int) -> None:
    """By marks, where they are understood and the kernel holds packets; else by losses alone."""
    with net.over_radio(RADIO) as network:
        gateway = begin(start, network)
        with Flood(network.wired, network.host, net.host4(0), QUIET_KBPS, ecn) as flood:
            time.sleep(QUIET_S)
            flood.kbps = 1.5 * KBPS
            until(lambda: dropped(gateway) > 0, PATIENCE_S, gateway)
            time.sleep(1)
        status = gateway.fresh_status()
    marks = bool(ecn) and status["release"] == "htb"
    assert (flood.marked > 0) == marks
    assert (status["counters"]["wait_marked"] > 0) == marks


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_a_dead_daemon_holds_nobody(start: StartGateway, how: str) -> None:
    """Who is held by answers is held no longer than somebody hears them."""
    with net.over_radio(RADIO) as network:
        gateway = begin(start, network)
        with Flood(network.wired, network.host, net.host4(0), QUIET_KBPS) as flood:
            time.sleep(QUIET_S)
            flood.kbps = 1.5 * KBPS
            until(lambda: cap_kbps(gateway) is not None, PATIENCE_S, gateway)
            kbps = flood.passed_without_kbps(gateway, how)
            assert kbps > 0.85 * KBPS, "what the radio carries"
            if how == "stopped":
                until(lambda: cap_kbps(gateway) is not None, PATIENCE_S, gateway)


def test_what_is_sent_of_nobody_leaves_others_their_part(start: StartGateway) -> None:
    """By datagrams that nothing answers: they are one host's, that is not shown, and has no cap."""
    with net.over_radio(RADIO) as network:
        gateway = begin(start, network)
        with Transfer(network.wired, network.host, net.host4(0)) as download:
            until(lambda: download.received > 500_000, PATIENCE_S, gateway)
            with Flood(network.host, network.wired, net.WIRED4, KBPS, answered=False) as flood:
                until(lambda: shares_air(gateway), PATIENCE_S, gateway)
                assert cap_kbps(gateway) is not None
                status = gateway.fresh_status()
                assert flood.received > 0
            until(lambda: not shares_air(gateway), PATIENCE_S, gateway)
    assert status["counters"]["nobodys_bytes"] > 1.2 * UDP_BYTES * 10
    assert [row["address"] for row in status["hosts"]] == [net.host4(0)]
    assert status["hosts"][0]["cap_up_kbps"] is None


def shares_air(gateway: Gateway) -> bool:
    return gateway.fresh_status().get("air") is not None


def waiting(gateway: Gateway) -> int:
    return int(gateway.fresh_status()["counters"]["queue_waiting"])


def test_what_waits_is_counted_off_where_it_came(start: StartGateway) -> None:
    """
    Its host goes by another address when it comes back. Else the line where it waited is never
    empty: what comes there later, once the host goes by its own again, waits too long and is lost.
    """
    with net.over_radio(RADIO, hosts=2) as network:
        both = [net.host4(0), net.host4(1)]
        config = {"law": "even", "host": [host(address, 11.0) for address in both]}
        gateway = start(network, release="htb", **config)
        wired, (first, second) = network.wired, network.hosts
        with (
            Flood(wired, first, both[0], QUIET_KBPS),
            Flood(wired, second, both[1], QUIET_KBPS) as flood,
        ):
            time.sleep(QUIET_S)
            flood.kbps = 1.5 * KBPS
            until(lambda: cap_kbps(gateway, both[1]), PATIENCE_S, gateway)
            until(lambda: waiting(gateway) > 0, PATIENCE_S, gateway)
            gateway.configure({**config, "group": [{"name": "home", "addresses": both}]})
            gateway.send(signal.SIGHUP)
            until(lambda: addresses(gateway, both[0]) == both, PATIENCE_S, gateway)
        until(lambda: waiting(gateway) == 0, PATIENCE_S, gateway)


def addresses(gateway: Gateway, standing: str) -> list[str]:
    rows = {row["address"]: row["addresses"] for row in gateway.fresh_status()["hosts"]}
    return list(rows.get(standing, []))
