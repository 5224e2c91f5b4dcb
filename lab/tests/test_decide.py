# SPDX-License-Identifier: GPL-2.0-only
"""Seeds are added until checks are decided: what is run, what comes out, who goes on where."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pacelab import cli
from pacelab.experiment import catalogue, decide, definition, runner
from pacelab.experiment.reproduce import Workers, reproduce
from pacelab.results.sequential import FIRST
from pacelab.scenario.schema import Table

# Stands for the simulator: noise of a place by the seed, which all systems share, and of each its
# own; goodput by law and number of hops.
NOISY = f"""#!{sys.executable}
import json, os, random, sys
scenario = json.load(open(sys.argv[1])); seed = int(sys.argv[3])
with open(os.environ["DOUBLE_LOG"], "a") as log:
    log.write(f"{{seed}}\\n")
law, hops = scenario["gateway"]["law"], len(scenario["nodes"])
place = random.Random(seed).uniform(0.5, 1.5)
own = random.Random(f"{{law}} {{hops}} {{seed}}").gauss(0, 0.05)
gain = {{"gap": 1.2, "fq": 1.0, "even": 1.04}}.get(law, 1.0)
rate = 1e5 * place * gain * (1 + own)
flows = [{{
    "name": flow["name"], "from": flow["from"], "to": flow["to"], "direction": "down", "hops": 1,
    "law": "off", "goodput_bytes": rate * 10, "delivered_bytes": [rate] * 12, "retransmits": 1,
    "timeouts": 0, "local_retransmits": 0, "rtt_ms": None, "pacing": None,
}} for flow in scenario["flows"]]
print(json.dumps({{
    "seed": seed, "duration_s": 12.0, "warmup_s": 2.0, "bin_s": 1.0, "flows": flows, "links": [],
    "gateway": None, "versions": {{"ns3": "double"}},
}}))
"""

EXPERIMENT = """
title = "Own"
duration_s = 12.0
warmup_s = 2.0
[[flow]]
from = "B"
to = "A"
[experiment]
id = "own"
paper = "P"
figure = "Figure 1"
claim = "GAP is faster."
seeds = 3
plot = "flows"
[[experiment.system]]
name = "NewReno"
[[experiment.system]]
name = "GAP"
set = { "gateway.law" = "gap" }
[[experiment.system]]
name = "even"
set = { "gateway.law" = "even" }
[[experiment.system]]
name = "shown"
set = { "tcp.variant" = "vegas" }
[[experiment.check]]
text = "GAP gains a tenth"
measure = "gain"
of = "GAP"
over = "NewReno"
least = 0.1
[[experiment.check]]
text = "GAP doubles"
measure = "gain"
of = "GAP"
over = "NewReno"
least = 1.0
[[experiment.check]]
text = "even gains"
measure = "gain"
of = "even"
over = "NewReno"
least = 0.0
[[experiment.check]]
text = "even is like NewReno"
measure = "gain"
of = "even"
over = "NewReno"
margin = 0.1
"""
# 0.1% more or less than the truth: not to be decided by any number of seeds that anybody makes.
HARD = """
[[experiment.check]]
text = "even gains 4%"
measure = "gain"
of = "even"
over = "NewReno"
least = 0.04
"""


@pytest.fixture
def noisy(stand_in: Callable[[str], Callable[[], int]]) -> Callable[[], int]:
    """Puts the noisy double in the simulator's place; call it to learn how often it ran."""
    return stand_in(NOISY)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalogue with one experiment of the test's own."""
    (tmp_path / "own.toml").write_text(EXPERIMENT)
    monkeypatch.setattr(definition, "SCENARIOS", tmp_path)
    return tmp_path


def _decide(budget_s: float = 600.0, jobs: int = 2) -> Table:
    (outcome,), _ = decide.decide(
        catalogue.find_experiments(["own"], quick=False), Workers(jobs), budget_s
    )
    return outcome


def _told(outcome: Table) -> Table:
    """All but what a run took, which nobody makes the same twice."""
    return json.loads(json.dumps({**outcome, "cpu_s": None}))  # type: ignore[no-any-return]


@pytest.mark.usefixtures("own")
def test_every_check_gets_the_seeds_that_it_needs(noisy: Callable[[], int]) -> None:
    """Else a campaign would stop too soon, or make runs that decide nothing."""
    outcome = _decide()
    words = [check["outcome"] for check in outcome["checks"]]
    assert words == ["passed", "failed", "passed", "alike"]
    assert [check["passed"] for check in outcome["checks"]] == [True, False, True, True]
    assert [check["needs"] for check in outcome["checks"]] == [None] * 4
    assert outcome["verdict"] == "partly"
    assert outcome["until_decided"] == {"undecided": 0, "checks": 4}
    runs = {p["system"]: p["result"]["seeds"] for p in outcome["points"]}
    # "GAP doubles" is settled at once; 4% over noise of 7% takes more than what is sure at sight.
    assert outcome["checks"][1]["seeds"] <= decide.next_stage(FIRST)
    assert len(runs["NewReno"]) == len(runs["even"]) > 20
    assert len(runs["GAP"]) < len(runs["even"])
    assert runs["shown"] == [1, 2, 3]  # no check is of it: as its file has it
    assert noisy() == sum(map(len, runs.values())) == outcome["runs"]
    for check in outcome["checks"]:
        (measured,) = check["measured"]
        assert measured["low"] < measured["value"] < measured["high"]


@pytest.mark.usefixtures("noisy")
def test_seeds_begin_where_the_file_says(own: Path) -> None:
    """Else what was developed by some seeds would be reported on the same."""
    (own / "own.toml").write_text(EXPERIMENT.replace("seeds = 3", "seeds = 3\nfirst_seed = 201"))
    planned = reproduce(catalogue.find_experiments(["own"], quick=False), Workers(2))[0]
    assert {tuple(p["result"]["seeds"]) for p in planned["points"]} == {(201, 202, 203)}
    decided = {p["system"]: p["result"]["seeds"] for p in _decide()["points"]}
    assert decided["shown"] == [201, 202, 203]
    assert decided["GAP"][:FIRST] == list(range(201, 201 + FIRST))


@pytest.mark.usefixtures("own", "noisy")
def test_one_worker_and_two_come_to_the_same() -> None:
    """Else results would depend on the machine."""
    one = _told(_decide(jobs=1))
    for file in runner.cache_folder().glob("*/*"):
        file.unlink()
    assert _told(_decide(jobs=2)) == one


@pytest.mark.usefixtures("own")
def test_an_interrupted_campaign_goes_on(
    noisy: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a night's runs would be lost, or judged otherwise than by a campaign in one go."""
    whole = _told(_decide())
    count = noisy()
    for file in runner.cache_folder().glob("*/*"):
        file.unlink()
    done: list[None] = []

    def stops(*arguments: Any) -> Any:
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(None)
        return complete(*arguments)

    complete = decide._complete
    monkeypatch.setattr(decide, "_complete", stops)
    with pytest.raises(KeyboardInterrupt):
        _decide()
    between = noisy()
    assert count < between < 2 * count
    monkeypatch.setattr(decide, "_complete", complete)
    assert _told(_decide()) == whole
    assert noisy() == 2 * count  # and nothing is made twice
    assert _told(_decide(jobs=1)) == whole
    assert noisy() == 2 * count


def test_the_time_is_over(own: Path, noisy: Callable[[], int]) -> None:
    """Else nobody could say until when, or what a campaign that was ended would still take."""
    (own / "own.toml").write_text(EXPERIMENT + HARD)
    outcome = _decide(budget_s=0.0)
    assert noisy() == 4  # a run of each point, so that there is something to show
    assert {check["outcome"] for check in outcome["checks"]} == {"undecided"}
    assert outcome["verdict"] == "undecided"
    assert {check["needs"]["seeds"] for check in outcome["checks"]} == {FIRST}
    assert all(check["needs"]["cpu_s"] > 0 for check in outcome["checks"])


@pytest.mark.usefixtures("own")
def test_what_is_known_is_judged_though_the_time_is_over(noisy: Callable[[], int]) -> None:
    """Else who asks again, without time for more, would be told less than the first time."""
    whole = _decide()
    made = noisy()
    again = _decide(budget_s=0.0)
    assert noisy() == made
    assert _told(again) == _told(whole)


def test_what_is_easy_comes_first(
    own: Path, noisy: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one check that cannot be decided would eat the time of all others."""
    (own / "own.toml").write_text(
        EXPERIMENT.replace("[[experiment.check]]", HARD.strip() + "\n[[experiment.check]]", 1)
    )
    monkeypatch.setattr(decide, "MOST_SEEDS", 80)
    outcome = _decide(jobs=2)
    words = {check["text"]: check["outcome"] for check in outcome["checks"]}
    assert words.pop("even gains 4%") == "undecided"
    assert "undecided" not in words.values()
    hard = next(c for c in outcome["checks"] if c["outcome"] == "undecided")
    assert hard["needs"]["seeds"] is None or hard["needs"]["seeds"] > 80
    assert noisy() <= 80 * 3 + 3
    runs = {p["system"]: len(p["result"]["seeds"]) for p in outcome["points"]}
    assert runs["shown"] == 3


def test_what_no_test_is_of_gets_the_seeds_of_its_file(own: Path, noisy: Callable[[], int]) -> None:
    """Else "in every run" would pass after one, or as many as another check happens to need."""
    text = EXPERIMENT.replace("seeds = 3", "seeds = 40")
    text += '[[experiment.check]]\ntext = "in every run"\nmeasure = "worst_share"\nof = "GAP"\n'
    (own / "own.toml").write_text(text + "least = 0.6\n")
    worst = _decide(budget_s=0.0)["checks"][-1]
    assert (worst["outcome"], worst["passed"]) == ("undecided", None)
    assert worst["needs"]["seeds"] == 40
    assert worst["needs"]["cpu_s"] > 0
    outcome = _decide()
    assert outcome["checks"][-1]["outcome"] == "passed"
    runs = {p["system"]: len(p["result"]["seeds"]) for p in outcome["points"]}
    assert runs["GAP"] == runs["shown"] == 40
    assert noisy() == sum(runs.values())


def test_what_no_test_is_of_is_judged_by_the_seeds_of_its_file(
    own: Path, noisy: Callable[[], int]
) -> None:
    """Else what other checks of the same points need would make the worst run worse."""
    text = EXPERIMENT.replace("seeds = 3", "seeds = 12")
    text += '[[experiment.check]]\ntext = "in every run"\nmeasure = "worst_share"\nof = "even"\n'
    text += (
        'least = 0.6\n[[experiment.check]]\ntext = "so much"\nmeasure = "goodput"\nof = "even"\n'
    )
    (own / "own.toml").write_text(text)
    outcome = _decide()
    even = next(p for p in outcome["points"] if p["system"] == "even")["result"]
    assert len(even["runs"]) > 12 < noisy()
    worst, stated = outcome["checks"][-2:]
    assert (worst["seeds"], stated["seeds"]) == (12, 12)
    rates = [run["flows"][0]["goodput_bytes"] * 8 / 1e4 for run in even["runs"]]
    assert stated["measured"][0]["value"] == pytest.approx(sum(rates[:12]) / 12)
    assert stated["measured"][0]["value"] != pytest.approx(sum(rates) / len(rates))
    assert len(worst["measured"]) == 1


ORACLE = """
[experiment.search]
key = "gateway.host_kbps"
goal = "guarantee"
measure = "goodput"
values = [0.5]
rounds = 0
seeds = 1
"""


@pytest.mark.usefixtures("noisy")
def test_what_is_compared_with_the_oracle_stays_off_the_seeds_of_its_search(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else runs that chance has favoured in the search would be reported as any others."""
    text = EXPERIMENT[: EXPERIMENT.index("[[experiment.check]]")]
    for name in ("NewReno", "GAP", "even"):
        text = text.replace(f'name = "{name}"', f'search = false\nname = "{name}"')
    text = text.replace("seeds = 3\n", "seeds = 3\nfirst_seed = 70\n")
    text = text.replace("[[experiment.system]]", f"{ORACLE}[[experiment.system]]", 1)
    for of in ("shown", "even"):
        text += f'[[experiment.check]]\ntext = "{of}"\nmeasure = "gain"\nof = "{of}"\n'
        text += f'over = "NewReno"\nleast = {0.001 if of == "shown" else 0.0}\n'
    (own / "own.toml").write_text(text)
    call = ["reproduce", "own", "--until-decided", "--out", str(own / "out"), "--json"]
    assert cli.main(call) == cli.DONE
    (outcome,) = json.loads(capsys.readouterr().out)["experiments"]
    seeds = {p["system"]: p["result"]["seeds"] for p in outcome["points"]}
    assert seeds["shown"] == list(range(70, 101))
    assert seeds["NewReno"][-1] > 100  # for even, which nothing was searched for
    oracle, even = outcome["checks"]
    assert oracle["outcome"] == "undecided"
    assert (oracle["needs"]["seeds"], oracle["needs"]["most"]) == (None, 31)
    assert even["outcome"] == "passed"


def test_runs_that_are_all_alike_end(own: Path, noisy: Callable[[], int]) -> None:
    """Else two systems that do the same would be run a thousand times to tell them apart."""
    text = EXPERIMENT[: EXPERIMENT.index("[[experiment.check]]")]
    text += '[[experiment.check]]\ntext = "more"\nmeasure = "goodput"\nof = "shown"\n'
    text += 'over = "NewReno"\nleast = 0.0\n'
    file = own / "own.toml"
    file.write_text(text.replace('{ "tcp.variant" = "vegas" }', "{ duration_s = 12.0 }"))
    outcome = _decide()
    assert outcome["checks"][0]["outcome"] == "undecided"
    assert noisy() < 40


@pytest.mark.usefixtures("noisy")
def test_the_command(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else who runs it would not see what is decided, and what the rest would take."""
    (own / "own.toml").write_text(EXPERIMENT + HARD)
    out = own / "results"
    call = ["reproduce", "own", "--until-decided", "--budget", "1s", "--out", str(out)]
    assert cli.main(call) == cli.DONE
    printed = capsys.readouterr().out
    assert "undecided: even gains 4% (measured" in printed
    assert "CPU min more" in printed or "not to be decided" in printed
    page = (out / "report.html").read_text()
    assert "undecided" in page
    assert "seeds" in page


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (["--budget", "2h"], "--budget: is of --until-decided"),
        (["--until-decided", "--seeds", "4"], "--seeds: --until-decided finds out how many"),
        (["--until-decided", "--budget", "2 hours"], "write 90s, 30m or 2h"),
        (["--until-decided", "--budget", "0h"], "write 90s, 30m or 2h"),
    ],
)
@pytest.mark.usefixtures("own")
def test_bad_calls(call: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Else a budget would be ignored, or a mistake end in a traceback."""
    try:
        status = cli.main(["reproduce", "own", *call])
    except SystemExit as end:
        status = int(str(end.code))
    said = capsys.readouterr().err
    assert status == cli.USAGE
    assert error in said
    assert said.count("\n") == 1


def test_a_search_comes_first(own: Path, noisy: Callable[[], int]) -> None:
    """Else seeds that are added would move what was found, and with it what is judged."""
    search = 'search = { key = "flow.start_s", goal = "goodput", values = [0.5, 1.0], rounds = 0 }'
    text = EXPERIMENT.replace("seeds = 3\n", f"seeds = 3\n{search}\n")
    (own / "own.toml").write_text(text)
    outcome = _decide()
    assert {point["searched"] for point in outcome["points"]} == {0.5}
    starts = {p["result"]["scenario"]["flows"][0]["start_s"] for p in outcome["points"]}
    assert starts == {0.5}
    assert outcome["until_decided"]["undecided"] == 0
    assert noisy() == outcome["runs"]


def test_a_search_of_what_is_only_shown_comes_last(own: Path, noisy: Callable[[], int]) -> None:
    """Else a search of an hour would keep what is judged waiting, and no budget would end it."""
    search = 'search = { key = "flow.start_s", goal = "goodput", values = [0.5, 1.0], rounds = 0 }'
    text = EXPERIMENT.replace("seeds = 3\n", f"seeds = 3\n{search}\n")
    for name in ("NewReno", "GAP", "even"):
        text = text.replace(f'name = "{name}"', f'search = false\nname = "{name}"')
    (own / "own.toml").write_text(text)
    outcome = _decide(budget_s=0.0)
    assert noisy() == 3
    assert outcome["systems"] == ["NewReno", "GAP", "even"]
    assert {point["system"] for point in outcome["points"]} == {"NewReno", "GAP", "even"}
    assert len(outcome["checks"]) == 4
    begun = noisy()
    whole = _decide()
    assert noisy() > begun
    assert whole["systems"] == ["NewReno", "GAP", "even", "shown"]
    found = {point["system"]: point["searched"] for point in whole["points"]}
    assert found == {"NewReno": None, "GAP": None, "even": None, "shown": 0.5}
    runs = {p["system"]: len(p["result"]["seeds"]) for p in whole["points"]}
    assert runs["shown"] == 3
    assert whole["until_decided"]["undecided"] == 0
    assert [c["outcome"] for c in _decide()["checks"]] == [c["outcome"] for c in whole["checks"]]

    # Once it is known, it is shown though the time is over.
    made = noisy()
    again = _decide(budget_s=0.0)
    assert noisy() == made
    assert again["systems"] == whole["systems"]
    assert {p["system"]: p["searched"] for p in again["points"]} == found
