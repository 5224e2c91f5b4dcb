# SPDX-License-Identifier: GPL-2.0-only
"""The demonstration: what it falls back to, what its table and its picture say."""

from pathlib import Path
from typing import Any

import pytest
from matplotlib import pyplot as plt

from made_up import alone, flow, page, person, run, scenario
from pacelab.cli import main
from pacelab.emulation import demo
from pacelab.errors import InconclusiveError, RunError
from pacelab.experiment import demo as simulated
from pacelab.results import demo as shown
from pacelab.results import law
from pacelab.scenario import resolve
from pacelab.scenario.document import override, read_document
from pacelab.scenario.schema import Table

RTT = {"mean": 100.0, "p50": 90.0, "p95": 200.0}


@pytest.fixture(autouse=True)
def _closed() -> Any:
    yield
    plt.close("all")


def _result(near: float, far: float, *, law: str, loads: list[float] | None = None) -> Table:
    """40 s: near is there all the time, far from 8 to 24 s; pages, as curl loads them, from 24 s.
    Alone near has 40 Mbit/s and far 8."""
    flows = [
        flow("near", "near"),
        flow("far", "far", start_s=8.0, stop_s=24.0),
        flow("pages", "far", start_s=24.0, traffic="http"),
    ]
    bins = [[5e6] * 8 + [near] * 16 + [5e6] * 16, [0.0] * 8 + [far] * 16 + [0.0] * 16, [0.0] * 40]
    made = scenario(flows, "near", "far", duration_s=40.0, people=[], gateway={"law": law})
    one = run(bins, warmup_s=4.0)
    for own, name, to in zip(
        one["flows"], ("near", "far", "pages"), ("near", "far", "far"), strict=True
    ):
        own |= {"name": name, "to": to, "rtt_ms": None if name == "pages" else RTT, "law": law}
    one["flows"][2]["page_loads_s"] = [1.0, 3.0, 2.0] if loads is None else loads
    solo = {"near": [alone([5e6] * 40)], "far": [alone([1e6] * 40)]}
    return {"scenario": made, "runs": [one], "solo": solo, "flows": one["flows"], "seeds": [1]}


def _cells(text: str) -> dict[str, list[str]]:
    rows = [line.split("  ") for line in text.splitlines()[2:]]
    return {row[0]: [cell.strip() for cell in row[1:] if cell.strip()] for row in rows}


def test_the_table_has_both_states_beside_what_the_law_aims_at() -> None:
    """Else a reader could not tell whether what he sees is good."""
    off = _result(1.25e6, 6.25e5, law="off")
    on = _result(2.5e6, 5e5, law="even", loads=[1.0, 1.5])
    cells = _cells(shown.table(off, on))
    assert cells["near, while both download, Mbit/s"] == ["10.0", "20.0", "20.0"]
    assert cells["far, while both download, Mbit/s"] == ["5.0", "4.0", "4.0"]
    assert cells["near, its worst 10 s, of its part, %"] == ["50", "100"]
    assert cells["far waits for its part, s"] == ["3", "3"]
    assert cells["a web page at far, median, s"] == ["2.00", "1.25"]
    assert cells["TCP's round trip to far, median, ms"] == ["90", "90"]
    assert cells["web pages loaded"] == ["3", "2"]


def test_who_never_loads_a_page_has_none() -> None:
    off, on = (_result(1e6, 1e6, law=law, loads=[]) for law in ("off", "even"))
    cells = _cells(shown.table(off, on))
    assert cells["a web page at far, median, s"] == ["-", "-"]
    shown.picture(off, on)
    kept = {row["figure"] for row in shown.rows_to_keep(off, on, law.present_tree())}
    assert "a web page at far, median" not in kept


def test_a_persons_pages_count_as_a_visitors() -> None:
    """Simulated there is a person; else the fallback would show no page at all."""
    off = _result(1e6, 1e6, law="off", loads=[])
    off["runs"][0]["people"] = [person("far", "far", 40, pages=[page(25.0, 1.5)])]
    assert _cells(shown.table(off, off))["a web page at far, median, s"] == ["1.50", "1.50"]


def test_what_is_kept_is_what_is_shown() -> None:
    """Else results/ would say something else than the terminal, or of another law."""
    both = _result(1.25e6, 6.25e5, law="off"), _result(2.5e6, 5e5, law="even")
    rows = shown.rows_to_keep(*both, law.present_tree())
    found = {(row["system"], row["figure"]): row for row in rows}
    near = [found[state, "near, while both download"] for state in (*shown.STATES, shown.HALF)]
    assert [row["value"] for row in near] == [10.0, 20.0, 20.0]
    assert [row["law"].partition(":")[0] for row in near] == ["off", "even", "off"]
    assert near[0]["values"] == near[0]["range"][:1] == [10.0]


def test_the_picture_says_who_comes_and_when_pages_load() -> None:
    off, on = (_result(1e6, 1e6, law=law) for law in ("off", "even"))
    axes = shown.picture(off, on).axes
    assert [axis.get_title(loc="left") for axis in axes[:2]] == list(shown.TITLES)
    assert [text.get_text() for text in axes[0].texts] == ["far comes", "far loads pages"]
    assert axes[0].get_ylim() == axes[1].get_ylim()
    assert [text.get_text() for text in axes[2].texts] == ["2.0 s", "2.0 s"]


def _late(*_: object) -> Table:
    raise InconclusiveError("the radio was late")


@pytest.mark.parametrize("why", ["unavailable", "late"])
def test_the_demonstration_falls_back_to_the_simulation(
    why: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And says so, with the reason, before it and below it."""
    monkeypatch.setattr(demo, "unavailable", lambda: why if why == "unavailable" else None)
    monkeypatch.setattr(demo, "emulate", _late)
    both = _result(1e6, 1e6, law="off"), _result(1e6, 1e6, law="even")
    monkeypatch.setattr(simulated, "demo", lambda: both)
    text = demo.demo(tmp_path).text
    assert "SIMULATED" in text
    assert why in text
    assert why in capsys.readouterr().err
    assert (tmp_path / "demo.png").exists()


@pytest.mark.parametrize(
    ("why", "error", "tries"), [("no root", RunError, 0), (None, InconclusiveError, demo.TRIES)]
)
def test_what_is_kept_is_emulated_or_nothing(
    why: str | None,
    error: type[Exception],
    tries: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else results/ would have a simulation where it says emulated."""
    called = []

    def late(*_: object) -> Table:
        called.append(1)
        raise InconclusiveError("the radio was late")

    monkeypatch.setattr(demo, "unavailable", lambda: why)
    monkeypatch.setattr(demo, "emulate", late)
    with pytest.raises(error):
        demo.demo(tmp_path, kept=True)
    assert len(called) == tries


def test_keep_names_a_group_before_anything_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--keep", "nowhere/demo"]) == 2
    assert capsys.readouterr().err.startswith("pacelab: --keep nowhere/demo: ")


def test_the_simulated_demonstration_is_the_emulated_one_with_a_person() -> None:
    """Else the two would show different meshes, or the simulator would refuse the file."""
    document = read_document(str(simulated.FILE))
    emulated = resolve(document, "demo.toml", emulated=True)
    releases = set()
    for settings in simulated.SETTINGS:
        changed = override(simulated.simulated(document), settings, "demo.toml")
        there = resolve(changed, "demo.toml")
        assert (there.nodes, there.radio) == (emulated.nodes, emulated.radio)
        assert [flow.name for flow in there.flows] == ["near", "far"]
        (reader,) = there.people
        assert (reader.node, reader.start_s) == ("far", emulated.flows[2].start_s)
        releases.add((there.gateway.law, there.gateway.release))
    # Off, nothing is held, and all releases are one.
    assert releases == {("off", "nfqueue"), ("even", "htb")}
    assert emulated.gateway.release == "auto"


def test_what_a_host_has_alone_is_of_the_seconds_in_which_it_is() -> None:
    one = _result(1e6, 1e6, law="off")["runs"][0]
    kept = demo._alone(one, "near", 8.0, one)
    assert kept == {"bytes": [5e6] * 40, "bulk": [1] * 40}
