# SPDX-License-Identifier: GPL-2.0-only
"""Measures: what a picture shows and a check judges, each with its 95% interval.

A measure is of a *point* of an outcome: the result of a scenario, and what a search found. A
*selection* narrows it to some flows, to the time in which just some flows are there, to some links,
or to some hosts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pacelab.results.host_measures import HOST_MEASURES, HostMeasure, host_values
from pacelab.results.runs import Count, Quantile, Rtt, Run
from pacelab.results.stats import Interval, interval, jain, whole_bins, windows
from pacelab.results.summary import STARVED_SHARE, WINDOW_S
from pacelab.scenario.schema import Table


@dataclass(frozen=True)
class Selection:
    """Flows by name (None: all); flows that alone are there; links as (from, to); hosts by their
    names or those of persons there."""

    flows: Sequence[str] | None = None
    alone: Sequence[str] | None = None
    links: Sequence[Sequence[str]] | None = None
    hosts: Sequence[str] | None = None

    @property
    def narrows(self) -> bool:
        """Whether time or flows are narrowed."""
        return self.flows is not None or self.alone is not None


EVERYTHING = Selection()


@dataclass(frozen=True)
class Measure:
    """``label`` with its unit, for an axis. A difference of two is relative unless ``absolute``.

    ``narrowed_by``: what of a selection it heeds, by the keys of a check. Of events that are
    counted, less than half a one in a run counts as that much where something is set in relation to
    it. ``solo``: it needs solo runs.
    What is no mean of runs (not ``each_run``) has no interval.
    """

    label: str
    of: Callable[[Table, Selection], Interval | None]
    narrowed_by: tuple[str, ...]
    digits: int = 0
    absolute: bool = False
    percent: bool = False
    counts: bool = False
    solo: bool = False
    each_run: bool = True


# By what most measures are narrowed: those of bins, and those of a flow's own figures.
BINS, FLOWS = ("flows", "while"), ("flows",)

LEAST_COUNT = 0.5

# How a flow has recovered shows in so long a time, so long after what interrupted it.
RECOVERING_S = 5.0
RECOVERED_S = 10.0


def _chosen(run: Run, selection: Selection) -> list[int]:
    names = [flow["name"] for flow in run["flows"]]
    return [i for i, n in enumerate(names) if selection.flows is None or n in selection.flows]


def _there(flow: Table, begin_s: float, end_s: float) -> bool:
    """Whether a flow may send at some time of a period."""
    return float(flow["start_s"]) < end_s and float(flow["stop_s"] or math.inf) > begin_s


def _bins(scenario: Table, run: Run, selection: Selection) -> list[list[float]]:
    """What each chosen flow gets in each whole bin after the warm-up that the selection leaves."""
    width = run["bin_s"]
    series = [flow["delivered_bytes"] for flow in run["flows"]]
    count = min([whole_bins(run["duration_s"], width), *map(len, series)])
    kept = [
        k
        for k in range(math.ceil(run["warmup_s"] / width - 1e-9), count)
        if selection.alone is None
        or {f["name"] for f in scenario["flows"] if _there(f, k * width, (k + 1) * width)}
        == set(selection.alone)
    ]
    return [[series[i][k] for k in kept] for i in _chosen(run, selection)]


def _of_runs(
    point: Table, selection: Selection, of: Callable[[list[list[float]], float], float]
) -> list[float]:
    """A function of each run's bins, where it has any."""
    result = point["result"]
    runs = [(run, _bins(result["scenario"], run, selection)) for run in result["runs"]]
    return [of(bins, run["bin_s"]) for run, bins in runs if bins and bins[0]]


def _over_bins(
    point: Table, selection: Selection, of: Callable[[list[list[float]], float], float]
) -> Interval | None:
    """Of a function of each run's bins."""
    values = _of_runs(point, selection, of)
    return interval(values) if values else None


def _mean_kbps(bins: list[list[float]], bin_s: float) -> float:
    return sum(map(sum, bins)) * 8 / 1e3 / (len(bins[0]) * bin_s)


def _jain(bins: list[list[float]], _bin_s: float) -> float:
    return jain([sum(flow) for flow in bins])


def _spread(bins: list[list[float]], _bin_s: float) -> float:
    shares = [sum(flow) for flow in bins]
    return 1 - min(shares) / max(shares) if max(shares) else 0.0


def _least_share(bins: list[list[float]], _bin_s: float) -> float:
    """What the worst flow gets of an equal share, 0 .. 1."""
    shares = [sum(flow) for flow in bins]
    return min(shares) * len(shares) / sum(shares) if sum(shares) else 0.0


def _worst_share(point: Table, selection: Selection) -> Interval | None:
    """The least ``least_share`` of any run; no mean, and so without an interval."""
    values = _of_runs(point, selection, _least_share)
    return {"mean": min(values), "ci95": None} if values else None


def _jain_10s(bins: list[list[float]], bin_s: float) -> float:
    shares = windows(bins, bin_s, WINDOW_S)
    return sum(map(jain, shares)) / len(shares) if shares else _jain(bins, bin_s)


def _starved_10s(bins: list[list[float]], bin_s: float) -> float:
    shares = windows(bins, bin_s, WINDOW_S)
    starved = [min(s) < STARVED_SHARE * sum(s) or sum(s) == 0 for s in shares]
    return sum(starved) / len(starved) if starved else 0.0


def _stall_s(bins: list[list[float]], bin_s: float) -> float:
    """The longest time in which some flow gets nothing, in whole bins."""
    longest = 0
    for flow in bins:
        here = 0
        for delivered in flow:
            here = 0 if delivered else here + 1
            longest = max(longest, here)
    return longest * bin_s


def _ready(
    key: str, of: Callable[[list[list[float]], float], float]
) -> Callable[[Table, Selection], Interval | None]:
    """The result's own figure; where the selection narrows, that of the bins."""

    def measure(point: Table, selection: Selection) -> Interval | None:
        if selection.narrows:
            return _over_bins(point, selection, of)
        found: Interval | None = point["result"].get(key)
        return found

    return measure


def _from_bins(
    of: Callable[[list[list[float]], float], float],
) -> Callable[[Table, Selection], Interval | None]:
    return lambda point, selection: _over_bins(point, selection, of)


def _per_run(of: Callable[[Run, Selection], float | None]) -> Any:
    """Of a function of each run; None where it has none."""

    def measure(point: Table, selection: Selection) -> Interval | None:
        values = [of(run, selection) for run in point["result"]["runs"]]
        there = [v for v in values if v is not None]
        return interval(there) if there else None

    return measure


def _count(key: Count) -> Any:
    """Sum over flows of a count."""

    def of(run: Run, selection: Selection) -> float | None:
        counts = [run["flows"][i][key] for i in _chosen(run, selection)]
        known = [c for c in counts if c is not None]
        return float(sum(known)) if known else None

    return _per_run(of)


def _drops(run: Run, selection: Selection) -> float:
    """Packets of TCP, data and ACKs, that the link layer gave up on the links."""
    wanted = None if selection.links is None else {tuple(link) for link in selection.links}
    return float(
        sum(
            link["data_drops"] + link["ack_drops"]
            for link in run["links"]
            if wanted is None or (link["from"], link["to"]) in wanted
        )
    )


def _loss(run: Run, selection: Selection) -> float | None:
    """Share of what the constant-rate flows send that does not arrive."""
    flows = [run["flows"][i] for i in _chosen(run, selection)]
    sent = sum(f["sent_bytes"] for f in flows if "sent_bytes" in f)
    got = sum(f["goodput_bytes"] for f in flows if "sent_bytes" in f)
    return max(1 - got / sent, 0.0) if sent else None


def _mean_of(key: Quantile, rtts: Sequence[Rtt | None]) -> float | None:
    there = [float(rtt[key]) for rtt in rtts if rtt]
    return sum(there) / len(there) if there else None


def _rtt_ms(key: Quantile) -> Any:
    """A quantile of TCP's RTT, the mean over flows."""

    def of(run: Run, selection: Selection) -> float | None:
        return _mean_of(key, [run["flows"][i]["rtt_ms"] for i in _chosen(run, selection)])

    return _per_run(of)


def _ping_ms(key: Quantile) -> Any:
    """Of round-trip times, the mean over pings."""
    return _per_run(lambda run, _: _mean_of(key, [p["rtt_ms"] for p in run.get("pings", [])]))


def _between(run: Run, selection: Selection, begin_s: float, end_s: float) -> float | None:
    """What the chosen flows get a second in the bins that lie wholly in a time, together."""
    width = run["bin_s"]
    bins = range(math.ceil(begin_s / width - 1e-9), math.floor(end_s / width + 1e-9))
    flows = [run["flows"][i]["delivered_bytes"] for i in _chosen(run, selection)]
    count = min([whole_bins(run["duration_s"], width), *map(len, flows)])
    if not bins or bins.stop > count:
        return None
    return float(sum(flow[k] for flow in flows for k in bins) / (len(bins) * width))


def _interruptions_s(scenario: Table) -> list[tuple[float, float]]:
    """From when to when outages and idle applications interrupt something, in order."""
    outages = [(o["at_s"], o["at_s"] + o["for_s"]) for o in scenario["outages"]]
    idle = [
        (flow["idle_at_s"], flow["idle_at_s"] + flow["idle_s"])
        for flow in scenario["flows"]
        if flow["idle_s"]
    ]
    return sorted(outages + idle)


def _recovered(point: Table, selection: Selection) -> Interval | None:
    """What is delivered after the last interruption, relative to before the first."""
    scenario = point["result"]["scenario"]
    interruptions = _interruptions_s(scenario)
    if not interruptions:
        return None
    first, last = interruptions[0][0], max(end for _, end in interruptions) + RECOVERING_S

    def of(run: Run, selection: Selection) -> float | None:
        before = _between(run, selection, run["warmup_s"], first)
        after = _between(run, selection, last, last + RECOVERED_S)
        return after / before if before and after is not None else None

    found: Interval | None = _per_run(of)(point, selection)
    return found


def _searched(point: Table, _selection: Selection) -> Interval | None:
    value = point.get("searched")
    if value is None or isinstance(value, dict):  # rates of hosts
        return None
    return {"mean": float(value), "ci95": None}


def _of_hosts(name: str, of: HostMeasure) -> Measure:
    def measure(point: Table, selection: Selection) -> Interval | None:
        there = [v for v in run_values(name, point, selection) if v is not None]
        return interval(there) if there else None

    return Measure(of.label, measure, ("hosts",), of.digits, of.absolute, of.percent, solo=of.solo)


def run_values(name: str, point: Table, selection: Selection = EVERYTHING) -> list[float | None]:
    """A measure of hosts in each run of a point, in the order of its seeds; None where a run has
    none, so that two points pair by seed."""
    return host_values(name, point["result"], selection.hosts)


MEASURES = {
    "goodput": Measure("goodput, kbit/s", _ready("aggregate_kbps", _mean_kbps), BINS),
    "jain": Measure("Jain's index", _ready("jain", _jain), BINS, 3, absolute=True),
    "jain_10s": Measure(
        "Jain's index over 10 s", _ready("jain_10s", _jain_10s), BINS, 3, absolute=True
    ),
    "starved_10s": Measure(
        "share of 10 s windows in which a flow gets under 5%",
        _ready("starved_10s", _starved_10s),
        BINS,
        3,
        absolute=True,
        percent=True,
    ),
    "spread": Measure(
        "worst flow below the best", _ready("spread", _spread), BINS, 3, absolute=True, percent=True
    ),
    "least_share": Measure(
        "worst flow's part of an equal share",
        _from_bins(_least_share),
        BINS,
        3,
        absolute=True,
        percent=True,
    ),
    "worst_share": Measure(
        "worst flow's part of an equal share, in the worst run",
        _worst_share,
        BINS,
        3,
        absolute=True,
        percent=True,
        each_run=False,
    ),
    "stall": Measure("longest time without a byte, s", _from_bins(_stall_s), BINS, 1),
    "retransmits": Measure(
        "segments sent again by TCP", _count("retransmits"), FLOWS, 1, counts=True
    ),
    "timeouts": Measure("timeouts", _count("timeouts"), FLOWS, 1, counts=True),
    "drops": Measure(
        "TCP packets that the link layer dropped", _per_run(_drops), ("links",), 1, counts=True
    ),
    "loss": Measure("loss", _per_run(_loss), FLOWS, 4, absolute=True, percent=True),
    "rtt": Measure("median RTT, ms", _rtt_ms("p50"), FLOWS),
    "rtt_p95": Measure("RTT, 95% quantile, ms", _rtt_ms("p95"), FLOWS),
    "ping": Measure("mean time of a ping, ms", _ping_ms("mean"), ()),
    "ping_p95": Measure("time of a ping, 95% quantile, ms", _ping_ms("p95"), ()),
    "recovered": Measure(
        "goodput after an interruption, of that before",
        _recovered,
        FLOWS,
        3,
        absolute=True,
        percent=True,
    ),
    "transfer_kbps": Measure(
        "sum of mean goodputs of transfers, kbit/s",
        lambda point, _: point["result"].get("transfer_kbps"),
        (),
    ),
    "transfer_jain": Measure(
        "Jain's index of mean goodputs of transfers",
        lambda point, _: point["result"].get("transfer_jain"),
        (),
        3,
        absolute=True,
    ),
    "searched": Measure("best rate, kbit/s", _searched, (), each_run=False),
    **{name: _of_hosts(name, of) for name, of in HOST_MEASURES.items()},
}


def measured(name: str, point: Table, selection: Selection = EVERYTHING) -> Interval | None:
    """The measure of a point; None where the point has none."""
    return MEASURES[name].of(point, selection)


def apart(name: str, value: Interval, base: Interval) -> Interval | None:
    """How far a figure lies above another where there are no runs to pair, such as of one run each:
    relative to it, or absolute; None over a base of 0. The interval is the sum of both.
    """
    width = (value["ci95"] or 0.0) + (base["ci95"] or 0.0)
    known = value["ci95"] is not None or base["ci95"] is not None
    measure = MEASURES[name]
    scale = 1.0 if measure.absolute else base["mean"]
    if measure.counts:
        scale = max(scale, LEAST_COUNT)
    if scale == 0:
        return None
    mean = (value["mean"] - base["mean"]) / scale
    return {"mean": mean, "ci95": width / scale if known else None}
