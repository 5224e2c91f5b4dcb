# SPDX-License-Identifier: GPL-2.0-only
"""Whether packets leave at the interval in force: gaps as shares of what it was meanwhile."""

import bisect
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from harness.capture import Segment

Shown = tuple[int, float]  # when (ns), the interval in us


@dataclass(frozen=True)
class Spacing:
    """The intervals shown, and the gaps meanwhile as shares of them."""

    intervals_us: list[float]
    shares: list[float]

    @property
    def interval_ms(self) -> float:
        return median(self.intervals_us) / 1e3

    @property
    def share(self) -> float:
        return median(self.shares)

    def __str__(self) -> str:
        intervals = self.intervals_us
        return (
            f"interval {median(intervals):.1f} us ({min(intervals):.1f} to {max(intervals):.1f}), "
            f"median of {len(self.shares)} gaps {self.share:.4f} of it"
        )


def spacing_of(sent: Iterable[Segment], shown: list[Shown]) -> Spacing:
    """
    Gap by gap, each beside the interval that was shown nearest to its beginning: the interval
    wanders, and a median over all gaps has more of the short ones than a median over time.
    """
    times = [one.time_ns for one in sent if one.payload]
    between = [(a + b) // 2 for (a, _), (b, _) in itertools.pairwise(shown)]
    shares = []
    for begin, end in itertools.pairwise(times):
        if shown[0][0] <= begin and end <= shown[-1][0]:
            interval_us = shown[bisect.bisect(between, begin)][1]
            shares.append((end - begin) / 1e3 / interval_us)
    return Spacing([interval_us for _, interval_us in shown], shares)
