# SPDX-License-Identifier: GPL-2.0-only
"""The best constant rates of hosts: how well a system could do that knew what none can know.

A host's rate is a fraction of what it gets when it is alone. All hosts can have their fractions at
once while these sum up to about 1, the radio's time; so the search begins with a few sums, each
divided evenly and in favour of each host (a coarse grid of the simplex), and goes on from the best
by coordinates: each host's fraction is raised and lowered by a step, then all moves that gained are
made together, and the step is halved. It takes as many tries as ``tries`` says, whatever comes out.

A search that is judged by what it was made on finds what chance has favoured, so it is made on
seeds of its own (``SEARCH_SEED``), and what is found runs on those that are reported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pacelab.errors import InputError
from pacelab.experiment.models import HOST_RATES, Search
from pacelab.results.measures import measured
from pacelab.results.solo import bulk_hosts, solo
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Table

SEARCH_SEED = 101  # the first; fewer are reported
STEP = 0.25  # the first, of a fraction: the sums of the coarse grid are seldom closer

Fractions = tuple[float, ...]
Rates = dict[str, float]
Goal = Callable[[Table], float]


class Place(Protocol):
    """What rates are searched for: a point of an experiment."""

    def scenario(self, settings: Table | None = None) -> Scenario:
        """The resolved scenario, with further settings."""


class Trials(Protocol):
    """Simulates, on the seeds of the search."""

    def results(self, requests: Sequence[tuple[Any, Table | None]]) -> list[Table]:
        """The results of points with settings."""

    def results_of(self, scenarios: Sequence[Scenario]) -> list[Table]:
        """The results of scenarios."""


def settings(rates: Rates) -> Table:
    """What holds hosts to rates, kbit/s."""
    return {"gateway.law": "hosts", HOST_RATES: rates}


def tries(search: Search, hosts: int) -> int:
    """How many scenarios a search over so many hosts simulates, each on all of its seeds."""
    return hosts + len(search.values or []) * (hosts + 1) + search.rounds * (2 * hosts + 1)


def greatest(measure: str) -> Goal:
    """The goal that a measure's mean is great; a result without the measure is the worst."""

    def goal(result: Table) -> float:
        found = measured(measure, {"result": result, "searched": None})
        return -math.inf if found is None or math.isnan(found["mean"]) else found["mean"]

    return goal


@dataclass
class _Searched:
    """A point, what its hosts get alone (kbit/s), and what has been tried."""

    point: Place
    solo_kbps: Rates
    known: dict[Fractions, float] = field(default_factory=dict)

    def rates(self, fractions: Fractions) -> Rates:
        pairs = zip(self.solo_kbps.items(), fractions, strict=True)
        return {host: round(kbps * fraction, 3) for (host, kbps), fraction in pairs}

    def best(self) -> Fractions:
        """Of several the one tried first."""
        return max(self.known, key=lambda fractions: self.known[fractions])


def best_rates(points: Sequence[Place], search: Search, trials: Trials, goal: Goal) -> list[Rates]:
    """For each point the rates of its hosts, kbit/s, with which the goal is greatest.

    Hosts that get nothing even when they are alone have none. InputError where the goal has no
    value in any try.
    """
    places = _alone(points, trials)
    _try(places, [_coarse(search.values or [], len(p.solo_kbps)) for p in places], trials, goal)
    step = STEP
    for _ in range(search.rounds):
        centres = [place.best() for place in places]
        beside = [_beside(centre, step) for centre in centres]
        _try(places, beside, trials, goal)
        pairs = zip(places, centres, beside, strict=True)
        _try(places, [_together(*pair) for pair in pairs], trials, goal)
        step /= 2
    for place in places:
        if place.known[place.best()] == -math.inf:
            raise InputError(
                f"experiment.search.measure: {search.measure} has no value in any try; "
                "choose one that these flows have"
            )
    return [place.rates(place.best()) for place in places]


def _alone(points: Sequence[Place], trials: Trials) -> list[_Searched]:
    """The points with what each of their hosts with bulk demand gets alone, without a law."""
    scenarios = [point.scenario() for point in points]
    solos = [solo(s, host) for s in scenarios for host in bulk_hosts(s)]
    results = iter(trials.results_of(solos))
    places = []
    for point, scenario in zip(points, scenarios, strict=True):
        alone = {host: next(results)["aggregate_kbps"] for host in bulk_hosts(scenario)}
        kbps = {host: float(goodput["mean"]) for host, goodput in alone.items()}
        served = {host: rate for host, rate in kbps.items() if rate > 0}
        if not served:
            raise InputError(
                "experiment.search: no host gets anything, even alone; place some nearer"
            )
        places.append(_Searched(point, served))
    return places


def _try(
    places: Sequence[_Searched],
    new: Sequence[Sequence[Fractions]],
    trials: Trials,
    goal: Goal,
) -> None:
    """Simulates new fractions of all points side by side."""
    left = [
        [fractions for fractions in dict.fromkeys(own) if fractions not in place.known]
        for place, own in zip(places, new, strict=True)
    ]
    requests = [
        (place.point, settings(place.rates(fractions)))
        for place, own in zip(places, left, strict=True)
        for fractions in own
    ]
    found = iter(trials.results(requests) if requests else [])
    for place, own in zip(places, left, strict=True):
        place.known |= {fractions: goal(next(found)) for fractions in own}


def _coarse(sums: Sequence[float], hosts: int) -> list[Fractions]:
    """Each sum divided evenly, and with twice as much for each host as for the others."""
    weights = [
        [1] * hosts,
        *([1 + (i == favoured) for i in range(hosts)] for favoured in range(hosts)),
    ]
    return [_bounded([total * w / sum(own) for w in own]) for total in sums for own in weights]


def _beside(centre: Fractions, step: float) -> list[Fractions]:
    """The fractions of one host after the other raised, then lowered."""
    return [
        _bounded([f * factor if j == i else f for j, f in enumerate(centre)])
        for i in range(len(centre))
        for factor in (1 + step, 1 / (1 + step))
    ]


def _together(place: _Searched, centre: Fractions, beside: Sequence[Fractions]) -> list[Fractions]:
    """All moves of a round that gained something, the better one of each host's, at once."""
    moved = list(centre)
    for i in range(len(centre)):
        better = max(beside[2 * i : 2 * i + 2], key=lambda one: place.known[one])
        if place.known[better] > place.known[centre]:
            moved[i] = better[i]
    return [tuple(moved)]


def _bounded(fractions: Sequence[float]) -> Fractions:
    """No host gets more than when it is alone."""
    return tuple(min(f, 1.0) for f in fractions)
