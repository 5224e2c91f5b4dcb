# SPDX-License-Identifier: GPL-2.0-only
"""
What the gateway costs: forwarding with and without it, and ns per packet in its programs.

usage: .venv/bin/python linux/test/bench_gateway.py    (root; on an idle machine)

Ratios within one run, in alternating order. Segments leave the sender one by one, so that a
packet is a packet; the configured bit rate is so high that the law holds nothing back for long.
"""

import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from harness import net
from harness.gateway import Gateway
from harness.transfer import Transfer

ROUNDS = 5
SECONDS = 3.0
STATISTICS = Path("/proc/sys/kernel/bpf_stats_enabled")
PROGRAMS = ("mp_to_mesh", "mp_from_mesh")
WAYS = ("none", "observe", "nfqueue")
FAST_MBPS = 100_000.0


def programs() -> dict[str, tuple[int, int]]:
    """Nanoseconds and packets of each program so far."""
    shown = json.loads(subprocess.check_output(["bpftool", "-j", "prog", "show"]))
    return {
        program["name"]: (program.get("run_time_ns", 0), program.get("run_cnt", 0))
        for program in shown
        if program.get("name") in PROGRAMS
    }


def throughput(network: net.Network) -> float:
    """Mbit/s of one download."""
    with Transfer(network.wired, network.host, net.host4(0)) as transfer:
        time.sleep(0.5)
        before, began = transfer.received, time.monotonic()
        time.sleep(SECONDS)
        return (transfer.received - before) * 8 / 1e6 / (time.monotonic() - began)


def measure(way: str, network: net.Network) -> tuple[float, dict[str, tuple[int, int]]]:
    if way == "none":
        return throughput(network), {}
    host = {"address": net.host4(0), "hops": 1, "mbps": FAST_MBPS}
    with tempfile.TemporaryDirectory() as folder:
        gateway = Gateway(network.gateway, Path(folder), way, {"host": [host]})
        try:
            gateway.start()
            return throughput(network), programs()
        finally:
            gateway.end()


def main() -> None:
    rates: dict[str, list[float]] = {way: [] for way in WAYS}
    spent: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    before = STATISTICS.read_text()
    STATISTICS.write_text("1")
    try:
        with net.routed() as network:
            network.segmentation(False)
            for turn in range(ROUNDS):
                for way in WAYS if turn % 2 == 0 else WAYS[::-1]:
                    rate, cost = measure(way, network)
                    rates[way].append(rate)
                    for name, (ns, packets) in cost.items() if way == "observe" else ():
                        spent[name].append(ns / max(packets, 1))
    finally:
        STATISTICS.write_text(before)
    for way in WAYS:
        ratios = [rate / none for rate, none in zip(rates[way], rates["none"], strict=True)]
        print(
            f"{way:8} {statistics.median(rates[way]):7.0f} Mbit/s, "
            f"{statistics.median(ratios):.2f} of forwarding alone "
            f"({min(ratios):.2f} to {max(ratios):.2f})"
        )
    for name, costs in spent.items():
        print(
            f"{name:13} {statistics.median(costs):5.0f} ns a packet "
            f"({min(costs):.0f} to {max(costs):.0f})"
        )


if __name__ == "__main__":
    main()
