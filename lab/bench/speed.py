# SPDX-License-Identifier: GPL-2.0-only
"""Speed of the simulator, the law's share in it, and how busy a campaign keeps the cores.

usage: python lab/bench/speed.py [--keep GROUP/NAME]    (``make bench``; on an idle machine)
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from pacelab.errors import InputError
from pacelab.experiment.campaign import run_all
from pacelab.experiment.definition import SCENARIOS
from pacelab.experiment.runner import make_job
from pacelab.results.keep import keep_rows, target
from pacelab.results.pages import write_pages
from pacelab.scenario import load
from pacelab.scenario.models import Scenario
from pacelab.simulator import program

LEAST_SPEED = 8.0  # simulated seconds per CPU second, 8-hop chain
MOST_LAW_SHARE = 0.02
LEAST_BUSY = 0.85
SEEDS = 5
CAMPAIGN_RUNS = 20


def timing(scenario: Scenario, seed: int, *, law: bool) -> dict[str, float]:
    """What one run costs; the law's clock slows it a little, so speed is measured without."""
    with tempfile.TemporaryDirectory() as folder:
        file, times = Path(folder, "scenario.json"), Path(folder, "timing.json")
        file.write_text(json.dumps(scenario.as_dict()), encoding="utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        extra = ["--timing", str(times)] if law else []
        subprocess.run(
            [program(), file, "--seed", str(seed), *extra], check=True, stdout=subprocess.DEVNULL
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        law_s = json.loads(times.read_text())["law_s"] if law else 0.0
        return {"speed": scenario.duration_s / cpu_s, "share": law_s / cpu_s}


def busy(scenario: Scenario) -> float:
    """CPU time of a campaign over wall time and cores, everything from start to end."""
    jobs = [make_job(scenario, seed, use_cache=False) for seed in range(1, CAMPAIGN_RUNS + 1)]
    begin_s, before = time.monotonic(), os.times()
    run_all(jobs)
    wall_s, after = time.monotonic() - begin_s, os.times()
    cpu_s = sum(after[:4]) - sum(before[:4])
    return cpu_s / wall_s / (os.cpu_count() or 1)


def row(variant: str, figure: str, unit: str, values: list[float], wanted: str) -> dict[str, Any]:
    """A figure in the format of ``results/``."""
    return {
        "variant": variant,
        "figure": figure,
        "unit": unit,
        "value": round(statistics.median(values), 3),
        "n": len(values),
        "values": [round(value, 3) for value in values],
        "wanted": wanted,
    }


def main() -> None:
    """Prints each figure beside what is asked of it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--keep", metavar="GROUP/NAME", help="write results/GROUP/NAME.json, too")
    keep = parser.parse_args().keep
    try:
        where = target(keep, []) if keep else None
    except InputError as error:
        parser.error(str(error))
    rows = []
    chain = str(SCENARIOS / "chain.toml")
    plain = load(chain, {"gateway.law": "off", "duration_s": 60})
    gap = load(chain, {"duration_s": 60})
    for name, scenario in (("NewReno", plain), ("GAP", gap)):
        speeds = [timing(scenario, s, law=False)["speed"] for s in range(1, SEEDS + 1)]
        asked = f"at least {LEAST_SPEED:g}"
        rows.append(row(f"8-hop chain, {name}", "simulated s per CPU s", "", speeds, asked))
        print(
            f"8-hop chain, {name}: {statistics.median(speeds):.1f} simulated s per CPU s "
            f"(asked: {LEAST_SPEED:g}), {min(speeds):.1f} .. {max(speeds):.1f}"
        )
    shares = [timing(gap, s, law=True)["share"] for s in range(1, SEEDS + 1)]
    share = 100 * statistics.median(shares)
    asked = f"below {100 * MOST_LAW_SHARE:g}%"
    rows.append(row("", "the law's share of a run", "%", [100 * s for s in shares], asked))
    print(f"the law's share of a run: {share:.2f}% (asked: below {100 * MOST_LAW_SHARE:g}%)")
    used = 100 * busy(load(chain, {"duration_s": 30}))
    asked = f"at least {100 * LEAST_BUSY:g}%"
    rows.append(row(f"{CAMPAIGN_RUNS} runs", "cores kept busy", "%", [used], asked))
    print(f"cores kept busy by {CAMPAIGN_RUNS} runs: {used:.0f}% (asked: {100 * LEAST_BUSY:g}%)")
    if where:
        command = f".venv/bin/python lab/bench/speed.py --keep {keep}"
        keep_rows(rows, where, "Speed of the simulator", command)
        write_pages()


if __name__ == "__main__":
    main()
