# SPDX-License-Identifier: GPL-2.0-only
"""The search for the best constant rates of hosts."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pacelab import cli
from pacelab.errors import InputError
from pacelab.experiment import definition, reproduce
from pacelab.experiment.models import HOST_RATES, Search
from pacelab.experiment.rates import SEARCH_SEED, best_rates, greatest, settings, tries
from pacelab.scenario import resolve
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Table

SEARCH = Search(key=HOST_RATES, goal="guarantee", measure="goodput", values=[0.6, 1.0], rounds=6)
OWN = """
duration_s = 30.0
[mesh]
hops = 3
[[flow]]
from = "B"
to = "A"
[[flow]]
from = "B1"
to = "RL1"
[experiment]
id = "own"
paper = "P"
figure = "Figure 1"
claim = "Rates can do it."
plot = "flows"
seeds = 2
[experiment.search]
key = "gateway.host_kbps"
goal = "guarantee"
measure = "goodput"
values = [0.5, 1.0]
rounds = 1
seeds = 3
[[experiment.system]]
name = "off"
search = false
[[experiment.system]]
name = "oracle"
"""


class Radio:
    """A channel whose time hosts share, each by its solo rate; beyond all of it goodput collapses.

    Stands for points and for simulations of them.
    """

    def __init__(self, solo_kbps: Sequence[float], capacity: float) -> None:
        self.hosts = [f"RL{i + 1}" for i in range(len(solo_kbps))]
        self.solo_kbps = dict(zip(self.hosts, solo_kbps, strict=True))
        self.capacity = capacity
        self.tried: list[dict[str, float]] = []
        self.made = 0

    def scenario(self, _settings: Table | None = None) -> Scenario:
        flows = [{"from": f"B{i}", "to": host} for i, host in enumerate(self.hosts)]
        return resolve({"mesh": {"hops": len(flows) + 1}, "flow": flows}, "test")

    def results_of(self, scenarios: Sequence[Scenario]) -> list[Table]:
        self.made += len(scenarios)
        found = []
        for scenario in scenarios:
            (flow,) = scenario.flows  # alone
            found.append(_result({flow.to: self.solo_kbps[flow.to]}))
        return found

    def results(self, requests: Sequence[tuple[Any, Table | None]]) -> list[Table]:
        self.made += len(requests)
        found = []
        for _, stated in requests:
            assert stated is not None
            assert stated["gateway.law"] == "hosts"
            rates = stated[HOST_RATES]
            self.tried.append(rates)
            time = sum(rates[host] / solo for host, solo in self.solo_kbps.items() if solo)
            left = min(1.0, self.capacity / time) ** 2
            found.append(_result({host: rate * left for host, rate in rates.items()}))
        return found


def _result(kbps: dict[str, float]) -> Table:
    flows = [{"name": h, "goodput_kbps": {"mean": rate, "ci95": None}} for h, rate in kbps.items()]
    return {"flows": flows, "aggregate_kbps": {"mean": sum(kbps.values()), "ci95": None}}


def _least(radio: Radio, weights: Sequence[float]) -> Callable[[Table], float]:
    """The least fraction of solo, each host's by a weight."""

    def goal(result: Table) -> float:
        got = {flow["name"]: flow["goodput_kbps"]["mean"] for flow in result["flows"]}
        pairs = zip(radio.hosts, weights, strict=True)
        return float(min(got[host] / radio.solo_kbps[host] / weight for host, weight in pairs))

    return goal


@pytest.mark.parametrize("weights", [[1, 1], [1, 3], [1, 1, 1, 1], [1, 2, 1, 4], [1] * 8])
def test_the_best_rates_are_found(weights: list[float]) -> None:
    """Else the oracle would be beaten by what it is the bound of, or take for ever."""
    radio = Radio([34e3, 16e3, 10e3, 6e3, 5e3, 4e3, 3e3, 2e3][: len(weights)], capacity=0.9)
    goal = _least(radio, weights)
    (rates,) = best_rates([radio], SEARCH, radio, goal)
    (result,) = radio.results([(radio, settings(rates))])
    assert goal(result) > 0.85 * radio.capacity / sum(weights)
    assert radio.made - 1 <= tries(SEARCH, len(weights))
    assert all(rate <= radio.solo_kbps[h] for tried in radio.tried for h, rate in tried.items())


def test_points_are_searched_side_by_side_and_alike() -> None:
    """Else what one point finds would depend on which others there are."""
    radio = Radio([34e3, 6e3], capacity=0.9)
    goal = _least(radio, [1, 2])
    (alone,) = best_rates([radio], SEARCH, radio, goal)
    assert best_rates([radio, radio], SEARCH, radio, goal) == [alone, alone]


def test_a_host_that_nothing_reaches_has_no_rate() -> None:
    """Else a rate of 0 would end in an error, hours on."""
    radio = Radio([34e3, 0.0, 6e3], capacity=0.9)
    (rates,) = best_rates([radio], SEARCH, radio, greatest("goodput"))
    assert set(rates) == {"RL1", "RL3"}
    dead = Radio([0.0, 0.0], capacity=0.9)
    with pytest.raises(InputError, match="even alone"):
        best_rates([dead], SEARCH, dead, greatest("goodput"))


def test_a_measure_that_nothing_has_is_no_goal() -> None:
    """Else the first rates tried would be called the best."""
    radio = Radio([34e3, 6e3], capacity=0.9)
    with pytest.raises(InputError, match="transfer_jain has no value"):
        best_rates(
            [radio],
            SEARCH.model_copy(update={"measure": "transfer_jain"}),
            radio,
            greatest("transfer_jain"),
        )


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalogue with one experiment of the test's own."""
    (tmp_path / "own.toml").write_text(OWN)
    monkeypatch.setattr(definition, "SCENARIOS", tmp_path)
    return tmp_path


def test_what_is_found_is_reported_on_other_seeds(own: Path, double: Callable[[], int]) -> None:
    """Else the oracle would be as good as chance had made it in its search."""
    loaded = definition.load_experiment(own / "own.toml", quick=False)
    # Two hosts alone, two sums in three ways, a round of four moves and one of all; then reported.
    assert loaded.runs() == 2 + 3 * (2 + 6 + 5) + 2
    (outcome,) = reproduce.reproduce([loaded], reproduce.Workers())
    assert double() <= loaded.runs()
    seeds = {int(seed) for seed in Path(os.environ["DOUBLE_LOG"]).read_text().split()}
    assert seeds == {1, 2, *range(SEARCH_SEED, SEARCH_SEED + 3)}
    off, oracle = outcome["points"]
    assert off["searched"] is None
    assert off["result"]["scenario"]["gateway"]["law"] == "off"
    assert set(oracle["searched"]) == {"A", "RL1"}
    assert oracle["result"]["scenario"]["gateway"]["host_kbps"] == oracle["searched"]
    assert [run["seed"] for run in oracle["result"]["runs"]] == [1, 2]


@pytest.mark.usefixtures("double")
def test_a_search_for_a_system_as_a_whole(own: Path) -> None:
    """Else each point of a sweep would have rates of its own, where one set is asked for."""
    sweep = 'sweep = { key = "wired.delay_ms", values = [10.0, 20.0] }\n[experiment.search]'
    text = OWN.replace("[experiment.search]", sweep).replace("rounds = 1", 'each = "system"')
    text = text.replace('plot = "flows"', 'plot = "sweep"')
    (own / "own.toml").write_text(text)
    loaded = definition.load_experiment(own / "own.toml", quick=False)
    (outcome,) = reproduce.reproduce([loaded], reproduce.Workers())
    found = [point["searched"] for point in outcome["points"] if point["system"] == "oracle"]
    assert found[0] == found[1] is not None


def test_the_search_can_be_shown(own: Path, double: Callable[[], int]) -> None:
    """Else rates of hosts, where pages expect one number, would end in a traceback."""
    out = own / "results"
    assert cli.main(["reproduce", "own", "--out", str(out)]) == cli.DONE
    outcome = json.loads((out / "own" / "result.json").read_text())
    assert outcome["points"][1]["searched"].keys() == {"A", "RL1"}
    runs = double()
    assert cli.main(["reproduce", "own", "--out", str(out)]) == cli.DONE
    assert double() == runs  # cached, the search too


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (('measure = "goodput"\n', ""), "experiment.search.measure: is missing"),
        (("values = [0.5, 1.0]\n", ""), "experiment.search.values: is missing"),
        (("[0.5, 1.0]", "[0.0]"), "experiment.search.values: 0.0 is no sum of fractions"),
        (('"goodput"', '"badput"'), "experiment.search.measure"),
        (("gateway.host_kbps", "gateway.rate_kbps"), 'write "gateway.host_kbps"'),
        (("seeds = 2", "seeds = 101"), "let them end before 101"),
        (('goal = "guarantee"', 'goal = "goodput"'), "search.measure: has a meaning"),
    ],
)
def test_bad_searches(
    own: Path, change: tuple[str, str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a mistake would show after hours, or never."""
    assert change[0] in OWN
    (own / "own.toml").write_text(OWN.replace(*change, 1))
    assert cli.main(["reproduce", "own"]) == cli.USAGE
    said = capsys.readouterr().err
    assert error in said
    assert said.count("\n") == 1
