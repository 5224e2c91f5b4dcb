# SPDX-License-Identifier: GPL-2.0-only
"""What experiments' quick runs cost: simulated seconds per CPU second, CPU minutes, the estimate.

usage: python lab/bench/catalogue.py PATTERN [--keep GROUP/NAME]    (as "day-*")

Runs that are stored cost nothing: after ``pacelab reproduce PATTERN --quick`` it only reads. A run
that several experiments share counts for each of them, and once in the sum.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from pacelab.errors import InputError, RunError
from pacelab.experiment import cost
from pacelab.experiment.campaign import run_all
from pacelab.experiment.catalogue import find_experiments
from pacelab.experiment.definition import Experiment
from pacelab.experiment.runner import Job, cost_s, make_job, same_run
from pacelab.results.keep import keep_rows, target
from pacelab.results.pages import write_pages
from pacelab.scenario.models import Scenario


def runs_of(experiment: Experiment) -> list[tuple[Scenario, Job]]:
    """All that an experiment simulates; InputError where a search decides what that is."""
    if experiment.search and any(point.searched for point in experiment.points):
        raise InputError(f"{experiment.id}: what it runs is found by a search; leave it out")
    scenarios = [point.scenario() for point in experiment.points] + experiment.solos()
    seeds = range(1, experiment.seeds + 1)
    return [(scenario, make_job(scenario, seed)) for scenario in scenarios for seed in seeds]


def measured_s(job: Job) -> float:
    """The CPU seconds of a run; RunError where it was made elsewhere."""
    known = cost_s(job)
    if known is None:
        raise RunError("a run was made elsewhere; set PACELAB_CACHE to a new folder")
    return known


def rows_of(experiment: Experiment) -> list[dict[str, Any]]:
    """The figures of one experiment."""
    runs = runs_of(experiment)
    run_all([job for _, job in runs])
    cpu_s = sum(measured_s(job) for _, job in runs)
    simulated_s = sum(scenario.duration_s for scenario, _ in runs)
    estimated_s = sum(cost.cpu_s(scenario) for scenario, _ in runs)
    figures = (
        ("simulated s per CPU s", "", simulated_s / cpu_s),
        ("CPU", "min", cpu_s / 60),
        ("CPU, of what is estimated", "", cpu_s / estimated_s),
    )
    return [
        {
            "variant": experiment.id,
            "figure": figure,
            "unit": unit,
            "value": round(value, 2),
            "n": len(runs),
        }
        for figure, unit, value in figures
    ]


def total_row(experiments: Sequence[Experiment], most_min: float | None) -> dict[str, Any]:
    """What all of them cost together, each run once."""
    jobs = {same_run(job): job for e in experiments for _, job in runs_of(e)}
    cpu_min = sum(map(measured_s, jobs.values())) / 60
    row = {
        "variant": "all",
        "figure": "CPU",
        "unit": "min",
        "value": round(cpu_min, 2),
        "n": len(jobs),
    }
    return row if most_min is None else {**row, "wanted": f"at most {most_min:g}"}


def main() -> None:
    """Prints what each experiment costs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("pattern", metavar="PATTERN", help='ids, as "day-*"')
    parser.add_argument("--most", type=float, metavar="MIN", help="what all may cost, CPU minutes")
    parser.add_argument("--keep", metavar="GROUP/NAME", help="write results/GROUP/NAME.json, too")
    asked = parser.parse_args()
    try:
        where = target(asked.keep, []) if asked.keep else None
        experiments = find_experiments([asked.pattern], quick=True)
        rows = [row for experiment in experiments for row in rows_of(experiment)]
        rows.append(total_row(experiments, asked.most))
    except (InputError, RunError) as error:
        parser.error(str(error))
    for row in rows:
        print(f"{row['variant']}, {row['figure']}: {row['value']:g} {row['unit']}".rstrip())
    if where:
        most = f" --most {asked.most:g}" if asked.most else ""
        command = (
            f".venv/bin/python lab/bench/catalogue.py '{asked.pattern}'{most} --keep {asked.keep}"
        )
        keep_rows(rows, where, "What quick runs cost", command)
        write_pages()


if __name__ == "__main__":
    main()
