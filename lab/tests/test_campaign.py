# SPDX-License-Identifier: GPL-2.0-only
"""Campaigns, cache, results: with a double in the simulator's place."""

import contextlib
import json
import logging
import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from pacelab import cli, simulator
from pacelab.errors import RunError
from pacelab.experiment import runner
from pacelab.experiment.campaign import connect, run_all
from pacelab.scenario import resolve

DOCUMENT = {"duration_s": 30.0, "flow": [{"from": "B", "to": "A"}, {"from": "A", "to": "B"}]}
FILE = 'duration_s = 30.0\n[[flow]]\nfrom = "B"\nto = "A"\n[[flow]]\nfrom = "A"\nto = "B"\n'


def _jobs(count: int, title: str = "x") -> list[runner.Job]:
    scenario = resolve({**DOCUMENT, "title": title}, "test")
    return [runner.make_job(scenario, seed) for seed in range(1, count + 1)]


def test_results_come_in_order_whoever_makes_them(double: Callable[[], int]) -> None:
    """Else seeds would be mixed up, or the number of workers would change results."""
    one = run_all(_jobs(6), workers=1)
    for file in runner.cache_folder().glob("*/*"):
        file.unlink()
    assert run_all(_jobs(6), workers=3) == one
    assert [run["seed"] for run in one] == [1, 2, 3, 4, 5, 6]
    assert double() == 12


def test_a_campaign_goes_on_where_it_stopped(double: Callable[[], int]) -> None:
    """Else an interrupted night of simulation would be lost."""
    run_all(_jobs(2))
    run_all(_jobs(5))
    assert double() == 5


def test_damaged_cache_is_a_miss(double: Callable[[], int]) -> None:
    """Else half a file from a full disk would be taken for a result."""
    run_all(_jobs(1))
    (entry,) = runner.cache_folder().glob("*/*.json")
    entry.write_text(entry.read_text()[:50])
    run_all(_jobs(1))
    assert double() == 2


def test_another_program_does_not_share_the_cache(double: Callable[[], int]) -> None:
    """Else results of an older simulator would be reported as today's."""
    run_all(_jobs(1))
    program = simulator.program()
    program.write_text(program.read_text() + "\n# changed\n")
    simulator.program_hash.cache_clear()
    run_all(_jobs(1))
    assert double() == 2


# Builds another simulator in its own place, of which the runs are others.
BUILDS_ANEW = """
import pathlib
own = pathlib.Path(__file__)
own.with_name("new").write_text(own.read_text().replace("+ 100 * seed", "+ 200 * seed") + "#")
own.with_name("new").chmod(0o755)
if seed == 2:
    own.with_name("new").replace(own)
"""


def test_a_simulator_that_is_built_meanwhile_is_not_believed(double: Callable[[], int]) -> None:
    """Else runs of two simulators would stand in one table, kept under the name of the first."""
    program = simulator.program()
    old = program.read_text()
    program.write_text(old.replace("seconds = int", BUILDS_ANEW + "seconds = int", 1))
    simulator.program_hash.cache_clear()
    with pytest.raises(RunError, match=r"built anew .*run it again, to begin with it"):
        run_all(_jobs(4), workers=1)
    assert double() == 2
    assert [runner.cached(job) is not None for job in _jobs(4)] == [True, False, False, False]
    simulator.program_hash.cache_clear()  # another call
    assert not any(runner.cached(job) for job in _jobs(4))


@pytest.mark.usefixtures("double")
def test_a_failing_run_is_named() -> None:
    """Else one would not know which run failed, or why."""
    with pytest.raises(RunError, match=r'"fails", seed 1: .*the radio is on fire'):
        run_all(_jobs(1, title="fails"))
    with pytest.raises(RunError, match=r'"asserts", seed 1: .*NS_ASSERT failed, cond'):
        run_all(_jobs(1, title="asserts"))


def test_a_failing_run_does_not_end_the_others(double: Callable[[], int]) -> None:
    """Else one failure would cost the rest of a night; the failed ones alone are made again."""
    failing, others = _jobs(2, title="fails"), _jobs(6)[2:]
    for made in (6, 8):
        with pytest.raises(RunError, match=r'"fails", seed \d: .*on fire; 1 more failed'):
            run_all([*failing, *others], workers=1)
        assert double() == made
    assert all(runner.cached(job) for job in others)


@pytest.mark.usefixtures("double")
def test_result_contract(write: Callable[[str], str], capsys: pytest.CaptureFixture[str]) -> None:
    """Else scripts that read --json would break."""
    assert cli.main(["run", write(FILE), "--seeds", "3", "--json"]) == cli.DONE
    result = json.loads(capsys.readouterr().out)
    first = result["flows"][0]
    assert first["goodput_kbps"]["mean"] == pytest.approx((60_000 + 200) * 8 / 1e3)
    assert first["goodput_kbps"]["ci95"] == pytest.approx(4.302653 * 0.8 / 3**0.5, rel=1e-5)
    assert result["aggregate_kbps"]["mean"] == pytest.approx((140_000 + 400) * 8 / 1e3)
    assert result["jain"]["mean"] == pytest.approx(0.98, abs=0.01)
    assert result["links"] == [
        {"from": "A", "to": "IG", "data_drops": 2.0, "ack_drops": 0.0, "other_drops": 0.0}
    ]
    assert result["seeds"] == [1, 2, 3]
    assert set(result) >= {"scenario", "runs", "versions", "jain_10s", "starved_10s"}


@pytest.mark.usefixtures("double")
def test_out_folder(write: Callable[[str], str], tmp_path: Path) -> None:
    """Else there would be no figure or report; or they would need the network to be read."""
    out = tmp_path / "out"
    assert cli.main(["run", write(FILE), "--out", str(out)]) == cli.DONE
    own = out / "scenario"
    assert (own / "scenario.png").read_bytes().startswith(b"\x89PNG")
    page = (out / "report.html").read_text()
    assert "<svg" in page
    assert "http" not in page.replace("http://www.w3.org/", "")  # names of SVG, not addresses
    assert "src=" not in page
    before = [(own / name).read_bytes() for name in ("scenario.svg", "scenario.png")]
    assert cli.main(["run", write(FILE), "--out", str(out)]) == cli.DONE
    assert [(own / name).read_bytes() for name in ("scenario.svg", "scenario.png")] == before


@pytest.mark.usefixtures("double")
def test_a_report_says_of_each_result_what_it_was_made_with(
    write: Callable[[str], str], tmp_path: Path
) -> None:
    """Else what an older simulator gave would seem to be of the one that ran last."""
    out, program = tmp_path / "out", simulator.program()
    files = []
    for name in ("first", "second"):
        program.write_text(program.read_text().replace("double", f"{name} double", 1))
        simulator.program_hash.cache_clear()
        files.append(Path(write(FILE)).rename(tmp_path / f"{name}.toml"))
        assert cli.main(["run", str(files[-1]), "--out", str(out)]) == cli.DONE
        made = f"meshpace-sim {simulator.program_hash()[:12]}"
        assert made in (out / "report.html").read_text()
    result = json.loads((out / "first" / "result.json").read_text())
    page = (out / "report.html").read_text()
    assert f"meshpace-sim {result['versions']['meshpace-sim']}" in page
    assert page.count("meshpace-sim ") == 2


BAD_CALLS: tuple[list[str], ...] = (
    [],
    ["fly"],
    ["run"],
    ["run", "x.toml", "--seeds", "0"],
    ["run", "x.toml", "--jobs", "-1"],
    ["reproduce", "gap-fig99"],
    ["report", "no-such-folder"],
)


@pytest.mark.parametrize("call", BAD_CALLS, ids=lambda c: " ".join(c) or "nothing")
def test_bad_calls(call: list[str]) -> None:
    """Else bad usage would end in a traceback or with status 0."""
    done = subprocess.run(
        [sys.executable, "-m", "pacelab", *call], capture_output=True, text=True, check=False
    )
    assert done.returncode == cli.USAGE
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_missing_simulator(
    write: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else one would not be told to build it."""
    simulator.program_hash.cache_clear()
    monkeypatch.setenv("MESHPACE_SIM", "/nonexistent/meshpace-sim")
    assert cli.main(["run", write(FILE)]) == cli.FAILED
    assert "make build" in capsys.readouterr().err


def test_unreachable_scheduler(
    double: Callable[[], int], write: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a wrong address would hang, or give a traceback."""
    call = ["run", write(FILE), "--scheduler", "tcp://127.0.0.1:9"]
    assert cli.main(call) == cli.USAGE
    assert "no Dask scheduler answers" in capsys.readouterr().err
    assert double() == 0


@pytest.mark.usefixtures("double")
def test_what_dask_leaves_undone_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else Ctrl-C between two rounds would print those of tornado, and warnings of its client."""
    said: list[str] = []
    with connect(1, None) as client:
        monkeypatch.setattr(logging.Logger, "handle", lambda _, record: said.append(record.msg))
        client.loop.add_callback(lambda: 1 / 0)
        logging.getLogger("distributed.client").warning("could not gather")
        assert client.submit(int, "7").result() == 7  # the loop has gone on
    assert said == []


def test_an_interruption_before_anything_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else Ctrl-C in the second in which modules are read would print where it was."""

    class Loads(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt if name == "main" else AttributeError(name)

    monkeypatch.setitem(sys.modules, "pacelab.cli", Loads("pacelab.cli"))
    with pytest.raises(SystemExit) as end:
        runpy.run_module("pacelab", run_name="__main__")
    assert end.value.code == "\npacelab: interrupted"  # which has status 1
    assert capsys.readouterr().err == ""


def _of_session(leader: int) -> list[int]:
    """The processes of a session that are there."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state != "Z":
                found.append(int(stat.parent.name))
    return found


@pytest.mark.parametrize(
    ("send", "number"), [(os.killpg, signal.SIGINT), (os.kill, signal.SIGTERM)], ids=["^C", "kill"]
)
def test_interrupt_keeps_what_is_done(
    send: Callable[[int, int], None],
    number: int,
    double: Callable[[], int],
    write: Callable[[str], str],
) -> None:
    """Else Ctrl-C would print a traceback, hang, or lose finished runs; or simulators go on."""
    program = simulator.program()
    program.write_text(
        program.read_text()
        .replace("scenario = json", "import time\nscenario = json", 1)
        .replace("seconds = int", "time.sleep(1 if seed < 3 else 30)\nseconds = int")
    )
    with subprocess.Popen(
        [sys.executable, "-m", "pacelab", "run", write(FILE), "--seeds", "8", "--jobs", "2"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        deadline_s = time.monotonic() + 30
        while double() < 4 and time.monotonic() < deadline_s:
            time.sleep(0.1)
        send(process.pid, number)
        _, error = process.communicate(timeout=20)
    assert process.returncode == cli.FAILED
    assert "Traceback" not in error
    assert "interrupted" in error
    assert len(list(runner.cache_folder().glob("*/*.json"))) == 2
    assert not _of_session(process.pid)
