# SPDX-License-Identifier: GPL-2.0-only
"""Adds seeds until every check is decided, or the time is over.

A check goes on in *stages* of so many seeds, the same for all of its points, and is judged by a
test that may be asked after every run. So what it comes to depends on the runs of its own points
alone, not on the order in which checks have their turn, on who makes the runs, or on how often a
campaign is interrupted: a later call finds the runs in the cache and comes by the same stages to
where it was.

Checks take turns by what it looks as if each would still cost to decide, in CPU time, the least
first: so most checks are decided when the time is over early.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pacelab.experiment.campaign import run_all, threads
from pacelab.experiment.definition import Experiment, Point
from pacelab.experiment.point_runs import PointRuns
from pacelab.experiment.rates import SEARCH_SEED
from pacelab.experiment.reproduce import (
    Known,
    Simulations,
    Unknown,
    Workers,
    cost_of,
    outcome_of,
)
from pacelab.experiment.runner import Job, cached
from pacelab.experiment.search import find_values
from pacelab.results.judge import (
    Key,
    effects_of,
    has_runs,
    judge,
    looked_at,
    outcome_after,
    points_of,
    seeds_needed,
    verdict,
)
from pacelab.results.paired import Singles
from pacelab.results.sequential import ANYTIME, FIRST, MOST_SEEDS
from pacelab.results.verdicts import UNDECIDED, is_judged
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Table

GROWTH = 1.25  # of the seeds from stage to stage: a check gets at most so many more than it needs
# Runs for each that is made at a time, before it is asked again which are the most useful.
ROUND = 4


def next_stage(stage: int, most: int = MOST_SEEDS) -> int:
    """How many seeds a check has after a stage, ``most`` at last; before the first it has none."""
    return min(max(math.ceil(stage * GROWTH), FIRST), most)


class _Check:
    """A check, the points that it looks at, and how far it is."""

    def __init__(self, board: _Board, table: Table, points: list[PointRuns]) -> None:
        self.board = board
        self.table = table
        self.points = points
        self.most = board.most_seeds(points)
        self.stage = 0
        self.word = UNDECIDED
        self.needed: int | None = FIRST
        self.fixed = False

    @property
    def goes_on(self) -> bool:
        """Whether more seeds may decide it."""
        return self.word == UNDECIDED and self.stage < self.most and not self.fixed

    @property
    def next(self) -> int:
        """How many seeds it has after its next stage."""
        return next_stage(self.stage, self.most)

    def cpu_s(self) -> float:
        """What it looks as if it would still cost."""
        seeds = self.most if self.needed is None else max(self.needed, self.next)
        return sum(max(seeds - len(p.runs), 0) * p.seed_cpu_s() for p in self.points)

    def judge(self) -> None:
        """Goes one stage on; its points have the runs."""
        self.stage = self.next
        places = effects_of(self.table, self.board.outcome, self.board.singles, self.stage)
        self.word, _ = outcome_after(self.table, places, ANYTIME)
        needed = seeds_needed(self.table, places)
        self.needed = needed if needed is not None and needed <= self.most else None
        # Where every run says the same, and that decides nothing, no further one will.
        effects = looked_at(self.table, places)
        self.fixed = needed is None and not any(effect.varies for effect in effects)

    def judged(self) -> Table:
        """What came out; of an undecided one what it would take (``needs``)."""
        board = self.board
        # Before its first stage, when nothing can be decided, it shows what there is.
        count = self.stage or max(min((len(p.runs) for p in self.points), default=1), 1)
        found = judge(self.table, board.outcome, ANYTIME, board.singles, count)
        needs = {"seeds": self.needed, "most": self.most, "cpu_s": self.cpu_s()}
        return {**found, "needs": needs if found["outcome"] == UNDECIDED else None}


class _Board:
    """An experiment whose checks are to be decided."""

    def __init__(self, experiment: Experiment, workers: Workers) -> None:
        self.whole, self.workers = experiment, workers
        self.singles = Singles()
        part = _judged_part(experiment)
        self._begin(part, _scenarios(part, workers), {})
        tables = [check.as_dict() for check in experiment.about.check]
        self.checks = [_Check(self, table, self._points_of(table)) for table in tables]

    def _begin(self, experiment: Experiment, found: _Found, begun: dict[Key, PointRuns]) -> None:
        """Has an experiment's points, with the runs of those that were begun."""
        self.experiment = experiment
        self.searched, scenarios, self.searches = found
        self.points = [
            begun.get(_key(p)) or _fresh(experiment, scenario)
            for p, scenario in zip(experiment.points, scenarios, strict=True)
        ]
        tables = [(s, p.table) for s, p in zip(self.searched, self.points, strict=True)]
        self.outcome = outcome_of(experiment, tables, None)

    def most_seeds(self, points: Sequence[PointRuns]) -> int:
        """How many seeds a check of points has at most: those before the ones on which rates were
        searched for that one of these points has, whose runs there chance has favoured.
        """
        search, first = self.experiment.search, self.experiment.about.first_seed
        if not search or search.goal != "guarantee" or first > SEARCH_SEED:
            return MOST_SEEDS
        pairs = zip(self.experiment.points, self.points, strict=True)
        searched = {id(runs) for point, runs in pairs if point.searched}
        is_of_search = any(id(point) in searched for point in points)
        return SEARCH_SEED - first if is_of_search else MOST_SEEDS

    @property
    def search_is_due(self) -> bool:
        """Whether what is only shown has yet to be searched for."""
        return self.experiment is not self.whole

    def search(self) -> None:
        """Searches for what is only shown; its points are there then."""
        self._begin(self.whole, _scenarios(self.whole, self.workers), self._begun())

    def take_known(self) -> None:
        """Judges and shows what runs an earlier call has made."""
        for check in self.undecided():
            while check.goes_on and _all_known(check.points, check.next):
                check.judge()
        for point in self.points:
            _take_known(point, self.experiment.seeds)

    def show_known(self) -> None:
        """Shows what is only shown as an earlier call found it, with the runs that there are."""
        part, begun = self.experiment, self._begun()
        try:
            found = _scenarios(self.whole, self.workers, Known)
        except Unknown:
            return
        self._begin(self.whole, found, begun)
        for point in self.points:
            _take_known(point, self.whole.seeds)
        if not all(point.runs for point in self.points):
            self._begin(part, _scenarios(part, self.workers), begun)

    def _begun(self) -> dict[Key, PointRuns]:
        return dict(zip(map(_key, self.experiment.points), self.points, strict=True))

    def _points_of(self, check: Table) -> list[PointRuns]:
        keys = points_of(check, self.outcome)
        of = [_key(p) for p in self.experiment.points]
        return [self.points[of.index(key)] for key in keys]

    def undecided(self) -> list[_Check]:
        """The checks that more seeds may decide."""
        return [c for c in self._sequential() if c.goes_on]

    def _sequential(self) -> list[_Check]:
        return [c for c in self.checks if c.points and has_runs(c.table) and is_judged(c.table)]

    def short(self) -> list[PointRuns]:
        """The points that have fewer runs than the file states, and that no test asks for more:
        they are just shown, or looked at by a check whose measure is no mean of runs.
        """
        tested = {id(point) for check in self._sequential() for point in check.points}
        plain = {id(point) for check in self._plain() for point in check.points}
        return [
            point
            for point in self.points
            if len(point.runs) < self.experiment.seeds
            and (id(point) in plain or id(point) not in tested)
        ]

    def _plain(self) -> list[_Check]:
        return [c for c in self.checks if is_judged(c.table) and not has_runs(c.table)]

    def jobs(self) -> set[Job]:
        """All runs that it has, those of its search too."""
        return {job for point in self.points for job in point.jobs()} | self.searches

    def result(self) -> Table:
        """What came out, judged."""
        jobs = self.jobs()
        outcome = self._outcome(cost_of(jobs))
        planned = self._outcome(None, self.experiment.seeds)
        self.outcome = outcome
        sequential = self._sequential()
        outcome["checks"] = [
            check.judged() if check in sequential else self._as_planned(check, planned)
            for check in self.checks
        ]
        words = [check["outcome"] for check in outcome["checks"]]
        outcome["until_decided"] = {"undecided": words.count(UNDECIDED), "checks": len(words)}
        outcome["seeds"] = max(len(point.runs) for point in self.points)
        outcome["runs"] = len(jobs)
        outcome["verdict"] = verdict(outcome["checks"])
        return outcome

    def _outcome(self, cpu_s: float | None, seeds: int | None = None) -> Table:
        """What came out of so many seeds, or of all; yet to be judged."""
        results = [point.result(seeds) for point in self.points]
        return outcome_of(self.experiment, list(zip(self.searched, results, strict=True)), cpu_s)

    def _as_planned(self, check: _Check, planned: Table) -> Table:
        """A check that no test is of, by the seeds of the file, however many its points have for
        others': undecided until they have as many.
        """
        found = judge(check.table, planned)
        seeds = self.experiment.seeds
        if not is_judged(check.table) or all(len(p.runs) >= seeds for p in check.points):
            return found
        missing = sum(max(seeds - len(p.runs), 0) * p.seed_cpu_s() for p in check.points)
        needs = {"seeds": seeds, "cpu_s": missing}
        return {**found, "outcome": UNDECIDED, "passed": None, "needs": needs}


def _key(point: Point) -> Key:
    return point.variant, point.system, point.value


def _judged_part(experiment: Experiment) -> Experiment:
    """Without those points that no check looks at and that have to be searched for: a search may
    take longer than all that is judged. All of it where a check looks at such a point.
    """
    if not experiment.search:
        return experiment
    known = [p for p in experiment.points if not p.searched]
    outcome = outcome_of(experiment, [(None, {}) for _ in experiment.points], None)
    tables = [check.as_dict() for check in experiment.about.check]
    looked_at = {key for table in tables for key in points_of(table, outcome)}
    if not known or any(p.searched and _key(p) in looked_at for p in experiment.points):
        return experiment
    systems = [s for s in experiment.systems if any(p.system == s for p in known)]
    return replace(experiment, points=known, systems=systems)


_Found = tuple[list[Any], list[Scenario], set[Job]]


def _scenarios(
    experiment: Experiment, workers: Workers, by: type[Simulations] = Simulations
) -> _Found:
    """What each point's search found, with the seeds that its file states; the scenarios with it;
    the runs that this took.
    """
    if not experiment.search or not any(p.searched for p in experiment.points):
        return [None] * len(experiment.points), [p.scenario() for p in experiment.points], set()
    reported = by(experiment.seeds, workers, experiment.about.first_seed, solo=experiment.solo)
    seeds = experiment.search.seeds
    trials = by(seeds, workers, SEARCH_SEED, solo=experiment.solo)
    values, requests = find_values(experiment, reported, trials)
    scenarios = [point.scenario(settings) for point, settings in requests]
    return values, scenarios, reported.jobs | trials.jobs


def _fresh(experiment: Experiment, scenario: Scenario) -> PointRuns:
    """A point that has no runs yet."""
    return PointRuns(scenario, with_solo=experiment.solo, first_seed=experiment.about.first_seed)


def _take_known(point: PointRuns, seeds: int) -> None:
    """Gives a point the runs that have been made, up to so many seeds."""
    while len(point.runs) < seeds:
        runs = [cached(job) for job in point.missing(len(point.runs) + 1)]
        known = [run for run in runs if run is not None]
        if len(known) < len(runs):
            return
        point.take(known)


def _all_known(points: Sequence[PointRuns], seeds: int) -> bool:
    """Whether points have so many runs, once they have been given those that have been made."""
    for point in points:
        _take_known(point, seeds)
    return all(len(point.runs) >= seeds for point in points)


Wanted = list[tuple[PointRuns, int]]


def _complete(wanted: Wanted, workers: Workers) -> None:
    """Gives each point the runs of so many seeds."""
    most = {id(point): (point, 0) for point, _ in wanted}
    for point, seeds in wanted:
        most[id(point)] = (point, max(seeds, most[id(point)][1]))
    lists = [(point, point.missing(seeds)) for point, seeds in most.values()]
    jobs = [job for _, jobs in lists for job in jobs]
    runs = iter(run_all(jobs, workers.jobs, workers.scheduler))
    for point, own in lists:
        point.take([next(runs) for _ in own])


def _most_useful(checks: Sequence[_Check], size: int) -> list[_Check]:
    """Those that cost least to decide, until their next stages have so many runs, or all."""
    chosen, runs = [], 0
    for check in sorted(checks, key=lambda c: (c.needed is None, c.cpu_s())):
        chosen.append(check)
        runs += sum(max(check.next - len(point.runs), 0) for point in check.points)
        if runs >= size:
            break
    return chosen


def _by_steps(wanted: Wanted, size: int, workers: Workers) -> Iterator[None]:
    """Gives points their runs, about so many at a time that one may stop in between."""
    while short := [(point, seeds) for point, seeds in wanted if len(point.runs) < seeds]:
        each = max(size // len(short), 1)
        _complete([(p, min(len(p.runs) + each, seeds)) for p, seeds in short], workers)
        yield


def _rounds(boards: Sequence[_Board], workers: Workers) -> Iterator[None]:
    """Does one step of the work after the other; whoever asks for them may stop at any.

    First what looks as if it can be decided, then what is only shown: what the files state, and
    what has to be searched for; then the rest.
    """
    size = ROUND * threads(workers.jobs, workers.scheduler)
    while True:
        checks = [check for board in boards for check in board.undecided()]
        hopeful = [check for check in checks if check.needed is not None]
        short = [(point, board.experiment.seeds) for board in boards for point in board.short()]
        due = [board for board in boards if board.search_is_due]
        if hopeful or (checks and not short and not due):
            chosen = _most_useful(hopeful or checks, size)
            stages = [(p, c.next) for c in chosen for p in c.points]
            yield from _by_steps(stages, size, workers)
            for check in chosen:
                check.judge()
            _note(boards)
        elif short:
            yield from _by_steps(short, size, workers)
        elif due:
            due[0].search()
            _complete([(point, 1) for point in due[0].points], workers)
            yield
        else:
            return


def _note(boards: Sequence[_Board]) -> None:
    """A line on a terminal: how far it is."""
    if sys.stderr.isatty():
        left = sum(len(board.undecided()) for board in boards)
        runs = sum(len(point.runs) for board in boards for point in board.points)
        sys.stderr.write(f"\r{left} checks undecided, {runs} runs ")
        sys.stderr.flush()


def decide(
    experiments: Sequence[Experiment], workers: Workers, budget_s: float
) -> tuple[list[Table], set[Job]]:
    """The outcomes of experiments, whose seeds are added until each check is decided, and the runs
    that they are of.

    ``budget_s``: wall-clock time after which nothing more is begun; what was begun is finished, and
    what earlier calls have made is judged and shown. In any case one run of each point is made, and
    searches for points that checks look at; points that are only shown, and have to be searched
    for, are left out where the time is over before, unless an earlier call has found them.
    """
    end_s = time.monotonic() + budget_s
    boards = [_Board(experiment, workers) for experiment in experiments]
    _complete([(point, 1) for board in boards for point in board.points], workers)
    rounds = _rounds(boards, workers)
    while time.monotonic() < end_s:
        if next(rounds, StopIteration) is StopIteration:
            break
    for board in boards:
        board.take_known()
        if board.search_is_due:
            board.show_known()
    return [board.result() for board in boards], {job for b in boards for job in b.jobs()}
