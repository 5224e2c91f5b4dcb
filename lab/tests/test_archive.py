# SPDX-License-Identifier: GPL-2.0-only
"""Kept runs: who goes on from them, and when they are not believed."""

import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from pacelab import cli
from pacelab.errors import InputError
from pacelab.experiment import archive, catalogue, decide, definition, runner
from pacelab.experiment.point_runs import PointRuns
from pacelab.experiment.reproduce import Workers
from pacelab.experiment.runner import Job, cost_s
from pacelab.results import keep, pages
from pacelab.scenario import resolve
from pacelab.scenario.schema import Table
from test_decide import EXPERIMENT, NOISY

WORKERS = Workers(2)
KINDS = 4  # of the experiment's systems: NewReno, Vegas, GAP, even
# Another build, of the same runs; and one in which the law even is another.
REBUILT = NOISY + "# built again\n"
CHANGED = NOISY.replace('"even": 1.04', '"even": 1.05')


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalogue with one experiment of the test's own."""
    (tmp_path / "own.toml").write_text(EXPERIMENT)
    monkeypatch.setattr(definition, "SCENARIOS", tmp_path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where runs are kept."""
    return tmp_path / archive.NAME


def _decide() -> tuple[Table, set[Job]]:
    found = catalogue.find_experiments(["own"], quick=False)
    (outcome,), jobs = decide.decide(found, WORKERS, 600.0)
    return outcome, jobs


def _elsewhere() -> None:
    """As on a machine that has made no run yet."""
    for cached in runner.cache_folder().glob("*/*"):
        cached.unlink()


@pytest.fixture
def kept(own: None, stand_in: Callable[[str], Callable[[], int]], file: Path) -> Table:
    """What a campaign came to that kept its runs, on a machine that is gone."""
    del own
    stand_in(NOISY)
    outcome, jobs = _decide()
    archive.write(file, jobs)
    _elsewhere()
    return outcome


def test_the_same_program_makes_nothing_again(
    kept: Table, stand_in: Callable[[str], Callable[[], int]], file: Path
) -> None:
    """Else a campaign would begin anew with each machine."""
    ran = stand_in(NOISY)
    before = ran()
    archive.take(file, WORKERS)
    outcome, jobs = _decide()
    assert outcome == kept  # what it cost, too
    assert ran() == before
    assert all(cost_s(job) for job in jobs)


def test_of_another_program_one_of_each_kind_is_made_again(
    kept: Table, stand_in: Callable[[str], Callable[[], int]], file: Path
) -> None:
    """Else each build would begin anew, or what another law gave would pass for this one's."""
    ran = stand_in(REBUILT)
    before = ran()
    archive.take(file, WORKERS)
    outcome, _ = _decide()
    assert outcome["checks"] == kept["checks"]
    assert ran() == before + KINDS


def test_what_comes_out_otherwise_is_made_anew(
    kept: Table,
    stand_in: Callable[[str], Callable[[], int]],
    file: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Else figures of two laws would stand in one table."""
    ran = stand_in(CHANGED)
    before = ran()
    archive.take(file, WORKERS)
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "even" in told
    outcome, jobs = _decide()
    of_even = sum('"law": "even"' in job.scenario for job in jobs)
    assert of_even > 1
    # The one by which it was noticed is kept, whether it is one that is wanted or not.
    assert ran() - before - KINDS in (of_even - 1, of_even)
    gains = [outcome["checks"][2], kept["checks"][2]]
    assert gains[0]["measured"] != gains[1]["measured"]
    assert outcome["checks"][0]["measured"] == kept["checks"][0]["measured"]


def test_what_is_refused_has_no_second_lot(
    kept: Table, stand_in: Callable[[str], Callable[[], int]], file: Path
) -> None:
    """Else each time that a campaign goes on another run would be made of it; and of a kind of
    which some runs come out the same the others would be taken, by luck, at last.
    """
    assert kept
    ran = stand_in(CHANGED)
    before = ran()
    archive.take(file, WORKERS)
    assert ran() == before + KINDS
    archive.take(file, WORKERS)
    assert ran() == before + KINDS


def test_a_kind_is_of_people_and_of_the_radio() -> None:
    """Else BBR's evenings would pass for CUBIC's, or what fading changes for what it leaves."""
    evening = {"mesh": {"hops": 3}, "evening": {"persons": 2}, "flow": []}
    today = {"model": "sinr", "standard": "802.11n"}
    documents: list[Table] = [
        {**evening, "radio": {**today, **radio}, "evening": {"persons": 2, **of}}
        for radio, of in (
            ({}, {"variant": "cubic"}),
            ({}, {"variant": "bbr"}),
            ({}, {"variant": "cubic", "opaque": False}),
            ({"fading": "nakagami"}, {"variant": "cubic"}),
            ({"queueing": "fq_codel"}, {"variant": "cubic"}),
            ({"rate_control": "fixed"}, {"variant": "cubic"}),
        )
    ]
    kinds = {archive._kind(resolve(document, "test").as_dict()) for document in documents}
    assert len(kinds) == len(documents)


def test_every_scenario_is_read_back_as_it_was_kept() -> None:
    """Else runs of some kind, as of clients that walk, would be lost each time."""
    for name, path in catalogue.experiment_files().items():
        point = definition.load_experiment(path, quick=True).points[0]
        job = runner.make_job(point.scenario(), 1)
        assert archive._completed(json.loads(job.scenario)) == job.scenario, name


def test_a_part_of_a_campaign_leaves_the_rest_there(
    kept: Table, stand_in: Callable[[str], Callable[[], int]], file: Path
) -> None:
    """Else who runs one experiment of a group would lose the runs of all others."""
    stand_in(NOISY)
    archive.take(file, WORKERS)
    _, jobs = _decide()
    whole = file.read_bytes()
    archive.write(file, sorted(jobs, key=repr)[:3])
    assert file.read_bytes() == whole
    assert kept["runs"] == len(jobs)


@pytest.mark.usefixtures("own")
def test_figures_that_cannot_be_kept_take_no_runs_with_them(
    stand_in: Callable[[str], Callable[[], int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else days of runs would be lost by one figure that is there twice."""
    stand_in(NOISY)
    (tmp_path / "group").mkdir()
    (tmp_path / "group" / pages.TEMPLATE).write_text("{{ rest() }}\n")
    monkeypatch.setattr(pages, "RESULTS", tmp_path)
    monkeypatch.setattr(keep, "RESULTS", tmp_path)

    def refuses(*_: object) -> None:
        raise InputError("two rows are of it")

    monkeypatch.setattr(keep, "keep", refuses)
    call = ["reproduce", "own", "--until-decided", "--budget", "1s", "--keep", "group"]
    assert cli.main([*call, "--out", str(tmp_path / "out")]) == cli.USAGE
    assert archive._read(tmp_path / "group" / archive.NAME)[1]


@pytest.mark.parametrize("broken", [b"no archive", lzma.compress(b"[]"), lzma.compress(b"{}")])
def test_what_is_no_archive_is_said(broken: bytes, file: Path) -> None:
    """Else a file that a merge has broken would end in a traceback."""
    file.write_bytes(broken)
    with pytest.raises(InputError, match="delete it") as error:
        archive.take(file, WORKERS)
    assert "\n" not in str(error.value)


def test_a_key_that_came_later_has_its_default(kept: Table, file: Path) -> None:
    """Else each new key of scenarios would throw away what was simulated before it."""
    assert kept
    document = json.loads(lzma.decompress(file.read_bytes()))
    for one in document["scenarios"]:
        del one["scenario"]["map"]["past_end"]
    file.write_bytes(lzma.compress(json.dumps(document).encode()))
    archive.take(file, WORKERS)
    found = catalogue.find_experiments(["own"], quick=False)
    runs = [
        job
        for point in found[0].points
        for job in PointRuns(point.scenario(), with_solo=False).of([1])
    ]
    assert runs
    assert all(runner.cached(job) is not None for job in runs)


def test_runs_of_a_key_that_has_gone_are_left_out(
    kept: Table, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else one key that scenarios do not have any more would throw away all runs."""
    assert kept
    document = json.loads(lzma.decompress(file.read_bytes()))
    whole = len(document["scenarios"])
    document["scenarios"][0]["scenario"]["map"]["gone"] = 1
    gone = len(document["scenarios"][0]["runs"])
    file.write_bytes(lzma.compress(json.dumps(document).encode()))
    archive.take(file, WORKERS)
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert f"{gone} kept runs are left out" in told
    archive.write(file, [])
    assert len(json.loads(lzma.decompress(file.read_bytes()))["scenarios"]) == whole - 1
