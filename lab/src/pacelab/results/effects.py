# SPDX-License-Identifier: GPL-2.0-only
"""Effects: how far a mean lies from another, or just a mean, seed by seed, with an interval.

A ratio of two means has the interval of Fieller: the mean of x is 1 + r times that of y just where
the mean of x - (1 + r) y is 0, so r is in it while that mean is not excluded. Nothing has to be
positive or large against its spread; a base whose own mean may be 0 leaves the interval open. Noise
that two systems share (arrivals, places) goes from x - (1 + r) y before anything is estimated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pacelab.results.sequential import Floats, Test

# An end of an interval is found to so small a part of its distance.
PRECISION = 1e-6
DOUBLINGS = 60

# Runs that differ by less than so small a part are the same.
SAME = 1e-12


@dataclass(frozen=True)
class Effect:
    """The mean of ``gap`` relative to that of ``scale``; a value of each for each of the seeds."""

    gap: Floats
    scale: Floats
    seeds: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.gap)

    def first(self, count: int) -> Effect:
        """Of the first seeds alone."""
        return Effect(self.gap[:count], self.scale[:count], self.seeds[:count])

    @property
    def is_known(self) -> bool:
        """Whether there are seeds, and something to which the gap is relative."""
        return bool(len(self) and np.mean(self.scale))

    @property
    def value(self) -> float:
        """The estimate."""
        return float(np.mean(self.gap) / np.mean(self.scale))

    @property
    def varies(self) -> bool:
        """Whether not all seeds say the same."""
        rest = np.abs(self.over(self.value))
        return bool(np.any(rest > SAME * (np.abs(self.gap) + np.abs(self.scale))))

    def over(self, criterion: float) -> Floats:
        """Values whose mean is above 0 just where the effect is above a criterion."""
        found: Floats = self.gap - criterion * self.scale
        return found

    def interval(self, test: Test, alpha: float) -> tuple[float, float]:
        """Least and greatest effect that is not excluded, after all seeds; may be infinite."""
        mirrored = Effect(-self.gap, self.scale, self.seeds)
        return -_end(mirrored, test, alpha), _end(self, test, alpha)

    def linear(self) -> Floats:
        """Values with the effect's mean and, to first order, its spread (the delta method)."""
        found: Floats = self.value + self.over(self.value) / np.mean(self.scale)
        return found


def step(first: Effect, last: Effect) -> Effect:
    """How far one effect lies above another, of the seeds that both have."""
    shared = tuple(sorted(set(first.seeds) & set(last.seeds)))
    before, after = (
        dict(zip(effect.seeds, effect.linear(), strict=True)) for effect in (first, last)
    )
    gap = np.array([after[seed] - before[seed] for seed in shared])
    return Effect(gap, np.ones_like(gap), shared)


def _end(effect: Effect, test: Test, alpha: float) -> float:
    """The greatest effect that is not excluded, infinite where none is."""

    def excluded(criterion: float) -> bool:
        return bool(test.below(effect.over(criterion), alpha)[-1])

    kept = effect.value
    step = max(abs(kept), 1.0) * PRECISION
    for _ in range(DOUBLINGS):
        beyond = kept + step
        if excluded(beyond):
            break
        step *= 2
    else:
        return math.inf
    while beyond - kept > PRECISION * max(beyond - effect.value, PRECISION):
        middle = (kept + beyond) / 2
        if middle in (kept, beyond):
            break
        kept, beyond = (kept, middle) if excluded(middle) else (middle, beyond)
    return kept
