# SPDX-License-Identifier: GPL-2.0-only
"""Emulated experiments without a radio: which runs they make, what is refused, what is kept."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pacelab.cli import main
from pacelab.emulation import emulate, experiment
from pacelab.emulation.run import Live
from pacelab.errors import InconclusiveError, InputError
from pacelab.experiment import definition, runner
from pacelab.results import keep, law
from pacelab.results.runs import Run
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Table

OWN = """
title = "Own"
duration_s = 30.0
mesh.hops = 2
[[flow]]
name = "near"
from = "B1"
to = "RL1"
[[flow]]
name = "far"
from = "B2"
to = "A"
start_s = 10.0
[experiment]
id = "own"
paper = "P"
figure = "F"
claim = "C"
seeds = 2
[[experiment.system]]
name = "off"
set = { "gateway.law" = "off" }
[[experiment.system]]
name = "gap"
set = { "gateway.law" = "gap" }
[[experiment.check]]
text = "far has its part"
measure = "guarantee_least"
of = "gap"
least = 0.9
"""
LAG: Table = {"p50": 0.1, "p99": 0.75, "max": 12.5}


class Double:
    """Stands in for emulated runs; the radio of the first ``late`` ones is late."""

    def __init__(self, late: int = 0) -> None:
        self.late = late
        self.titles: list[tuple[str, int]] = []

    def __call__(self, scenario: Scenario, seed: int, live: Live) -> Run:
        live(0, [0.0] * len(scenario.flows))
        self.titles.append((scenario.title, seed))
        if self.late:
            self.late -= 1
            raise InconclusiveError("the radio was late")
        run = runner.execute(runner.make_job(scenario, seed))
        return {**run, "lag_ms": LAG, "radio_core": 0.625}


@pytest.fixture
def emulated(double: Callable[[], int], monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Double]:
    """Puts a double in the place of emulated runs."""
    assert double() == 0

    def put(late: int) -> Double:
        stand_in = Double(late)
        monkeypatch.setattr(experiment, "unavailable", lambda: None)
        monkeypatch.setattr(experiment, "emulate_once", stand_in)
        monkeypatch.setattr(emulate, "_versions", dict)
        return stand_in

    return put


@pytest.fixture
def own(tmp_path: Path) -> definition.Experiment:
    file = tmp_path / "own.toml"
    file.write_text(OWN)
    return definition.load_experiment(file, quick=False)


def test_systems_share_hosts_alone_and_a_seed_comes_after_the_other(
    own: definition.Experiment, emulated: Callable[[int], Double]
) -> None:
    """Else each system would be held against a solo of its own, or of another time of the day."""
    runs = emulated(0)
    (outcome,) = experiment.reproduce_emulated([own])
    alone = ["RL1 alone", "A alone"]
    assert runs.titles == [(t, seed) for seed in (1, 2) for t in ("Own", *alone, "Own")]
    off, gap = (point["result"] for point in outcome["points"])
    assert off["solo"] == gap["solo"]
    assert {host: len(series) for host, series in off["solo"].items()} == {"RL1": 2, "A": 2}
    assert outcome["checks"][0]["measured"][0]["value"] > 0


def test_what_is_kept_says_how_fast_it_went(
    own: definition.Experiment, emulated: Callable[[int], Double]
) -> None:
    """Else nobody could tell whether the radio kept up with the kernels."""
    emulated(0)
    (outcome,) = experiment.reproduce_emulated([own])
    record = keep.record_of(outcome, "none", law.present_tree())
    for words in ("a simulated second a second", "0.75 ms", "12.5 ms", "62% of a core"):
        assert words in record["note"]
    assert "guarantee_least" in {row["figure"] for row in record["rows"]}


def test_points_are_as_the_emulation_has_them(
    own: definition.Experiment, emulated: Callable[[int], Double], tmp_path: Path
) -> None:
    """Else a gateway that is to choose would be told what the simulated one has."""
    emulated(0)
    (outcome,) = experiment.reproduce_emulated([own])
    scenarios = [point["result"]["scenario"] for point in outcome["points"]]
    assert [one["gateway"]["release"] for one in scenarios] == ["auto", "auto"]
    assert [p.scenario().gateway.release for p in own.points] == ["nfqueue", "htb"]
    web = tmp_path / "web.toml"
    visitor = '[[flow]]\nfrom = "B3"\nto = "RL1"\ntraffic = "http"\n[experiment]'
    web.write_text(OWN.replace("[experiment]", visitor, 1))
    with pytest.raises(InputError, match="not simulated"):
        definition.load_experiment(web, quick=False)
    loaded = definition.load_experiment(web, quick=False, emulated=True)
    assert [f.traffic for f in loaded.points[0].scenario().flows][-1] == "http"


@pytest.mark.parametrize(("late", "is_lost"), [(2, False), (3, True)])
def test_a_late_run_is_made_again_and_not_for_ever(
    late: int, is_lost: bool, own: definition.Experiment, emulated: Callable[[int], Double]
) -> None:
    """Else one late run would take an hour's others with it, or a busy machine would never end."""
    runs = emulated(late)
    if is_lost:
        with pytest.raises(InconclusiveError):
            experiment.reproduce_emulated([own])
        assert len(runs.titles) == 3
    else:
        experiment.reproduce_emulated([own])
        assert len(runs.titles) == 8 + late


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["day-near-far"], '"oracle" is searched for, which is not emulated'),
        (["day-arrival", "--system", "CAKE, set well"], 'gateway.law: "cake" is not emulated'),
        (["day-person", "--system", "CUBIC"], "person: simulated only"),
        (["day-arrival", "--until-decided"], "--until-decided: is of simulations"),
        (["day-arrival", "--jobs", "2"], "--jobs, --scheduler: emulated runs follow each other"),
    ],
)
def test_what_is_not_emulated_is_said_before_anything_runs(
    words: list[str],
    error: str,
    emulated: Callable[[int], Double],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Else it would come up after an hour, or be left out unseen."""
    runs = emulated(0)
    assert main(["reproduce", "--emulated", *words]) == 2
    printed = capsys.readouterr().err
    assert error in printed
    assert printed.count("\n") == 1
    assert not runs.titles
