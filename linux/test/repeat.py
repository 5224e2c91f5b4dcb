#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
Runs tests many times in a row while every core is kept busy: what goes by the clock must hold, or
say that it is inconclusive. Prints each round's outcome, the outputs of rounds that failed, and
what failed at a first attempt, though it passed later.

usage: .venv/bin/python linux/test/repeat.py [--record DIR] ROUNDS [WORD_FOR_PYTEST]...

Without words for pytest it runs what goes by the clock in `make test` (scripts/test.sh smoke).
--record DIR keeps the figures as DIR/repeat.json.
Exit status: 0 no round failed; 1 one did; 2 wrong usage.
"""

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from harness import record

REPOSITORY = Path(__file__).resolve().parents[2]
PYTEST = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-p", "attempts"]
# The line with which pytest ends, and what it counts there.
LAST = re.compile(r"^.*\d+ [a-z]+.* in [\d.]+s\b.*$", re.MULTILINE)
COUNTED = re.compile(r"(\d+) (passed|failed|errors?|skipped)")
# A line of scripts/attempts.py.
FIRST = re.compile(
    r"^(\S+\.py::.+?)(?: \((?:setup|call|teardown); [a-z ]+\))?: (.*)$", re.MULTILINE
)


@dataclass(frozen=True)
class Round:
    """What a round came to: how often each outcome; what failed at a first attempt, and why."""

    held: bool
    seconds: float
    # Programs that wanted to run over its last minute, on average.
    load: float
    counts: dict[str, int]
    first: dict[str, str]

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {outcome}" for outcome, count in self.counts.items())
        outcome = "held" if self.held else "FAILED"
        lines = [
            f"{outcome}, {counts or 'nothing ran'}, {self.seconds:.0f} s, load {self.load:.0f}"
        ]
        lines += [f"  failed at the first attempt: {one}: {why}" for one, why in self.first.items()]
        return "\n".join(lines)


def run(words: list[str]) -> Round:
    with tempfile.NamedTemporaryFile("r") as attempts:
        environment = {"ATTEMPTS": attempts.name, "PYTHONPATH": str(REPOSITORY / "scripts")}
        command = [*PYTEST, *words] if words else [str(REPOSITORY / "scripts" / "test.sh"), "smoke"]
        began = time.monotonic()
        status, output = finished(command, os.environ | environment)
        seconds = time.monotonic() - began
        first = dict(FIRST.findall(attempts.read()))
    if status:
        print(output)
    counts: dict[str, int] = {}
    for line in LAST.findall(output):
        for count, outcome in COUNTED.findall(line):
            counts[outcome] = counts.get(outcome, 0) + int(count)
    return Round(status == 0, seconds, os.getloadavg()[0], counts, first)


def finished(command: list[str], environment: Mapping[str, str]) -> tuple[int, str]:
    """Exit status and output; who ends this program ends the tests, and they clear away."""
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # Of one session with the load: Linux gives sessions equal parts of a core (autogroup).
        process_group=0,
    ) as process:
        try:
            output = process.communicate()[0]
        except BaseException:
            # A script in the background ignores Ctrl-C, while pytest clears away.
            os.killpg(process.pid, signal.SIGINT)
            process.terminate()
            raise
    return process.returncode, output


@contextlib.contextmanager
def load() -> Iterator[None]:
    """Every core has a process that never waits."""
    spin = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(spin) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


def keep(folder: Path, rounds: list[Round]) -> None:
    """A row for each outcome, and one for each test that ever failed at its first attempt."""
    values: dict[tuple[str, str, str, str], list[float]] = {
        ("all", "share of rounds that failed", "", "0"): [float(not one.held) for one in rounds],
        ("all", "passed", "tests a round", ""): [one.counts.get("passed", 0) for one in rounds],
        ("all", "inconclusive", "tests a round", ""): [
            one.counts.get("skipped", 0) for one in rounds
        ],
        ("all", "failed at the first attempt", "tests a round", ""): [
            len(one.first) for one in rounds
        ],
        ("all", "a round takes", "s", ""): [one.seconds for one in rounds],
        ("all", "load average", "", ""): [one.load for one in rounds],
    }
    for test in sorted({test for one in rounds for test in one.first}):
        name = record.variant(test.split("::")[-1])
        values[name, "share of rounds in which it failed at the first attempt", "", ""] = [
            float(test in one.first) for one in rounds
        ]
    folder.mkdir(parents=True, exist_ok=True)
    record.collector(folder).write_one(
        "Tests that go by the clock, again and again while every core is busy",
        ".venv/bin/python linux/test/repeat.py " + " ".join(sys.argv[1:]),
        "repeat",
        values,
        mean,
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Runs tests in a row while every core is busy.", allow_abbrev=False
    )
    parser.add_argument(
        "--record", type=Path, metavar="DIR", help="keep figures as DIR/repeat.json"
    )
    parser.add_argument("rounds", type=int, metavar="ROUNDS")
    arguments, words = parser.parse_known_args()
    if arguments.rounds < 1:
        parser.error(f"ROUNDS is {arguments.rounds}; it has to be 1 or more")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    rounds: list[Round] = []
    with load():
        for number in range(1, arguments.rounds + 1):
            rounds.append(run(words))
            print(f"round {number} of {arguments.rounds}: {rounds[-1]}", flush=True)
            if arguments.record:
                keep(arguments.record, rounds)
    return int(not all(one.held for one in rounds))


if __name__ == "__main__":
    sys.exit(main())
