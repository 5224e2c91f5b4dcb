# SPDX-License-Identifier: GPL-2.0-only
"""The runs of a scenario, seed by seed, and behind each those of its hosts alone where a part of
what they get alone is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pacelab.experiment import cost
from pacelab.experiment.runner import Job, cost_s, make_job
from pacelab.results.runs import Run
from pacelab.results.solo import bulk_hosts, solo, solo_series
from pacelab.results.summary import summarize
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Table


class PointRuns:
    """A scenario and the runs that it has so far; ``table`` is what measures look at."""

    def __init__(self, scenario: Scenario, *, with_solo: bool, first_seed: int = 1) -> None:
        self.scenario = scenario
        self.first_seed = first_seed
        self.hosts = bulk_hosts(scenario) if with_solo else []
        self.alone = [solo(scenario, host) for host in self.hosts]
        self.runs: list[Run] = []
        self.solo: dict[str, list[Table]] = {host: [] for host in self.hosts}
        self.table: Table = {"scenario": scenario.as_dict(), "runs": self.runs, "solo": self.solo}

    def of(self, seeds: Iterable[int]) -> list[Job]:
        """The runs of seeds, seed by seed; those of hosts alone behind each."""
        return [make_job(s, seed) for seed in seeds for s in [self.scenario, *self.alone]]

    def missing(self, seeds: int) -> list[Job]:
        """The runs that it has not of so many seeds from the first on."""
        return self.of(range(self.first_seed + len(self.runs), self.first_seed + seeds))

    def jobs(self) -> list[Job]:
        """Those that it has."""
        return self.of(range(self.first_seed, self.first_seed + len(self.runs)))

    def take(self, runs: Sequence[Run]) -> None:
        """Has runs, in the order of their jobs."""
        each = 1 + len(self.hosts)
        for i in range(0, len(runs), each):
            self.runs.append(runs[i])
            for host, run in zip(self.hosts, runs[i + 1 : i + each], strict=True):
                self.solo[host] += solo_series(self.scenario, host, [run])

    def seed_cpu_s(self) -> float:
        """What a seed costs: as measured, or estimated."""
        known = [c for c in map(cost_s, self.jobs()) if c is not None]
        if known:
            return sum(known) / len(known) * (1 + len(self.hosts))
        return sum(cost.cpu_s(scenario) for scenario in [self.scenario, *self.alone])

    def result(self, seeds: int | None = None) -> Table:
        """The result of all its runs, or of those of so many seeds from the first on."""
        result = summarize(self.scenario, self.runs[:seeds])
        solo = {host: own[:seeds] for host, own in self.solo.items()}
        return result | {"solo": solo} if self.hosts else result
