# SPDX-License-Identifier: GPL-2.0-only
"""Judges an experiment by its checks: what each looks at, seed by seed, and what that comes to.

Runs of a planned number are judged once, by Student's t. Runs that are added until checks are
decided are judged after each one, by a test made for that (``sequential.py``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pacelab.results import paired
from pacelab.results.effects import Effect, step
from pacelab.results.measures import MEASURES, Selection, apart, measured
from pacelab.results.paired import Singles
from pacelab.results.sequential import FIRST, MOST_SEEDS, PLANNED, Forecast, Test
from pacelab.results.stats import ALPHA, Interval, interval
from pacelab.results.verdicts import (
    ALIKE,
    FAILED,
    PASSED,
    UNDECIDED,
    base_measure,
    compares,
    is_judged,
    only_margin,
    word_of_figures,
    words_of,
)
from pacelab.scenario.schema import Table

STATED, MISSING = "stated", "not measured"
Key = tuple[str, str, Any]

# Numbers of seeds for which a forecast is made, in equal ratios, 6% apart at most.
FORECASTS = 80


def find(outcome: Table, variant: str, system: str, value: Any) -> Table | None:
    """The point of an outcome, None when it was not simulated."""
    for point in outcome["points"]:
        if (point["variant"], point["system"], point["value"]) == (variant, system, value):
            found: Table = point
            return found
    return None


def has_runs(check: Table) -> bool:
    """Whether more runs say more: not of what is no mean of runs."""
    if check["measure"] == "flow_difference":
        return False
    return check["measure"] == "reference" or MEASURES[base_measure(check)].each_run


def _key(check: Table, at: Any) -> Key:
    return check["variant"], check["of"], at


def _base_key(check: Table, at: Any) -> Key:
    """The point that a comparing check holds its own against."""
    return (
        check["variant"] if check["over_variant"] is None else check["over_variant"],
        check["over"] or check["of"],
        at if check["over_at"] is None else check["over_at"],
    )


def points_of(check: Table, outcome: Table) -> list[Key]:
    """The points that a check looks at, each once."""
    found: list[Key] = []
    for at in check["at"] or outcome["values"]:
        keys = [_key(check, at), *([_base_key(check, at)] if compares(check) else [])]
        if all(find(outcome, *key) for key in keys):
            found += [key for key in keys if key not in found]
    return found


def _selections(check: Table) -> tuple[Selection, Selection]:
    """What a check looks at of its point, and of what it holds it against."""
    of = Selection(check["flows"], check["while"], check["links"], check["hosts"])
    return of, Selection(
        check["over_flows"] or check["flows"],
        check["over_while"] or check["while"],
        check["over_links"] or check["links"],
        check["over_hosts"] or check["hosts"],
    )


def _effect(check: Table, outcome: Table, at: Any, singles: Singles) -> Effect | None:
    """What a check looks at, seed by seed; None where there is nothing."""
    point = find(outcome, *_key(check, at))
    if point is None:
        return None
    if check["measure"] == "reference":
        known = _known(outcome, point, at)
        values = singles.values(point, "goodput", Selection())
        return paired.above_known(values, known) if known else None
    name = base_measure(check)
    own, others = _selections(check)
    values = singles.values(point, name, own)
    if not compares(check):
        return paired.mean_effect(values)
    other = find(outcome, *_base_key(check, at))
    if other is None:
        return None
    return paired.comparison(name, values, singles.values(other, name, others))


def _figure(check: Table, outcome: Table, at: Any) -> Interval | None:
    """What a check looks at where there are no runs to pair: figures of whole points."""
    point = find(outcome, *_key(check, at))
    if point is None:
        return None
    if check["measure"] == "flow_difference":
        return _flow_difference(point)
    if check["measure"] == "reference":
        known = _known(outcome, point, at)
        goodput = point["result"]["aggregate_kbps"]
        return apart("goodput", goodput, {"mean": known, "ci95": None}) if known else None
    name = base_measure(check)
    own, others = _selections(check)
    value = measured(name, point, own)
    if not compares(check) or value is None:
        return value
    other = find(outcome, *_base_key(check, at))
    base = measured(name, other, others) if other else None
    return apart(name, value, base) if base is not None else None


def _known(outcome: Table, point: Table, at: Any) -> float | None:
    """Goodput known from elsewhere: the system's own, or the experiment's."""
    about = outcome["about"]
    own = next((s.get("reference") for s in about["system"] if s["name"] == point["system"]), None)
    known = (own or (about["reference"] or {}).get("values") or {}).get(str(at))
    return float(known) if known else None


def _flow_difference(point: Table) -> Interval:
    flows = [flow["goodput_kbps"]["mean"] for flow in point["result"]["flows"]]
    return interval([max(flows) / max(min(flows), 1e-9) - 1])


Places = list[tuple[Any, Effect]]


def effects_of(check: Table, outcome: Table, singles: Singles, count: int | None = None) -> Places:
    """Value and effect at each place where a check has any, of so many seeds at most."""
    at_all = check["at"] or outcome["values"]
    found = [(at, _effect(check, outcome, at, singles)) for at in at_all]
    first = [(at, e if count is None else e.first(count)) for at, e in found if e is not None]
    return [(at, effect) for at, effect in first if len(effect)]


def looked_at(check: Table, places: Places) -> list[Effect]:
    """What the verdict of a check looks at: each place, or the step from the first to the last."""
    effects = [effect for _, effect in places]
    if not check["trend"]:
        return effects
    stepped = [step(effects[0], effects[-1])] if len(effects) > 1 else []
    return [effect for effect in stepped if len(effect)]


def outcome_after(check: Table, places: Places, test: Test) -> tuple[str, int]:
    """The outcome of a check, and after how many runs it was decided, or how many there are."""
    effects = looked_at(check, places)
    if not effects:
        return MISSING, 0
    words = words_of(check, effects, test)
    decided = next((i for i, word in enumerate(words) if word != UNDECIDED), len(words) - 1)
    return words[decided], decided + 1


def seeds_needed(check: Table, places: Places) -> int | None:
    """How many seeds in all would decide a check, did they go on as those there are; None if so
    many are never made.
    """
    effects = looked_at(check, places)
    there = max((len(effect) for effect in effects), default=0)
    if there < 2:
        return FIRST
    counts = np.unique(np.geomspace(max(there + 1, FIRST), MOST_SEEDS, FORECASTS).round())
    words = words_of(check, effects, Forecast(counts))
    return next((int(n) for n, word in zip(counts, words, strict=True) if word != UNDECIDED), None)


def judge(
    check: Table,
    outcome: Table,
    test: Test = PLANNED,
    singles: Singles | None = None,
    count: int | None = None,
) -> Table:
    """The check with what was measured at each value, its ``outcome`` and whether it ``passed``.

    Of the first ``count`` seeds, or all. ``passed`` is None for what is undecided, was not measured
    or is stated without a criterion; ``seeds`` is how many runs its outcome is of, ``without`` how
    many more there are in which nothing was to be measured.
    """
    places = effects_of(check, outcome, singles or Singles(), count) if has_runs(check) else []
    paired_runs = max((len(effect) for _, effect in places), default=0)
    runs = _runs(check, outcome, count)
    if not has_runs(check) or (runs < 2 and test is PLANNED):
        return _judge_figures(check, outcome)
    word, seeds = outcome_after(check, places, test)
    if not is_judged(check):
        word, seeds = STATED, paired_runs
    found = [(at, effect.first(seeds or paired_runs)) for at, effect in places]
    entries = [_entry(at, effect, test) for at, effect in found]
    least = min((len(effect) for _, effect in places), default=0)
    return {**_judged(check, entries, word, seeds), "without": runs - least if least else 0}


def _runs(check: Table, outcome: Table, count: int | None) -> int:
    """How many runs each point of a check has at least, of so many seeds at most."""
    points = [find(outcome, *key) for key in points_of(check, outcome)]
    runs = [len(point["result"]["runs"]) for point in points if point]
    there = min(runs, default=0)
    return there if count is None else min(there, count)


def _entry(at: Any, effect: Effect, test: Test) -> Table:
    """What was measured at a value; ``ci95`` reaches to the farther end of its interval."""
    low, high = effect.interval(test, ALPHA)
    value = effect.value
    width = max(high - value, value - low)
    ends = {"low": low, "high": high} if math.isfinite(width) else {"low": None, "high": None}
    return {"at": at, "value": value, "ci95": width if math.isfinite(width) else None, **ends}


def _judge_figures(check: Table, outcome: Table) -> Table:
    """Of what has no runs to pair: figures of whole points, with their own intervals."""
    places = check["at"] or outcome["values"]
    found = [(at, _figure(check, outcome, at)) for at in places]
    there = [(at, figure) for at, figure in found if figure is not None]
    figures = [figure for _, figure in there]
    if not figures or (check["trend"] and len(figures) < 2):
        word = MISSING
    elif not is_judged(check):
        word = STATED
    elif has_runs(check) and any(figure["ci95"] is None for figure in figures):
        word = UNDECIDED  # one run does not tell how far another would be from it
    else:
        word = word_of_figures(check, figures)
    entries = [{"at": at, "value": f["mean"], "ci95": f["ci95"]} for at, f in there]
    return _judged(check, entries, word, outcome.get("seeds"))


def _judged(check: Table, entries: Sequence[Table], word: str, seeds: int | None) -> Table:
    # What claims no more than to be alike is met by that.
    met = {PASSED: True, FAILED: False, ALIKE: only_margin(check)}
    return {
        **check,
        "measured": list(entries),
        "seeds": seeds,
        "outcome": word,
        "passed": met.get(word),
    }


def verdict(checks: Sequence[Table]) -> str:
    """holds / partly / does not hold / undecided, from the checks that could be judged."""
    passed = [check["passed"] for check in checks if check["passed"] is not None]
    undecided = any(check["outcome"] == UNDECIDED for check in checks)
    if not passed:
        return UNDECIDED if undecided else "not judged"
    if all(passed):
        return UNDECIDED if undecided else "holds"
    if any(passed):
        return "partly"
    return UNDECIDED if undecided else "does not hold"
