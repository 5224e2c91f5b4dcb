# SPDX-License-Identifier: GPL-2.0-only
"""Experiments: the project's own, and how one is run and judged."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pacelab import cli
from pacelab.errors import InputError, nearest
from pacelab.experiment import catalogue, definition, reproduce
from pacelab.experiment.models import Check
from pacelab.experiment.part import Part
from pacelab.results import figures, judge, report, tables
from pacelab.scenario import load

CHECK = "[[experiment.check]]"
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


@pytest.mark.parametrize("file", sorted(definition.SCENARIOS.glob("*.toml")), ids=lambda f: f.stem)
def test_every_scenario_file_is_valid(file: Path) -> None:
    """Else an experiment of the catalogue would fail after hours."""
    load(str(file), emulated=file.stem in ("demo", "web"))
    if file in catalogue.experiment_files().values():
        for quick in (False, True):
            loaded = definition.load_experiment(file, quick=quick)
            assert loaded.runs() > 0
            for check in loaded.about.check:
                _check_can_be_judged(check, loaded)


def _check_can_be_judged(check: Check, loaded: definition.Experiment) -> None:
    """With the systems, variants and values that are left, if it is quick."""
    for system in filter(None, (check.of, check.over)):
        assert system in loaded.systems
    for variant in filter(None, (check.variant, check.over_variant)):
        assert variant in loaded.variants
    values = [v for v in check.at or loaded.values if v in loaded.values]
    assert len(values) >= (2 if check.trend else 1), check.text
    if check.over_at is not None:
        assert check.over_at in loaded.values, check.text
    flows = {flow.name for point in loaded.points for flow in point.scenario().flows}
    for named in (check.flows, check.while_, check.over_while):
        assert flows >= set(named or ())


def test_the_gap_papers_figures_are_there() -> None:
    """Else pacelab reproduce would not know them; 8 and 9 for h = 1..10, all in four variants."""
    files = catalogue.experiment_files()
    assert set(files) >= {f"gap-fig{i}" for i in (*range(8, 14), 15, *range(18, 23), 24)}
    for name in ("gap-fig8", "gap-fig9"):
        assert definition.load_experiment(files[name], quick=False).values == list(range(1, 11))


def test_the_whole_catalogue_is_there() -> None:
    """Else a figure or a table of the papers would be missing."""
    names = {*catalogue.experiment_files(), *catalogue.other_names()}
    assert names >= {f"gap-fig{i}" for i in (*range(8, 17), *range(18, 25))} | {"gap-table2"}
    assert names >= {f"map-fig{i}" for i in range(3, 11)}
    assert names >= {f"dsn-fig{i}" for i in range(16, 20)} | {"dsn-table3", "dsn-table4"}
    assert names >= {f"shaping-fig{i}" for i in range(4, 10)} | {"shaping-table1", "shaping-table2"}
    found = catalogue.find_experiments(["gap-fig16", "gap-fig15"], quick=True)
    assert [e.id for e in found] == ["gap-fig15"]


def test_what_even_has_to_show_is_there() -> None:
    """Else conditions under which it might lose would not be looked at."""
    names = set(catalogue.experiment_files())
    papers = {"chain", "chain-up", "parallel", "cross", "one-four", "random", "http", "robust"}
    today = {"chain", "near-far", "alone", "udp", "village", "upload", "files", "death"}
    today |= {"ablation"}
    assert names >= {f"even-{name}" for name in papers | {"hosts"}}
    assert names >= {f"even-today-{name}" for name in today}
    found = catalogue.find_experiments(["even-today-*", "even-today-udp"], quick=True)
    assert {e.id for e in found} == {f"even-today-{name}" for name in today}
    files = catalogue.experiment_files()
    chain = definition.load_experiment(files["even-chain"], quick=False)
    assert (len(chain.variants), len(chain.systems), chain.seeds) == (8, 9, 10)
    assert (
        not {e.id for e in catalogue.find_experiments(["all"], quick=True)}
        & names
        & {f"even-{name}" for name in papers}
    )


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalogue with one experiment of the test's own."""
    (tmp_path / "own.toml").write_text(OWN.format(more="", search=""))
    monkeypatch.setattr(definition, "SCENARIOS", tmp_path)
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


def test_a_part_of_an_experiment(own: Path, double: Callable[[], int]) -> None:
    """Else who doubts one row of a table would have to run all of it."""
    out = own / "results"
    call = ["reproduce", "own", "--system", "GAP", "--value", "2", "--seeds", "4"]
    assert cli.main([*call, "--set", "duration_s=20", "--out", str(out)]) == cli.DONE
    assert double() == 4
    outcome = json.loads((out / "own" / "result.json").read_text())
    (point,) = outcome["points"]
    assert (point["system"], point["value"]) == ("GAP", 2)
    assert point["result"]["scenario"]["duration_s"] == 20
    assert [check["passed"] for check in outcome["checks"]] == [None, None]
    assert "just GAP; 2; duration_s = 20" in (out / "report.html").read_text()


@pytest.mark.usefixtures("double")
def test_a_check_is_of_its_variant_alone(own: Path) -> None:
    """Else a check of the first variant would be judged by whichever is left."""
    variants = "".join(f'[[experiment.variant]]\nname = "{n}"\n' for n in ("quiet", "loud"))
    text = OWN.format(more="", search="").replace('variant = ""\n', "")
    (own / "own.toml").write_text(text.replace("[[experiment.check]]", variants + CHECK, 1))
    loaded = definition.load_experiment(own / "own.toml", quick=False, part=Part(variants=["loud"]))
    (outcome,) = reproduce.reproduce([loaded], reproduce.Workers())
    assert {point["variant"] for point in outcome["points"]} == {"loud"}
    assert outcome["verdict"] == "not judged"


@pytest.mark.usefixtures("double")
def test_what_varies_nothing_is_drawn_by_flow(own: Path) -> None:
    """Else a scenario of a few lines would end in a traceback after its runs."""
    text = (own / "own.toml").read_text()
    text = re.sub(r"^sweep = .*$|^at = .*$", "", text, flags=re.MULTILINE)
    text = text.replace("seeds = 2, values = [2]", "seeds = 2")
    (own / "own.toml").write_text(text)
    loaded = definition.load_experiment(own / "own.toml", quick=False)
    assert [picture.kind for picture in loaded.about.picture] == ["flows"]
    (own / "own.toml").write_text(text.replace("seeds = 3", 'seeds = 3\nplot = "sweep"'))
    with pytest.raises(InputError, match='has no sweep, over which to draw "own"'):
        definition.load_experiment(own / "own.toml", quick=False)


def _shortest_of_each_kind() -> list[Path]:
    """Of the experiments that have the same pictures, that whose runs are shortest."""
    found: dict[tuple[object, ...], tuple[float, Path]] = {}
    for file in catalogue.experiment_files().values():
        whole = definition.load_experiment(file, quick=True)
        kinds = sorted({(str(p.kind), str(p.measure)) for p in whole.about.picture})
        kind = (*kinds, whole.about.sweep is None)
        run = (whole.points[0].scenario({}).as_dict()["duration_s"], file)
        found[kind] = min(found.get(kind, run), run)
    return [file for _, file in found.values()]


def test_any_part_can_be_shown(tmp_path: Path) -> None:
    """Else a picture or a table would need what was left out."""
    parts = []
    for file in _shortest_of_each_kind():
        whole = definition.load_experiment(file, quick=True)
        part = Part(
            seeds=1,
            systems=whole.systems[-1:],
            variants=[v for v in whole.variants[-1:] if v],
            values=[v for v in whole.values[-1:] if v is not None],
        )
        parts.append(definition.load_experiment(file, quick=True, part=part))
    assert len(parts) > 5
    for outcome in reproduce.reproduce(parts, reproduce.Workers()):
        assert len(outcome["points"]) == 1
        report.write_outcome(outcome, tmp_path)
        assert tables.outcome_table(outcome)
    report.write_report(tmp_path)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (["--system", "GAB"], 'reproduce own: "GAB" is none of its systems; did you mean "GAP"?'),
        (
            ["--variant", "loud"],
            'reproduce own: "loud" is none of its variants; it has no variants',
        ),
        (["--value", "11"], 'reproduce own: "11" is none of its values; known: 1, 2'),
        (["--set", "mesh.hops=3"], "reproduce own: --set mesh.hops: is swept or searched there"),
        (["--set", "tcp.varient=bbr"], "tcp.varient"),
    ],
)
def test_bad_parts(
    own: Path, call: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a name misspelt would run all, or end in a traceback, or find no remedy."""
    assert cli.main(["reproduce", "own", *call, "--out", str(own / "results")]) == cli.USAGE
    said = capsys.readouterr().err
    assert error in said
    assert said.count("\n") == 1


def test_names_with_commas_can_be_told_apart() -> None:
    """Else the remedy for an unknown variant would be a list of which nobody knows the parts."""
    assert nearest("x", ["up, AODV", "down, AODV"]) == "known: down, AODV; up, AODV"


@pytest.mark.usefixtures("double")
def test_one_check_of_several_systems_and_variants(own: Path) -> None:
    """Else a law that is to lose to nobody, anywhere, would need a check for each."""
    text = OWN.format(more='[[flow]]\nfrom = "B"\nto = "RL1"', search="")
    text = text.replace("values = [1, 2]", "values = [2, 3]")
    text = text[: text.index("[[experiment.check]]")]
    text += """[[experiment.system]]
name = "Vegas"
set = { "tcp.variant" = "vegas" }
[[experiment.variant]]
name = "quiet"
[[experiment.variant]]
name = "loud"
[[experiment.check]]
text = "more than {over}"
measure = "gain"
of = "GAP"
overs = ["NewReno", "Vegas"]
every_variant = true
least = 0.01
[[experiment.check]]
text = "evenly"
measure = "goodput"
of = "NewReno"
flows = ["FTP 2"]
over_flows = ["FTP 1"]
variant = "loud"
most = 0.1
"""
    (own / "own.toml").write_text(text)
    (outcome,) = reproduce.reproduce(
        [definition.load_experiment(own / "own.toml", quick=False)], reproduce.Workers()
    )
    texts = [f"more than {s}; {v}" for s in ("NewReno", "Vegas") for v in ("quiet", "loud")]
    assert [check["text"] for check in outcome["checks"]] == [*texts, "evenly"]
    assert [check["passed"] for check in outcome["checks"]] == [True] * 4 + [False]
    # The double's second flow gets 80 kB/s, the first 60.
    measured = outcome["checks"][-1]["measured"][0]["value"]
    assert measured == pytest.approx(80_200 / 60_200 - 1)
    left = text.replace("values = [2] }", 'values = [2], systems = ["NewReno", "GAP"] }')
    (own / "own.toml").write_text(left)
    quick = definition.load_experiment(own / "own.toml", quick=True)
    assert [check.over for check in quick.about.check] == ["NewReno", "NewReno", None]


@pytest.mark.usefixtures("double")
def test_search_finds_the_greatest_rate_without_loss(own: Path) -> None:
    """Else a capacity would be the rate at which packets are already lost."""
    more = 'traffic = "cbr"\nrate_kbps = 1.0\n'
    search = (
        'search = { key = "flow.rate_kbps", low = 100.0, high = 1000.0, loss = 0.01, rounds = 8 }'
    )
    (own / "own.toml").write_text(OWN.format(more=more, search=search))
    loaded = definition.load_experiment(own / "own.toml", quick=True)
    (outcome,) = reproduce.reproduce([loaded], reproduce.Workers())
    rates = [p["result"]["scenario"]["flows"][0]["rate_kbps"] for p in outcome["points"]]
    assert all(690 < rate <= 700 for rate in rates)  # the double loses half above 700


@pytest.mark.parametrize(
    ("low", "high", "beside", "found", "rate_kbps"),
    [
        (100.0, 600.0, "", 600.0, 600.0),  # nothing is lost at any rate that may be tried
        (800.0, 1000.0, "", None, 800.0),  # at each too much
        (100.0, 1000.0, '[[flow]]\nfrom = "B"\nto = "A"\n', 690.625, 690.625),
    ],
)
@pytest.mark.usefixtures("double")
def test_a_search_between_ends_that_hold_nothing(
    low: float, high: float, beside: str, found: float | None, rate_kbps: float, own: Path
) -> None:
    """Else an end that was never tried would stand as what was found; or TCP beside end it all."""
    more = f'name = "CBR"\ntraffic = "cbr"\nrate_kbps = 1.0\n{beside}'
    search = f'search = {{ key = "flow.CBR.rate_kbps", low = {low}, high = {high}, loss = 0.01, '
    text = OWN.format(more=more, search=f"{search}rounds = 5 }}")
    (own / "own.toml").write_text(text)
    loaded = definition.load_experiment(own / "own.toml", quick=True)
    assert loaded.runs() == 2 * 2 * (5 + 2)
    (outcome,) = reproduce.reproduce([loaded], reproduce.Workers())
    assert {p["searched"] for p in outcome["points"]} == {found}
    flows = [p["result"]["scenario"]["flows"][0] for p in outcome["points"]]
    assert {flow["rate_kbps"] for flow in flows} == {rate_kbps}
    turned = text.replace(f"low = {low}", f"low = {high}")
    (own / "own.toml").write_text(turned)
    with pytest.raises(InputError, match=r"high: is no more than low"):
        definition.load_experiment(own / "own.toml", quick=True)


@pytest.mark.usefixtures("double")
def test_search_finds_the_rate_of_most_goodput(own: Path) -> None:
    """Else a shaper's figures would not be those of its best rate, or points would not share it."""
    text = OWN.format(more='traffic = "cbr"\nrate_kbps = 1.0\n', search="")
    search = 'search = { key = "flow.rate_kbps", goal = "goodput", values = [200, 600, 900], '
    search += 'rounds = 1, each = "system" }\nquick ='
    text = text.replace("quick =", search, 1).replace(
        'name = "NewReno"', 'name = "NewReno"\nsearch = false', 1
    )
    (own / "own.toml").write_text(text)
    loaded = definition.load_experiment(own / "own.toml", quick=False)
    assert loaded.runs() == 3 * (5 + 4)
    (outcome,) = reproduce.reproduce([loaded], reproduce.Workers())
    found = {(p["system"], p["value"]): p["searched"] for p in outcome["points"]}
    # The double delivers as much at any rate: of several the least is the best.
    assert found == {("NewReno", 1): None, ("NewReno", 2): None, ("GAP", 1): 200, ("GAP", 2): 200}
    rates = [p["result"]["scenario"]["flows"][0]["rate_kbps"] for p in outcome["points"]]
    assert rates == [1.0, 1.0, 200.0, 200.0]


@pytest.mark.usefixtures("double")
def test_another_figure_of_the_same_runs(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else a figure that shares a file would not be found, or not be drawn."""
    text = OWN.format(more='[[flow]]\nfrom = "B"\nto = "A"', search='also = ["own-jain"]')
    text += '\n[[experiment.picture]]\nid = "own"\n[[experiment.picture]]\nid = "own-jain"\n'
    (own / "own.toml").write_text(text + 'measure = "jain"\n')
    out = own / "results"
    call = ["reproduce", "own-jain", "own", "--quick", "--out", str(out), "--json"]
    assert cli.main(call) == cli.DONE
    (outcome,) = json.loads(capsys.readouterr().out)["experiments"]
    assert outcome["cpu_s"] > 0
    assert sorted(f.name for f in (out / "own").glob("*.svg")) == ["own-jain.svg", "own.svg"]
    page = (out / "report.html").read_text()
    assert page.count("<svg") == 2
    assert "share of 10 s windows in which a flow gets under 5%" in page


def test_equal_runs_are_made_once(own: Path, double: Callable[[], int]) -> None:
    """Else experiments that share runs would each pay for them."""
    text = OWN.format(more="", search="")
    (own / "own.toml").write_text(text)
    (own / "two.toml").write_text(
        text.replace('title = "Own"', 'title = "Two"').replace('id = "own"', 'id = "two"')
    )
    assert cli.main(["reproduce", "all", "--quick", "--out", str(own / "results")]) == cli.DONE
    assert double() == 4


@pytest.mark.usefixtures("double")
def test_goodput_over_time(own: Path) -> None:
    """Else a transient, such as a flow that waits for another's end, could not be seen."""
    text = OWN.format(more='[[flow]]\nfrom = "B"\nto = "A"', search="")
    text = text.replace('claim = "GAP is faster."', 'claim = "GAP is faster."\nplot = "time"')
    text = text.replace('sweep = { key = "mesh.hops", values = [1, 2] }', "")
    text = text.replace(", values = [2]", "").replace("at = [1, 2]", "").replace("at = [1]", "")
    text += '[[experiment.check]]\ntext = "even"\nmeasure = "spread"\nof = "GAP"\nmost = 0.1'
    text += '\n[[experiment.check]]\ntext = "fairer"\nmeasure = "jain_gain"\nof = "GAP"'
    text += '\nover = "NewReno"\nleast = 0.0'
    (own / "own.toml").write_text(text)
    out = own / "results"
    assert cli.main(["reproduce", "own", "--out", str(out)]) == cli.DONE
    outcome = json.loads((out / "own" / "result.json").read_text())
    assert outcome["checks"][2]["passed"]
    jain = [point["result"]["jain"]["mean"] for point in outcome["points"]]
    assert jain[1] > jain[0]
    assert outcome["checks"][3]["measured"][0]["value"] == pytest.approx(jain[1] - jain[0])
    figure = figures.outcome_figure(outcome, outcome["about"]["picture"][0])
    panels = [axis for axis in figure.axes if axis.get_visible()]
    titles = [axis.get_title(loc="left") for axis in panels]
    assert titles == ["NewReno", "GAP"]
    assert [line.get_ydata()[7] for line in panels[1].lines[:1]] == [80_100 * 8 / 1e3]


def test_verdicts() -> None:
    """Else a claim that fails would be called holding."""
    met, missed, left, missing = (
        {"passed": passed, "outcome": word}
        for passed, word in (
            (True, "passed"),
            (False, "failed"),
            (None, "undecided"),
            (None, "not measured"),
        )
    )
    assert judge.verdict([met, missed, missing]) == "partly"
    assert judge.verdict([met, missing]) == "holds"
    assert judge.verdict([missed, missing]) == "does not hold"
    assert judge.verdict([missing]) == "not judged"
    # What is left may yet pass, or fail.
    assert judge.verdict([met, missed, left]) == "partly"
    for others in ([], [met], [missed]):
        assert judge.verdict([*others, left]) == "undecided"


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (("seeds = 3", "seeds = 0"), "experiment.seeds"),
        (("sweep = {", "sweap = {"), "experiment.sweap"),
        (('measure = "gain"', 'measure = "pain"'), "experiment.check.0.measure"),
        (('of = "GAP"', 'of = "GAB"'), "experiment.check.0.of"),
        (('over = "NewReno"', 'overs = ["Reno"]'), "experiment.check.0.overs"),
        (("at = [1, 2]", "at = [1, 3]"), "experiment.check.0.at"),
        (('over = "NewReno"', "margin = 0.1"), "experiment.check.0.margin"),
        (("least = 0.2", "least = 0.2\nmargin = -0.1"), "experiment.check.0.margin"),
        (('"gateway.law" = "gap"', '"gateway.lau" = "gap"'), "gateway.lau"),
        (('sweep = { key = "mesh.hops", values = [1, 2] }', "sweep = 3"), "experiment.sweep"),
        (('set = { "gateway.law" = "gap" }', 'set = "gap"'), "experiment.system.1.set"),
        (('id = "own"', 'id = "own"\npicture = 3'), "write [[experiment.picture]]"),
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
