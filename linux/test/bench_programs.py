# SPDX-License-Identifier: GPL-2.0-only
"""
What the gateway's BPF programs cost a packet, beside those of another checkout, in one run: both
replay the other's traces in turns (harness/replay.py), and the kernel counts what each program
takes (bpf_stats, its two clock readings included).

usage: .venv/bin/python linux/test/bench_programs.py CHECKOUT    (root; such as a `git worktree`)
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench_gateway import PROGRAMS, statistics_on
from harness import replay
from harness.namespace import obstacle, run

ROUNDS = 400
# Downloads, uploads, and what a host's share asks for.
TRACES = ("chain", "near-far", "oncoming", "loss", "sack", "uploads", "uploads-capped", "capped")


def compile_programs(checkout: Path, out: Path) -> Path:
    """The gateway's object, by the same compiler for both."""
    headers = next(replay.BUILT.glob("libbpf-sys-*/out/include"))
    words = ("clang", "-g", "-O2", "-target", "bpf", "-mcpu=v3", "-ffreestanding")
    folders = (f"-I{checkout}/core/include", f"-I{headers}", "-idirafter")
    source = checkout / "linux/bpf/gateway.bpf.c"
    asm = "/usr/include/x86_64-linux-gnu"
    run(*words, "-D__TARGET_ARCH_x86", *folders, asm, "-c", str(source), "-o", str(out))
    return out


class Spent:
    """ns and packets of the programs behind some pins."""

    def __init__(self, pins: Path) -> None:
        self.pins = pins

    def now(self) -> dict[str, tuple[int, int]]:
        return {name: self._of(self.pins / name) for name in PROGRAMS}

    @staticmethod
    def _of(pin: Path) -> tuple[int, int]:
        words = ["bpftool", "-j", "prog", "show", "pinned", str(pin)]
        shown = json.loads(subprocess.check_output(words))
        return shown.get("run_time_ns", 0), shown.get("run_cnt", 0)


def round_of(side: tuple[replay.Replay, Spent], traces: list[Path]) -> dict[str, float]:
    """Mean ns a packet of each program, all traces replayed once."""
    replayed, spent = side
    before = spent.now()
    for trace in traces:
        replayed(trace)
    after = spent.now()
    return {p: (after[p][0] - before[p][0]) / (after[p][1] - before[p][1]) for p in PROGRAMS}


def main() -> None:
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "linux/bpf/gateway.bpf.c").is_file():
        sys.exit("bench_programs: give one checkout of another commit to compare with")
    if (why := obstacle()) is not None:
        sys.exit(f"bench_programs: {why}; run it as root on a machine of its own")
    other = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        traces = [other / f"core/test/traces/{trace}.trace" for trace in TRACES]
        here = compile_programs(replay.ROOT, folder / "here.o")
        there = compile_programs(other, folder / "there.o")
        with (
            replay.in_bpf(here, folder, "here") as ours,
            replay.in_bpf(there, folder, "there", other) as theirs,
            statistics_on(),
        ):
            sides = [
                (ours, Spent(folder / "bpf-here/pins")),
                (theirs, Spent(folder / "bpf-there/pins")),
            ]
            rounds = [
                [round_of(sides[(turn + i) % 2], traces) for i in range(2)][:: 1 - 2 * (turn % 2)]
                for turn in range(ROUNDS)
            ]
    for program in PROGRAMS:
        ours_ns = statistics.median(pair[0][program] for pair in rounds)
        theirs_ns = statistics.median(pair[1][program] for pair in rounds)
        ratios = statistics.quantiles((p[0][program] / p[1][program] for p in rounds), n=4)
        print(
            f"{program:13} {ours_ns:4.0f} ns a packet, there {theirs_ns:4.0f} ns; "
            f"ratio {ratios[1]:.3f} (quartiles {ratios[0]:.3f} to {ratios[2]:.3f})"
        )


if __name__ == "__main__":
    main()
