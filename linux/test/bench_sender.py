# SPDX-License-Identifier: GPL-2.0-only
"""
What the sender costs: CPU per transferred gigabyte, beside the kernel's Reno and BBR paced alike.

usage: .venv/bin/python linux/test/bench_sender.py [--record DIR]    (root; on an idle machine)

All three send single packets over the same veth (gso_max_segs 1), Reno and BBR at the rate that
the law found, in alternating order. CPU is the whole machine's busy time, since TCP works in
softirqs that belong to no process; hence nothing else may run. The programs at both ends do
nothing but system calls.
"""

import os
import socket
import statistics
import sys
import tempfile
import time
from pathlib import Path

from harness import bench, net
from harness.blast import acked_bytes, blast
from harness.sender import Sender
from harness.transfer import SO_MAX_PACING_RATE

FIGURES = bench.Figures("sender", "What the sender costs")
ROUNDS = 15
WARM_UP_S, SECONDS = 0.5, 4.0
HOPS, MBPS = 4, 500.0
CONTROLS = ("meshpace", "reno", "bbr")
MOST = 1.1
# More than this share of busy time in a pause means that somebody else works here.
IDLE = 0.05


def busy_s() -> float:
    """CPU seconds that the machine has worked so far: all but idle, iowait and steal."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:8]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def measure(network: net.Network, control: str, rate: float) -> tuple[float, float]:
    """CPU seconds per GB of payload, and bytes/s, of one transfer."""
    options: dict[tuple[int, int], int | bytes] = {
        (socket.IPPROTO_TCP, socket.TCP_CONGESTION): control.encode()
    }
    if control != "meshpace":
        options[socket.SOL_SOCKET, SO_MAX_PACING_RATE] = int(rate)
    seconds = WARM_UP_S + SECONDS + 0.3
    with blast(network.host, network.wired, net.WIRED4, seconds, options) as clients:
        time.sleep(WARM_UP_S)
        bytes_before, busy_before, began = (
            acked_bytes(clients),
            busy_s(),
            time.monotonic(),
        )
        time.sleep(SECONDS)
        bytes_ = acked_bytes(clients) - bytes_before
        cpu, took = busy_s() - busy_before, time.monotonic() - began
    return cpu / (bytes_ / 1e9), bytes_ / took


def check_idle() -> None:
    before = busy_s()
    time.sleep(1.0)
    share = (busy_s() - before) / (os.cpu_count() or 1)
    if share > IDLE:
        print(
            f"note: the machine is {share:.0%} busy with other work; the figures are not to be used"
        )


def main() -> None:
    bench.folder_of(sys.argv[1:])
    check_idle()
    costs: dict[str, list[float]] = {control: [] for control in CONTROLS}
    rates: dict[str, list[float]] = {control: [] for control in CONTROLS}
    with (
        net.routed() as network,
        tempfile.TemporaryDirectory() as folder,
        Sender(network.host, Path(folder)).on(HOPS, MBPS),
    ):
        rate = measure(network, "meshpace", 0.0)[1]
        for turn in range(ROUNDS):
            for control in CONTROLS if turn % 2 == 0 else CONTROLS[::-1]:
                cost, got = measure(network, control, rate)
                costs[control].append(cost)
                rates[control].append(got)
    for control in CONTROLS:
        FIGURES.note(control, "CPU a gigabyte", "s", costs[control])
        print(
            f"{control:9} {statistics.median(costs[control]):6.2f} CPU s/GB "
            f"at {statistics.median(rates[control]) * 8 / 1e6:5.0f} Mbit/s"
        )
    for other in CONTROLS[1:]:
        pairs = zip(costs["meshpace"], costs[other], strict=True)
        ratios = sorted(ours / theirs for ours, theirs in pairs)
        wanted = f", at most {MOST} is wanted" if other == "bbr" else ""
        FIGURES.note(
            f"meshpace / {other}", "CPU a gigabyte", "", ratios, f"{MOST}" if wanted else ""
        )
        spread = f"({ratios[0]:.2f} to {ratios[-1]:.2f})"
        print(f"meshpace / {other}: {statistics.median(ratios):.2f} {spread}{wanted}")
    FIGURES.keep(sys.argv[1:])


if __name__ == "__main__":
    main()
