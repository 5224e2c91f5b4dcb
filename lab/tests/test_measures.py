# SPDX-License-Identifier: GPL-2.0-only
"""Measures that look at runs one by one, at pings, at what interrupts flows."""

from typing import Any

import pytest

from pacelab.results.measures import Selection, measured
from pacelab.scenario.schema import Table


def _run(bins: list[list[float]], p95: float | None = None) -> Table:
    rtt = None if p95 is None else {"mean": 1.0, "p50": 1.0, "p95": p95}
    flows = [
        {"name": f"FTP {i}", "delivered_bytes": own, "rtt_ms": rtt}
        for i, own in enumerate(bins, start=1)
    ]
    times = {"duration_s": float(len(bins[0])), "warmup_s": 2.0, "bin_s": 1.0}
    return {**times, "flows": flows}


def _point(runs: list[Table], **scenario: Any) -> Table:
    flows = [{"name": flow["name"], "idle_s": 0.0} for flow in runs[0]["flows"]]
    return {"result": {"scenario": {"flows": flows, "outages": [], **scenario}, "runs": runs}}


def test_the_worst_run_and_the_tail() -> None:
    """Else a mean over seeds would hide the one in which somebody starves."""
    runs = [_run([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]], 8.0), _run([[0.0, 0.0, 1.0], [0.0] * 3], 4.0)]
    point = _point(runs)
    assert measured("worst_share", point) == {"mean": 0.0, "ci95": None}
    share = measured("least_share", point)
    tail = measured("rtt_p95", point)
    assert share is not None
    assert tail is not None
    assert (share["mean"], tail["mean"]) == (0.5, 6.0)


def test_what_has_recovered() -> None:
    """Else goodput while the window still grows, or of the warm-up, would count."""
    # 100 a second up to 5 s, nothing for 3 s, little for 5 s, then 80 for 10 s, then what is left.
    first = [9.0] * 2 + [100.0] * 3 + [0.0] * 3 + [1.0] * 5 + [80.0] * 10 + [500.0] * 2
    second = [0.0] * 2 + [10.0] * 23
    outage = {"node": "RL1", "at_s": 5.0, "for_s": 3.0}

    def recovered(selection: Selection, run: Table, **scenario: Any) -> float | None:
        found = measured("recovered", _point([run], **scenario), selection)
        return found and found["mean"]

    whole = _run([first, second])
    alone = Selection(flows=["FTP 1"])
    assert recovered(alone, whole, outages=[outage]) == pytest.approx(0.8)
    assert recovered(Selection(), whole, outages=[outage]) == pytest.approx(90 / 110)
    idle = [
        {"name": "FTP 1", "idle_at_s": 5.0, "idle_s": 3.0},
        {"name": "FTP 2", "idle_s": 0.0},
    ]
    assert recovered(alone, whole, flows=idle) == pytest.approx(0.8)
    assert recovered(alone, _run([first[:22]]), outages=[outage]) is None  # too short to tell
    assert recovered(alone, whole) is None


def test_the_second_that_the_end_cuts_does_not_count() -> None:
    """Else it would stand for a whole one in which next to nothing came: a silence, a fall."""
    run = _run([[9.0] * 2 + [100.0] * 10 + [0.0] * 2 + [0.0]]) | {"duration_s": 14.01}
    for name, mean in (("stall", 2.0), ("least_share", 1.0)):
        found = measured(name, _point([run]))
        assert found is not None
        assert found["mean"] == mean
    narrowed = measured("goodput", _point([run]), Selection(flows=["FTP 1"]))
    assert narrowed is not None
    assert narrowed["mean"] == pytest.approx(1000 * 8 / 1e3 / 12)
    # An interruption after which ten seconds are left but for a part of the last.
    outage = {"node": "RL1", "at_s": 5.0, "for_s": 3.0}
    run = _run([[100.0] * 22 + [50.0]]) | {"duration_s": 22.5}
    assert measured("recovered", _point([run], outages=[outage])) is None


def test_pings_are_measured_over_all_of_them() -> None:
    """Else one of several, or a run without an answer, would stand for all."""

    def ping(mean: float | None) -> Table:
        return {"rtt_ms": {"mean": mean, "p95": 2 * mean} if mean else None}

    point: Table = {
        "result": {"runs": [{"pings": [ping(10.0), ping(30.0)]}, {"pings": [ping(40.0)]}]}
    }
    for name, mean in (("ping", 30.0), ("ping_p95", 60.0)):
        found = measured(name, point)
        assert found is not None
        assert found["mean"] == mean
    silent: list[Table] = [{"pings": [ping(None)]}, {"flows": []}]
    for run in silent:
        assert measured("ping", {"result": {"runs": [run]}}) is None
