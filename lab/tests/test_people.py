# SPDX-License-Identifier: GPL-2.0-only
"""People: keys, an evening, what they resolve to, and a run of the simulator."""

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from pacelab import cli
from pacelab.experiment.cost import cpu_s
from pacelab.experiment.runner import execute, make_job
from pacelab.scenario import load, resolve
from pacelab.scenario.evening import OCCUPATIONS

FLOW = '[[flow]]\nfrom = "B"\nto = "A"\n'
PERSON = '[[person]]\nnode = "A"\ndoes = ["web"]\n'

BAD = {
    "nobody and nothing": ('title = "x"', "flow", "[[person]]"),
    "nowhere": (PERSON.replace('"A"', '"RL9"'), "person.0.node", 'mean "RL'),
    "at a wired host": (PERSON.replace('"A"', '"B"'), "person.0.node", "unknown mesh node"),
    "at a gateway": (PERSON.replace('"A"', '"IG"'), "person.0.node", "give another node"),
    "without a place": ('[[person]]\ndoes = ["web"]\n', "person.0.node", "is missing"),
    "who does nothing": (PERSON.replace('["web"]', "[]"), "person.0.does", "at least"),
    "who does what nobody knows": (
        PERSON.replace('"web"', '"chess"'),
        "person.0.does",
        "none of web, video, call",
    ),
    "who does the same twice": (
        PERSON.replace('"web"', '"web", "web"'),
        "person.0.does",
        "name it once",
    ),
    "served by a mesh node": (f'{PERSON}host = "RL1"\n', "person.0.host", "give B, B1"),
    "who leaves before": (f"{PERSON}start_s = 9\nstop_s = 5\n", "person.0.stop_s", "he stays"),
    "who comes after the end": (f"{PERSON}start_s = 110\n", "person.0.start_s", "give less"),
    "who dies at no time": (f'{PERSON}leaves = "dies"\n', "person.0.stop_s", "give when"),
    "who leaves otherwise": (f'{PERSON}leaves = "sulks"\n', "person.0.leaves", "none of closes"),
    "whose pause has no length": (f"{PERSON}pause_at_s = 9\n", "person.0.pause_s", "how long"),
    "whose pause comes first": (f"{PERSON}pause_s = 9\n", "person.0.pause_at_s", "give more"),
    "whose pause comes last": (
        f"{PERSON}pause_s = 9\npause_at_s = 60\nstop_s = 50\n",
        "person.0.pause_at_s",
        "before he leaves",
    ),
    "whose pause comes after the end of a longer stay": (
        f"{PERSON}pause_s = 9\npause_at_s = 110\nstop_s = 150\n",
        "person.0.pause_at_s",
        "or the end",
    ),
    "opaque in part": (f'{PERSON}opaque = "third"\n', "person.0.opaque", "half"),
    "of no name": (f'{PERSON}name = " "\n', "person.0.name", "give a name"),
    "of a name without end": (
        f'{PERSON}name = "{"x" * 101}"\n',
        "person.0.name",
        "give at most 100",
    ),
    "served by a host without end": (
        f'{PERSON}host = "B{"1" * 5000}"\n',
        "person.0.host",
        "give B, B1",
    ),
    "of a name that no picture can hold": (
        f'{PERSON}name = "\\u0001"\n',
        "person.0.name",
        "control character",
    ),
    "two of a name": (f'{PERSON}name = "x"\n' * 2, "person.1.name", "another name"),
    "with thinned ACKs": (f'{PERSON}delayed_ack = "thinning"\n', "person.0.delayed_ack", "whole"),
    "with a key of flows": (f'{PERSON}traffic = "ftp"\n', "person.0.traffic", "unknown key"),
    "a dead client": (
        '[routing]\nprotocol = "olsr"\n[[client]]\nname = "C"\nx_m = 0\ny_m = 9\n'
        f"to_x_m = 9\nto_y_m = 9\n{PERSON.replace('A', 'C')}stop_s = 9\n" + 'leaves = "dies"\n',
        "person.0.leaves",
        "use fades",
    ),
    "opaque datagrams": (
        f'{FLOW}traffic = "cbr"\nrate_kbps = 9.0\nopaque = true\n',
        "flow.0.opaque",
        'traffic = "ftp" only',
    ),
    "opaque under a law": (
        '[[flow]]\nfrom = "A"\nto = "B"\nlaw = "gap"\nopaque = true\n',
        "flow.0.opaque",
        "remove it",
    ),
    "an evening of gateways": (
        '[mesh]\ntopology = "nodes"\n[[node]]\nname = "IG"\nx_m = 0\ny_m = 0\ngateway = true\n'
        "[evening]\npersons = 3\n",
        "evening.persons",
        "give nodes",
    ),
    "an evening to which nobody comes": (
        "duration_s = 20\n[evening]\npersons = 3\narrivals_per_min = 0.01\n",
        "evening.arrivals_per_min",
        "give more, or a longer duration_s",
    ),
    "an evening without arrivals": (
        "[evening]\npersons = 3\narrivals_per_min = 0\n",
        "evening.arrivals_per_min",
        "more than 0",
    ),
}


@pytest.mark.parametrize(("text", "key", "remedy"), BAD.values(), ids=BAD.keys())
def test_bad_people_are_one_line(
    text: str, key: str, remedy: str, refusal: Callable[[str], str]
) -> None:
    """Else somebody who cannot be there would be measured, or a traceback be shown."""
    error = refusal(text)
    assert key in error
    assert remedy in error


def test_what_a_person_resolves_to(write: Callable[[str], str]) -> None:
    """Else he would have papers' TCP, or a host that others use."""
    text = (
        f'{FLOW.replace("B", "B1")}{PERSON}opaque = "half"\n{PERSON}host = "B"\nvariant = "bbr"\n'
    )
    scenario = load(write(text))
    first, second = scenario.people
    assert (first.name, first.host, first.opaque, first.law) == ("person 1", "B2", 0.5, "off")
    tcp = (first.variant, first.initial_window, first.delayed_ack, first.advertised_window)
    assert tcp == ("cubic", 10, 2, 400)
    assert (second.name, second.host, second.variant) == ("person 2", "B", "bbr")
    assert (second.initial_window, second.min_rto_s) == (10, 1.0)
    assert scenario.wired_hosts == ["B", "B1", "B2"]
    assert scenario.outages == []


def test_tcp_of_all_and_of_one(write: Callable[[str], str]) -> None:
    """Else what [tcp] or a setting says would not reach people, or overrule what they say."""
    text = f'[tcp]\nvariant = "newreno"\n{PERSON}name = "one"\n{PERSON}name = "two"\nsack = false\n'
    settings = {"tcp.delayed_ack": 1, "person.two.variant": "bbr", "gateway.sender_law": "even"}
    one, two = load(write(text), settings).people
    assert (one.variant, one.delayed_ack, one.sack) == ("newreno", 1, True)
    assert (two.variant, two.delayed_ack, two.sack) == ("bbr", 1, False)
    assert (one.law, two.law) == ("even", "even")


def test_death_is_an_outage(write: Callable[[str], str]) -> None:
    """Else his node would go on relaying; or one that only fades would break the mesh."""
    text = f'{PERSON}stop_s = 30\nleaves = "dies"\n{PERSON}stop_s = 30\nleaves = "fades"\n'
    (outage,) = load(write(text)).outages
    assert (outage.node, outage.at_s, outage.for_s) == ("A", 30.0, 80.0)


def _evening(**keys: Any) -> Any:
    mesh = {"topology": "grid", "rows": 3, "columns": 4}
    document = {"mesh": mesh, "duration_s": 600.0, "evening": {"persons": 12, **keys}}
    return resolve(document, "test").people


def test_an_evening() -> None:
    """Else systems would be compared over different evenings, or it would be no random one."""
    people = _evening(seed=3)
    assert people == _evening(seed=3)
    assert people != _evening(seed=4)
    assert [p.start_s for p in people] == sorted(p.start_s for p in people)
    assert len(people) == 12
    # Eleven nodes beside the gateway: each has somebody before one has a second.
    assert len({p.node for p in people}) == 11
    assert "R1C1" not in {p.node for p in people}
    assert {p.opaque for p in people} == {0.5}
    assert len({p.host for p in people}) == 12
    for first in (0, 6):
        does = sorted(tuple(p.does[2:]) for p in people[first : first + 6])
        assert does == sorted(OCCUPATIONS)
    assert all(p.does[:2] == ["web", "lookups"] for p in people)


def test_arrivals_are_a_poisson_process() -> None:
    """Gaps are exponential: mean and deviation are the same, and nobody comes after the end."""
    people = resolve(
        {
            "mesh": {"hops": 2},
            "duration_s": 10_000.0,
            "evening": {"persons": 4000, "arrivals_per_min": 12.0, "stay_s": 60.0},
        },
        "test",
    ).people
    assert 1900 < len(people) < 2100
    gaps = [b.start_s - a.start_s for a, b in pairwise(people)]
    mean = sum(gaps) / len(gaps)
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert mean == pytest.approx(5, rel=0.1)
    assert deviation == pytest.approx(mean, rel=0.1)
    stays = [person.stop_s - person.start_s for person in people]
    assert sum(stays) / len(stays) == pytest.approx(60, rel=0.1)
    assert max(person.start_s for person in people) < 10_000


def test_cost_of_people() -> None:
    """Else a campaign of people would be announced as free, or as dear as it is full of bulk."""

    def cost(**person: Any) -> float:
        document = {"mesh": {"hops": 3}, "person": [{"node": "A", **person}]}
        return cpu_s(resolve(document, "test"))

    call, bulk = cost(does=["call"]), cost(does=["download"])
    flow = {"mesh": {"hops": 3}, "flow": [{"from": "B", "to": "A"}], "tcp": {"delayed_ack": 2}}
    assert bulk == pytest.approx(cpu_s(resolve(flow, "test")), rel=0.05)
    assert 0.15 < cost(does=["lookups"]) < call < bulk
    assert cost(does=["call"], start_s=55.0) < 0.6 * call
    crowd = [{"node": "A", "does": ["download"]}] * 50
    assert cpu_s(resolve({"mesh": {"hops": 3}, "person": crowd}, "test")) < 1.2 * bulk


@pytest.mark.usefixtures("real")
def test_people_alone(write: Callable[[str], str], capsys: pytest.CaptureFixture[str]) -> None:
    """Else a scenario without flows could not be run, or a run would not tell of people."""
    text = "duration_s = 20.0\nwarmup_s = 0.0\n[wired]\ndelay_ms = 5.0\n[mesh]\nhops = 2\n"
    text += f'{PERSON}reading_s = 1.0\n[[person]]\nnode = "RL1"\ndoes = ["call"]\n'
    file = write(text)
    assert cli.main(["run", file, "--json", "--seeds", "2"]) == cli.DONE
    result = json.loads(capsys.readouterr().out)
    assert result["flows"] == []
    first, second = result["runs"][0]["people"]
    assert (first["name"], first["node"], first["hops"], first["stop_s"]) == (
        "person 1",
        "A",
        2,
        None,
    )
    assert first["pages"][0]["load_s"] > first["pages"][0]["first_byte_s"] / 2 > 0
    assert [len(window) for window in second["calls"][0]["windows"]] == [3, 3]
    assert sum(second["wants"]) == 20
    assert cli.main(["run", file]) == cli.DONE


FULL_BUFFER = """
duration_s = 80.0
warmup_s = 1.0
[radio]
standard = "802.11g"
data_mbps = 54.0
control_mbps = 6.0
[mesh]
topology = "chain"
hops = 1
[[person]]
name = "Ann"
node = "A"
does = ["video"]
start_s = 1.137
"""


@pytest.mark.usefixtures("real")
@pytest.mark.timeout(120)
def test_a_video_whose_buffer_is_full_does_not_ask_for_ever(write: Callable[[str], str]) -> None:
    """Else a run stands still: what is left of a segment may round to no time at all, as here."""
    run = execute(make_job(load(write(FULL_BUFFER)), 2, use_cache=False))
    (video,) = run["people"][0]["videos"]
    # What is played until the end, and a full buffer: 4 s a segment.
    assert 80 / 4 <= len(video["segments"]) <= (80 + 50) / 4 + 1
