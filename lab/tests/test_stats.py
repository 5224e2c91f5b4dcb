# SPDX-License-Identifier: GPL-2.0-only
"""Statistics against values known from elsewhere."""

import math

import numpy as np
import pytest

from pacelab.results import stats


def test_interval_is_students() -> None:
    """Else every ± in every report would be wrong. t(0.975, 4) = 2.776445 (tables)."""
    interval = stats.interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert interval["mean"] == 3.0
    assert interval["ci95"] == pytest.approx(2.776445 * math.sqrt(2.5) / math.sqrt(5), rel=1e-6)


def test_bins_that_an_end_cuts_are_not_whole() -> None:
    """Else a hundredth of a second would count as one in which next to nothing came."""
    assert [stats.whole_bins(d, 1.0) for d in (26.0, 26.01, 0.5)] == [26, 26, 0]
    assert stats.whole_bins(0.3, 0.1) == 3


def test_interval_covers_the_mean_in_95_of_100() -> None:
    """Else the intervals would promise too much or too little."""
    random = np.random.default_rng(1)
    hits = 0
    for _ in range(2000):
        interval = stats.interval(list(random.normal(10.0, 3.0, 5)))
        assert interval["ci95"] is not None
        hits += abs(interval["mean"] - 10.0) <= interval["ci95"]
    assert 0.94 < hits / 2000 < 0.96


def test_one_value_has_no_interval() -> None:
    """Else a single run would look exact."""
    assert stats.interval([5.0]) == {"mean": 5.0, "ci95": None}


def test_jain() -> None:
    """Jain's own cases: equal shares 1, one of n takes all 1/n; nobody anything is not unfair."""
    assert stats.jain([3.0, 3.0, 3.0]) == 1.0
    assert stats.jain([7.0, 0.0, 0.0, 0.0]) == 0.25
    assert stats.jain([1.0, 3.0]) == pytest.approx(0.8)
    assert stats.jain([0.0, 0.0]) == 1.0


def test_batch_means() -> None:
    """Else batches would overlap, or the rest at the end would count."""
    assert stats.batch_means([float(i // 2) for i in range(23)], 0.5) == [
        2.0 * i for i in range(10)
    ]
    assert stats.batch_means([1.0] * 9, 1.0) == []


def test_bins_after_warmup() -> None:
    """Else a bin that began in the warm-up would count."""
    assert stats.bins_after_warmup([0, 1, 2, 3], 1.0, 1.5) == [2, 3]
    assert stats.bins_after_warmup([0, 1, 2, 3], 1.0, 2.0) == [2, 3]


def test_windows_show_capture_that_a_long_run_hides() -> None:
    """Two flows that take turns are fair over the run and unfair over windows."""
    flows = [[10.0] * 10 + [0.0] * 10, [0.0] * 10 + [10.0] * 10]
    assert stats.jain([sum(f) for f in flows]) == 1.0
    assert [stats.jain(w) for w in stats.windows(flows, 1.0, 10.0)] == [0.5, 0.5]
