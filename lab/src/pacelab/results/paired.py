# SPDX-License-Identifier: GPL-2.0-only
"""What points measure seed by seed; two points become an effect, paired by the seeds they share."""

from __future__ import annotations

import numpy as np

from pacelab.results.effects import Effect
from pacelab.results.host_measures import solos_of_run
from pacelab.results.measures import EVERYTHING, LEAST_COUNT, MEASURES, Selection, measured
from pacelab.results.summary import of_one_run
from pacelab.scenario.schema import Table

BySeed = dict[int, float]


class Singles:
    """The points of an outcome run by run; the result of a single run is made once."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, ...], Table] = {}

    def values(self, point: Table, name: str, selection: Selection = EVERYTHING) -> BySeed:
        """A measure by seed, of the runs that have it."""
        found: BySeed = {}
        for index, run in enumerate(point["result"]["runs"]):
            value = measured(name, self._single(point, index, run), selection)
            if value is not None:
                found[run["seed"]] = float(value["mean"])
        return found

    def _single(self, point: Table, index: int, run: Table) -> Table:
        place = (point["variant"], point["system"], repr(point["value"]), str(run["seed"]))
        if place not in self._made:
            result = point["result"]
            solo = {host: [own] for host, own in solos_of_run(result, index).items()}
            own_run = of_one_run(result["scenario"], run)  # type: ignore[arg-type]
            self._made[place] = {**point, "result": {**result, **own_run, "solo": solo}}
        return self._made[place]


def mean_effect(values: BySeed) -> Effect:
    """A mean by itself, seeds in order."""
    seeds = tuple(sorted(values))
    gap = np.array([values[seed] for seed in seeds])
    return Effect(gap, np.ones_like(gap), seeds)


def above_known(values: BySeed, known: float) -> Effect:
    """How far a mean lies above a figure known without an interval, relative to it."""
    mean = mean_effect(values)
    return Effect(mean.gap - known, np.full_like(mean.gap, known), mean.seeds)


def comparison(name: str, values: BySeed, bases: BySeed) -> Effect:
    """How far a measure lies above a base: relative to it, or absolute if the measure is so.

    Of the seeds that both have; it is not known over a base of 0. Less than half an event in a run
    counts as that much in a base.
    """
    seeds = tuple(sorted(values.keys() & bases.keys()))
    base = np.array([bases[seed] for seed in seeds])
    gap = np.array([values[seed] for seed in seeds]) - base
    measure = MEASURES[name]
    if measure.absolute or not seeds:
        return Effect(gap, np.ones_like(gap), seeds)
    scale = np.maximum(base, LEAST_COUNT) if measure.counts else base
    return Effect(gap, scale, seeds)
