# SPDX-License-Identifier: GPL-2.0-only
"""Criteria: differences seed by seed, trends, margins, selections of flows, time and links."""

import re
import statistics
from typing import Any

import pytest

from pacelab.results import keep
from pacelab.results.judge import judge, verdict
from pacelab.results.measures import Selection, measured
from pacelab.results.sequential import ANYTIME, PLANNED
from pacelab.results.stats import interval
from pacelab.results.tables import check_line
from pacelab.scenario.schema import Table

UNSTATED = """over over_at over_variant at variant flows over_flows while over_while links
over_links hosts over_hosts trend least most margin"""
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


def _point(system: str, value: Any, kbps: list[float]) -> Table:
    """Of one flow, which got so much in each run of 10 s after the warm-up."""
    bytes_ = [rate * 1e3 / 8 * 10 for rate in kbps]
    runs = [
        {
            "seed": seed,
            "duration_s": 11.0,
            "warmup_s": 1.0,
            "bin_s": 1.0,
            "flows": [{"name": "FTP", "goodput_bytes": got, "delivered_bytes": [got / 10] * 11}],
        }
        for seed, got in enumerate(bytes_, start=1)
    ]
    flow = {"name": "FTP", "start_s": 0.0, "stop_s": 0.0}
    scenario = {"warmup_s": 1.0, "duration_s": 11.0, "flows": [flow]}
    result = {"scenario": scenario, "runs": runs, "aggregate_kbps": interval(kbps)}
    return {"variant": "", "system": system, "value": value, "result": result}


def _outcome(*points: Table) -> Table:
    values = list(dict.fromkeys(p["value"] for p in points))
    about: Table = {"system": [], "reference": None}
    return {"points": list(points), "variants": [""], "values": values, "about": about}


@pytest.mark.parametrize(
    ("gap", "newreno", "least", "word"),
    [
        ([120.0, 121.0], [100.0, 101.0], 0.1, "passed"),
        ([120.0, 121.0], [100.0, 101.0], 0.6, "failed"),
        ([100.0, 140.0], [100.0, 100.1], 0.1, "undecided"),
        ([100.0, 140.0], [100.0, 100.1], 0.5, "undecided"),
        # Its mean meets the criterion, and so does not all of its interval.
        ([109.0, 112.0, 115.0], [100.0, 100.0, 100.0], 0.1, "undecided"),
        ([98.0, 98.1], [100.0, 100.1], -0.03, "passed"),
        ([94.0, 94.1], [100.0, 100.1], -0.03, "failed"),
        # The same noise in both: each interval by itself would reach far into the other.
        ([120.0, 240.0, 61.0, 192.0, 97.0], [100.0, 200.0, 51.0, 160.0, 80.0], 0.1, "passed"),
        # No difference does not meet a claim of one, and meets a bound.
        ([100.0, 101.0], [100.0, 101.0], 0.0, "undecided"),
        ([97.0, 97.0], [100.0, 100.0], -0.03, "passed"),
    ],
)
def test_a_criterion_is_met_by_all_of_the_interval(
    gap: list[float], newreno: list[float], least: float, word: str
) -> None:
    """Else noise of a few runs would pass for a gain, or for the lack of one."""
    outcome = _outcome(_point("GAP", None, gap), _point("NewReno", None, newreno))
    judged = judge(_check(over="NewReno", least=least), outcome)
    assert judged["outcome"] == word
    assert judged["passed"] is {"passed": True, "failed": False}.get(word)


def test_the_interval_of_a_ratio_is_fiellers() -> None:
    """Else a gain over a base that varies would look surer than it is.

    The ends are where Student's t of x - (1 + r) y is that of 95%, t(0.975, 4) = 2.776445.
    """
    gap, newreno = [118.0, 131.0, 122.0, 109.0, 127.0], [99.0, 107.0, 104.0, 95.0, 98.0]
    outcome = _outcome(_point("GAP", None, gap), _point("NewReno", None, newreno))
    (found,) = judge(_check(over="NewReno", least=0.0), outcome)["measured"]
    assert found["value"] == pytest.approx(sum(gap) / sum(newreno) - 1)
    for end, sign in ((found["low"], 1), (found["high"], -1)):
        rest = [x - (1 + end) * y for x, y in zip(gap, newreno, strict=True)]
        t = statistics.mean(rest) / (statistics.stdev(rest) / 5**0.5)
        assert t == pytest.approx(sign * 2.776445, rel=1e-3)
    assert found["ci95"] == pytest.approx(
        max(found["high"] - found["value"], found["value"] - found["low"])
    )


def test_only_seeds_that_both_have_are_compared() -> None:
    """Else a run without a partner would bring its own noise into the difference."""
    gap, newreno = (
        _point("GAP", None, [110.0, 220.0, 110.0, 220.0, 900.0]),
        _point("NewReno", None, [100.0, 200.0] * 2),
    )
    judged = judge(_check(over="NewReno", least=0.05), _outcome(gap, newreno))
    assert (judged["outcome"], judged["seeds"]) == ("passed", 4)
    assert judged["measured"][0]["value"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("kbps", "keys", "word", "passed"),
    [
        # Neither more nor less, and within 3%.
        ([100.9, 99.2, 100.2, 99.9], {"least": 0.0, "margin": 0.03}, "alike", False),
        ([100.9, 99.2, 100.2, 99.9], {"least": 0.0, "margin": 0.005}, "undecided", None),
        # More, if only by a little: what is claimed comes first.
        ([101.0, 101.1, 101.2, 101.1], {"least": 0.0, "margin": 0.03}, "passed", True),
        # A margin alone claims to be alike.
        ([100.9, 99.2, 100.2, 99.9], {"margin": 0.03}, "alike", True),
        ([110.9, 109.2, 110.2, 109.9], {"margin": 0.03}, "failed", False),
        ([103.9, 102.2, 103.2, 102.9], {"margin": 0.03}, "undecided", None),
    ],
)
def test_alike(kbps: list[float], keys: Table, word: str, passed: bool | None) -> None:
    """Else "no difference was found" and "there is none that matters" would be the same."""
    outcome = _outcome(_point("GAP", None, kbps), _point("NewReno", None, [100.0] * 4))
    judged = judge(_check(over="NewReno", **keys), outcome)
    assert (judged["outcome"], judged["passed"]) == (word, passed)


def test_a_single_run_is_judged_by_its_own_interval() -> None:
    """Else a call with one seed would judge nothing, or as if it knew the spread."""
    outcome = _outcome(_point("GAP", None, [120.0]), _point("NewReno", None, [100.0]))
    for point, width in zip(outcome["points"], (8.0, 4.0), strict=True):
        point["result"]["aggregate_kbps"]["ci95"] = width
    words = [judge(_check(over="NewReno", least=v), outcome)["outcome"] for v in (0.07, 0.1, 0.33)]
    assert words == ["passed", "undecided", "failed"]


def test_at_every_value_or_at_some() -> None:
    """Else "up to 41%" would ask for 41% at every length, or "at all" for one only."""
    points = [_point("GAP", h, [10.0 * h, 10.1 * h]) for h in (1, 2, 3)]
    points += [_point("NewReno", h, [10.0, 10.1]) for h in (1, 2, 3)]
    outcome = _outcome(*points)
    every = _check(over="NewReno", least=1.5)
    assert judge(every, outcome)["outcome"] == "failed"
    assert judge({**every, "which": "some"}, outcome)["outcome"] == "passed"
    assert judge({**every, "at": [3]}, outcome)["outcome"] == "passed"
    assert judge({**every, "at": [7]}, outcome)["passed"] is None


def _asked(system: str, rtts_ms: dict[int, list[float | None]]) -> list[Table]:
    """Points by values, each with the round-trip times of its runs; None: nothing came back."""
    points = [_point(system, value, [10.0] * len(own)) for value, own in rtts_ms.items()]
    for point, own in zip(points, rtts_ms.values(), strict=True):
        for run, ms in zip(point["result"]["runs"], own, strict=True):
            run["flows"][0]["rtt_ms"] = None if ms is None else {"p50": ms, "p95": ms}
    return points


@pytest.mark.parametrize(
    ("keys", "word", "unmeasured"),
    [
        ({"most": 30.0}, "not measured", [2]),  # at 2 nobody knows
        ({"most": 5.0}, "failed", [2]),  # at 1 and 3 it is more, whatever it is at 2
        ({"most": 30.0, "at": [1, 3]}, "passed", []),
        ({"most": 30.0, "at": [1, 7]}, "passed", []),  # 7 was not run
        ({"most": 30.0, "which": "some"}, "passed", [2]),
        ({"most": 5.0, "which": "some"}, "not measured", [2]),
        ({"trend": "rises"}, "passed", [2]),
        ({"trend": "rises", "at": [1, 2]}, "not measured", [2]),
        ({"trend": "rises", "at": [2, 3]}, "not measured", [2]),
        ({"over": "NewReno", "margin": 0.2}, "not measured", [2]),
        ({"over": "NewReno", "margin": 0.2, "at": [2]}, "not measured", [2]),
    ],
)
def test_where_nothing_was_measured_nothing_holds(
    keys: Table, word: str, unmeasured: list[int]
) -> None:
    """Else what holds where it was measured would be said of everywhere."""
    times: dict[int, list[float | None]] = {1: [9.0, 9.1], 2: [None, None], 3: [12.0, 12.1]}
    outcome = _outcome(*_asked("GAP", times), *_asked("NewReno", times))
    judged = judge(_check(measure="rtt", **keys), outcome)
    assert (judged["outcome"], judged["unmeasured"]) == (word, unmeasured)
    assert judged["passed"] is {"passed": True, "failed": False}.get(word)
    assert (verdict([judged]) == "undecided") == (word == "not measured")
    assert ("nothing to measure at 2" in check_line(judged)) == bool(unmeasured)
    rows = keep._of_check(judged, 2, "even:000000000000")
    assert [row["text"] for row in rows if row["value"] is None] == ["not measured"] * len(
        unmeasured
    )
    anytime = judge(_check(measure="rtt", **keys), outcome, ANYTIME)
    assert anytime["outcome"] in ("undecided", "not measured")


def test_a_gain_over_nothing_is_none() -> None:
    """Else two systems that carry nothing would be alike, or the first runs divide by 0."""
    nothing = _outcome(_point("GAP", None, [0.0] * 12), _point("NewReno", None, [0.0] * 12))
    for test in (PLANNED, ANYTIME):
        judged = judge(_check(over="NewReno", margin=0.1, least=0.0), nothing, test)
        assert judged["outcome"] == "not measured"
    late = [0.0] * 12 + [10.0] * 4
    outcome = _outcome(_point("GAP", None, late), _point("NewReno", None, late))
    first = judge(_check(over="NewReno", margin=0.1), outcome, ANYTIME, count=12)
    assert (first["outcome"], first["measured"]) == ("not measured", [])


def test_both_ends_of_an_interval_are_kept() -> None:
    """Else a reader would take half of it, to the farther end, for both sides."""
    base, own = [60.0, 100.0, 140.0, 90.0], [150.0, 160.0, 170.0, 140.0]
    outcome = _outcome(_point("GAP", None, own), _point("NewReno", None, base))
    judged = judge(_check(over="NewReno", least=0.0), outcome)
    (row,) = keep._of_check(judged, 4, "even:000000000000")
    below, above = row["value"] - row["low"], row["high"] - row["value"]
    assert 0 < below < above
    assert row["interval"] == pytest.approx(above, rel=1e-3)
    assert row["low"] == pytest.approx(100 * judged["measured"][0]["low"], rel=1e-3)
    nothing_bounds = _outcome(_point("GAP", None, [1.0, 2.0]), _point("NewReno", None, [0.1, 90.0]))
    open_ended = judge(_check(over="NewReno", least=0.0), nothing_bounds)
    (row,) = keep._of_check(open_ended, 2, "even:000000000000")
    assert row["interval"] is None
    assert not {"low", "high"} & set(row)


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
    times = {"duration_s": float(len(delivered[0])), "warmup_s": 2.0, "bin_s": 1.0}
    return {**times, "flows": flows, "links": links}


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
