# SPDX-License-Identifier: GPL-2.0-only
"""``pacelab reproduce --emulated``: an experiment's points and their hosts alone, real kernels.

Runs follow each other, all of a seed before the next one, so that whatever else the machine does
meets all systems. What is measured of them, and how, is as of simulated ones.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from pacelab.emulation.available import unavailable
from pacelab.emulation.emulate import progress, summarize_emulated
from pacelab.emulation.plan import check
from pacelab.emulation.run import emulate_once
from pacelab.errors import InconclusiveError, InputError, RunError
from pacelab.experiment.definition import Experiment
from pacelab.experiment.point_runs import PointRuns
from pacelab.experiment.reproduce import judged
from pacelab.results.runs import Run
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Table

TRIES = 3  # of a run whose radio was late


def reproduce_emulated(experiments: Sequence[Experiment]) -> list[Table]:
    """The outcomes of experiments, emulated.

    Raises InputError for what cannot be emulated, before anything runs; RunError where nothing can;
    InconclusiveError when the radio of a run was late each time.
    """
    plans = [(experiment, _points(experiment)) for experiment in experiments]
    reason = unavailable()
    if reason:
        raise RunError(reason)
    return [_outcome(experiment, points) for experiment, points in plans]


def _points(experiment: Experiment) -> list[PointRuns]:
    """An experiment's points with their hosts alone, each checked."""
    searched = [point.system for point in experiment.points if point.searched]
    if experiment.search and searched:
        raise InputError(
            f'reproduce {experiment.id}: "{searched[0]}" is searched for, which is not emulated; '
            "name the other systems with --system"
        )
    emulated = [replace(point, emulated=True) for point in experiment.points]
    points = [PointRuns(p.scenario(), with_solo=experiment.solo) for p in emulated]
    for point in points:
        for scenario in (point.scenario, *point.alone):
            check(scenario)
    return points


def _outcome(experiment: Experiment, points: Sequence[PointRuns]) -> Table:
    known: dict[tuple[str, int], Run] = {}
    first = experiment.about.first_seed
    for seed in range(first, first + experiment.seeds):
        for point in points:
            scenarios = [point.scenario, *point.alone]
            point.take([_run(scenario, seed, known) for scenario in scenarios])
    results = [summarize_emulated(point.scenario, point.runs) | _solo(point) for point in points]
    return judged(experiment, [(None, result) for result in results], None)


def _solo(point: PointRuns) -> Table:
    return {"solo": point.solo} if point.hosts else {}


def _run(scenario: Scenario, seed: int, known: dict[tuple[str, int], Run]) -> Run:
    """A run; a host alone runs once a seed for all systems that share it."""
    key = (scenario.model_dump_json(), seed)
    if key not in known:
        known[key] = _emulated(scenario, seed)
    return known[key]


def _emulated(scenario: Scenario, seed: int) -> Run:
    """A run whose radio was in time, of at most so many tries."""
    for left in reversed(range(TRIES)):
        try:
            return emulate_once(scenario, seed, progress(scenario, f"seed {seed}"))
        except InconclusiveError as error:
            if not left:
                raise
            print(f"pacelab: {error}; once more", file=sys.stderr)
    raise AssertionError("the last try returns or raises")
