# SPDX-License-Identifier: GPL-2.0-only
"""From effects to the outcome of a check.

A check *passed* where every effect that is not excluded meets its criterion, *failed* where none
does; it is *alike* where every one lies within its margin of no difference; else *undecided*. A
check of several values comes out falsely in 5% of all cases at most, as one of a single value does:
what has to hold at all of them is held to that level at each, what one of them brings about to its
part of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pacelab.results.effects import SAME, Effect
from pacelab.results.measures import MEASURES
from pacelab.results.sequential import Path, Test
from pacelab.results.stats import ALPHA, Interval
from pacelab.scenario.schema import Table

PASSED, FAILED, ALIKE, UNDECIDED = "passed", "failed", "alike", "undecided"
DECIDED = (FAILED, PASSED, ALIKE)

# What outcomes were called in files that are older.
OLDER_WORDS = {"inside the intervals": UNDECIDED}

# Measures that compare two systems by another's name.
COMPARING = {"gain": "goodput", "jain_gain": "jain"}


def present_word(outcome: str) -> str:
    """An outcome as it is called now."""
    return OLDER_WORDS.get(outcome, outcome)


def base_measure(check: Table) -> str:
    """The measure that a check looks at, or compares."""
    return COMPARING.get(check["measure"], str(check["measure"]))


def compares(check: Table) -> bool:
    """Whether a check looks at how far one thing lies above another."""
    others = ("over", "over_variant", "over_while", "over_links", "over_flows", "over_hosts")
    return any(check.get(key) for key in others) or check.get("over_at") is not None


def in_percent(check: Table) -> bool:
    """Whether what a check measures reads as a percentage."""
    if check["measure"] in ("reference", "flow_difference"):
        return True
    measure = MEASURES[base_measure(check)]
    if check.get("trend") and not compares(check):
        return measure.percent
    return measure.percent or (compares(check) and not measure.absolute)


def is_judged(check: Table) -> bool:
    """Whether a check has something that meets it."""
    return any(check.get(key) is not None for key in ("least", "most", "trend", "margin"))


def only_margin(check: Table) -> bool:
    """Whether a check claims just that there is no difference."""
    return check.get("margin") is not None and not any(
        check.get(key) is not None for key in ("least", "most", "trend")
    )


def bounds(check: Table) -> tuple[float, float]:
    """Least and greatest effect that meet a check. A trend asks for the sign of its step."""
    if check["trend"]:
        return (0.0, math.inf) if check["trend"] == "rises" else (-math.inf, 0.0)
    low = -math.inf if check["least"] is None else float(check["least"])
    high = math.inf if check["most"] is None else float(check["most"])
    return low, high


def _claims(check: Table) -> bool:
    """Whether a check claims a difference, so that none does not meet it."""
    return bool(check["trend"] or compares(check)) and 0.0 in bounds(check)


@dataclass(frozen=True)
class _Place:
    """Of a check at one value, after each run: whether it is passed, failed, alike."""

    passed: Path
    failed: Path
    alike: Path


def _place(check: Table, effect: Effect, test: Test, levels: tuple[float, float]) -> _Place:
    """By the levels at which it passes (and is alike) and fails."""
    low, high = bounds(check)
    at_pass, at_fail = levels

    def under(criterion: float, alpha: float) -> Path:
        return test.below(effect.over(criterion), alpha)

    def above(criterion: float, alpha: float) -> Path:
        return test.below(-effect.over(criterion), alpha)

    never = np.zeros_like(under(0.0, ALPHA))
    passed, failed, alike = ~never, never, never
    for criterion, misses, meets in ((low, under, above), (high, above, under)):
        if math.isfinite(criterion):
            passed = passed & (meets(criterion, at_pass) | _equals(check, effect, criterion, test))
            failed = failed | misses(criterion, at_fail)
    if check.get("margin") is not None:
        margin = float(check["margin"])
        alike = above(-margin, at_pass) & under(margin, at_pass)
        if only_margin(check):
            passed = never
            failed = under(-margin, at_fail) | above(margin, at_fail)
    return _Place(passed, failed, alike)


def _equals(check: Table, effect: Effect, criterion: float, test: Test) -> Path:
    """Whether all runs give the criterion itself, which meets it unless a difference is claimed."""
    over = effect.over(criterion)
    size = np.abs(effect.gap) + np.abs(criterion * effect.scale)
    same = bool(np.all(np.abs(over) <= SAME * size)) and test.settled(over)
    path = np.zeros_like(test.below(over, ALPHA))
    path[-1:] = same and not _claims(check)
    return path


def words_of(check: Table, effects: Sequence[Effect], test: Test) -> list[str]:
    """The outcome of a check after each run, decided as soon as it is at all that it looks at."""
    every = check["which"] == "every"
    part = ALPHA / len(effects)
    levels = (ALPHA, part) if every else (part, ALPHA)
    places = [_place(check, effect, test, levels) for effect in effects]
    length = max(len(place.passed) for place in places)

    def grid(key: str) -> Path:
        rows = [getattr(place, key) for place in places]
        return np.array([np.pad(row, (0, length - len(row)), mode="edge") for row in rows])

    passed, failed, alike = grid("passed"), grid("failed"), grid("alike")
    if every:
        ends = (failed.any(0), passed.all(0), (passed | alike).all(0))
    else:
        ends = (failed.all(0), passed.any(0), (failed | alike).all(0))
    words = np.full(length, UNDECIDED, dtype=object)
    for word, path in reversed(list(zip(DECIDED, ends, strict=True))):
        words[path] = word
    return list(words)


def word_of_figures(check: Table, figures: Sequence[Interval]) -> str:
    """The outcome by figures with intervals of their own; one without is taken as it is."""
    if check["trend"]:
        figures = [_step(figures[0], figures[-1])]
    words = [_word_of_figure(check, figure) for figure in figures]
    order = (FAILED, UNDECIDED, ALIKE, PASSED)
    return next(w for w in (order if check["which"] == "every" else order[::-1]) if w in words)


def _step(first: Interval, last: Interval) -> Interval:
    width = (first["ci95"] or 0.0) + (last["ci95"] or 0.0)
    return {"mean": last["mean"] - first["mean"], "ci95": width}


def _word_of_figure(check: Table, figure: Interval) -> str:
    width = figure["ci95"] or 0.0
    least, greatest = figure["mean"] - width, figure["mean"] + width
    low, high = bounds(check)
    margin = math.inf if check.get("margin") is None else float(check["margin"])
    outside = least > margin or greatest < -margin
    if greatest < low or least > high or (only_margin(check) and outside):
        return FAILED
    none_left = _claims(check) and least <= 0 <= greatest
    if low <= least and greatest <= high and not none_left and not only_margin(check):
        return PASSED
    return ALIKE if math.isfinite(margin) and -margin < least and greatest < margin else UNDECIDED
