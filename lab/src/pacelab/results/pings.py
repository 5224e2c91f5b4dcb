# SPDX-License-Identifier: GPL-2.0-only
"""What a result says of pings. They are no flows."""

from __future__ import annotations

from collections.abc import Sequence

from pacelab.results.runs import Ping, Quantile, Run
from pacelab.results.stats import interval
from pacelab.scenario.schema import Table

RTTS: tuple[Quantile, ...] = ("mean", "p50", "p95", "max")


def _summary(pings: Sequence[Ping]) -> Table:
    """Of one ping in all runs; in a run without any answer it has no round-trip time."""
    answered = [ping["rtt_ms"] for ping in pings if ping["rtt_ms"]]
    return {
        **{key: pings[0][key] for key in ("from", "to")},
        **{key: interval([float(ping[key]) for ping in pings]) for key in ("sent", "lost")},
        "rtt_ms": {key: interval([rtt[key] for rtt in answered]) for key in RTTS}
        if answered
        else None,
    }


def scenario_pings(runs: Sequence[Run]) -> list[Table]:
    """Of each ping: ``sent``, ``lost`` and ``rtt_ms``, per run, with intervals over runs."""
    return [
        _summary([run["pings"][i] for run in runs]) for i in range(len(runs[0].get("pings", [])))
    ]
