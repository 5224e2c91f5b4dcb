# SPDX-License-Identifier: GPL-2.0-only
"""Solo runs: what they are of, who asks for them, that they are made once."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from pacelab import cli
from pacelab.experiment import definition, reproduce
from pacelab.results import keep, law, tables
from pacelab.results.measures import measured
from pacelab.results.solo import bulk_hosts, solo, solo_series
from pacelab.scenario import load
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Model, Table

TWO = """
title = "Two"
duration_s = 40.0
warmup_s = 2.0
[mesh]
hops = 3
[gateway]
law = "even"
sender_law = "even"
[[flow]]
name = "near"
from = "B1"
to = "RL2"
[[flow]]
name = "far up"
from = "A"
to = "B2"
start_s = 10.0
stop_s = 30.0
[[flow]]
name = "far down"
from = "B3"
to = "A"
idle_at_s = 20.0
idle_s = 5.0
[[flow]]
name = "steady"
from = "RL1"
to = "B4"
traffic = "cbr"
rate_kbps = 50.0
[[ping]]
from = "IG"
to = "RL1"
[[outage]]
node = "RL2"
at_s = 30.0
for_s = 5.0
"""
EXPERIMENT = """
[experiment]
id = "own"
paper = "P"
figure = "F"
claim = "C"
seeds = 2
[[experiment.system]]
name = "off"
set = {{ "gateway.law" = "off", "gateway.sender_law" = "off" }}
[[experiment.system]]
name = "gap"
set = {{ "gateway.law" = "gap", "gateway.sender_law" = "gap" }}
[[experiment.check]]
text = "far has its part"
measure = "{measure}"
of = "gap"
least = 0.9
{more}
"""


@pytest.fixture
def two(write: Callable[[str], str]) -> Scenario:
    return load(write(TWO))


def test_a_host_alone(two: Scenario) -> None:
    """Else it would not be alone, not in the same place, not at the same times, or under a law."""
    alone = solo(two, "A")
    assert [flow.name for flow in alone.flows] == ["far up", "far down"]
    assert {flow.law for flow in alone.flows} == {"off"}
    assert alone.gateway.law == "off"
    assert alone.pings == []
    times = [(f.start_s, f.stop_s, f.idle_at_s, f.idle_s) for f in alone.flows]
    assert times == [(10.0, 30.0, 0.0, 0.0), (0.0, 0.0, 20.0, 5.0)]
    for key in ("nodes", "radio", "outages", "wired_hosts", "routing", "wired", "duration_s"):
        assert getattr(alone, key) == getattr(two, key)
    assert "far" not in {flow.name for flow in solo(two, "RL2").flows}
    assert [ping.to for ping in solo(two, "RL1").pings] == ["RL1"]
    assert solo(two, "RL1").flows[0].rate_kbps == 50.0


def test_who_lies_has_no_part(write: Callable[[str], str]) -> None:
    """Else a promise would be held against what a liar's application gets."""
    liar = load(write(TWO), {"flow.0.receiver": "lossless"})
    assert "RL2" in bulk_hosts(load(write(TWO)))
    assert bulk_hosts(liar) == [host for host in bulk_hosts(load(write(TWO))) if host != "RL2"]


@pytest.mark.parametrize(
    "law", [{"law": "off"}, {"law": "gap"}, {"law": "shaper", "rate_kbps": 300.0, "bucket": 3}]
)
def test_systems_share_the_runs_of_a_host_alone(
    law: Table, two: Scenario, write: Callable[[str], str]
) -> None:
    """Else each system would be held against a solo of its own, and pay for it."""
    settings = {f"gateway.{key}": value for key, value in law.items()}
    other = load(write(TWO), settings | {"gateway.sender_law": "off"})
    assert solo(other, "A").as_dict() == solo(two, "A").as_dict()
    paced = load(write(TWO), {"flow.1.law": "shaper", "flow.1.rate_kbps": 200.0})
    assert solo(paced, "A").as_dict() == solo(two, "A").as_dict()
    live = load(write(TWO), {"flow.1.law": "gap", "flow.1.live_departures": True})
    assert solo(live, "A").as_dict() == solo(two, "A").as_dict()
    beside_a_liar = load(write(TWO), {"flow.0.receiver": "early"})
    assert solo(beside_a_liar, "A").as_dict() == solo(two, "A").as_dict()
    bbr = load(write(TWO), {"tcp.variant": "bbr"})
    assert solo(bbr, "A").as_dict() != solo(two, "A").as_dict()


STEADY = """
duration_s = {duration_s}
warmup_s = 3.0
[mesh]
topology = "chain"
hops = 3
[[flow]]
name = "{name}"
from = "{wired}"
to = "A"
start_s = {start_s}
[[flow]]
from = "RL1"
to = "B7"
"""


def _steady(write: Callable[[str], str], **differs: object) -> Scenario:
    same = {"duration_s": 60.0, "name": "far", "wired": "B1", "start_s": 0.0}
    return load(write(STEADY.format(**same | differs)))


@pytest.mark.parametrize(
    "differs", [{"duration_s": 25.0}, {"name": "A's"}, {"wired": "B3"}, {"start_s": 20.0}]
)
def test_scenarios_share_the_run_of_a_transfer_alone(
    differs: Table, write: Callable[[str], str]
) -> None:
    """Else a catalogue would spend half of its time on hosts that are alone."""
    one, other = _steady(write), _steady(write, **differs)
    assert one.as_dict() != other.as_dict()
    assert solo(one, "A").as_dict() == solo(other, "A").as_dict()
    assert solo(one, "A").as_dict() != solo(one, "RL1").as_dict()


def test_a_transfer_alone_has_one_figure(write: Callable[[str], str]) -> None:
    """Else a host would be held against the beginning of a transfer, or against another time."""
    scenario = _steady(write, duration_s=25.2)
    run = {
        "duration_s": 40.0,
        "bin_s": 0.5,
        "flows": [{"delivered_bytes": [100] * 20 + [700] * 30 + [900] * 30}],
        "people": [],
    }
    (found,) = solo_series(scenario, "A", [run])  # type: ignore[list-item]
    assert found == {"bytes": [800.0] * 50, "bulk": [1] * 50}


@pytest.mark.parametrize(
    "more",
    [
        '[[outage]]\nnode = "RL2"\nat_s = 5.0\nfor_s = 5.0\n',
        '[[flow]]\nfrom = "A"\nto = "B1"\n',
        '[[person]]\nnode = "RL2"\ndoes = ["web"]\nstop_s = 9.0\nleaves = "dies"\n',
    ],
)
def test_a_host_has_a_run_of_its_own_where_more_than_demand_changes(
    more: str, write: Callable[[str], str]
) -> None:
    """Else who is cut off would miss a part that he could not have alone, and one figure would
    stand for two directions."""
    text = STEADY.format(duration_s=25.0, name="far", wired="B1", start_s=9.0)
    alone = solo(load(write(text + more)), "A")
    assert (alone.flows[0].start_s, alone.duration_s) == (9.0, 25.0)


def test_only_bulk_demand_asks_for_a_solo_run(two: Scenario) -> None:
    """Else CPU would go into what no measure looks at."""
    assert bulk_hosts(two) == ["RL2", "A"]


class Somebody(Model):
    """As much of a person as a solo scenario looks at."""

    name: str
    node: str
    does: list[str]
    law: str = "off"


def test_persons_alone(two: Scenario) -> None:
    """Else the others would be there, too, or a law would be at work at the host itself."""
    people = [
        Somebody(name="Ann", node="RL1", does=["web", "upload"], law="even"),
        Somebody(name="Bob", node="A", does=["web"]),
    ]
    made = two.model_copy(update={"flows": two.flows[:1], "people": people})
    assert bulk_hosts(made) == ["RL2", "RL1"]
    ann = solo(made, "RL1")
    assert [(person.name, person.law) for person in ann.people] == [("Ann", "off")]
    assert ann.flows == []


def _own(tmp_path: Path, measure: str = "guarantee_least", more: str = "") -> Path:
    file = tmp_path / "own.toml"
    file.write_text(TWO + EXPERIMENT.format(measure=measure, more=more))
    return file


def test_the_campaign_makes_them_once(double: Callable[[], int], tmp_path: Path) -> None:
    """Else nobody could say what a part is, or all would wait for what is known."""
    loaded = definition.load_experiment(_own(tmp_path), quick=False)
    assert loaded.runs() == 2 * (2 + 2)  # seeds, of two systems and of two hosts that both share
    (outcome,) = reproduce.reproduce([loaded], reproduce.Workers())
    assert double() == 8
    solos = [point["result"]["solo"] for point in outcome["points"]]
    assert solos[0] == solos[1]
    assert {host: len(series) for host, series in solos[0].items()} == {"A": 2, "RL2": 2}
    (check,) = outcome["checks"]
    # The double gives A's two flows 60 + 80 kB/s alone and 80 + 80 with gap, whatever they do.
    # Three hosts are active, but two while RL2 is off, which is half of the worst window.
    (found,) = check["measured"]
    assert found["value"] == pytest.approx(160_300 / (140_300 * (1 / 3 + 1 / 2) / 2), rel=1e-3)
    reproduce.reproduce([loaded], reproduce.Workers())
    assert double() == 8
    assert "hosts and persons" in tables.outcome_table(outcome)
    rows = keep.record_of(outcome, "none", law.present_tree())["rows"]
    units = {row["figure"]: row["unit"] for row in rows}
    assert units["guarantee_least"] == "%"
    assert units["host_goodput of A"] == "kbit/s"
    assert units["time_to_share_s"] == "s"


def test_who_asks_for_no_part_pays_for_none(double: Callable[[], int], tmp_path: Path) -> None:
    loaded = definition.load_experiment(_own(tmp_path, "host_goodput"), quick=False)
    (outcome,) = reproduce.reproduce([loaded], reproduce.Workers())
    assert double() == 4
    assert "solo" not in outcome["points"][0]["result"]


@pytest.mark.usefixtures("double")
def test_results_do_not_depend_on_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else one and two cores would find different parts."""
    loaded = definition.load_experiment(_own(tmp_path), quick=False)
    found = []
    for workers in (1, 2):
        monkeypatch.setenv("PACELAB_CACHE", str(tmp_path / f"cache-{workers}"))
        (outcome,) = reproduce.reproduce([loaded], reproduce.Workers(workers))
        found.append(json.dumps({**outcome, "cpu_s": None}))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("measure", "more", "error"),
    [
        ("guarantee_least", 'hosts = ["RL3"]', 'check.0.hosts: unknown host or person "RL3"; '),
        ("goodput", 'hosts = ["A"]', '"goodput" is of no hosts; give flows or while instead'),
        ("nash", 'flows = ["near"]', 'check.0.flows: "nash" is of no flows; give hosts instead'),
        ("nash", 'while = ["near"]', 'check.0.while: "nash" is of no while; give hosts instead'),
        ("nash", '[[experiment.picture]]\nid = "p"\nhosts = ["A"]', "picture.0.hosts: "),
    ],
)
def test_what_is_said_of_hosts_has_to_be_of_some(
    measure: str,
    more: str,
    error: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Else a check would be judged by all, or by nobody, without a word."""
    _own(tmp_path, measure, more)
    monkeypatch.setattr(definition, "SCENARIOS", tmp_path)
    assert cli.main(["reproduce", "own", "--out", str(tmp_path / "out")]) == cli.USAGE
    said = capsys.readouterr().err
    assert error in said
    assert said.count("\n") == 1


@pytest.mark.usefixtures("real")
def test_two_at_one_place_have_half_of_what_each_gets_alone(write: Callable[[str], str]) -> None:
    """Else the simulator would refuse a solo scenario, whose wired hosts have no flows, or a part
    would not be what a fair channel gives: here two saturate one gateway's channel from one hop."""
    head = 'duration_s = 24.0\nwarmup_s = 3.0\n[mesh]\ntopology = "cross"\nhops = 1\n'
    flows = [f'[[flow]]\nfrom = "B{i}"\nto = "A{i}"\n' for i in (1, 2)]
    file = Path(write(head + "".join(flows) + EXPERIMENT.format(measure="nash", more="")))
    loaded = definition.load_experiment(file, quick=False)
    (outcome,) = reproduce.reproduce([loaded], reproduce.Workers(2))
    off = outcome["points"][0]
    assert {host: len(own) for host, own in off["result"]["solo"].items()} == {"A1": 2, "A2": 2}
    welfare = measured("nash", off)
    assert welfare is not None
    assert welfare["mean"] == pytest.approx(math.log(1 / 2), abs=0.15)
