# SPDX-License-Identifier: GPL-2.0-only
"""
What the gateway costs: forwarding with and without it, ns a packet in its programs with one flow
and with 16,000, memory and CPU of the daemon.

usage: .venv/bin/python linux/test/bench_gateway.py [--record DIR]    (root; on an idle machine)

Ratios within one run, in alternating order. "As shipped": one host alone, whose rate `even` seeks
on a path that bears all. "All held": by the law of the papers, with a bit rate so high that none
waits for long. "Nothing held": nobody answers.
"""

import contextlib
import functools
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from harness import bench, bpf, net
from harness.blast import acked_bytes, blast, packets_per_s
from harness.capture import ACK
from harness.fuzz import Fields, ipv4, tcp
from harness.gateway import Gateway
from harness.lossy import Radio
from harness.namespace import obstacle
from test_flood import flood, pour

FIGURES = bench.Figures("gateway", "What the gateway costs")
ROUNDS = 5
WARM_UP_S, SECONDS = 0.3, 2.0
PROGRAMS = ("mp_to_mesh", "mp_from_mesh")
WAYS = ("none", "observe", "nfqueue", "htb")
HOLDING = ("none", "nfqueue", "htb")
# So many connections at once, all held.
CONNECTIONS = (1, 100, 1000)
# So far and so fast that the law asks for next to no distance between packets.
FAR, FAST_MBPS = 250, 100_000.0
MANY = 16_000
ADDRESSES = bytes([192, 0, 2, 1]), bytes([10, 1, 0, 2])
REPEATED = 1_000_000

# Congestion control that paces by itself would be what is measured.
CUBIC: dict[tuple[int, int], int | bytes] = {(socket.IPPROTO_TCP, socket.TCP_CONGESTION): b"cubic"}

Spent = dict[str, tuple[int, int]]


def programs() -> dict[str, bpf.Program]:
    """The gateway's, by name."""
    return {program.name: program for program in bpf.programs(set(PROGRAMS))}


def spent() -> Spent:
    """Nanoseconds and packets of each program so far."""
    return {name: (program.run_ns, program.runs) for name, program in programs().items()}


def per_packet(before: Spent, after: Spent) -> dict[str, float]:
    return {
        name: (after[name][0] - before[name][0]) / max(after[name][1] - before[name][1], 1)
        for name in after
    }


@contextlib.contextmanager
def gateway(network: net.Network, way: str, held: bool = True) -> Iterator[Gateway]:
    host = {"address": net.host4(0), "hops": FAR, "mbps": FAST_MBPS}
    config: dict[str, object] = {"host": [host]} if held else {"law": "even"}
    with tempfile.TemporaryDirectory() as folder:
        made = Gateway(network.gateway, Path(folder), way, config)
        try:
            yield made.start()
        finally:
            made.end()


def throughput(network: net.Network, connections: int = 1) -> float:
    """Mbit/s of downloads, all together."""
    warm_up_s = WARM_UP_S + connections / 500
    seconds = warm_up_s + SECONDS + 0.2
    with blast(network.wired, network.host, net.host4(0), seconds, CUBIC, connections) as clients:
        time.sleep(warm_up_s)
        before, began = acked_bytes(clients), time.monotonic()
        time.sleep(SECONDS)
        return (acked_bytes(clients) - before) * 8 / 1e6 / (time.monotonic() - began)


def small_frames(network: net.Network) -> list[bytes]:
    """Small segments of one download, which its receiver never sees; once around all numbers."""
    source, target = ADDRESSES
    head = network.gateway.mac("eth0") + network.wired.mac("eth0") + b"\x08\x00"
    fields = (Fields(80, 5000, at << 20, 1, ACK) for at in range(4096))
    segments = (tcp(source, target, one, bytes(64)) for one in fields)
    return [head + ipv4(source, target, segment, 64) for segment in segments]


def forwarding(network: net.Network) -> float:
    """Thousand packets/s from a source that costs next to nothing."""
    frames = small_frames(network)
    return packets_per_s(network.wired, network.gateway, frames, SECONDS) / 1e3


def compare(
    what: str,
    unit: str,
    network: net.Network,
    ways: tuple[str, ...],
    measure: Callable[[net.Network], float],
) -> None:
    """Each way in turn. What is called held is held, by the gateway's own count of it."""
    rates: dict[str, list[float]] = {way: [] for way in ways}
    parts: dict[str, list[float]] = {way: [] for way in ways}
    held = what.startswith("all held")
    for turn in range(ROUNDS):
        for way in ways if turn % 2 == 0 else ways[::-1]:
            if way == "none":
                rates[way].append(measure(network))
                continue
            with gateway(network, way, held) as made:
                rates[way].append(measure(network))
                counters = made.fresh_status()["counters"]
                parts[way].append(counters["paced"] / max(counters["tcp"], 1))
    for way in ways:
        ratios = [rate / none for rate, none in zip(rates[way], rates["none"], strict=True)]
        FIGURES.note(f"{what}, {way}", "rate", unit, rates[way])
        if way == "none":
            continue
        FIGURES.note(f"{what}, {way}", "rate / forwarding alone", "", ratios)
        FIGURES.note(f"{what}, {way}", "part that waited", "", parts[way])
        print(
            f"{what}, {way:8} {statistics.median(rates[way]):7.0f} {unit}, "
            f"{statistics.median(ratios):.2f} of forwarding alone "
            f"({min(ratios):.2f} to {max(ratios):.2f}), "
            f"{statistics.median(parts[way]):.2f} waited"
        )


def data_packet() -> bytes:
    """A full segment of a download, with a timestamp."""
    source, target = ADDRESSES
    options = b"\1\1\x08\x0a" + bytes(8)
    segment = tcp(source, target, Fields(80, 5000, 1, 1, ACK, options=options), bytes(1448))
    return bytes(12) + b"\x08\x00" + ipv4(source, target, segment, 64)


def in_traffic(network: net.Network) -> None:
    """ns a packet of each program under a download, the kernel's two clock readings included."""
    costs: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for _ in range(ROUNDS):
        with gateway(network, "observe"):
            before = spent()
            throughput(network)
            for name, cost in per_packet(before, spent()).items():
                costs[name].append(cost)
    for name, found in costs.items():
        FIGURES.note(f"{name}, in traffic", "a packet", "ns", found)
        print(f"{name:13} in traffic {statistics.median(found):5.0f} ns a packet")


def with_many_flows(network: net.Network) -> None:
    """
    ns a data packet: of one flow alone, of one beside 16,000 that are idle, and of 16,000 in turn,
    whose state is in no processor's cache.
    """
    alone = list(flood(1, "data")) * MANY
    many = list(flood(MANY, "data"))
    costs: dict[str, list[float]] = {"alone": [], "beside": [], "in turn": []}
    for _ in range(3):
        for what, first, then in (
            ("alone", alone, alone),
            ("beside", many, alone),
            ("in turn", many, many),
        ):
            with gateway(network, "observe"):
                pour(network, iter(first))
                before = spent()
                pour(network, iter(then))
                costs[what].append(per_packet(before, spent())["mp_to_mesh"])
    one = statistics.median(costs["alone"])
    for what, found in costs.items():
        ns = statistics.median(found)
        FIGURES.note(f"{MANY} flows, {what}", "a data packet", "ns", found)
        print(f"{MANY} flows, {what:7} {ns:4.0f} ns a data packet, {ns / one:.2f} of one alone")


def idle_daemon(network: net.Network) -> None:
    """Resident memory and CPU with 1,000 flows that do nothing."""
    for way in WAYS[1:]:
        with gateway(network, way) as made:
            pour(network, flood(1000, "data"))
            made.fresh_status()
            before, began = made.cpu_s(), time.monotonic()
            time.sleep(10)
            share = (made.cpu_s() - before) / (time.monotonic() - began)
            flows = len(made.status()["flows"])
            mib = made.memory_kib() / 1024
            FIGURES.note(f"1,000 idle flows, {way}", "daemon's memory", "MiB", [mib], "25")
            FIGURES.note(f"1,000 idle flows, {way}", "daemon's CPU", "%", [100 * share], "1")
            print(
                f"{way}: daemon with {flows} idle flows {mib:.1f} MiB, {share:.2%} of a processor"
            )


def as_shipped(network: net.Network) -> None:
    network.segmentation(True)
    compare("as shipped, super packets", "Mbit/s", network, WAYS, throughput)
    network.segmentation(False)
    compare("as shipped, single packets", "Mbit/s", network, WAYS, throughput)


def all_held(network: net.Network) -> None:
    """By connections at once."""
    for connections in CONNECTIONS:
        what = f"all held, single packets of {connections}"
        measure = functools.partial(throughput, connections=connections)
        compare(what, "Mbit/s", network, HOLDING, measure)


def frames(network: net.Network) -> None:
    """Nobody answers: what forwarding alone costs."""
    drop = ("PREROUTING", "-p", "tcp", "-j", "DROP")
    network.host.run("iptables", "-t", "raw", "-A", *drop)
    compare("nothing held, frames", "k packets/s", network, WAYS, forwarding)
    network.host.run("iptables", "-t", "raw", "-D", *drop)


def programs_alone(network: net.Network) -> None:
    with gateway(network, "observe"):
        program = programs()["mp_to_mesh"].number
        nothing = bpf.run_alone(program, bytes(64), REPEATED)
        data = bpf.run_alone(program, data_packet(), REPEATED)
    FIGURES.note("BPF_PROG_TEST_RUN, data packet", "a packet", "ns", [data], "150")
    FIGURES.note("BPF_PROG_TEST_RUN, no IP", "a packet", "ns", [nothing])
    print(f"BPF_PROG_TEST_RUN: data packet {data:.0f} ns, no IP {nothing:.0f} ns")


def main() -> None:
    bench.folder_of(sys.argv[1:])
    if (why := obstacle()) is not None:
        sys.exit(f"bench_gateway: {why}; run it as root on a machine of its own")
    with net.routed() as network:
        as_shipped(network)
        all_held(network)
        frames(network)
        programs_alone(network)
        with bpf.statistics():
            in_traffic(network)
    with net.relayed(Radio(delay_ms=1.0)) as network:
        with bpf.statistics():
            with_many_flows(network)
        idle_daemon(network)
    FIGURES.keep(sys.argv[1:])


if __name__ == "__main__":
    main()
