# SPDX-License-Identifier: GPL-2.0-only
"""Pings, outages, idle applications: keys, statistics, and the simulator's own."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from pacelab import cli
from pacelab.results.pings import scenario_pings
from pacelab.scenario import load
from pacelab.scenario.schema import Table

FLOW = '[[flow]]\nfrom = "B"\nto = "A"\n'
PING = f'{FLOW}[[ping]]\nfrom = "B1"\nto = "A"\n'
OUTAGE = f'{FLOW}[[outage]]\nnode = "RL2"\nat_s = 20\nfor_s = 3\n'

BAD = {
    "a ping to nowhere": (f'{FLOW}[[ping]]\nfrom = "B"\nto = "RL9"\n', "ping.0.to", 'mean "RL'),
    "a ping past the mesh": (f'{FLOW}[[ping]]\nfrom = "B"\nto = "B1"\n', "ping.0.to", "mesh node"),
    "a ping to itself": (f'{FLOW}[[ping]]\nfrom = "A"\nto = "A"\n', "ping.0.to", "another node"),
    "a ping without an end": (f'{FLOW}[[ping]]\nfrom = "B"\n', "ping.0.to", "is missing"),
    "pings without a pause": (f"{PING}interval_s = 0.0\n", "ping.0.interval_s", "at least 0.001"),
    "a ping after the end": (f"{PING}start_s = 110.0\n", "ping.0.start_s", "give less"),
    "pings as a flow": (f"{PING}law = 1\n", "ping.0.law", "unknown key"),
    "an outage of a wired host": (OUTAGE.replace("RL2", "B"), "outage.0.node", "mesh node"),
    "an outage of a client": (
        OUTAGE.replace("RL2", "C")
        + '[routing]\nprotocol = "olsr"\n[[client]]\nname = "C"\nx_m = 0\ny_m = 9\n'
        + "to_x_m = 9\nto_y_m = 9\n",
        "outage.0.node",
        "another node",
    ),
    "an outage of no length": (OUTAGE.replace("= 3", "= 0"), "outage.0.for_s", "more than 0"),
    "an outage after the end": (OUTAGE.replace("20", "110"), "outage.0.at_s", "give less"),
    "an idle time of no length": (f"{FLOW}idle_at_s = 9.0\n", "flow.0.idle_s", "how long"),
    "an idle time after the end": (
        f"{FLOW}idle_at_s = 110.0\nidle_s = 1.0\n",
        "flow.0.idle_at_s",
        "give less",
    ),
    "an idle time before the flow": (
        f"{FLOW}start_s = 9.0\nidle_at_s = 8.0\nidle_s = 5.0\n",
        "flow.0.idle_at_s",
        "give more",
    ),
    "an idle time after the flow": (
        f"{FLOW}stop_s = 9.0\nidle_at_s = 9.0\nidle_s = 5.0\n",
        "flow.0.idle_at_s",
        "give less",
    ),
    "an idle time after the end of a longer flow": (
        f"{FLOW}stop_s = 120.0\nidle_at_s = 110.0\nidle_s = 5.0\n",
        "flow.0.idle_at_s",
        "give less",
    ),
    "idle datagrams": (
        f'{FLOW}traffic = "cbr"\nrate_kbps = 9.0\nidle_s = 1.0\n',
        "flow.0.idle_s",
        'traffic = "ftp" only',
    ),
}


@pytest.mark.parametrize(("text", "key", "remedy"), BAD.values(), ids=BAD.keys())
def test_bad_keys_are_one_line(
    text: str, key: str, remedy: str, refusal: Callable[[str], str]
) -> None:
    """Else a ping that nobody answers, or an outage of nobody, would be measured."""
    error = refusal(text)
    assert key in error
    assert remedy in error


def test_what_they_resolve_to(write: Callable[[str], str]) -> None:
    """Else a host that only pings would not be there, or defaults differ from the reference."""
    scenario = load(write(PING))
    assert scenario.wired_hosts == ["B", "B1"]
    assert scenario.as_dict()["pings"] == [
        {"from": "B1", "to": "A", "interval_s": 0.2, "start_s": 0.0}
    ]
    assert scenario.outages == []
    assert [flow.name for flow in scenario.flows] == ["FTP 1"]
    both = load(write(PING), {"ping.interval_s": 1, "ping.0.start_s": 2})
    assert (both.pings[0].interval_s, both.pings[0].start_s) == (1.0, 2.0)
    outage = {"node": "RL2", "at_s": 20.0, "for_s": 3.0}
    assert load(write(OUTAGE)).as_dict()["outages"] == [outage]


def _ping(lost: int, mean: float | None) -> Table:
    rtt = {"mean": mean, "p50": mean, "p95": 2 * mean, "max": 3 * mean} if mean else None
    return {"from": "B", "to": "A", "sent": 10, "lost": lost, "rtt_ms": rtt}


def test_statistics_of_pings() -> None:
    """Else a run without any answer would count as one that answered at once."""
    runs: Any = [{"pings": [_ping(2, 10.0)]}, {"pings": [_ping(10, None)]}, {"flows": []}]
    (summary,) = scenario_pings(runs[:2])
    assert (summary["sent"]["mean"], summary["lost"]["mean"]) == (10, 6)
    assert summary["rtt_ms"]["p95"] == {"mean": 20.0, "ci95": None}
    assert scenario_pings(runs[1:2])[0]["rtt_ms"] is None
    assert scenario_pings(runs[2:]) == []


@pytest.mark.usefixtures("real")
def test_pings_beside_a_download(
    write: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Else the table would not tell of them, or they would count as flows."""
    file = write(f"duration_s = 12.0\nwarmup_s = 2.0\n[mesh]\nhops = 2\n{PING}")
    assert cli.main(["run", file, "--json", "--seeds", "2"]) == cli.DONE
    result = json.loads(capsys.readouterr().out)
    assert len(result["flows"]) == 1
    (ping,) = result["pings"]
    sent = ping["sent"]["mean"]
    assert 45 <= sent < 50, "of 50; some are under way at the end"
    assert ping["lost"]["mean"] < 5
    assert 240 < ping["rtt_ms"]["mean"]["mean"] < 2000
    assert cli.main(["run", file, "--seeds", "2"]) == cli.DONE
    out = capsys.readouterr().out
    assert "ping B1 > A: " in out
    assert f"of {sent:g} lost" in out


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize(
    "what",
    ['[[outage]]\nnode = "RL1"\nat_s = 12\nfor_s = 8\n', "idle_at_s = 12\nidle_s = 8\n"],
    ids=["outage", "idle"],
)
def test_a_flow_is_interrupted(
    what: str, write: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a key would be taken and do nothing, or break a flow for ever."""
    file = write(f"duration_s = 36.0\nwarmup_s = 5.0\n[mesh]\nhops = 2\n{FLOW}{what}")
    assert cli.main(["run", file, "--json"]) == cli.DONE
    result = json.loads(capsys.readouterr().out)
    bins = result["runs"][0]["flows"][0]["delivered_bytes"]
    assert bins[18] == 0  # TCP had some 3 s to send when the application fell silent
    assert sum(bins[25:35]) > 0.7 * sum(bins[2:12])
