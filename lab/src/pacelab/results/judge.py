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
    places = _places_of(check, outcome)
    return list(dict.fromkeys(key for at in places for key in _keys(check, at)))


def _keys(check: Table, at: Any) -> list[Key]:
    return [_key(check, at), *([_base_key(check, at)] if compares(check) else [])]


def _places_of(check: Table, outcome: Table) -> list[Any]:
    """The values at which all that a check looks at was run, of those at which it looks."""
    at_all = check["at"] or outcome["values"]
    return [at for at in at_all if all(find(outcome, *key) for key in _keys(check, at))]


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
    """What a check looks at, seed by seed, of points that were run; None where nothing is asked.
    Where nothing could be measured, or a ratio is to nothing, it is of no seeds.
    """
    point = _point(outcome, _key(check, at))
    if check["measure"] == "reference":
        known = _known(outcome, point, at)
        values = singles.values(point, "goodput", Selection())
        return paired.above_known(values, known) if known else None
    name = base_measure(check)
    own, others = _selections(check)
    values = singles.values(point, name, own)
    if not compares(check):
        return paired.mean_effect(values)
    bases = singles.values(_point(outcome, _base_key(check, at)), name, others)
    return paired.comparison(name, values, bases)


def _point(outcome: Table, key: Key) -> Table:
    point = find(outcome, *key)
    assert point is not None, "the caller has seen to it"
    return point


def _figure(check: Table, outcome: Table, at: Any) -> Interval | None:
    """What a check looks at where there are no runs to pair: figures of whole points, which were
    run; None where nothing could be measured.
    """
    point = _point(outcome, _key(check, at))
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
    base = measured(name, _point(outcome, _base_key(check, at)), others)
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
    """Value and effect at each place that a check asks of, of so many seeds at most."""
    found = [(at, _effect(check, outcome, at, singles)) for at in _places_of(check, outcome)]
    first = [(at, e if count is None else e.first(count)) for at, e in found if e is not None]
    # The first seeds of a base may all be 0, though others are not.
    return [(at, effect if effect.is_known else effect.first(0)) for at, effect in first]


def _measured(places: Places) -> Places:
    """Those where anything was measured."""
    return [(at, effect) for at, effect in places if len(effect)]


def looked_at(check: Table, places: Places) -> list[Effect]:
    """What the verdict of a check looks at: each place, or the step from the first to the last."""
    effects = [effect for _, effect in _measured(places)]
    if not check["trend"]:
        return effects
    ends = [effect for _, effect in (*places[:1], *places[1:][-1:])]
    stepped = [step(*ends)] if len(ends) == 2 and all(map(len, ends)) else []
    return [effect for effect in stepped if len(effect)]


def _despite_missing(check: Table, word: str) -> str:
    """An outcome by the places where anything was measured, where at others nothing was: what one
    place is enough for stands.
    """
    enough = FAILED if check["which"] == "every" else PASSED
    return word if check["trend"] or word in (enough, UNDECIDED) else MISSING


def outcome_after(check: Table, places: Places, test: Test) -> tuple[str, int]:
    """The outcome of a check, and after how many runs it was decided, or how many there are."""
    effects = looked_at(check, places)
    if not effects:
        return MISSING, 0
    words = words_of(check, effects, test)
    if len(_measured(places)) < len(places):
        words = [_despite_missing(check, word) for word in words]
    enough = (FAILED, PASSED, ALIKE)
    decided = next((i for i, word in enumerate(words) if word in enough), len(words) - 1)
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
    many more there are in which nothing was to be measured, ``unmeasured`` the values at which
    there was nothing in any.
    """
    places = effects_of(check, outcome, singles or Singles(), count) if has_runs(check) else []
    paired_runs = max((len(effect) for _, effect in places), default=0)
    runs = _runs(check, outcome, count)
    if not has_runs(check) or (runs < 2 and test is PLANNED):
        return _judge_figures(check, outcome)
    word, seeds = outcome_after(check, places, test)
    if not is_judged(check):
        word, seeds = STATED, paired_runs
    there = _measured(places)
    found = [(at, effect.first(seeds or paired_runs)) for at, effect in there]
    entries = [_entry(at, effect, test) for at, effect in found if effect.is_known]
    least = min((len(effect) for _, effect in there), default=0)
    judged = _judged(check, entries, word, seeds, [at for at, e in places if not len(e)])
    return {**judged, "without": runs - least if least else 0}


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


def _is_asked(check: Table, outcome: Table, at: Any) -> bool:
    """Whether something is known from elsewhere where a check asks for that."""
    if check["measure"] != "reference":
        return True
    return _known(outcome, _point(outcome, _key(check, at)), at) is not None


def _judge_figures(check: Table, outcome: Table) -> Table:
    """Of what has no runs to pair: figures of whole points, with their own intervals."""
    asked = [at for at in _places_of(check, outcome) if _is_asked(check, outcome, at)]
    found = [(at, _figure(check, outcome, at)) for at in asked]
    there = [(at, f) for at, f in found if f is not None and math.isfinite(f["mean"])]
    figures = [figure for _, figure in there]
    unmeasured = [at for at in asked if at not in [at for at, _ in there]]
    ends_lack = len(figures) < 2 or asked[0] in unmeasured or asked[-1] in unmeasured
    if not figures or (check["trend"] and ends_lack):
        word = MISSING
    elif not is_judged(check):
        word = STATED
    elif has_runs(check) and any(figure["ci95"] is None for figure in figures):
        word = UNDECIDED  # one run does not tell how far another would be from it
    else:
        word = word_of_figures(check, figures)
        word = _despite_missing(check, word) if unmeasured else word
    entries = [{"at": at, "value": f["mean"], "ci95": f["ci95"]} for at, f in there]
    return _judged(check, entries, word, outcome.get("seeds"), unmeasured)


def _judged(
    check: Table, entries: Sequence[Table], word: str, seeds: int | None, unmeasured: Sequence[Any]
) -> Table:
    # What claims no more than to be alike is met by that.
    met = {PASSED: True, FAILED: False, ALIKE: only_margin(check)}
    return {
        **check,
        "measured": list(entries),
        "seeds": seeds,
        "unmeasured": list(unmeasured),
        "outcome": word,
        "passed": met.get(word),
    }


def verdict(checks: Sequence[Table]) -> str:
    """holds / partly / does not hold / undecided, from the checks that could be judged."""
    passed = [check["passed"] for check in checks if check["passed"] is not None]
    undecided = any(
        check["outcome"] == UNDECIDED or (check["outcome"] == MISSING and check.get("unmeasured"))
        for check in checks
    )
    if not passed:
        return UNDECIDED if undecided else "not judged"
    if all(passed):
        return UNDECIDED if undecided else "holds"
    if any(passed):
        return "partly"
    return UNDECIDED if undecided else "does not hold"
