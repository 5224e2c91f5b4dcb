# SPDX-License-Identifier: GPL-2.0-only
"""
Replays random traces in ns-3's gateway or sender, which has to do what core/ does in plain C; one
that differs is shown in as few events as still differ.

usage, in linux/test: python -m harness.replay_sim gateway|sender CORE_REPLAY SIM_REPLAY [COUNT]
"""

import dataclasses
import sys
import tempfile
from pathlib import Path

from harness import replay, sender_source
from harness.namespace import run
from harness.trace_source import Setting, Source, of_seed

# What ns-3's gateway has not: sim/test/replay/exceptions.h.
EXCEPTIONS = ("alias", "mark", "forget", "outside=1")


def without_exceptions(setting: Setting) -> Setting:
    """The same, of what ns-3's gateway has."""
    words = [word for word in setting.settings.split() if not word.startswith("unanswered=")]
    extra = tuple(
        (ms, line.replace(" 6.", " "))
        for ms, line in setting.extra
        if not any(exception in line for exception in EXCEPTIONS)
    )
    return dataclasses.replace(
        setting, settings=" ".join(words), v6=False, supers=False, ghosts=0, extra=extra
    )


def replayer(program: str) -> replay.Replay:
    return lambda trace: run(program, str(trace))


def trace_of(kind: str, core: str, seed: int) -> str:
    if kind == "sender":
        return sender_source.make(sender_source.of_seed(seed), seed)
    return Source(without_exceptions(of_seed(seed)), seed, Path(core)).run()


def main(kind: str, core: str, sim: str, count: str = "200") -> int:
    failed, lines = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(int(count)):
            trace = trace_of(kind, core, seed)
            lines += trace.count("\n")
            (path := Path(folder) / "random.trace").write_text(trace)
            replayer(sim)(path)  # compare() takes an error for a line that was left out
            try:
                replay.compare(trace, Path(folder), replayer(core), replayer(sim))
            except replay.Differ as differs:
                failed += 1
                print(f"random trace {seed} differs:\n{differs}\n")
    print(f"{count} random traces, {lines} events, {failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
