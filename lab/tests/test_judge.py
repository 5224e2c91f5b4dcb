# SPDX-License-Identifier: GPL-2.0-only
"""Criteria: what is judged on intervals, trends, selections of flows, time and links."""

import re
from typing import Any

import pytest

from pacelab.results.judge import judge
from pacelab.results.measures import Selection, measured
from pacelab.results.stats import interval
from pacelab.scenario.schema import Table

UNSTATED = """over over_at over_variant at variant flows over_flows while over_while links
over_links hosts over_hosts trend least most"""
CHECK: Table = dict.fromkeys(re.findall(r"\w+", UNSTATED))


def _check(**keys: Any) -> Table:
    return {
        **CHECK,
        "variant": "",
        "text": "",
        "measure": "gain",
        "of": "GAP",
        "which": "every",
        **keys,
    }


def _point(system: str, value: Any, kbps: list[float], **result: Any) -> Table:
    goodput = interval(kbps)
    return {
        "variant": "",
        "system": system,
        "value": value,
        "result": {"aggregate_kbps": goodput, **result},
    }


def _outcome(*points: Table) -> Table:
    values = list(dict.fromkeys(p["value"] for p in points))
    about: Table = {"system": [], "reference": None}
    return {"points": list(points), "variants": [""], "values": values, "about": about}


@pytest.mark.parametrize(
    ("gap", "newreno", "least", "word"),
    [
        ([120.0, 121.0], [100.0, 101.0], 0.1, "passed"),
        ([120.0, 121.0], [100.0, 101.0], 0.6, "failed"),
        ([100.0, 140.0], [80.0, 120.0], 0.1, "inside the intervals"),
        ([100.0, 140.0], [80.0, 120.0], 0.5, "inside the intervals"),
        ([98.0, 98.1], [100.0, 100.1], -0.03, "passed"),
        ([94.0, 94.1], [100.0, 100.1], -0.03, "failed"),
    ],
)
def test_a_difference_inside_the_intervals_is_none(
    gap: list[float], newreno: list[float], least: float, word: str
) -> None:
    """Else noise of a few runs would pass for a gain, or for the lack of one."""
    outcome = _outcome(_point("GAP", None, gap), _point("NewReno", None, newreno))
    judged = judge(_check(over="NewReno", least=least), outcome)
    assert judged["outcome"] == word
    assert judged["passed"] is (word == "passed")


def test_at_every_value_or_at_some() -> None:
    """Else "up to 41%" would ask for 41% at every length, or "at all" for one only."""
    points = [_point("GAP", h, [10.0 * h, 10.0 * h + 0.1]) for h in (1, 2, 3)]
    points += [_point("NewReno", h, [10.0, 10.1]) for h in (1, 2, 3)]
    outcome = _outcome(*points)
    every = _check(over="NewReno", least=1.5)
    assert judge(every, outcome)["outcome"] == "failed"
    assert judge({**every, "which": "some"}, outcome)["outcome"] == "passed"
    assert judge({**every, "at": [3]}, outcome)["outcome"] == "passed"
    assert judge({**every, "at": [7]}, outcome)["passed"] is None


def test_trend_and_another_value() -> None:
    """Else "its gain grows with the bandwidth" could not be judged."""
    rates = [(2, [10.0, 10.2]), (11, [20.0, 20.2])]
    outcome = _outcome(*(_point("GAP", v, k) for v, k in rates))
    trend = _check(measure="goodput", trend="rises")
    assert judge(trend, outcome)["outcome"] == "passed"
    assert judge({**trend, "trend": "falls"}, outcome)["outcome"] == "failed"
    gain = judge(_check(at=[11], over_at=2, least=0.5), outcome)
    assert gain["outcome"] == "passed"
    assert gain["measured"][0]["value"] == pytest.approx(20.1 / 10.1 - 1)


def test_a_systems_own_reference() -> None:
    """Else NewReno would be held against Vegas' figures."""
    outcome = _outcome(_point("GAP", 1, [110.0, 110.0]))
    outcome["about"] = {
        "system": [{"name": "GAP", "reference": {"1": 100.0}}],
        "reference": {"name": "ns-2", "values": {"1": 50.0}},
    }
    judged = judge(_check(measure="reference", most=0.15), outcome)
    assert judged["measured"][0]["value"] == pytest.approx(0.1)


def _run(delivered: list[list[float]], drops: dict[tuple[str, str], int]) -> Table:
    flows = [
        {"name": f"FTP {i}", "delivered_bytes": bins, "goodput_bytes": sum(bins[2:])}
        for i, bins in enumerate(delivered, start=1)
    ]
    links = [{"from": a, "to": b, "data_drops": n, "ack_drops": 0} for (a, b), n in drops.items()]
    return {"warmup_s": 2.0, "bin_s": 1.0, "flows": flows, "links": links}


def test_selections() -> None:
    """Else what a flow gets while another is away, or a link drops, would not stand alone."""
    first, second = [9.0] * 2 + [1.0] * 4 + [3.0] * 4, [9.0] * 2 + [1.0] * 4 + [0.0] * 4
    scenario = {
        "flows": [
            {"name": "FTP 1", "start_s": 0.0, "stop_s": 0.0},
            {"name": "FTP 2", "start_s": 0.0, "stop_s": 6.0},
        ]
    }
    runs = [_run([first, second], {("A", "B"): 3, ("B", "A"): 8})]
    point = {"result": {"scenario": scenario, "runs": runs}}

    def mean(name: str, selection: Selection) -> float:
        found = measured(name, point, selection)
        assert found is not None
        return found["mean"]

    both = Selection(alone=["FTP 1", "FTP 2"])
    assert mean("jain", both) == 1.0
    assert mean("goodput", Selection(flows=["FTP 1"], alone=["FTP 1"])) == pytest.approx(0.024)
    assert mean("stall", Selection(flows=["FTP 2"])) == 4.0
    assert mean("stall", both) == 0.0
    assert mean("drops", Selection(links=[["B", "A"]])) == 8.0
    assert mean("least_share", Selection(flows=["FTP 1", "FTP 2"])) == pytest.approx(0.4)
