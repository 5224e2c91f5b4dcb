# SPDX-License-Identifier: GPL-2.0-only
"""Counters over time."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence

from pacelab.results.runs import Rtt

BIN_S = 1.0


class Series:
    """A counter that was read now and then; between two readings it grows evenly."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._values: list[float] = []

    def add(self, time_s: float, value: float) -> None:
        """A reading; a counter never falls, so a lower one (of a new socket) counts as none."""
        self._times.append(time_s)
        self._values.append(max(value, self.latest))

    @property
    def latest(self) -> float:
        return self._values[-1] if self._values else 0.0

    def at(self, time_s: float) -> float:
        """The counter's value at a time; 0 before the first reading."""
        after = bisect.bisect_left(self._times, time_s)
        if after == len(self._times):
            return self.latest
        if after == 0:
            return self._values[0] if self._times[0] == time_s else 0.0
        t0, t1 = self._times[after - 1 : after + 1]
        v0, v1 = self._values[after - 1 : after + 1]
        return v0 + (v1 - v0) * (time_s - t0) / (t1 - t0)

    def between(self, begin_s: float, end_s: float) -> float:
        """By how much it grew."""
        return self.at(end_s) - self.at(begin_s)

    def bins(self, duration_s: float) -> list[int]:
        """Its growth in each bin of BIN_S; the bins add up to the whole."""
        edges = [round(self.at(i * BIN_S)) for i in range(math.ceil(duration_s / BIN_S) + 1)]
        return [after - before for before, after in itertools.pairwise(edges)]


def quantiles_ms(samples_s: Sequence[float]) -> Rtt | None:
    """Mean, median, 95th percentile as the simulator has them; None without samples."""
    if not samples_s:
        return None
    ordered = sorted(samples_s)

    def quantile(share: float) -> float:
        return round(ordered[int(share * (len(ordered) - 1))] * 1e3, 3)

    mean = round(sum(ordered) / len(ordered) * 1e3, 3)
    return {"mean": mean, "p50": quantile(0.5), "p95": quantile(0.95)}
