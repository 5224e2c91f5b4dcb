# SPDX-License-Identifier: GPL-2.0-only
"""File transfers (``traffic = "files"``): goodput of each, as TCP-GAP's section 5.3 has it."""

from __future__ import annotations

from collections.abc import Sequence

from pacelab.results.runs import Run, RunFlow
from pacelab.results.stats import BATCHES, Interval, interval, jain
from pacelab.scenario.schema import Table


def transfers_kbps(flow: RunFlow) -> list[float]:
    """Goodput of each transfer of a run's flow that counts, in order, kbit/s."""
    return [size * 8 / 1e3 / seconds for size, seconds in flow["transfers"]]


def _mean_kbps(flow: RunFlow) -> float:
    values = transfers_kbps(flow)
    return sum(values) / len(values) if values else 0.0


def _files(run: Run) -> list[RunFlow]:
    return [flow for flow in run["flows"] if "transfers" in flow]


def _over_batches(flow: RunFlow) -> Interval:
    """Of one run: transfers follow each other, so the interval is that of batches of them."""
    values = transfers_kbps(flow)
    length = len(values) // BATCHES
    batches = [values[i * length : (i + 1) * length] for i in range(BATCHES if length else 0)]
    return {
        "mean": _mean_kbps(flow),
        "ci95": interval([sum(b) / length for b in batches])["ci95"] if batches else None,
    }


def flow_transfers(flows: Sequence[RunFlow]) -> Table:
    """Of one flow in all runs: ``transfers``, ``unfinished``, ``transfer_kbps``.

    A run in which none of its transfers counts has a mean of 0: the flow got nothing through.
    """
    return {
        "transfers": sum(len(flow["transfers"]) for flow in flows),
        "unfinished": sum(flow["unfinished"] for flow in flows),
        "transfer_kbps": interval([_mean_kbps(flow) for flow in flows])
        if len(flows) > 1
        else _over_batches(flows[0]),
    }


def scenario_transfers(runs: Sequence[Run]) -> Table:
    """Of all flows that send files; nothing where there is none.

    ``transfer_kbps`` is the sum over flows of the mean goodput of their transfers, the paper's
    "aggregate averaged goodput"; ``transfer_jain`` is Jain's index of those means.
    """
    means = [[_mean_kbps(flow) for flow in _files(run)] for run in runs]
    if not means[0]:
        return {}
    return {
        "transfer_kbps": interval([sum(own) for own in means]),
        "transfer_jain": interval([jain(own) for own in means]),
    }
