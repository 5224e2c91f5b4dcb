# SPDX-License-Identifier: GPL-2.0-only
"""Statistics as in the papers: means with 95% confidence intervals, Jain's index."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypedDict

import numpy as np

CONFIDENCE = 0.95
ALPHA = 0.05  # of all verdicts on a check, the part that may be false
BATCHES = 10  # the papers': 11 batches, of which the first is the warm-up


class Interval(TypedDict):
    """A mean and half the width of its 95% confidence interval (None: from one value)."""

    mean: float
    ci95: float | None


def interval(values: Sequence[float]) -> Interval:
    """Mean and 95% interval of independent values, by Student's t."""
    from scipy.stats import t

    count = len(values)
    mean = float(np.mean(values)) if count else math.nan
    if count < 2:
        return {"mean": mean, "ci95": None}
    deviation = float(np.std(values, ddof=1))
    factor = float(t.ppf((1 + CONFIDENCE) / 2, count - 1))
    return {"mean": mean, "ci95": factor * deviation / math.sqrt(count)}


def jain(shares: Sequence[float]) -> float:
    """Jain's fairness index (sum x)^2 / (n sum x^2), 1/n .. 1; 1 when nobody has anything."""
    squares = sum(x * x for x in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 1.0


def whole_bins(duration_s: float, bin_s: float) -> int:
    """How many bins lie wholly in a run; the last may be cut by its end, and is then no figure of a
    whole one."""
    return math.floor(duration_s / bin_s + 1e-9)


def bins_after_warmup(bins: Sequence[float], bin_s: float, warmup_s: float) -> list[float]:
    """The bins that lie wholly after the warm-up."""
    return list(bins[math.ceil(warmup_s / bin_s - 1e-9) :])


def batch_means(bins: Sequence[float], bin_s: float) -> list[float]:
    """Means per second of BATCHES batches of equal length; what is left over at the end is cut."""
    length = len(bins) // BATCHES
    if length == 0:
        return []
    return [sum(bins[i * length : (i + 1) * length]) / (length * bin_s) for i in range(BATCHES)]


def windows(flows: Sequence[Sequence[float]], bin_s: float, window_s: float) -> list[list[float]]:
    """Per window of window_s what each flow got; flows' bins side by side, the rest cut."""
    length = max(round(window_s / bin_s), 1)
    count = min((len(f) for f in flows), default=0) // length
    return [[sum(f[i * length : (i + 1) * length]) for f in flows] for i in range(count)]
