# SPDX-License-Identifier: GPL-2.0-only
"""The table of a comparison of the emulation with the simulation."""

from __future__ import annotations

from pacelab.results.tables import with_interval
from pacelab.scenario.schema import Table


def _rtt(result: Table) -> str:
    """Medians and 95th percentiles of the flows' RTT."""
    rtts = [flow["rtt_ms"] for flow in result["flows"]]
    return ", ".join(f"{r['p50']:.0f}/{r['p95']:.0f}" if r else "-" for r in rtts)


def comparison_rows(document: Table) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the comparison's table."""
    header = ["kbit/s", "simulated", "emulated", "ratio", "interval", "RTT 50/95% sim", "RTT emu"]
    header.append("lag p99 ms")
    lines = []
    for entry in document["comparison"]:
        simulated, emulated = entry["simulated"], entry["emulated"]
        line = [f"{entry['name']}, {entry['law']}", with_interval(simulated["aggregate_kbps"])]
        if emulated is None:
            lines.append([*line, "late", "-", "-", _rtt(simulated), "-", "-"])
            continue
        interval, ratio = entry["interval_ratio"], entry["goodput_ratio"]
        lines.append(
            [
                *line,
                with_interval(emulated["aggregate_kbps"]),
                "-" if ratio is None else with_interval(ratio, 2),
                "-" if interval is None else f"{interval:.2f}",
                _rtt(simulated),
                _rtt(emulated),
                f"{emulated['lag_ms']['p99']:.2f}",
            ]
        )
    return header, lines
