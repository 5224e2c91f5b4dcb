# SPDX-License-Identifier: GPL-2.0-only
"""From the runs of a scenario to its result (the contract's ``--json`` document)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pacelab import __version__
from pacelab.results.pings import scenario_pings
from pacelab.results.runs import COUNTS, Drops, Person, Run, RunFlow
from pacelab.results.stats import (
    Interval,
    batch_means,
    bins_after_warmup,
    interval,
    jain,
    whole_bins,
    windows,
)
from pacelab.results.transfers import flow_transfers, scenario_transfers
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Table
from pacelab.simulator import program_hash

WINDOW_S = 10.0
STARVED_SHARE = 0.05  # of what a window delivers in all


def _measured_s(run: Run) -> float:
    return float(run["duration_s"] - run["warmup_s"])


def goodput_kbps(run: Run, flow: int) -> float:
    """Goodput of a flow in a run, kbit/s."""
    return float(run["flows"][flow]["goodput_bytes"] * 8 / 1e3 / _measured_s(run))


def together_kbps(run: Run) -> float:
    """Goodput of all flows and persons of a run, kbit/s."""
    flows = sum(goodput_kbps(run, flow) for flow in range(len(run["flows"])))
    return flows + sum(map(sum, _people_bins(run))) * 8 / 1e3 / _measured_s(run)


def _people_bins(run: Run) -> list[list[float]]:
    """What each person gets in each bin after the warm-up, with the last, be it cut."""
    return [
        bins_after_warmup(person["delivered_bytes"], run["bin_s"], run["warmup_s"])
        for person in run.get("people", [])
    ]


def _whole_bins(run: Run, of: Sequence[RunFlow | Person]) -> list[list[float]]:
    """What flows or persons get in each whole bin after the warm-up."""
    return _bins_within(run, of, (run["warmup_s"], run["duration_s"]))


def shared_period_s(scenario: Scenario) -> tuple[float, float]:
    """From when to when, after the warm-up, all flows are there; all the time if that is never."""
    return _shared_s(scenario.as_dict())


def _shared_s(scenario: Table) -> tuple[float, float]:
    whole = (scenario["warmup_s"], scenario["duration_s"])
    begin = max([whole[0], *(flow["start_s"] for flow in scenario["flows"])])
    end = min([whole[1], *(flow["stop_s"] or whole[1] for flow in scenario["flows"])])
    return (begin, end) if begin < end else whole


def _shared_bins(run: Run, period_s: tuple[float, float]) -> list[list[float]]:
    """What each flow gets in each bin that lies wholly within a period."""
    return _bins_within(run, run["flows"], period_s)


def _bins_within(
    run: Run, of: Sequence[RunFlow | Person], period_s: tuple[float, float]
) -> list[list[float]]:
    last = whole_bins(period_s[1], run["bin_s"])
    return [
        bins_after_warmup(one["delivered_bytes"][:last], run["bin_s"], period_s[0]) for one in of
    ]


def _goodput_interval(runs: Sequence[Run], flow: int) -> Interval:
    """Of a flow: over replications, or over batches when there is one run."""
    first = runs[0]
    series = _whole_bins(first, [first["flows"][flow]])
    return _over_runs([goodput_kbps(run, flow) for run in runs], first, series)


def _aggregate(runs: Sequence[Run]) -> Interval:
    """Of all flows and persons together, as of one flow."""
    first = runs[0]
    series = _whole_bins(first, [*first["flows"], *first.get("people", [])])
    return _over_runs([together_kbps(run) for run in runs], first, series)


def _over_runs(values: list[float], first: Run, series: Sequence[Sequence[float]]) -> Interval:
    """Of values of runs; the interval of a single one is that of batches of its bins."""
    if len(values) > 1:
        return interval(values)
    together = [sum(octets) * 8 / 1e3 for octets in zip(*series, strict=False)]
    return {"mean": values[0], "ci95": interval(batch_means(together, first["bin_s"]))["ci95"]}


def _shares(run: Run, period_s: tuple[float, float]) -> list[float]:
    """What each flow gets in a period; goodput itself where that is all the time."""
    if period_s == (run["warmup_s"], run["duration_s"]):
        return [flow["goodput_bytes"] for flow in run["flows"]]
    return [sum(bins) for bins in _shared_bins(run, period_s)]


def run_jain(run: Run, period_s: tuple[float, float]) -> float:
    """Jain's index of the flows' goodput over a period."""
    return jain(_shares(run, period_s))


def run_spread(run: Run, period_s: tuple[float, float]) -> float:
    """By how much of the best flow's goodput the worst flow's lies below it, 0 .. 1."""
    shares = _shares(run, period_s)
    return 1 - min(shares) / max(shares) if any(shares) else 0.0


def run_jain_10s(run: Run, period_s: tuple[float, float]) -> float:
    """Mean of Jain's index over windows of 10 s: capture that alternates shows here."""
    shares = windows(_shared_bins(run, period_s), run["bin_s"], WINDOW_S)
    return sum(map(jain, shares)) / len(shares) if shares else run_jain(run, period_s)


def run_starved_10s(run: Run, period_s: tuple[float, float]) -> float:
    """Share of 10 s windows in which some flow gets under 5% of what the window delivers."""
    shares = windows(_shared_bins(run, period_s), run["bin_s"], WINDOW_S)
    starved = [min(s) < STARVED_SHARE * sum(s) or sum(s) == 0 for s in shares if s]
    return sum(starved) / len(starved) if starved else 0.0


def _mean(values: Sequence[Any]) -> float | None:
    present = [float(v) for v in values if v is not None]
    return sum(present) / len(present) if present else None


def _mean_table(tables: Sequence[Mapping[str, Any] | None]) -> Table | None:
    present = [t for t in tables if t is not None]
    return {key: _mean([t[key] for t in present]) for key in present[0]} if present else None


def _flow_summary(runs: Sequence[Run], index: int) -> Table:
    flows = [run["flows"][index] for run in runs]
    first = flows[0]
    summary: Table = {"name": first["name"], "from": first["from"], "to": first["to"]}
    summary |= {"direction": first["direction"], "hops": first["hops"], "law": first["law"]}
    summary["goodput_kbps"] = _goodput_interval(runs, index)
    for key in COUNTS:
        summary[key] = _mean([flow[key] for flow in flows])
    summary["rtt_ms"] = _mean_table([flow["rtt_ms"] for flow in flows])
    summary["pacing"] = _mean_table([flow["pacing"] for flow in flows])
    if "sent_bytes" in flows[0]:
        sent = sum(flow["sent_bytes"] for flow in flows)
        lost = sent - sum(flow["goodput_bytes"] for flow in flows)
        summary["loss"] = max(lost / sent, 0.0) if sent else None
    if "transfers" in flows[0]:
        summary |= flow_transfers(flows)
    if "page_loads_s" in flows[0]:
        # Loads of one run follow each other; runs are independent.
        loads = [flow["page_loads_s"] for flow in flows]
        means = [sum(own) / len(own) for own in loads if own]
        summary["page_load_s"] = interval(means) if means else None
        summary["pages"] = sum(map(len, loads))
    return summary


def _links(runs: Sequence[Run]) -> list[Drops]:
    found: dict[tuple[str, str], list[Drops]] = {}
    for run in runs:
        for link in run["links"]:
            found.setdefault((link["from"], link["to"]), []).append(link)
    return [
        {
            "from": begin,
            "to": end,
            "data_drops": sum(link["data_drops"] for link in drops) / len(runs),
            "ack_drops": sum(link["ack_drops"] for link in drops) / len(runs),
            "other_drops": sum(link["other_drops"] for link in drops) / len(runs),
        }
        for (begin, end), drops in sorted(found.items())
    ]


def _together(runs: Sequence[Run], shared_s: tuple[float, float]) -> Table:
    """What all flows have together, and pings."""
    return {
        "aggregate_kbps": _aggregate(runs),
        "jain": interval([run_jain(run, shared_s) for run in runs]),
        "spread": interval([run_spread(run, shared_s) for run in runs]),
        "jain_10s": interval([run_jain_10s(run, shared_s) for run in runs]),
        "starved_10s": interval([run_starved_10s(run, shared_s) for run in runs]),
        **scenario_transfers(runs),
        "pings": scenario_pings(runs),
    }


def of_one_run(scenario: Table, run: Run) -> Table:
    """What measures look at in the result of a single run of a resolved scenario."""
    shared_s = _shared_s(scenario)
    return {
        "scenario": scenario,
        "seeds": [run["seed"]],
        "runs": [run],
        **_together([run], shared_s),
    }


def summarize(scenario: Scenario, runs: Sequence[Run]) -> Table:
    """The result of a scenario: means over runs with 95% intervals.

    With several seeds the runs are replications; with one, intervals of goodput come from
    batch means, and other figures have none. Drops on links are means per run. Fairness (``jain``,
    ``spread``, ``jain_10s``, ``starved_10s``) is that of the time in which all flows are there.
    Pings have no part in any of this.
    """
    return {
        "scenario": scenario.as_dict(),
        "seeds": [run["seed"] for run in runs],
        "statistics": "replications" if len(runs) > 1 else "batch means",
        "flows": [_flow_summary(runs, i) for i in range(len(runs[0]["flows"]))],
        **_together(runs, shared_period_s(scenario)),
        "links": _links(runs),
        "gateway": _mean_table([run["gateway"] for run in runs]),
        "runs": list(runs),
        "versions": {
            **runs[0]["versions"],
            "pacelab": __version__,
            "meshpace-sim": program_hash()[:12],
        },
    }
