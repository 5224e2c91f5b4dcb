# SPDX-License-Identifier: GPL-2.0-only
"""Runs experiments, and searches for the best value of a key; their outcomes are judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pacelab.experiment.campaign import run_all
from pacelab.experiment.definition import Experiment, Point
from pacelab.experiment.models import Search
from pacelab.experiment.runner import Job, cost_s, make_job
from pacelab.results.judge import judge, verdict
from pacelab.results.runs import Run
from pacelab.results.solo import bulk_hosts, solo, solo_series
from pacelab.results.summary import summarize
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Table


@dataclass(frozen=True)
class Workers:
    """Where runs happen."""

    jobs: int | None = None
    scheduler: str | None = None


Request = tuple[Point, Table | None]


class Simulations:
    """Simulates points, with ``solo`` hosts alone, too; keeps what all their runs cost."""

    def __init__(self, seeds: int, workers: Workers, *, solo: bool = False) -> None:
        self.seeds = seeds
        self.workers = workers
        self.solo = solo
        self.jobs: set[Job] = set()

    def plan(self, requests: Sequence[Request]) -> tuple[list[Scenario], list[Job]]:
        """The scenarios of points with settings, and their runs, seed by seed; solo runs last."""
        scenarios = [point.scenario(settings) for point, settings in requests]
        alone = [solo(s, host) for s in scenarios for host in self._alone(s)]
        jobs = [make_job(s, seed) for s in [*scenarios, *alone] for seed in self._seeds()]
        self.jobs |= set(jobs)
        return scenarios, jobs

    def summaries(self, scenarios: Sequence[Scenario], runs: Sequence[Run]) -> list[Table]:
        """A result for each scenario, of the runs in the order of their jobs."""
        left = iter(runs)
        results = [summarize(s, [next(left) for _ in self._seeds()]) for s in scenarios]
        for scenario, result in zip(scenarios, results, strict=True):
            for host in self._alone(scenario):
                own = solo_series(scenario, host, [next(left) for _ in self._seeds()])
                result.setdefault("solo", {})[host] = own
        return results

    def _seeds(self) -> range:
        return range(1, self.seeds + 1)

    def _alone(self, scenario: Scenario) -> list[str]:
        """The hosts that are simulated alone, too."""
        return bulk_hosts(scenario) if self.solo else []

    def results(self, requests: Sequence[Request]) -> list[Table]:
        """The results of points with settings, all their runs in one campaign."""
        scenarios, jobs = self.plan(requests)
        return self.summaries(scenarios, run_all(jobs, self.workers.jobs, self.workers.scheduler))

    def cpu_s(self) -> float | None:
        """What the runs cost where they were made; None where that is not known here."""
        costs = [cost_s(job) for job in self.jobs]
        known = [c for c in costs if c is not None]
        return sum(known) if len(known) == len(costs) else None


def _greatest_without_loss(
    points: Sequence[Point], search: Search, simulations: Simulations
) -> list[tuple[Any, Table]]:
    """For each point the greatest value of the searched key at which no more is lost than allowed.

    Bisection, all points side by side; the result is that of the greatest value that passed,
    or of ``low``, which is not tried but taken to pass.
    """
    assert search.low is not None, "the goal has bounds"
    assert search.high is not None
    assert search.loss is not None
    low = [search.low] * len(points)
    high = [search.high] * len(points)
    best: list[Table | None] = [None] * len(points)
    for _ in range(search.rounds):
        tried = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
        requests = [(p, {search.key: rate}) for p, rate in zip(points, tried, strict=True)]
        for i, result in enumerate(simulations.results(requests)):
            if max(flow["loss"] for flow in result["flows"]) <= search.loss:
                low[i], best[i] = tried[i], result
            else:
                high[i] = tried[i]
    missing = [i for i, result in enumerate(best) if result is None]
    fallback = simulations.results([(points[i], {search.key: low[i]}) for i in missing])
    for i, result in zip(missing, fallback, strict=True):
        best[i] = result
    return [(low[i], result) for i, result in enumerate(best) if result is not None]


def _greatest_goodput(
    points: Sequence[Point], search: Search, simulations: Simulations
) -> list[tuple[Any, Table]]:
    """For each point the value of the searched key at which most is delivered.

    First all of ``values``; then, in each round, the means of the best and its neighbours.
    """
    known: list[dict[float, Table]] = [{} for _ in points]
    new = [[float(v) for v in search.values or []] for _ in points]
    for left in range(search.rounds, -1, -1):
        requests = [(p, {search.key: v}) for p, own in zip(points, new, strict=True) for v in own]
        results = iter(simulations.results(requests))
        for i, own in enumerate(new):
            known[i] |= {value: next(results) for value in own}
        best = [_best(own, search.flows) for own in known]
        new = [_beside(b, own) if left else [] for b, own in zip(best, known, strict=True)]
    return [(b, own[b]) for b, own in zip(best, known, strict=True)]


def _best(known: dict[float, Table], flows: Sequence[str] | None) -> float:
    """The value at which the flows (None: all) get most; of several the least."""

    def goodput_kbps(value: float) -> float:
        of = known[value]["flows"]
        chosen = [f for f in of if flows is None or f["name"] in flows]
        return float(sum(f["goodput_kbps"]["mean"] for f in chosen))

    return max(sorted(known), key=goodput_kbps)


def _beside(best: float, known: dict[float, Table]) -> list[float]:
    tried = sorted(known)
    place = tried.index(best)
    neighbours = tried[max(place - 1, 0) : place] + tried[place + 1 : place + 2]
    return [round((best + other) / 2, 3) for other in neighbours]


def _search(experiment: Experiment, simulations: Simulations) -> list[tuple[Any, Table]]:
    """For each point what its search found, and the result there."""
    search = experiment.search
    assert search is not None, "the caller has seen to it"
    find = _greatest_without_loss if search.goal == "loss" else _greatest_goodput
    points = experiment.points
    if search.each == "point":
        searched = [p for p in points if p.searched]
        found = dict(zip(map(id, searched), find(searched, search, simulations), strict=True))
        plain = [p for p in points if not p.searched]
        results = simulations.results([(p, None) for p in plain])
        found |= {id(p): (None, r) for p, r in zip(plain, results, strict=True)}
        return [found[id(p)] for p in points]
    bases = [p for p in experiment.bases if p.searched]
    best = {
        (base.variant, base.system): value
        for base, (value, _) in zip(bases, find(bases, search, simulations), strict=True)
    }
    values = [best.get((p.variant, p.system)) for p in points]
    requests: list[Request] = [
        (p, None if v is None else {search.key: v}) for p, v in zip(points, values, strict=True)
    ]
    return list(zip(values, simulations.results(requests), strict=True))


def reproduce(experiments: Sequence[Experiment], workers: Workers) -> list[Table]:
    """Runs experiments, those without a search in one campaign; returns their outcomes."""
    simulations = {e.id: Simulations(e.seeds, workers, solo=e.solo) for e in experiments}
    plain = [e for e in experiments if not e.search]
    plans = [simulations[e.id].plan([(p, None) for p in e.points]) for e in plain]
    runs = iter(
        run_all([job for _, jobs in plans for job in jobs], workers.jobs, workers.scheduler)
    )
    found: dict[str, list[tuple[Any, Table]]] = {}
    for experiment, (scenarios, jobs) in zip(plain, plans, strict=True):
        own = simulations[experiment.id].summaries(scenarios, [next(runs) for _ in jobs])
        found[experiment.id] = [(None, result) for result in own]
    for experiment in experiments:
        if experiment.search:
            found[experiment.id] = _search(experiment, simulations[experiment.id])
    return [_outcome(e, found[e.id], simulations[e.id].cpu_s()) for e in experiments]


def _outcome(
    experiment: Experiment, found: Sequence[tuple[Any, Table]], cpu_s: float | None
) -> Table:
    points = [
        {"variant": p.variant, "system": p.system, "value": p.value, "searched": s, "result": r}
        for p, (s, r) in zip(experiment.points, found, strict=True)
    ]
    outcome: Table = {
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
    outcome["checks"] = [judge(check.as_dict(), outcome) for check in experiment.about.check]
    outcome["verdict"] = verdict(outcome["checks"])
    return outcome
