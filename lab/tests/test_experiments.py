# SPDX-License-Identifier: GPL-2.0-only
"""Experiments: the project's own, and how one is run and judged."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pacelab import cli, experiment, reproduce
from pacelab.scenario import load

OWN = """
title = "Own"
duration_s = 30.0
[[flow]]
from = "B"
to = "A"
{more}
[experiment]
id = "own"
paper = "P"
figure = "Figure 1"
claim = "GAP is faster."
seeds = 3
sweep = {{ key = "mesh.hops", values = [1, 2] }}
quick = {{ seeds = 2, values = [2] }}
{search}
[[experiment.system]]
name = "NewReno"
[[experiment.system]]
name = "GAP"
set = {{ "gateway.law" = "gap" }}
[[experiment.check]]
text = "GAP gains"
measure = "gain"
of = "GAP"
over = "NewReno"
at = [1, 2]
variant = ""
least = 0.2
[[experiment.check]]
text = "GAP doubles"
measure = "gain"
of = "GAP"
over = "NewReno"
at = [1]
variant = ""
least = 1.0
"""


@pytest.mark.parametrize("file", sorted(experiment.SCENARIOS.glob("*.toml")), ids=lambda f: f.stem)
def test_every_scenario_file_is_valid(file: Path) -> None:
    """Else an experiment of the catalogue would fail after hours."""
    load(str(file))
    if file in experiment.experiment_files().values():
        for quick in (False, True):
            loaded = experiment.load_experiment(file, quick=quick)
            assert loaded.runs() > 0
            for check in loaded.about["check"]:
                assert check["of"] in loaded.systems
                assert check["over"] is None or check["over"] in loaded.systems
                assert check["variant"] in loaded.variants


def test_the_gap_papers_figures_are_there() -> None:
    """Else pacelab reproduce would not know them; 8 and 9 for h = 1..10, all in four variants."""
    files = experiment.experiment_files()
    assert [f"gap-fig{i}" for i in range(8, 13)] == [n for n in files if n.startswith("gap-fig")]
    for name in ("gap-fig8", "gap-fig9"):
        assert experiment.load_experiment(files[name], quick=False).values == list(range(1, 11))


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalogue with one experiment of the test's own."""
    (tmp_path / "own.toml").write_text(OWN.format(more="", search=""))
    monkeypatch.setattr(experiment, "SCENARIOS", tmp_path)
    return tmp_path


@pytest.mark.usefixtures("double")
def test_reproduce_and_report(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else no figure, no verdict, or one that does not follow from the numbers."""
    out = own / "results"
    assert cli.main(["reproduce", "own", "--out", str(out), "--json"]) == cli.DONE
    (outcome,) = json.loads(capsys.readouterr().out)["experiments"]
    assert len(outcome["points"]) == 4
    assert [check["passed"] for check in outcome["checks"]] == [True, False]
    assert outcome["checks"][0]["measured"][0]["value"] == pytest.approx(80_200 / 60_200 - 1)
    assert outcome["verdict"] == "partly"
    assert (out / "own" / "own.png").exists()
    page = (out / "report.html").read_text()
    assert "GAP is faster." in page
    assert cli.main(["report", str(out)]) == cli.DONE
    assert (out / "report.html").read_text() == page


def test_quick_takes_fewer_runs(own: Path, double: Callable[[], int]) -> None:
    """Else --quick would not be quick; and a check at a value left out is not failed for it."""
    call = ["reproduce", "own", "--quick", "--out", str(own / "results")]
    assert cli.main(call) == cli.DONE
    assert double() == 4
    outcome = json.loads((own / "results" / "own" / "result.json").read_text())
    assert [check["passed"] for check in outcome["checks"]] == [True, None]


@pytest.mark.usefixtures("double")
def test_search_finds_the_greatest_rate_without_loss(own: Path) -> None:
    """Else a capacity would be the rate at which packets are already lost."""
    more = 'traffic = "cbr"\nrate_kbps = 1.0\n'
    search = (
        'search = { key = "flow.rate_kbps", low = 100.0, high = 1000.0, loss = 0.01, rounds = 8 }'
    )
    (own / "own.toml").write_text(OWN.format(more=more, search=search))
    loaded = experiment.load_experiment(own / "own.toml", quick=True)
    (outcome,) = reproduce.reproduce([loaded], reproduce.Workers())
    rates = [p["result"]["scenario"]["flows"][0]["rate_kbps"] for p in outcome["points"]]
    assert all(690 < rate <= 700 for rate in rates)  # the double loses half above 700


def test_verdicts() -> None:
    """Else a claim that fails would be called holding."""
    checks: list[dict[str, object]] = [{"passed": True}, {"passed": False}, {"passed": None}]
    assert reproduce.verdict(checks) == "partly"
    assert reproduce.verdict(checks[:1]) == "holds"
    assert reproduce.verdict(checks[1:]) == "does not hold"
    assert reproduce.verdict(checks[2:]) == "not judged"


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (("seeds = 3", "seeds = 0"), "experiment.seeds"),
        (("sweep = {", "sweap = {"), "experiment.sweap"),
        (('measure = "gain"', 'measure = "pain"'), "experiment.check.0.measure"),
        (('"gateway.law" = "gap"', '"gateway.lau" = "gap"'), "gateway.lau"),
    ],
)
def test_bad_experiments(
    own: Path, change: tuple[str, str], key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a mistake in an experiment would be silent or end in a traceback."""
    file = own / "own.toml"
    file.write_text(file.read_text().replace(*change, 1))
    assert cli.main(["reproduce", "own"]) == cli.USAGE
    error = capsys.readouterr().err
    assert key in error
    assert error.count("\n") == 1
