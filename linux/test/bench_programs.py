# SPDX-License-Identifier: GPL-2.0-only
"""
What the gateway's BPF programs cost a packet, beside those of another checkout, in one run: both
replay the other's traces in turns (harness/replay.py), and the kernel counts what each program
takes (bpf_stats, its two clock readings included).

usage: .venv/bin/python linux/test/bench_programs.py CHECKOUT [--record DIR]
       (root; CHECKOUT: such as a `git worktree` of an earlier commit)
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench_gateway import PROGRAMS
from harness import bench, bpf, replay
from harness.namespace import obstacle, run

FIGURES = bench.Figures("programs", "What the gateway's programs cost, beside another commit's")
ROUNDS, TIMES = 20, 20
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
    """Mean ns a packet of each program, all traces replayed several times."""
    replayed, spent = side
    before = spent.now()
    for trace in traces * TIMES:
        replayed(trace)
    after = spent.now()
    return {p: (after[p][0] - before[p][0]) / (after[p][1] - before[p][1]) for p in PROGRAMS}


def measure(other: Path, folder: Path) -> list[list[dict[str, float]]]:
    """Of each round the cost of both programs, ours and the other's; who begins changes."""
    traces = [other / f"core/test/traces/{trace}.trace" for trace in TRACES]
    here = compile_programs(replay.ROOT, folder / "here.o")
    there = compile_programs(other, folder / "there.o")
    with (
        replay.in_bpf(here, folder, "here") as ours,
        replay.in_bpf(there, folder, "there", other) as theirs,
        bpf.statistics(),
    ):
        sides = [
            (ours, Spent(folder / "bpf-here/pins")),
            (theirs, Spent(folder / "bpf-there/pins")),
        ]
        return [
            [round_of(sides[(turn + i) % 2], traces) for i in range(2)][:: 1 - 2 * (turn % 2)]
            for turn in range(ROUNDS)
        ]


def main() -> None:
    if len(sys.argv) < 2 or not (Path(sys.argv[1]) / "linux/bpf/gateway.bpf.c").is_file():
        sys.exit("bench_programs: no checkout to compare with; give one of another commit first")
    bench.folder_of(sys.argv[2:])
    if (why := obstacle()) is not None:
        sys.exit(f"bench_programs: {why}; run it as root on a machine of its own")
    other = Path(sys.argv[1])
    commit = run("git", "-C", str(other), "rev-parse", "--short=12", "HEAD").strip()
    with tempfile.TemporaryDirectory() as name:
        rounds = measure(other, Path(name))
    for program in PROGRAMS:
        ours_ns, theirs_ns = ([pair[i][program] for pair in rounds] for i in range(2))
        ratios = [a / b for a, b in zip(ours_ns, theirs_ns, strict=True)]
        FIGURES.note(f"{program}, traces replayed", "a packet", "ns", ours_ns)
        FIGURES.note(f"{program}, traces replayed", f"ratio to {commit}", "", ratios, "1.0")
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(
            f"{program:13} {statistics.median(ours_ns):4.0f} ns a packet, {commit} "
            f"{statistics.median(theirs_ns):4.0f} ns; ratio {middle:.3f} ({low:.3f} to {high:.3f})"
        )
    FIGURES.keep(sys.argv[2:], f"CHECKOUT-OF-{commit} ")


if __name__ == "__main__":
    main()
