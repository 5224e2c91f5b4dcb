# SPDX-License-Identifier: GPL-2.0-only
"""What an experiment says wrongly, or a call: else it would be judged, drawn or kept as it is."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pacelab import cli
from pacelab.errors import RunError
from pacelab.experiment import archive, definition, runner
from pacelab.experiment.campaign import run_all
from pacelab.scenario import resolve
from pacelab.scenario.document import override
from pacelab.simulator import program_hash

CHECK = '[[experiment.check]]\ntext = "C"\nof = "GAP"\n'
OWN = """
title = "Own"
duration_s = 30.0
[gateway]
release = "nfqueue"
[[flow]]
from = "B"
to = "A"
[experiment]
id = "own"
paper = "P"
figure = "F"
claim = "C"
seeds = 3
[[experiment.system]]
name = "NewReno"
[[experiment.system]]
name = "GAP"
set = { gateway.law = "gap" }
"""
SWEEP = 'seeds = 3\nsweep = { key = "mesh.hops", values = [1, 2] }'


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a catalogue with one experiment."""
    folder = tmp_path / "catalogue"
    folder.mkdir()
    (folder / "own.toml").write_text(OWN)
    monkeypatch.setattr(definition, "SCENARIOS", folder)
    monkeypatch.chdir(tmp_path)
    return folder / "own.toml"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            CHECK + 'measure = "retransmits"\nflows = ["FTP 2"]',
            'check.0.flows: unknown flow "FTP 2"',
        ),
        (CHECK + 'measure = "drops"\nlinks = [["A", "IGG"]]', 'check.0.links: unknown node "IGG"'),
        (CHECK + 'measure = "rtt"\nwhile = ["FTP 1"]', 'check.0.while: "rtt" is of no while'),
        (CHECK + 'measure = "ping"\nflows = ["FTP 1"]', 'check.0.flows: "ping" is of no flows'),
        (CHECK + 'measure = "nash"\nflows = ["FTP 1"]', "give hosts instead"),
        ('[[experiment.system]]\nname = "GAP"', "system: GAP is there twice"),
        ('[[experiment.picture]]\nid = "p0.5"', 'picture: "p0.5" is no name of a file'),
        (
            '[[experiment.picture]]\nid = "p"\nkind = "flows"\nmeasure = "jain"',
            "measure has no meaning",
        ),
        ('[experiment.search]\nkey = "duration_s"\nlow = 20\nhigh = 40\nloss = 0', "search.goal"),
        ('[experiment.quick]\nsystems = ["GAPP"]', 'quick.systems: unknown system "GAPP"'),
    ],
)
def test_wrong_names(own: Path, more: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Else a check of nobody passes, and two things share a name."""
    own.write_text(OWN + more + "\n")
    assert cli.main(["reproduce", "own"]) == cli.USAGE
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('id = "own"', 'id = "my/own"'), 'id: "my/own" is no name of a file'),
        (("seeds = 3", SWEEP.replace("[1, 2]", "[]")), "sweep.values"),
        (("seeds = 3", SWEEP.replace("[1, 2]", "[1, 1]")), "sweep.values: 1 is there twice"),
        (("seeds = 3", SWEEP + '\nplot = "flows"'), 'is of one value of the sweep; say "at" which'),
        (("seeds = 3", SWEEP + "\nquick = { values = [3] }"), 'quick.values: unknown value "3"'),
    ],
)
def test_wrong_heads(
    own: Path, change: tuple[str, str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a traceback, or a picture of something else."""
    own.write_text(OWN.replace(*change))
    name = "my/own" if "my/own" in own.read_text() else "own"
    assert cli.main(["reproduce", name]) == cli.USAGE
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


def test_a_system_that_no_picture_can_hold(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else its pictures would be no XML, after all runs."""
    own.write_text(OWN.replace('"NewReno"', r'"New\u001BReno"'))
    assert cli.main(["reproduce", "own"]) == cli.USAGE
    error = capsys.readouterr().err
    assert "experiment.system.0.name: has a control character" in error
    assert error.count("\n") == 1


def test_two_files_of_one_id(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else the one that sorts later is run in place of the other."""
    own.with_name("copy.toml").write_text(OWN)
    assert cli.main(["reproduce", "own"]) == cli.USAGE
    error = capsys.readouterr().err
    assert "own.toml" in error
    assert "copy.toml" in error


def test_all_and_a_mistake(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else what is named beside "all" is not run, and nothing says so."""
    assert own.exists()
    assert cli.main(["reproduce", "all", "onw"]) == cli.USAGE
    assert 'did you mean "own"?' in capsys.readouterr().err


def test_a_key_without_quotes_leaves_the_others(own: Path) -> None:
    """TOML reads gateway.law = "gap" as a table: else it would replace all of [gateway]."""
    points = definition.load_experiment(own, quick=False).points
    assert [p.scenario().gateway.law for p in points] == ["off", "gap"]
    assert points[1].document["gateway"] == {"release": "nfqueue", "law": "gap"}
    flows = {"flow": [{"from": "B", "to": "A", "name": "far"}, {"from": "A", "to": "B"}]}
    both = override(flows, {"flow": {"variant": "bbr", "far": {"law": "gap"}}}, "test")["flow"]
    assert [flow["variant"] for flow in both] == ["bbr", "bbr"]
    assert [flow.get("law") for flow in both] == ["gap", None]


def test_what_is_set_on_nobody_is_said(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else a system would be compared with itself."""
    assert cli.main(["run", str(own), "--set", "person.page_scale=50"]) == cli.USAGE
    assert "no [[person]] there" in capsys.readouterr().err


@pytest.mark.usefixtures("double")
def test_a_sweep_over_words(own: Path) -> None:
    """Else the campaign ends in a traceback when all is done."""
    words = SWEEP.replace("mesh.hops", "tcp.variant").replace("[1, 2]", '["newreno", "cubic"]')
    own.write_text(OWN.replace("seeds = 3", words))
    assert cli.main(["reproduce", "own", "--out", "out"]) == cli.DONE
    assert "cubic" in Path("out/own/own.svg").read_text()


@pytest.mark.usefixtures("double")
def test_one_run_tells_nothing_of_others(own: Path) -> None:
    """Else a figure without an interval would be taken for certain."""
    own.write_text(OWN + CHECK + 'measure = "jain"\nleast = 0.5\n')
    assert cli.main(["reproduce", "own", "--seeds", "1", "--out", "out"]) == cli.DONE
    (check,) = json.loads(Path("out/own/result.json").read_text())["checks"]
    assert check["outcome"] == "undecided"


def test_runs_without_a_value_are_counted(
    own: Path, stand_in: Callable[[str], Callable[[], int]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a check of those that have one would pass for a check of all."""
    from conftest import DOUBLE

    lacking = '"rtt_ms": {"mean": 1.0, "p50": 1.0 + seed / 100, "p95": 2.0} if seed % 2 else None'
    stand_in(DOUBLE.replace('"rtt_ms": {"mean": 1.0, "p50": 1.0, "p95": 2.0}', lacking))
    own.write_text(OWN + CHECK + 'measure = "rtt"\nmost = 25\n')
    assert cli.main(["reproduce", "own", "--seeds", "2", "--out", "out"]) == cli.DONE
    assert "undecided: C" in capsys.readouterr().out  # one of two says nothing
    assert cli.main(["reproduce", "own", "--seeds", "7", "--out", "out"]) == cli.DONE
    said = capsys.readouterr().out
    assert "passed: C" in said
    assert "in 3 more runs there is nothing to measure" in said


@pytest.mark.usefixtures("double")
def test_runs_that_cannot_be_found_again_leave_the_file(
    own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a full disk would replace what a campaign has kept by nothing."""
    (point, _) = definition.load_experiment(own, quick=False).points
    jobs = [runner.make_job(point.scenario(), seed) for seed in (1, 2)]
    run_all(jobs)
    file = own.with_name(archive.NAME)
    archive.write(file, jobs)
    before = file.read_bytes()
    monkeypatch.setenv("PACELAB_CACHE", "/proc/nowhere")
    archive.write(file, jobs)  # the file itself has them
    more = runner.make_job(point.scenario(), 3)
    with pytest.raises(RunError, match="no longer"):
        archive.write(file, [*jobs, more])
    assert file.read_bytes() == before
    call = ["reproduce", "own", "--until-decided", "--keep", "even", "--out", "out"]
    assert cli.main(call) == cli.USAGE
    assert "runs cannot be kept there" in capsys.readouterr().err


@pytest.mark.usefixtures("double")
def test_a_worker_with_another_simulator_is_not_believed() -> None:
    """Else runs of two laws would stand in one table, and in the cache."""
    job = runner.make_job(resolve({"flow": [{"from": "B", "to": "A"}]}, "test"), 1)
    assert runner.execute_by(program_hash(), job)
    with pytest.raises(RunError, match="another simulator"):
        runner.execute_by("0" * 64, job)


@pytest.mark.usefixtures("double")
def test_what_the_system_refuses_is_one_line(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file where a folder has to be: else a traceback."""
    Path("out").mkdir()
    Path("out/own").write_text("in the way")
    assert cli.main(["reproduce", "own", "--seeds", "1", "--out", "out"]) == cli.FAILED
    error = capsys.readouterr().err
    assert own.exists()
    assert "out/own: File exists" in error
    assert error.count("\n") == 1


@pytest.mark.usefixtures("double")
def test_what_an_older_pacelab_left_is_named(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else a finished campaign would show nothing but that."""
    assert own.exists()
    Path("out/old").mkdir(parents=True)
    Path("out/old/result.json").write_text("{}")
    assert cli.main(["reproduce", "own", "--seeds", "1", "--out", "out"]) == cli.DONE
    said = capsys.readouterr()
    assert "verdict:" in said.out
    assert "not in the report: out/old/result.json" in said.err
