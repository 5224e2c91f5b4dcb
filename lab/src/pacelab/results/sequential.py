# SPDX-License-Identifier: GPL-2.0-only
"""What is known of a mean: after a planned number of runs, and after every run.

*Planned*: Student's t, of a number of runs that was fixed before the first of them.

*Anytime*: a confidence sequence, which may be looked at after every run. For each mean m that is
asked for, E_n(m) is the likelihood ratio of the t statistic of the first n runs, its effect size
drawn from N(0, 1/G), to the statistic's law under m (Wang and Ramdas, "Anytime-valid t-tests and
confidence sequences for Gaussian means with unknown variance", 2024; at one n it is the Bayes
factor of Zellner's g-prior). With u = t^2 / (n - 1)

    E_n = sqrt(G / (n + G)) ((1 + u) / (1 + u G / (n + G)))^(n / 2),

a martingale under m for normal runs, whatever their standard deviation; by Ville's inequality it
ever reaches 1/alpha with probability alpha at most. m is excluded once it has; that is, once it
lies more than factor(n) standard deviations from the mean of the runs.

Skewed runs break that promise: until the first run of a long tail comes, the others show too little
spread, and a mean too far from the tail. So a mean has to be excluded of the runs as they are, and
also beside one *imagined* run on the other side of it: BEYOND of the distance from the least run to
the mean that is asked for, or to the greatest run, beyond the farther of these two. For normal runs
the promise holds, since no mean is excluded that was not before. For others it has no proof; what
is measured of it stands in ``tests/test_sequential.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pacelab.results.stats import ALPHA

Floats = NDArray[np.float64]
Path = NDArray[np.bool_]

# With a greater G verdicts come later at first and sooner at last: the sequence is narrowest at
# about 8.8 G runs (Howard et al., "Time-uniform, nonparametric, nonasymptotic confidence
# sequences", 2021, section 3.5: n / G = 2 log(1/alpha) + log(2 log(1/alpha)) + 1). The greater
# either is, the less skewed runs deceive. The pair was chosen by simulation of 20,000 campaigns of
# each of the kinds of runs in ``tests/test_sequential.py``: it decides effects of three standard
# deviations soonest of those that have at most 4.5% of false verdicts in the worst kind (4.4%: two
# runs of ten go wrong; lognormal runs whose logarithm has a standard deviation of 1: 3.2%). 15 with
# 1/2 has 4.0% and decides three runs later there, at half a standard deviation after 67 runs
# instead of 82.
G = 4.0
BEYOND = 0.9

# More seeds than anybody makes of one point; a campaign stops there.
MOST_SEEDS = 1000


class Test(Protocol):
    """Excludes means."""

    def below(self, values: Floats, alpha: float) -> Path:
        """After each value: whether a mean of 0 or more is excluded, by two-sided level alpha."""
        ...

    def settled(self, values: Floats) -> bool:
        """Whether so many values, all alike, are taken to say that all would be."""
        ...


def factor(count: Floats, alpha: float) -> Floats:
    """How many standard deviations a mean may lie from that of so many runs; at first infinite."""
    growth = (np.sqrt((count + G) / G) / alpha) ** (2 / count)
    left = 1 - growth * G / (count + G)
    finite = (left > 0) & (count > 1)
    u = np.where(finite, growth - 1, 0.0) / np.where(finite, left, 1.0)
    found: Floats = np.where(finite, np.sqrt(np.maximum(count - 1, 0) / count * u), np.inf)
    return found


def _beyond(
    count: Floats, mean: Floats, variance: Floats, width: Callable[[Floats], Floats]
) -> Path:
    """Whether a mean lies below 0 by more than width(count) standard deviations."""
    wide = width(count)
    finite = np.isfinite(wide)
    deviation = np.sqrt(variance * count / np.maximum(count - 1, 1))
    found: Path = finite & (mean + np.where(finite, wide, 0.0) * deviation < 0)
    return found


def _excluded(
    count: Floats, mean: Floats, variance: Floats, ends: tuple[Floats, Floats], alpha: float
) -> Path:
    """Of runs of a mean, a variance (over n), and their least and greatest: without and beside
    the imagined run.
    """
    least, greatest = ends
    far = np.maximum(greatest, 0.0)
    imagined = far + BEYOND * (far - least)
    more = count + 1
    mean_beside = (count * mean + imagined) / more
    variance_beside = count / more * (variance + (imagined - mean) ** 2 / more)
    found: Path = _beyond(count, mean, variance, lambda n: factor(n, alpha)) & _beyond(
        more, mean_beside, variance_beside, lambda n: factor(n, alpha)
    )
    return found


class Planned:
    """Student's t, of all values there are."""

    def below(self, values: Floats, alpha: float) -> Path:
        """See Test; before the last value nothing is excluded."""
        from scipy.stats import t

        path = np.zeros(len(values), dtype=bool)
        if len(values) > 1:
            deviation = float(np.std(values, ddof=1)) / math.sqrt(len(values))
            wide = float(t.ppf(1 - alpha / 2, len(values) - 1)) * deviation
            path[-1] = float(np.mean(values)) + wide < 0
        return path

    def settled(self, values: Floats) -> bool:
        """See Test."""
        return len(values) > 1


class Anytime:
    """The confidence sequence."""

    def below(self, values: Floats, alpha: float) -> Path:
        """See Test; what is excluded once stays so."""
        count = np.arange(1, len(values) + 1, dtype=float)
        # From the first value on, so that no digits are lost.
        rest = values - values[:1]
        mean = np.cumsum(rest) / count
        variance = np.maximum(np.cumsum(rest**2) / count - mean**2, 0.0)
        ends = np.minimum.accumulate(values), np.maximum.accumulate(values)
        found = _excluded(count, mean + values[:1], variance, ends, alpha)
        path: Path = np.logical_or.accumulate(found)
        return path

    def settled(self, values: Floats) -> bool:
        """See Test."""
        return len(values) >= FIRST


class Forecast:
    """What the sequence would say after so many runs, did further ones go on as those there are."""

    def __init__(self, counts: Floats) -> None:
        self.counts = counts

    def below(self, values: Floats, alpha: float) -> Path:
        """See Test; after each of the counts, not after each value."""
        same = np.ones_like(self.counts)
        ends = same * np.min(values), same * np.max(values)
        mean, variance = same * np.mean(values), same * np.var(values)
        return _excluded(self.counts, mean, variance, ends, alpha)

    def settled(self, values: Floats) -> bool:
        """See Test."""
        return len(values) >= FIRST


def _first() -> int:
    """After how many runs something can be excluded at all: were they all alike."""
    return int(np.argmax(ANYTIME.below(np.full(MOST_SEEDS, -1.0), ALPHA))) + 1


PLANNED, ANYTIME = Planned(), Anytime()
FIRST = _first()
