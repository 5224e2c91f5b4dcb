# SPDX-License-Identifier: GPL-2.0-only
"""Looking after every run, and stopping when it suits: how often that gives a false verdict."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import t

from pacelab.results import sequential
from pacelab.results.effects import Effect
from pacelab.results.sequential import ANYTIME, FIRST, PLANNED, Forecast, factor
from pacelab.results.stats import ALPHA
from pacelab.results.verdicts import words_of
from pacelab.scenario.schema import Table

Floats = NDArray[np.float64]

RUNS = 300
CAMPAIGNS = 4000


def _samples(name: str) -> Any:
    """Campaigns of runs whose true mean is 0."""
    random = np.random.default_rng(sum(map(ord, name)))
    size = (CAMPAIGNS, RUNS)
    if name == "normal":
        return random.normal(size=size)
    if name == "uniform":
        return random.uniform(-1, 1, size)
    if name == "exponential":
        return random.exponential(size=size) - 1
    if name == "lognormal":  # the skewness is 6.2
        return random.lognormal(0, 1, size) - np.exp(0.5)
    if name == "heavy tails":  # Student's t with 2 degrees of freedom has no variance; bounded
        return np.clip(random.standard_t(2, size), -20, 20)
    if name == "near a bound":  # as Jain's index near 1 is
        return random.beta(5, 0.5, size) - 5 / 5.5
    if name == "three of ten":  # a run goes wrong, or it does not
        return (random.uniform(size=size) < 0.3) - 0.3
    assert name == "two of ten, and noise"
    return (random.uniform(size=size) < 0.2) - 0.2 + 0.1 * random.normal(size=size)


def _ever(below: NDArray[np.bool_]) -> float:
    return float(np.mean(below[:, -1]))


def _paths(samples: Floats) -> NDArray[np.bool_]:
    return np.array([ANYTIME.below(runs, ALPHA) for runs in samples])


DISTRIBUTIONS = (
    "normal",
    "uniform",
    "exponential",
    "lognormal",
    "heavy tails",
    "near a bound",
    "three of ten",
    "two of ten, and noise",
)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_false_verdicts_are_at_most_5_percent_however_often_one_looks(name: str) -> None:
    """Else who adds seeds until he likes what he sees would get it, whatever the truth.

    The mean that is asked for is the true one: at it a verdict is most often false. A look after
    every run, from the second to the 300th.
    """
    samples = _samples(name)
    for side in (samples, -samples):
        assert _ever(_paths(side)) <= ALPHA


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_students_interval_does_not_stand_that(name: str) -> None:
    """The control: else these samples could not show that anything is false."""
    samples = _samples(name)[:500]
    count = np.arange(2, RUNS + 1)
    mean = np.cumsum(samples, axis=1)[:, 1:] / count
    spread = np.cumsum(samples**2, axis=1)[:, 1:] / count - mean**2
    error = np.sqrt(np.maximum(spread, 0) / (count - 1))
    false = np.abs(mean) > t.ppf(1 - ALPHA / 2, count - 1) * error
    assert np.mean(false.any(axis=1)) > 4 * ALPHA


def test_without_the_imagined_run_skewed_runs_deceive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would cost runs for nothing."""
    monkeypatch.setattr(
        sequential,
        "_excluded",
        lambda n, m, v, _, a: sequential._beyond(n, m, v, lambda c: factor(c, a)),
    )
    assert _ever(_paths(_samples("lognormal"))) > 2 * ALPHA


@pytest.mark.parametrize(("effect", "seeds"), [(10.0, 11), (3.0, 13), (1.0, 30), (0.5, 84)])
def test_power(effect: float, seeds: int) -> None:
    """Else the promise could be kept by never deciding. Of normal runs: half of all campaigns know
    an effect of so many standard deviations after so many seeds, and 99 of 100 after four times.
    """
    samples = np.random.default_rng(5).normal(size=(200, 4 * seeds)) - effect
    paths = _paths(samples)
    assert np.mean(paths[:, seeds - 1]) > 0.5
    assert _ever(paths) >= 0.99


def test_the_first_verdict() -> None:
    """Else a few runs that happen to be alike would decide."""
    assert not ANYTIME.below(np.full(FIRST - 1, -1.0), ALPHA).any()
    assert ANYTIME.below(np.full(FIRST, -1.0), ALPHA)[-1]
    assert FIRST == 10


def test_factor_is_where_the_likelihood_ratio_reaches_20() -> None:
    """Else the sequence would not be that of the paper: its ratio, at the factor's distance."""
    for n in (14.0, 30.0, 200.0):
        u = n / (n - 1) * float(factor(np.array([n]), ALPHA)[0]) ** 2
        g = sequential.G
        ratio = (g / (n + g)) ** 0.5 * ((1 + u) / (1 + u * g / (n + g))) ** (n / 2)
        assert ratio == pytest.approx(1 / ALPHA)


CHECK: Table = {
    **dict.fromkeys(("least", "most", "trend", "margin", "over_at")),
    "measure": "goodput",
    "which": "every",
    "over": "other",
}


def _effects(random: np.random.Generator, means: list[float], runs: int) -> list[Effect]:
    """Ratios over a base that shares most of the noise."""
    found = []
    for mean in means:
        base = random.normal(100, 15, runs)
        gap = mean * base + random.normal(0, 3, runs)
        found.append(Effect(gap, base, tuple(range(runs))))
    return found


def _rate(check: Table, means: list[float], word: str, runs: int = 120) -> float:
    random = np.random.default_rng(11)
    words = (words_of(check, _effects(random, means, runs), ANYTIME) for _ in range(400))
    return float(np.mean([next((w for w in of if w != "undecided"), "") == word for of in words]))


@pytest.mark.parametrize(
    ("keys", "means", "false"),
    [
        ({"least": 0.05}, [0.0499], "passed"),
        ({"least": 0.05}, [0.05], "failed"),
        # Ten values, all right: each may fail the check.
        ({"least": 0.05}, [0.05] * 10, "failed"),
        ({"least": 0.05, "which": "some"}, [0.0499] * 10, "passed"),
        ({"least": 0.0, "margin": 0.03}, [0.0301], "alike"),
        ({"margin": 0.03}, [0.03], "failed"),
    ],
)
def test_false_verdicts_on_checks(keys: Table, means: list[float], false: str) -> None:
    """Else a ratio, a margin, or one of many values would break what holds of a single mean."""
    assert _rate({**CHECK, **keys}, means, false) <= ALPHA


@pytest.mark.parametrize(
    ("keys", "means", "true"),
    [
        ({"least": 0.05}, [0.08] * 3, "passed"),
        ({"least": 0.05}, [0.08, 0.02], "failed"),
        ({"least": 0.05, "which": "some"}, [0.08, 0.02], "passed"),
        ({"least": 0.0, "margin": 0.03}, [0.0, 0.0], "alike"),
    ],
)
def test_true_verdicts_on_checks(keys: Table, means: list[float], true: str) -> None:
    """Else none would ever be given: the spread of a ratio here is 3%, a standard deviation."""
    assert _rate({**CHECK, **keys}, means, true) > 0.9


def test_forecast_is_what_comes() -> None:
    """Else the campaign would tell nonsense of what a verdict would still take."""
    random = np.random.default_rng(2)
    counts = np.arange(float(FIRST), 400.0)
    ratios = []
    for _ in range(60):
        runs = random.normal(-0.6, 1, 400)
        said = counts[np.argmax(Forecast(counts).below(runs[:30], ALPHA))]
        ratios.append(said / max(np.argmax(ANYTIME.below(runs, ALPHA)) + 1, FIRST))
    assert 0.6 < np.median(ratios) < 1.6


def test_planned_is_students() -> None:
    """Else a campaign of a fixed number of seeds would pay for looks that nobody took."""
    runs = np.array([-1.0, -2.0, -3.0, -4.0, -5.0])
    # t = 3 / (sqrt(2.5) / sqrt(5)) = 4.243; P(|t| > 4.243) = 0.01324 with 4 degrees of freedom
    assert list(PLANNED.below(runs, 0.0133)) == [False] * 4 + [True]
    assert not PLANNED.below(runs, 0.0132).any()
