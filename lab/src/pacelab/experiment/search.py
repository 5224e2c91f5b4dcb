# SPDX-License-Identifier: GPL-2.0-only
"""Searches for the best value of a key, for each point or for a system as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pacelab.experiment.definition import Experiment, Point
from pacelab.experiment.models import Search
from pacelab.experiment.rates import Trials, best_rates, greatest, settings
from pacelab.scenario.schema import Table


def search(experiment: Experiment, simulations: Trials, trials: Trials) -> list[tuple[Any, Table]]:
    """For each point what its search found, None without one, and the result there."""
    found, requests = find_values(experiment, simulations, trials)
    # Most of these runs the search has made already: they are cached.
    return list(zip(found, simulations.results(requests), strict=True))


def find_values(
    experiment: Experiment, simulations: Trials, trials: Trials
) -> tuple[list[Any], list[tuple[Point, Table | None]]]:
    """For each point what its search found, None without one or where there was nothing to be
    found, and the settings that follow.

    ``trials`` simulates on the seeds of a search over rates of hosts, ``simulations`` on those that
    are reported.
    """
    asked = experiment.search
    assert asked is not None, "the caller has seen to it"
    points = experiment.points
    if asked.each == "point":
        searched = [p for p in points if p.searched]
        values = _best(searched, asked, simulations, trials)
        by_point = dict(zip(map(id, searched), values, strict=True))
        found = [by_point.get(id(p)) for p in points]
    else:
        bases = [p for p in experiment.bases if p.searched]
        values = _best(bases, asked, simulations, trials)
        by_system = {(b.variant, b.system): v for b, v in zip(bases, values, strict=True)}
        found = [by_system.get((p.variant, p.system)) for p in points]
    requests = [
        (p, _settings(asked, v) if p.searched else None) for p, v in zip(points, found, strict=True)
    ]
    return found, requests


def _settings(asked: Search, value: Any) -> Table:
    """What sets the searched key to a value; to the least that was tried where there was none."""
    if asked.goal == "guarantee":
        return settings(value)
    return {asked.key: asked.low if value is None else value}


def _best(
    points: Sequence[Point], asked: Search, simulations: Trials, trials: Trials
) -> Sequence[Any]:
    """The best value for each point."""
    if asked.goal == "loss":
        return _greatest_without_loss(points, asked, simulations)
    if asked.goal == "goodput":
        return _greatest_goodput(points, asked, simulations)
    assert asked.measure is not None, "the goal has a measure"
    return best_rates(points, asked, trials, greatest(asked.measure))


def _greatest_without_loss(
    points: Sequence[Point], asked: Search, simulations: Trials
) -> list[float | None]:
    """For each point the greatest value of the searched key at which no more is lost than allowed;
    None where more is lost at ``low`` already.

    Both ends, then bisection, all points side by side.
    """
    assert asked.low is not None, "the goal has bounds"
    assert asked.high is not None

    def passes(values: Sequence[float]) -> list[bool]:
        requests = [(p, {asked.key: value}) for p, value in zip(points, values, strict=True)]
        return [_loses_no_more(result, asked) for result in simulations.results(requests)]

    there = passes([asked.low] * len(points))
    high = [asked.high] * len(points)
    # Where nothing is to be found between the ends the search stays at one; its runs are known.
    low = [
        asked.high if all_pass or not one_passes else asked.low
        for one_passes, all_pass in zip(there, passes(high), strict=True)
    ]
    for _ in range(asked.rounds):
        tried = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
        for i, good in enumerate(passes(tried)):
            if good:
                low[i] = tried[i]
            else:
                high[i] = tried[i]
    return [value if one_passes else None for value, one_passes in zip(low, there, strict=True)]


def _loses_no_more(result: Table, asked: Search) -> bool:
    """Whether flows of a constant rate lose no more than allowed; of one that has sent nothing
    that is not known."""
    losses = [flow["loss"] for flow in result["flows"] if "loss" in flow]
    assert asked.loss is not None, "the goal has a bound"
    return bool(losses) and all(loss is not None and loss <= asked.loss for loss in losses)


def _greatest_goodput(points: Sequence[Point], asked: Search, simulations: Trials) -> list[float]:
    """For each point the value of the searched key at which most is delivered.

    First all of ``values``; then, in each round, the means of the best and its neighbours.
    """
    known: list[dict[float, Table]] = [{} for _ in points]
    new = [[float(v) for v in asked.values or []] for _ in points]
    best: list[float] = []
    for left in range(asked.rounds, -1, -1):
        requests = [(p, {asked.key: v}) for p, own in zip(points, new, strict=True) for v in own]
        results = iter(simulations.results(requests))
        for i, own in enumerate(new):
            known[i] |= {value: next(results) for value in own}
        best = [_most_delivered(own, asked.flows) for own in known]
        new = [_beside(b, own) if left else [] for b, own in zip(best, known, strict=True)]
    return best


def _most_delivered(known: dict[float, Table], flows: Sequence[str] | None) -> float:
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
