# SPDX-License-Identifier: GPL-2.0-only
"""Figures with their 95% intervals, as PNG and SVG; the same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

from pacelab.schema import Table

# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
PANEL_INCHES = (5.2, 3.6)
NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))

mpl.rcParams.update(
    {
        "svg.hashsalt": "pacelab",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.grid.axis": "y",
        "axes.axisbelow": True,
        "grid.color": "#dddddd",
        "legend.frameon": False,
        "figure.dpi": 110,
    }
)


def save(figure: Any, stem: Path) -> None:
    """Writes stem.png and stem.svg, without a date or an address in them."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(stem.with_suffix(".svg"), metadata=NO_METADATA, bbox_inches="tight")
    figure.savefig(stem.with_suffix(".png"), metadata={"Software": None}, bbox_inches="tight")
    plt.close(figure)


def _panels(count: int) -> tuple[Any, list[Any]]:
    columns = min(count, 2)
    rows = -(-count // columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(PANEL_INCHES[0] * columns, PANEL_INCHES[1] * rows),
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    flat = [axis for row in axes for axis in row]
    for unused in flat[count:]:
        unused.set_visible(False)
    return figure, flat[:count]


def outcome_figure(outcome: Table) -> Any:
    """An experiment's figure: a panel for each variant."""
    figure, axes = _panels(len(outcome["variants"]))
    draw = _sweep_panel if outcome["about"]["plot"] == "sweep" else _flows_panel
    for axis, variant in zip(axes, outcome["variants"], strict=True):
        draw(axis, outcome, variant)
        axis.set_title(variant, loc="left", fontsize=10)
        axis.set_ylim(bottom=0)
        axis.tick_params(labelleft=True)
    if draw is _sweep_panel:
        axes[0].legend(loc="best")
    figure.supylabel("goodput, kbit/s", fontsize=10)
    figure.suptitle(outcome["title"], x=0.02, ha="left", fontsize=12, fontweight="bold")
    return figure


def _sweep_panel(axis: Any, outcome: Table, variant: str) -> None:
    for i, system in enumerate(outcome["systems"]):
        points = [p for p in outcome["points"] if p["variant"] == variant and p["system"] == system]
        sums = [p["result"]["aggregate_kbps"] for p in points]
        axis.errorbar(
            [p["value"] for p in points],
            [s["mean"] for s in sums],
            yerr=[s["ci95"] or 0 for s in sums],
            color=COLOURS[i % len(COLOURS)],
            marker=MARKERS[i % len(MARKERS)],
            markersize=5,
            capsize=3,
            label=system,
        )
    reference = outcome["about"]["reference"]
    if reference:
        shown = [v for v in outcome["values"] if str(v) in reference["values"]]
        known = [reference["values"][str(v)] for v in shown]
        axis.plot(shown, known, "--", color="#666666", label=reference["name"])
    axis.set_xticks(outcome["values"])
    axis.set_xlabel(outcome["about"]["xlabel"] or outcome["about"]["sweep"]["key"])


def _flows_panel(axis: Any, outcome: Table, variant: str) -> None:
    results = {p["system"]: p["result"] for p in outcome["points"] if p["variant"] == variant}
    bars(axis, results)


def bars(axis: Any, results: dict[str, Table]) -> None:
    """Bars of each flow and of all together, a group for each; Jain's index above the groups."""
    first = next(iter(results.values()))
    groups = [flow["name"] for flow in first["flows"]] + ["all"]
    width = 0.8 / len(results)
    for i, (system, result) in enumerate(results.items()):
        values = [flow["goodput_kbps"] for flow in result["flows"]] + [result["aggregate_kbps"]]
        label = f"{system} (Jain {result['jain']['mean']:.3f})"
        axis.bar(
            [g + (i - (len(results) - 1) / 2) * width for g in range(len(groups))],
            [v["mean"] for v in values],
            width * 0.94,
            yerr=[v["ci95"] or 0 for v in values],
            color=COLOURS[i % len(COLOURS)],
            capsize=3,
            label=label,
        )
    axis.set_xticks(range(len(groups)), groups)
    axis.legend(loc="upper left", fontsize=8)
    top = max(r["aggregate_kbps"]["mean"] for r in results.values())
    axis.set_ylim(0, top * 1.45)


def result_figure(result: Table) -> Any:
    """A scenario's figure: goodput of its flows with intervals, and over time."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(PANEL_INCHES[0] * 2, PANEL_INCHES[1]), layout="constrained"
    )
    flows = result["flows"]
    left.bar(
        range(len(flows)),
        [f["goodput_kbps"]["mean"] for f in flows],
        yerr=[f["goodput_kbps"]["ci95"] or 0 for f in flows],
        color=[COLOURS[i % len(COLOURS)] for i in range(len(flows))],
        capsize=3,
    )
    left.set_xticks(range(len(flows)), [f["name"] for f in flows])
    left.set_ylabel("goodput, kbit/s")
    run = result["runs"][0]
    for i, flow in enumerate(run["flows"]):
        series = _smooth([b * 8 / 1e3 / run["bin_s"] for b in flow["delivered_bytes"]])
        times = [(k + 0.5) * run["bin_s"] for k in range(len(series))]
        right.plot(times, series, color=COLOURS[i % len(COLOURS)], label=flow["name"])
    right.axvline(run["warmup_s"], color="#999999", linestyle=":", linewidth=1)
    right.set_xlabel(f"time, s (seed {run['seed']}; 5 s means)")
    right.set_ylim(bottom=0)
    right.legend(loc="best")
    figure.suptitle(result["scenario"]["title"], x=0.02, ha="left", fontsize=12, fontweight="bold")
    return figure


def _smooth(series: Sequence[float], width: int = 5) -> list[float]:
    half = width // 2
    return [
        sum(window) / len(window)
        for window in (series[max(i - half, 0) : i + half + 1] for i in range(len(series)))
    ]
