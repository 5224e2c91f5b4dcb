# SPDX-License-Identifier: GPL-2.0-only
"""Runs experiments and judges them by their checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pacelab.campaign import run_all
from pacelab.experiment import Experiment, Point
from pacelab.runner import make_job
from pacelab.schema import Table
from pacelab.summary import summarize


@dataclass(frozen=True)
class Workers:
    """Where runs happen."""

    jobs: int | None = None
    scheduler: str | None = None


def _simulate(
    requests: Sequence[tuple[Point, Table | None]], seeds: int, workers: Workers
) -> list[Table]:
    """The results of points with settings, all their runs in one campaign."""
    scenarios = [point.scenario(settings) for point, settings in requests]
    jobs = [make_job(s, seed) for s in scenarios for seed in range(1, seeds + 1)]
    runs = run_all(jobs, workers.jobs, workers.scheduler)
    return [
        summarize(scenario, runs[i * seeds : (i + 1) * seeds])
        for i, scenario in enumerate(scenarios)
    ]


def _search(experiment: Experiment, workers: Workers) -> list[Table]:
    """For each point the greatest value of the searched key at which no more is lost than allowed.

    Bisection, all points side by side; the result is that of the greatest value that passed,
    or of ``low``, which is not tried but taken to pass.
    """
    search = experiment.about["search"]
    low = [search["low"]] * len(experiment.points)
    high = [search["high"]] * len(experiment.points)
    best: list[Table | None] = [None] * len(experiment.points)
    for _ in range(search["rounds"]):
        tried = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
        requests = [
            (point, {search["key"]: rate})
            for point, rate in zip(experiment.points, tried, strict=True)
        ]
        for i, result in enumerate(_simulate(requests, experiment.seeds, workers)):
            if max(flow["loss"] for flow in result["flows"]) <= search["loss"]:
                low[i], best[i] = tried[i], result
            else:
                high[i] = tried[i]
    last = [(p, {search["key"]: low[i]}) for i, p in enumerate(experiment.points)]
    missing = [i for i, result in enumerate(best) if result is None]
    fallback = _simulate([last[i] for i in missing], experiment.seeds, workers) if missing else []
    for i, result in zip(missing, fallback, strict=True):
        best[i] = result
    return [result for result in best if result is not None]


def reproduce(experiments: Sequence[Experiment], workers: Workers) -> list[Table]:
    """Runs experiments, those without a search in one campaign; returns their outcomes."""
    plain = [e for e in experiments if not e.about["search"]]
    outcomes: dict[str, list[Table]] = {}
    by_seeds: dict[int, list[Experiment]] = {}
    for experiment in plain:
        by_seeds.setdefault(experiment.seeds, []).append(experiment)
    for seeds, group in by_seeds.items():
        results = _simulate([(p, None) for e in group for p in e.points], seeds, workers)
        for experiment in group:
            count = len(experiment.points)
            outcomes[experiment.id], results = results[:count], results[count:]
    for experiment in experiments:
        if experiment.about["search"]:
            outcomes[experiment.id] = _search(experiment, workers)
    return [_outcome(e, outcomes[e.id]) for e in experiments]


def _outcome(experiment: Experiment, results: Sequence[Table]) -> Table:
    points = [
        {"variant": p.variant, "system": p.system, "value": p.value, "result": r}
        for p, r in zip(experiment.points, results, strict=True)
    ]
    outcome: Table = {
        "id": experiment.id,
        "title": experiment.title,
        "file": experiment.file,
        "quick": experiment.quick,
        "seeds": experiment.seeds,
        "about": experiment.about,
        "systems": experiment.systems,
        "variants": experiment.variants,
        "values": experiment.values,
        "points": points,
    }
    outcome["checks"] = [_judge(check, outcome) for check in experiment.about["check"]]
    outcome["verdict"] = verdict(outcome["checks"])
    return outcome


def find(outcome: Table, variant: str, system: str, value: Any) -> Table | None:
    """The result at a point, None when it was not simulated."""
    for point in outcome["points"]:
        if (point["variant"], point["system"], point["value"]) == (variant, system, value):
            result: Table = point["result"]
            return result
    return None


def _measure(check: Table, outcome: Table, at: Any) -> float | None:
    result = find(outcome, check["variant"], check["of"], at)
    if result is None:
        return None
    goodput = result["aggregate_kbps"]["mean"]
    if check["measure"] == "gain":
        other = find(outcome, check["variant"], check["over"], at)
        if other is None or other["aggregate_kbps"]["mean"] == 0:
            return None
        return float(goodput / other["aggregate_kbps"]["mean"] - 1)
    if check["measure"] == "reference":
        known = outcome["about"]["reference"]["values"].get(str(at))
        return float(goodput / known - 1) if known else None
    if check["measure"] == "flow_difference":
        flows = [flow["goodput_kbps"]["mean"] for flow in result["flows"]]
        return float(max(flows) / max(min(flows), 1e-9) - 1)
    return float(result[check["measure"]]["mean"])


def _judge(check: Table, outcome: Table) -> Table:
    """The check with what was measured at each value and whether it passed (None: not measured)."""
    places = check["at"] or [None]
    measured = [(at, _measure(check, outcome, at)) for at in places]
    values = [v for _, v in measured if v is not None]
    low = check["least"] if check["least"] is not None else float("-inf")
    high = check["most"] if check["most"] is not None else float("inf")
    passed = all(low <= v <= high for v in values) if values else None
    return {
        **check,
        "measured": [{"at": at, "value": v} for at, v in measured if v is not None],
        "passed": passed,
    }


def verdict(checks: Sequence[Table]) -> str:
    """holds / partly / does not hold, from the checks that could be measured."""
    passed = [check["passed"] for check in checks if check["passed"] is not None]
    if not passed:
        return "not judged"
    if all(passed):
        return "holds"
    return "partly" if any(passed) else "does not hold"
