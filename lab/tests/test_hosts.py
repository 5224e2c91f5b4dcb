# SPDX-License-Identifier: GPL-2.0-only
"""Hosts over time: what belongs to which, when each is active, who comes and goes."""

import pytest

from made_up import flow, person, run, scenario
from pacelab.results.hosts import events_of, host_series, hosts_of
from pacelab.scenario.schema import Table


def _flags(found: object) -> str:
    return "".join(str(int(flag)) for flag in found)  # type: ignore[attr-defined]


def test_a_host_is_a_mesh_node_with_flows_or_persons() -> None:
    """Else a relay, a gateway or a wired host would have a part."""
    made = scenario([flow("a", "N1"), {**flow("b", "B1"), "from": "N3"}], "N1", "N2", "N3", "N4")
    made["flows"].append({**flow("c", "N3"), "from": "IG"})
    assert hosts_of(made) == ["N1", "N3"]
    assert hosts_of(made, [{"node": "N4"}]) == ["N1", "N3", "N4"]


def test_a_hosts_series_is_the_sum_of_all_that_is_its_own() -> None:
    """Else an upload, or a person beside a flow, would be forgotten, or another's be added."""
    upload = {**flow("up", "B1"), "from": "N1"}
    made = scenario([flow("down", "N1"), upload, flow("other", "N2")], "N1", "N2")
    web = person("Ann", "N1", 3, delivered_bytes=[1, 0, 4])
    hosts = host_series(made, run([[10, 10, 10], [100, 0, 0], [7, 7, 7]], [web]))  # type: ignore[arg-type]
    assert hosts["N1"].bytes.tolist() == [111, 10, 14]
    assert hosts["N2"].bytes.tolist() == [7, 7, 7]


def test_the_bin_that_the_end_cuts_is_none_of_a_hosts() -> None:
    """Else a host would seem to get next to nothing in a second of which there was a hundredth."""
    web = person("Ann", "N1", 4, delivered_bytes=[1, 0, 4, 0])
    made = run([[10, 10, 10, 1]], [web], duration_s=3.01)
    host = host_series(scenario([flow("a", "N1")], "N1"), made)["N1"]  # type: ignore[arg-type]
    assert host.bytes.tolist() == [11, 10, 14]
    assert _flags(host.bulk) == "111"


@pytest.mark.parametrize(
    ("own", "outages", "active", "bulk"),
    [
        ({}, [], "11111111", "11111111"),
        ({"start_s": 2.5, "stop_s": 6.0}, [], "00111100", "00011100"),
        ({"idle_at_s": 3.0, "idle_s": 2.0}, [], "11100111", "11100111"),
        ({"traffic": "cbr"}, [], "11111111", "00000000"),
        ({"receiver": "early"}, [], "11111111", "00000000"),
        ({"receiver": "mute"}, [], "00000000", "00000000"),
        ({}, [{"node": "N1", "at_s": 4.0, "for_s": 2.0}], "11110011", "11110011"),
        ({}, [{"node": "N2", "at_s": 4.0, "for_s": 2.0}], "11111111", "11111111"),
    ],
    ids=[
        "all the time",
        "starts and stops",
        "idle",
        "asks for so much",
        "lies",
        "mute",
        "off",
        "a relay is off",
    ],
)
def test_when_a_flow_makes_its_host_active(
    own: Table, outages: list[Table], active: str, bulk: str
) -> None:
    """Else n would count who is not there, or leave out who is; a bin in which a flow only begins
    counts for the others, and not yet for itself."""
    made = scenario([flow("a", "N1", **own)], "N1", "N2", outages=outages)
    host = host_series(made, run([[1.0] * 8]))["N1"]  # type: ignore[arg-type]
    assert (_flags(host.active), _flags(host.bulk)) == (active, bulk)


@pytest.mark.parametrize(
    ("leaves", "flow_active"), [("closes", "11111"), ("fades", "11111"), ("dies", "11000")]
)
def test_who_has_left_wants_nothing(leaves: str, flow_active: str) -> None:
    """Else the dead would have a part of the air, if a run says that they want something."""
    ann = person("Ann", "N1", 5, stop_s=2.0, leaves=leaves, wants=[1] * 5, bulk=[1] * 5)
    alone = host_series(scenario([], "N1"), run([], [ann]))["N1"]  # type: ignore[arg-type]
    assert (_flags(alone.active), _flags(alone.bulk)) == ("11000", "11000")
    made = scenario([flow("a", "N1")], "N1")
    both = host_series(made, run([[1.0] * 5], [ann]))["N1"]  # type: ignore[arg-type]
    assert _flags(both.active) == flow_active


def test_events_are_told_in_words() -> None:
    """Else a picture would not say what happens in it, and nobody would be seen to go."""
    flows = [
        flow("FTP 1", "N1", start_s=3.0, stop_s=30.0),
        flow("FTP 2", "N2", idle_at_s=10.0, idle_s=5.0),
        flow("FTP 3", "N2", stop_s=2.0),
        flow("FTP 4", "N3"),
    ]
    outage = {"node": "N3", "at_s": 20.0, "for_s": 40.0}
    people = [
        person("Ann", "N4", 40, start_s=1.0, stop_s=25.0, leaves="dies"),
        person("Bob", "N5", 40),
    ]
    silent = {"name": "Bob", "pause_at_s": 12.0, "pause_s": 4.0}
    made = scenario(flows, "N1", "N2", "N3", "N4", "N5", outages=[outage], people=[silent])
    found = events_of(made, run([[0.0] * 40] * 4, people))  # type: ignore[arg-type]
    assert [(e.at_s, e.host, e.what, e.gone) for e in found] == [
        (1.0, "N4", "comes", False),
        (3.0, "N1", "comes", False),
        (10.0, "N2", "falls silent", True),
        (12.0, "N5", "falls silent", True),
        (15.0, "N2", "comes back", False),
        (16.0, "N5", "comes back", False),
        (20.0, "N3", "dies", True),
        (25.0, "N4", "dies", True),
        (30.0, "N1", "leaves", True),
    ]
