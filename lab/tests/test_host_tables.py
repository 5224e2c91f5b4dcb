# SPDX-License-Identifier: GPL-2.0-only
"""What tables, files and reports say of hosts and persons, also where nobody has a flow."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from made_up import alone, flow, page, person, run, scenario
from pacelab.results import keep, law, report, tables
from pacelab.results.host_tables import host_figures, host_rows, unserved_hosts
from pacelab.results.summary import summarize
from pacelab.scenario import load
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Table

S = 60


def _people(**own: Any) -> list[Table]:
    loads = [page(10.0, 2.0), page(20.0, 4.0)]
    ann = person("Ann", "A", S, pages=loads, delivered_bytes=[1000] * S, **own)
    bob = person("Bob", "RL1", S, lookups=[{"at_s": 20.0, "took_s": 0.2}])
    return [ann, bob]


@pytest.fixture
def no_flows(write: Callable[[str], str]) -> Scenario:
    """A scenario without flows."""
    file = write('duration_s = 60.0\n[mesh]\nhops = 2\n[[flow]]\nfrom = "B"\nto = "A"\n')
    return load(file).model_copy(update={"flows": []})


def _run(seed: int) -> Any:
    more: Table = {"links": [], "gateway": None, "versions": {}, "warmup_s": 10.0}
    return run([], _people(), **more | {"seed": seed})


@pytest.fixture
def persons_only(no_flows: Scenario) -> Table:
    """The result of two runs in which persons are and no flow is."""
    return summarize(no_flows, [_run(1), _run(2)])


def test_persons_without_any_flow(persons_only: Table, tmp_path: Path) -> None:
    """Else a result of persons alone could not be shown, or what they get be left out."""
    assert persons_only["aggregate_kbps"] == {"mean": 8.0, "ci95": 0.0}
    shown = tables.result_table(persons_only)
    assert "median load time of a page, s: 3.00 ± 0.00\n" in shown
    assert "share of look-ups done within 3 s: Bob: 100.0 ± 0.0%\n" in shown
    report.write_result(persons_only, tmp_path, "people")
    report.write_report(tmp_path)
    assert (tmp_path / "people" / "people.png").exists()


def test_a_sum_says_that_people_are_in_it(persons_only: Table) -> None:
    """Else a reader would miss in the sum of flows what people got, or take it for a fault."""
    own: Table = {"hops": 2, "law": "off", "goodput_kbps": {"mean": 4.0, "ci95": None}}
    counts: Table = {"retransmits": 0.0, "timeouts": 0.0, "rtt_ms": None}
    two = [{"name": name, "from": "B", "to": "A", **own, **counts} for name in ("one", "two")]
    result = persons_only | {"flows": two}
    assert "\nall, with people  " in tables.result_table(result)
    nobody = [run | {"people": []} for run in result["runs"]]
    assert "\nall  " in tables.result_table(result | {"runs": nobody})


def test_one_run_has_the_interval_of_its_batches(no_flows: Scenario) -> None:
    """Else one long run of persons would have none, unlike one of flows."""
    one = _run(1)
    one["people"][0]["delivered_bytes"] = [1000] * 35 + [3000] * 25
    aggregate = summarize(no_flows, [one])["aggregate_kbps"]
    assert aggregate["mean"] == pytest.approx(16.0)
    assert aggregate["ci95"] > 0


def test_figures_of_all_and_of_each(persons_only: Table) -> None:
    """Else one person's page would stand for another's, or who loads none would have a time."""
    point = {"result": persons_only}
    felt = {(f.measure, f.host): f.value["mean"] for f in host_figures(point)}
    assert felt["page_load_p50_s", ""] == 3.0
    assert felt["page_load_p95_s", "Ann"] == pytest.approx(3.9)
    assert ("page_load_p95_s", "Bob") not in felt


def test_what_is_kept_has_units(persons_only: Table) -> None:
    """Else a page of results would show numbers of nobody knows what."""
    of = {"system": "off", "variant": ""}
    rows = keep._figures({"result": persons_only}, ["goodput"], of, law.present_tree())
    units = {row["figure"]: row["unit"] for row in rows}
    assert units == {
        "goodput": "kbit/s",
        "page_load_p50_s": "s",
        "page_load_p95_s": "s",
        "first_byte_p50_s": "s",
        "first_byte_p95_s": "s",
        "pages_unloaded": "%",
        "lookups_3s": "%",
        "page_load_p95_s of Ann": "s",
        "lookups_3s of Bob": "%",
    }
    assert rows[0]["values"] == [8.0, 8.0]


def _field(far: list[float]) -> Table:
    made = scenario([flow("FTP 1", "N1"), flow("FTP 2", "N2")], "N1", "N2")
    solo = {"N1": [alone([2e6] * 30)], "N2": [alone([0.0] * 30)]}
    return {"scenario": made, "runs": [run([[1e6] * 30, far])], "solo": solo}


def test_hosts_that_nobody_could_serve_are_named() -> None:
    """Else a part that is kept would seem to be kept for all."""
    point = {"system": "off", "value": None, "result": _field([0.0] * 30)}
    assert unserved_hosts(point) == ["N2"]
    kept = keep._of_hosts(point, set())
    assert kept[-1]["text"] == "N2"
    assert kept[-1]["value"] == 1
    ((_, header, rows),) = tables._of_hosts([point], "")
    assert header == ["", "off"]
    assert rows[-1][1] == "N2"


def test_systems_stand_side_by_side() -> None:
    """Else a figure that one system lacks would shift those of the others."""
    points = [{"result": _field([0.0] * 30)}, {"result": _field([5e5] * 30) | {"solo": {}}}]
    points[1]["result"]["runs"][0]["people"] = [person("Ann", "N1", 30)]
    rows = {label: values for label, _, values in host_rows(points)}
    least = rows["least goodput over 10 s, of a 1/n of what the host gets alone"]
    assert least[0] is not None
    assert least[1] is None
    goodput = rows["goodput of a host with bulk demand, kbit/s"]
    assert [value and value["mean"] for value in goodput] == [4000.0, 6000.0]


def test_without_persons_and_solo_runs_nothing_is_said() -> None:
    """Else every table of the papers would end with hosts."""
    result = _field([0.0] * 30)
    del result["solo"]
    assert host_figures({"result": result}) == []
