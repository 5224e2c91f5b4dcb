# SPDX-License-Identifier: GPL-2.0-only
"""A campaign of the real simulator gives the same whoever makes it, however often it is ended."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from pacelab.results.report import RESULT

# Two who come one after the other, over two hops and over one, on the radio of today; a part of
# what each has alone is asked for, and the checks need more seeds than the file has.
OWN = """
title = "Own"
duration_s = 3.0
warmup_s = 0.5
[radio]
model = "sinr"
standard = "802.11n"
path_loss_exponent = 3.3
sense_dbm = -89.0
rts_cts = false
queueing = "fq_codel"
[mesh]
hops = 2
spacing_m = 25.0
[[flow]]
name = "near"
from = "B1"
to = "RL1"
[[flow]]
name = "far"
from = "B2"
to = "A"
start_s = 1.0
[experiment]
id = "own"
paper = "P"
figure = "Figure 1"
claim = "Both have as much as they can."
seeds = 1
plot = "flows"
[[experiment.system]]
name = "CUBIC"
set = { "tcp.variant" = "cubic" }
[[experiment.system]]
name = "even"
set = { "gateway.law" = "even", "tcp.variant" = "cubic" }
[[experiment.check]]
text = "welfare"
measure = "nash"
of = "even"
over = "CUBIC"
least = 0.0
[[experiment.check]]
text = "goodput"
measure = "goodput"
of = "CUBIC"
least = 100.0
"""

# A process of its own, whose catalogue is a folder of the test's.
PACELAB = """
import sys
from pathlib import Path
from pacelab import cli
from pacelab.experiment import decide, definition
definition.SCENARIOS = Path(sys.argv.pop(1))
decide.MOST_SEEDS = int(sys.argv.pop(1))
sys.exit(cli.main(sys.argv[1:]))
"""
MOST_SEEDS = 3
RUNS = MOST_SEEDS * (2 + 2)  # of both systems, and of both hosts alone, which the systems share


def _command(folder: Path, jobs: int) -> Sequence[str]:
    own = [str(folder), str(MOST_SEEDS)]
    call = [
        "reproduce",
        "own",
        "--until-decided",
        "--jobs",
        str(jobs),
        "--out",
        str(folder / "out"),
    ]
    return [sys.executable, "-c", PACELAB, *own, *call]


def _environment(cache: Path) -> dict[str, str]:
    return os.environ | {"PACELAB_CACHE": str(cache)}


def _results(cache: Path) -> dict[str, bytes]:
    """The runs that are stored, by their names, byte for byte."""
    return {file.name: file.read_bytes() for file in cache.glob("*/*.json")}


def _made(folder: Path, cache: Path, jobs: int) -> str:
    """What a campaign tells, but for the time that it took."""
    subprocess.run(
        _command(folder, jobs),
        env=_environment(cache),
        check=True,
        capture_output=True,
        timeout=300,
    )
    told = json.loads((folder / "out" / "own" / RESULT).read_text())
    assert told.pop("cpu_s") > 0
    for check in told["checks"]:
        if check["needs"]:
            check["needs"].pop("cpu_s")
    return json.dumps(told)


def _end_in_the_middle(folder: Path, cache: Path, number: int) -> None:
    """Begins a campaign and ends it by a signal once more of it is stored than before."""
    before = len(_results(cache))
    with subprocess.Popen(
        _command(folder, 2),
        env=_environment(cache),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        deadline_s = time.monotonic() + 120
        while len(_results(cache)) == before and time.monotonic() < deadline_s:
            time.sleep(0.02)
        os.killpg(process.pid, number)
        assert process.wait(timeout=60) != 0


@pytest.mark.usefixtures("real")
def test_workers_and_interruptions_change_nothing(tmp_path: Path) -> None:
    """Else results would depend on the machine and on its luck: where the double could not show it,
    as when a run's random numbers, or its rate control, depended on what else runs."""
    (tmp_path / "own.toml").write_text(OWN)
    told = _made(tmp_path, tmp_path / "one", 1)
    runs = _results(tmp_path / "one")
    assert len(runs) == RUNS
    cache = tmp_path / "two"
    _end_in_the_middle(tmp_path, cache, signal.SIGTERM)
    _end_in_the_middle(tmp_path, cache, signal.SIGINT)
    before = {file: file.stat().st_mtime_ns for file in cache.glob("*/*.json")}
    assert 2 <= len(before) < RUNS
    assert _made(tmp_path, cache, 2) == told
    assert _results(cache) == runs
    assert {file: file.stat().st_mtime_ns for file in before} == before  # none was made twice
