# SPDX-License-Identifier: GPL-2.0-only
"""Runs experiments; their outcomes are judged."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pacelab.experiment.campaign import run_all
from pacelab.experiment.definition import Experiment, Point
from pacelab.experiment.point_runs import PointRuns
from pacelab.experiment.rates import SEARCH_SEED
from pacelab.experiment.runner import Job, cached, cost_s
from pacelab.experiment.search import search
from pacelab.results.judge import judge, verdict
from pacelab.results.paired import Singles
from pacelab.results.runs import Run
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Table


@dataclass(frozen=True)
class Workers:
    """Where runs happen."""

    jobs: int | None = None
    scheduler: str | None = None


Request = tuple[Point, Table | None]


# Scenarios, each with the jobs for its runs.
Plans = list[tuple[PointRuns, list[Job]]]


def taken(plans: Plans, runs: Iterator[Run]) -> list[Table]:
    """The results of planned scenarios, of runs in the order of their jobs."""
    for point, jobs in plans:
        point.take([next(runs) for _ in jobs])
    return [point.result() for point, _ in plans]


class Simulations:
    """Simulates points, with so many seeds from the first on, with ``solo`` hosts alone, too; keeps
    what all their runs cost."""

    def __init__(
        self, seeds: int, workers: Workers, first_seed: int = 1, *, solo: bool = False
    ) -> None:
        self.seeds = seeds
        self.first_seed = first_seed
        self.workers = workers
        self.solo = solo
        self.jobs: set[Job] = set()

    def plan(self, scenarios: Sequence[Scenario]) -> Plans:
        """Of each scenario the runs that it will have, and the jobs for them."""
        points = [PointRuns(scenario, with_solo=self.solo) for scenario in scenarios]
        plans = [(point, point.of(self._seeds())) for point in points]
        self.jobs |= {job for _, jobs in plans for job in jobs}
        return plans

    def _seeds(self) -> range:
        return range(self.first_seed, self.first_seed + self.seeds)

    def results(self, requests: Sequence[Request]) -> list[Table]:
        """The results of points with settings, all their runs in one campaign."""
        return self.results_of([point.scenario(settings) for point, settings in requests])

    def results_of(self, scenarios: Sequence[Scenario]) -> list[Table]:
        """The results of scenarios, all their runs in one campaign."""
        plans = self.plan(scenarios)
        jobs = [job for _, jobs in plans for job in jobs]
        return taken(plans, iter(run_all(jobs, self.workers.jobs, self.workers.scheduler)))

    def cpu_s(self) -> float | None:
        """What the runs cost where they were made; None where that is not known here."""
        return cost_of(self.jobs)


class Unknown(Exception):
    """A run would have to be made."""


class Known(Simulations):
    """The same of runs that have been made: Unknown where one has not."""

    def results_of(self, scenarios: Sequence[Scenario]) -> list[Table]:
        if any(cached(job) is None for _, jobs in self.plan(scenarios) for job in jobs):
            raise Unknown
        return super().results_of(scenarios)


def cost_of(jobs: Collection[Job]) -> float | None:
    """What runs cost where they were made, CPU s; None where that is not known here of all."""
    known = [c for c in map(cost_s, jobs) if c is not None]
    return sum(known) if len(known) == len(jobs) else None


def reproduce(experiments: Sequence[Experiment], workers: Workers) -> list[Table]:
    """Runs experiments, those without a search in one campaign; returns their outcomes."""
    simulations = {
        e.id: Simulations(e.seeds, workers, e.about.first_seed, solo=e.solo) for e in experiments
    }
    plain = [e for e in experiments if not e.search]
    plans = [simulations[e.id].plan([p.scenario() for p in e.points]) for e in plain]
    jobs = [job for own in plans for _, of_one in own for job in of_one]
    runs = iter(run_all(jobs, workers.jobs, workers.scheduler))
    found: dict[str, list[tuple[Any, Table]]] = {}
    for experiment, own in zip(plain, plans, strict=True):
        found[experiment.id] = [(None, result) for result in taken(own, runs)]
    for experiment in experiments:
        if experiment.search:
            reported = simulations[experiment.id]
            trials = Simulations(
                experiment.search.seeds, workers, SEARCH_SEED, solo=experiment.solo
            )
            found[experiment.id] = search(experiment, reported, trials)
            reported.jobs |= trials.jobs
    return [judged(e, found[e.id], simulations[e.id].cpu_s()) for e in experiments]


def judged(
    experiment: Experiment, found: Sequence[tuple[Any, Table]], cpu_s: float | None
) -> Table:
    """What came out of all points, each with what was searched for it, and the verdicts."""
    outcome = outcome_of(experiment, found, cpu_s)
    singles = Singles()
    checks = [check.as_dict() for check in experiment.about.check]
    outcome["checks"] = [judge(check, outcome, singles=singles) for check in checks]
    outcome["verdict"] = verdict(outcome["checks"])
    return outcome


def outcome_of(
    experiment: Experiment, found: Sequence[tuple[Any, Table]], cpu_s: float | None
) -> Table:
    """What came out, yet to be judged."""
    points = [
        {"variant": p.variant, "system": p.system, "value": p.value, "searched": s, "result": r}
        for p, (s, r) in zip(experiment.points, found, strict=True)
    ]
    return {
        "id": experiment.id,
        "title": experiment.title,
        "file": experiment.file,
        "quick": experiment.quick,
        "part": experiment.part.text(),
        "seeds": experiment.seeds,
        "runs": experiment.runs(),
        "cpu_s": cpu_s,
        "about": experiment.about.as_dict(),
        "systems": experiment.systems,
        "variants": experiment.variants,
        "values": experiment.values,
        "points": points,
    }
