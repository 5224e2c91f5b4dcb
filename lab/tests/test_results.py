# SPDX-License-Identifier: GPL-2.0-only
"""Results as data: their format, the law that they are of, and the pages made of them."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pacelab import cli
from pacelab.errors import InputError
from pacelab.experiment import definition
from pacelab.results import claims, keep, law, pages
from pacelab.results.markdown import Marks, cross_table, figure_text, list_table, stamp
from pacelab.results.record import Record, Row, read_group, read_record, write_record

NOW, THEN = "1" * 12, "2" * 12
PRESENT, PAST = {"": NOW}, {"": THEN}
COMMIT, OTHER = "a" * 12, "b" * 12
GOOD: dict[str, Any] = {
    "schema": 1,
    "experiment": "own",
    "title": "A chain",
    "commit": COMMIT,
    "law": NOW,
    "command": "bin/pacelab reproduce own",
    "made": "2026-11-25",
    "rows": [
        {"system": s, "variant": v, "figure": f, "unit": u, "value": value, "n": 3}
        for s, v, f, u, value in (
            ("NewReno", "h = 4", "goodput", "kbit/s", 654),
            ("even", "h = 4", "goodput", "kbit/s", 714.2),
            ("even", "h = 4", "ping_p95", "ms", 393),
            ("even", "h = 8", "goodput", "kbit/s", 556),
        )
    ],
}

EXPERIMENT = """
title = "Own"
duration_s = 30.0
[[flow]]
from = "B"
to = "A"
[experiment]
id = "own"
paper = "P"
figure = "Figure 1"
claim = "GAP is faster."
seeds = 2
sweep = { key = "mesh.hops", values = [1, 2] }
quick = { seeds = 2, values = [2] }
[[experiment.system]]
name = "NewReno"
[[experiment.system]]
name = "GAP"
set = { "gateway.law" = "gap" }
[[experiment.check]]
text = "GAP delivers something"
measure = "goodput"
of = "GAP"
at = [2]
variant = ""
least = 1.0
"""


def _record(folder: Path, **changes: Any) -> Record:
    return read_record(write_record({**GOOD, **changes}, folder / "group", "own"))


def test_a_row_is_older_by_its_own_laws(tmp_path: Path) -> None:
    """Else a change of one law would mark all systems of a table, or none."""
    laws = ("off", "even", "gap")
    prints = {"": NOW, **dict.fromkeys(laws, NOW)}
    assert law.stated(["off", "even"], prints) == f"even:{NOW}"
    assert law.stated(["gap", "even", "off"], prints) == f"even:{NOW} gap:{NOW}"
    assert law.stated(["off"], prints) == f"off:{NOW}"
    two = law.stated(["gap", "even"], prints)
    rows = [{**GOOD["rows"][i], "law": of} for i, of in enumerate((NOW, f"even:{NOW}", two))]
    record = _record(tmp_path, rows=rows)
    later = {**prints, "": THEN, "gap": THEN}
    assert [law.is_of(row.law or "", later) for row in record.rows] == [False, True, False]
    assert [row.commit for row in record.rows] == [COMMIT] * 3
    assert not law.is_of(f"older:{NOW}", later)
    text = stamp(record, Marks(record, later))
    assert "**law of aaaaaaa, older**; <sup>a</sup>of aaaaaaa" in text
    assert stamp(record, Marks(record, prints)).count("aaaaaaa") == 1
    with pytest.raises(InputError, match="law is"):
        _record(tmp_path, rows=[{**rows[0], "law": f"even={NOW}"}])


def test_what_changes_no_figure_makes_no_other_law() -> None:
    """Nor may the table say so of a law that has changed since."""
    for before, after in law.SAME.items():
        assert law.is_of(before, {"": after})
        assert not law.is_of(before, {"": NOW})


def test_the_law_of_a_commit(tmp_path: Path) -> None:
    """Else an old figure could not be told from one of the law as it is."""
    headers = tmp_path / law.HEADERS
    headers.mkdir(parents=True)

    def commit(text: str) -> str:
        (headers / "law.h").write_text(text)
        for call in (["init", "-q"], ["add", "."], ["commit", "-qm", "a law"]):
            who = ["-c", "user.name=a", "-c", "user.email=a@b"]
            subprocess.run(["git", "-C", str(tmp_path), *who, *call], check=True)
        return law.commit_of(root=tmp_path) or ""

    first, second = commit("int law = 1;"), commit("int law = 2;")
    assert law.laws_of(second, tmp_path) == law.present_laws(tmp_path)
    assert law.laws_of(first, tmp_path) not in (None, law.present_laws(tmp_path))
    assert law.laws_of("0" * 12, tmp_path) is None
    assert law.commit_of("no-such", tmp_path) is None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"schema": 2}, "schema 2 is not known"),
        ({"rows": []}, "says nothing"),
        ({"comit": COMMIT}, 'did you mean "commit"?'),
        ({"commit": "HEAD"}, "not [0-9a-f]{12}"),
        ({"made": "yesterday"}, "made is 'yesterday'"),
        ({"rows": [{"figure": "goodput", "unit": "", "value": "much"}]}, "row 1: value is 'much'"),
        ({"rows": [{"figure": "goodput", "unit": "", "value": True}]}, "row 1: value is True"),
        ({"rows": [{"figure": "goodput", "unit": "", "value": None}]}, "neither value"),
        ({"rows": [GOOD["rows"][0]] * 2}, "two rows are of NewReno, h = 4, goodput"),
        ({"rows": [{"figure": "goodput", "value": 1}]}, '"unit" is missing'),
        ({"rows": [{"figure": "x", "unit": "", "value": 1, "range": [1]}]}, "least and the"),
        ({"rows": [{"figure": "x", "unit": "", "value": 1, "values": ["1"]}]}, "than numbers"),
        ({"rows": [{"figure": "x", "unit": "", "value": 1, "low": 0}]}, "write both ends"),
        ({"rows": [{"figure": "x", "unit": "", "value": 1, "low": 2, "high": 3}]}, "this order"),
        ({"cpu_s": "long"}, "cpu_s is 'long'"),
    ],
)
def test_what_is_no_result(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    """Else a page would show, or leave out, what a tool wrote by mistake."""
    with pytest.raises(InputError) as error:
        _record(tmp_path, **changes)
    assert says in str(error.value)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.rglob("*.json"))


def test_rows_have_the_files_commit_or_their_own(tmp_path: Path) -> None:
    """Else a table of two builds would pass for one of the later."""
    rows = [GOOD["rows"][0], {**GOOD["rows"][1], "commit": OTHER, "law": THEN}]
    record = _record(tmp_path, rows=rows)
    assert [(row.commit, row.law) for row in record.rows] == [(COMMIT, NOW), (OTHER, THEN)]
    line = (tmp_path / "group" / "own.json").read_text().splitlines()[-4]
    assert json.loads(line.rstrip(",")) == rows[0]


def test_a_figure_as_it_reads() -> None:
    """Else digits would be invented or lost."""
    row = Row("goodput", "kbit/s", 714.26, interval=16.31)
    assert figure_text(row) == "714.3 ± 16.3"
    assert figure_text(row, 0) == "714 ± 16"
    assert figure_text(replace(row, value=0.35, interval=None)) == "0.35"
    assert figure_text(replace(row, value=5.0, interval=None)) == "5.0"
    assert figure_text(replace(row, value=2853.0, interval=None)) == "2853"
    assert figure_text(replace(row, value=1, interval=0.004)) == "1.000 ± 0.004"
    assert figure_text(replace(row, value=None, interval=None, range=(1.3, 2.0))) == "1.3 to 2.0"
    assert figure_text(replace(row, value=None, text="none")) == "none"
    ratio = replace(row, unit="%", value=37.868, interval=39.684)
    assert figure_text(ratio) == "37.87 ± 39.68%"
    assert figure_text(replace(ratio, low=-1.816, high=77.552)) == "37.87 ± 39.68%"
    assert figure_text(replace(ratio, low=9.1, high=77.552)) == "37.87% [9.10, 77.55]"
    share = replace(row, unit="%", value=91, interval=None, range=(82.5, 97))
    assert figure_text(share) == "91.0% (82.5 to 97.0)"


def test_a_table_says_what_is_older(tmp_path: Path) -> None:
    """Else a reader would build on what another law gave."""
    old = {**GOOD["rows"][3], "commit": OTHER, "law": THEN}
    record = _record(tmp_path, rows=[*GOOD["rows"][:3], old])
    marks = Marks(record, PRESENT)
    text = cross_table(record, marks, "{goodput:0}[ ({ping_p95})]", best="goodput", corner="h")
    assert text.splitlines() == [
        "| h | NewReno | even |",
        "|---|---|---|",
        "| h = 4 | 654 | **714 (393)** |",
        "| h = 8 |  | 556<sup>a</sup> |",
    ]
    assert stamp(record, marks) == (
        "<sub>`bin/pacelab reproduce own`; 2026-11-25; n = 3; of aaaaaaa; "
        "<sup>a</sup>**law of bbbbbbb, older**</sub>"
    )
    later = stamp(record, Marks(record, PAST))
    assert "**law of aaaaaaa, older**; <sup>a</sup>of bbbbbbb" in later
    far = cross_table(
        replace(
            record, rows=tuple(replace(r, variant=f"static, {r.variant}") for r in record.rows)
        ),
        marks,
        "{goodput:0}",
        only="static",
    )
    assert "| h = 4 | 654 | 714 |" in far
    took = stamp(_record(tmp_path, cpu_s=754.2), marks)
    assert "n = 3; 12.6 CPU min; of aaaaaaa" in took
    assert stamp(_record(tmp_path, cpu_s=None), marks) == stamp(_record(tmp_path), marks)
    changed = _record(tmp_path, commit=f"{COMMIT}+")
    assert "of aaaaaaa+</sub>" in stamp(changed, Marks(changed, PRESENT))
    unknown = replace(record, rows=(replace(record.rows[0], law=None),))
    assert "law is not known" in stamp(unknown, Marks(unknown, PRESENT))


def test_lines_of_one_swept_value_stand_together(tmp_path: Path) -> None:
    """Else who compares two radios over a chain would look for each figure in two places."""
    variants = [f"{radio}, hops = {h}" for radio in ("MCS 4", "rate control") for h in (2, 1)]
    row = {"system": "even", "figure": "goodput", "unit": "kbit/s", "value": 1}
    record = _record(tmp_path, rows=[{**row, "variant": v} for v in variants])
    text = cross_table(record, Marks(record, PRESENT), "{goodput}", together="hops")
    assert [line.split(" | ")[0].removeprefix("| ") for line in text.splitlines()[2:]] == [
        "MCS 4, hops = 2",
        "rate control, hops = 2",
        "MCS 4, hops = 1",
        "rate control, hops = 1",
    ]


def test_a_list_has_the_columns_that_there_are(tmp_path: Path) -> None:
    """Else what was wanted, or was before, would be missing, or stand as an empty column."""
    row = {"figure": "median", "unit": "ns", "value": 203, "wanted": 150}
    share = {"variant": "nfqueue", "figure": "CPU", "unit": "%", "value": 0.7}
    record = _record(tmp_path, rows=[row, share])
    assert list_table(record, Marks(record, PRESENT)).splitlines() == [
        "| what | figure | wanted | measured |",
        "|---|---|---|---|",
        "|  | median | 150 | 203 ns |",
        "| nfqueue | CPU |  | 0.7% |",
    ]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder of results with one group."""
    folder = tmp_path / "results"
    write_record(GOOD, folder / "group", "own")
    (folder / "page.md").write_text("# All\n\n{{ groups() }}\n")
    (folder / "group" / "page.md").write_text('# Chains\n\n{{ table("own", "{goodput}") }}\n')
    return folder


@pytest.fixture
def kept(results: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Likewise, into which results go that are kept."""
    monkeypatch.setattr(pages, "RESULTS", results)
    monkeypatch.setattr(keep, "RESULTS", results)
    return results


@pytest.fixture
def own(kept: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder around it, with an experiment."""
    (kept.parent / "own.toml").write_text(EXPERIMENT)
    monkeypatch.setattr(definition, "SCENARIOS", kept.parent)
    return kept.parent


def test_pages_follow_the_data(results: Path) -> None:
    """Else a page would go on to say what the data no longer say."""
    assert len(pages.write_pages(results, PRESENT)) == 2
    assert pages.stale_pages(results, PRESENT) == []
    page = (results / "group" / "README.md").read_text()
    assert "| h = 4 | 654 | 714.2 |" in page
    assert "[Chains](group/README.md) | 1 | 4 | 4 |" in (results / "README.md").read_text()
    write_record({**GOOD, "rows": GOOD["rows"][:1]}, results / "group", "own")
    assert results / "group" / "README.md" in pages.stale_pages(results, PRESENT)
    pages.write_pages(results, PRESENT)
    assert len(pages.stale_pages(results, PAST)) == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("# Chains\n", 'does not show "own"'),
        ("{{ note('own') }}\n", 'does not show "own"'),
        ('{{ listing("owm") }}', 'did you mean "own"?'),
        ('{{ table("own", "{goodpt}") }}', "nothing is called 'goodpt'"),
        ('{{ tables("own") }}', "'tables' is undefined"),
        ('{{ table("own", "{goodput}", row="x") }}', "unexpected keyword"),
    ],
)
def test_what_is_wrong_in_a_page(results: Path, text: str, says: str) -> None:
    """Else a figure would be missing from its page, and nobody would see it."""
    (results / "group" / "page.md").write_text(text)
    with pytest.raises(InputError) as error:
        pages.make_pages(results, PRESENT)
    assert says in str(error.value)


def test_the_page_counts_what_holds(tmp_path: Path) -> None:
    """Else a text would go on to say what the claims came to on the day it was written."""
    criteria = [
        {"figure": text, "unit": "%", "value": 1, "variant": at, "verdict": word}
        for text, at, word in (
            ("gains", "at 4", "passed"),
            ("gains", "at 8", "passed"),
            ("is alike", "", "alike"),
            ("is fair", "", "inside the intervals"),
        )
    ]
    record = _record(tmp_path, verdict="partly", rows=[*GOOD["rows"], *criteria])
    assert claims.verdicts([record, replace(record, verdict="holds"), _record(tmp_path)]) == (
        "Of 2 experiments: holds 1, partly 1. Of their 6 criteria: alike 2, passed 2, undecided 2."
    )


def test_drops_are_kept_where_a_picture_shows_them() -> None:
    """Else a reason could name the links on which packets are lost, and nobody look it up."""
    link = {"from": "A", "to": "RL1", "data_drops": 3, "ack_drops": 1, "other_drops": 9}
    runs = [{"links": [link]}, {"links": []}]
    (row,) = keep._of_links({"result": {"links": [link], "runs": runs, "seeds": [1, 2]}})
    assert (row["figure"], row["value"], row["n"]) == ("drops on A > RL1", 2.0, 2)


def test_the_projects_pages_are_what_its_data_make() -> None:
    """Else `bin/pacelab results` was not run after a change of data, text or law."""
    assert pages.stale_pages() == [], "run bin/pacelab results, and commit what it writes"


def test_the_laws_that_results_state_are_those_of_their_commits() -> None:
    """Else a figure would be marked by a mistake. Where a clone lacks a commit nothing is said."""
    folders = [file.parent for file in pages.RESULTS.glob(f"*/{pages.TEMPLATE}")]
    rows = [row for f in folders for r in read_group(f).values() for row in r.rows]
    stated = {(row.commit, row.law) for row in rows if row.commit and "+" not in row.commit}
    assert stated
    known = {commit: law.laws_of(commit) for commit, _ in stated}
    laws = ((c, w, known[c]) for c, w in stated)
    wrong = [(c, w) for c, w, k in laws if k and not (w and law.is_of(w, k))]
    assert not wrong


@pytest.mark.usefixtures("double")
def test_an_experiment_is_kept(
    own: Path, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else what was measured would be copied into pages by hand."""
    call = ["reproduce", "own", "--system", "GAP", "--value", "2", "--out", str(own / "out")]
    assert cli.main([*call, "--keep", "no-such"]) == cli.USAGE
    assert not (own / "out").exists()
    assert 'no group "no-such"' in capsys.readouterr().err
    (results / "group" / "page.md").write_text('{{ table("own", "{goodput}") }}\n{{ rest() }}\n')
    assert cli.main([*call, "--keep", "group/part"]) == cli.DONE
    record = read_group(results / "group")["part"]
    assert record.command == "bin/pacelab reproduce own --system GAP --value 2"
    assert record.law == law.present_laws()[""]
    assert {row.law for row in record.rows} == {law.stated(["gap"], law.present_laws())}
    assert (record.commit or "").removesuffix("+") == law.commit_of()
    goodput = next(row for row in record.rows if row.figure == "goodput")
    assert (goodput.system, goodput.unit, goodput.n) == ("GAP", "kbit/s", 2)
    assert goodput.interval is not None
    assert record.cpu_s is not None
    (check,) = [row for row in record.rows if row.verdict]
    assert check.low is not None
    assert check.high is not None
    assert check.low <= (check.value or 0.0) <= check.high
    assert pages.stale_pages(results) == []
    page = (results / "group" / "README.md").read_text()
    assert page.count("### Own\n") == 1
    assert "### A chain" not in page


@pytest.mark.usefixtures("double")
def test_runs_are_kept(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else what is measured with a scenario of one's own would be copied by hand."""
    file = kept.parent / "two.toml"
    flow = '[[flow]]\nfrom = "B"\nto = "A"\n'
    file.write_text(f'title = "Two"\n{flow}{flow}')
    call = ["run", str(file), "--seeds", "2", "--set", "duration_s=20"]
    assert cli.main([*call, "--keep", "group"]) == cli.USAGE
    assert "give GROUP/NAME" in capsys.readouterr().err
    (kept / "group" / "page.md").write_text("{{ rest() }}\n")
    assert cli.main([*call, "--keep", "group/two"]) == cli.DONE
    record = read_group(kept / "group")["two"]
    assert record.command == f"bin/pacelab run {file} --seeds 2 --set duration_s=20"
    assert {"goodput", "jain"} <= {row.figure for row in record.rows}
    assert sum(row.figure.startswith("goodput of") for row in record.rows) == 2
    assert pages.stale_pages(kept) == []


@pytest.mark.parametrize(
    ("page", "error"),
    [
        ('{{ table("own", "{goodput}") }}\n', 'would not show "new"; add {{ rest() }}'),
        ('{{ note("new") }}\n', 'would not show "new"'),
        ("{{ claims() }}\n", 'no scenario states "new"'),
        ('{{ tabel("new") }}\n', "'tabel' is undefined"),
    ],
)
def test_what_the_page_would_not_show_is_refused_before_the_runs(
    page: str,
    error: str,
    kept: Path,
    capsys: pytest.CaptureFixture[str],
    double: Callable[[], int],
) -> None:
    """Else it would be said days later, when all is measured."""
    file = kept.parent / "two.toml"
    file.write_text('title = "Two"\n[[flow]]\nfrom = "B"\nto = "A"\n')
    (kept / "group" / "page.md").write_text(page)
    assert cli.main(["run", str(file), "--keep", "group/new"]) == cli.USAGE
    said = capsys.readouterr().err
    assert error in said
    assert said.count("\n") == 1
    assert double() == 0
    shown = '{{ table("own", "{goodput}") }}\n{{ listing("new") }}\n'
    (kept / "group" / "page.md").write_text(shown)
    assert cli.main(["run", str(file), str(file), "--keep", "group/new"]) == cli.USAGE
    assert "the same title" in capsys.readouterr().err
    assert double() == 0
    assert cli.main(["run", str(file), "--keep", "group/new"]) == cli.DONE


def test_what_is_kept_is_of_the_tree_that_the_runs_began_with(
    own: Path, results: Path, monkeypatch: pytest.MonkeyPatch, double: Callable[[], int]
) -> None:
    """Else who commits while a campaign of days runs would have its figures be of a later law."""
    prints = law.present_laws()
    monkeypatch.setattr(law, "commit_of", lambda: OTHER if double() else COMMIT)
    monkeypatch.setattr(law, "is_changed", lambda: bool(double()))
    changed = {**prints, "": THEN, "gap": THEN}
    monkeypatch.setattr(law, "present_laws", lambda: changed if double() else prints)
    (results / "group" / "page.md").write_text("{{ rest() }}\n")
    call = ["reproduce", "own", "--out", str(own / "out"), "--keep", "group/begun"]
    assert cli.main(call) == cli.DONE
    record = read_group(results / "group")["begun"]
    assert (record.commit, record.law) == (COMMIT, prints[""])
    assert law.stated(["gap"], prints) in {row.law for row in record.rows}
    assert not any(THEN in str(row.law) for row in record.rows)


@pytest.mark.usefixtures("kept")
def test_pages_by_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Else nobody could make them, or see that they are old."""
    assert cli.main(["results", "--check"]) == cli.FAILED
    assert "run pacelab results" in capsys.readouterr().err
    assert cli.main(["results"]) == cli.DONE
    assert cli.main(["results", "--check"]) == cli.DONE
