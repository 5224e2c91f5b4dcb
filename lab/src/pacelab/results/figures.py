# SPDX-License-Identifier: GPL-2.0-only
"""Figures with their 95% intervals, as PNG and SVG; the same input gives the same bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

from pacelab.results.host_figures import (
    DISTRIBUTION_LABEL,
    OVER_TIME_LABEL,
    distribution_panel,
    over_time_panel,
    title_pad,
)
from pacelab.results.measures import MEASURES, Selection, measured
from pacelab.results.stats import Interval, whole_bins
from pacelab.scenario.schema import Table

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
        # Names are shown as they stand: two dollars in one are no formula.
        "text.parse_math": False,
    }
)


def save(figure: Any, stem: Path) -> None:
    """Writes stem.png and stem.svg, without a date or an address in them."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    # A name may have a dot in it.
    svg, png = (stem.with_name(stem.name + suffix) for suffix in (".svg", ".png"))
    figure.savefig(svg, metadata=NO_METADATA, bbox_inches="tight")
    figure.savefig(png, metadata={"Software": None}, bbox_inches="tight")
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


def outcome_figure(outcome: Table, picture: Table) -> Any:
    """One of an experiment's pictures.

    By kind: "sweep" (a measure over the swept key), "flows" (bars of each flow), "links" (bars of
    what each link dropped), "distribution" (load times of pages), a panel for each variant; "time"
    (goodput of flows over time), "over-time" (that of hosts, and their parts), a panel for each
    system and variant.
    """
    points = [p for p in outcome["points"] if shown(picture, p)]
    if picture["kind"] in OF_POINTS:
        panels = [(", ".join(filter(None, (p["system"], p["variant"]))), [p]) for p in points]
    else:
        variants = list(dict.fromkeys(p["variant"] for p in points))
        panels = [(v, [p for p in points if p["variant"] == v]) for v in variants]
    figure, axes = _panels(len(panels))
    draw = {
        "sweep": _sweep_panel,
        "flows": _flows_panel,
        "links": _links_panel,
        "time": _time_panel,
        "over-time": _over_time_panel,
        "distribution": _distribution_panel,
    }[picture["kind"]]
    for axis, (title, own) in zip(axes, panels, strict=True):
        draw(axis, outcome, picture, own)
        pad = title_pad(axis) if picture["kind"] == "over-time" else None
        axis.set_title(title, loc="left", fontsize=10, pad=pad)
        if axis.dataLim.y0 >= 0:
            axis.set_ylim(bottom=0)
        axis.tick_params(labelleft=True)
    _draw_legends(figure, axes, picture["kind"])
    figure.supylabel(_ylabel(picture), fontsize=10)
    title = picture["title"] or outcome["title"]
    figure.suptitle(title, x=0.02, ha="left", fontsize=12, fontweight="bold")
    return figure


def _draw_legends(figure: Any, axes: Sequence[Any], kind: str) -> None:
    """In the first panel where all have the same lines; in each where they differ; below all panels
    where lines fill them."""
    handles, labels = axes[0].get_legend_handles_labels()
    if kind == "over-time":
        figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    elif kind == "distribution":
        for axis in axes:
            if axis.get_legend_handles_labels()[0]:  # else nobody has loaded a page
                axis.legend(loc="lower right", fontsize=8)
    elif kind in ("sweep", "time") and handles:
        axes[0].legend(loc="best", fontsize=8)


# Pictures with a panel for each system and variant.
OF_POINTS = ("time", "over-time")


def _left_out(names: Sequence[str] | None, name: str) -> bool:
    return bool(names) and name not in names  # type: ignore[operator]


def shown(picture: Table, point: Table) -> bool:
    """Whether a picture shows a point."""
    if _left_out(picture["systems"], point["system"]):
        return False
    if _left_out(picture["variants"], point["variant"]):
        return False
    return picture["kind"] == "sweep" or picture["at"] is None or picture["at"] == point["value"]


def _ylabel(picture: Table) -> str:
    own = {
        "links": MEASURES["drops"].label,
        "over-time": OVER_TIME_LABEL,
        "distribution": DISTRIBUTION_LABEL,
    }
    if picture["kind"] in own:
        return own[picture["kind"]]
    return MEASURES[picture["measure"] if picture["kind"] == "sweep" else "goodput"].label


def _time_panel(axis: Any, _outcome: Table, _picture: Table, points: Sequence[Table]) -> None:
    _goodput_over_time(axis, points[0]["result"])


def _over_time_panel(axis: Any, _outcome: Table, picture: Table, points: Sequence[Table]) -> None:
    over_time_panel(axis, picture, points[0]["result"], COLOURS)


def _distribution_panel(
    axis: Any, _outcome: Table, picture: Table, points: Sequence[Table]
) -> None:
    distribution_panel(axis, picture, {p["system"]: p["result"] for p in points}, COLOURS)


def _goodput_over_time(axis: Any, result: Table) -> None:
    """Goodput of each flow over time, the first run's, as the papers show it."""
    run = result["runs"][0]
    whole = whole_bins(run["duration_s"], run["bin_s"])
    for i, flow in enumerate(run["flows"]):
        series = _smooth([b * 8 / 1e3 / run["bin_s"] for b in flow["delivered_bytes"][:whole]])
        times = [(k + 0.5) * run["bin_s"] for k in range(len(series))]
        axis.plot(times, series, color=COLOURS[i % len(COLOURS)], label=flow["name"])
    axis.axvline(run["warmup_s"], color="#999999", linestyle=":", linewidth=1)
    axis.set_xlabel(f"time, s (seed {run['seed']}; 5 s means)")
    axis.set_ylim(bottom=0)


def _widths(values: Sequence[Interval]) -> list[float]:
    """Half of each interval; of none, nothing that could be drawn."""
    return [math.nan if v["ci95"] is None else v["ci95"] for v in values]


def _sweep_panel(axis: Any, outcome: Table, picture: Table, points: Sequence[Table]) -> None:
    values = outcome["values"]
    numbers = all(isinstance(v, (int, float)) for v in values)
    # Words stand side by side.
    places = {repr(v): v if numbers else place for place, v in enumerate(values)}
    for i, system in enumerate(outcome["systems"]):
        own = [p for p in points if p["system"] == system]
        chosen = Selection(hosts=picture.get("hosts"))
        found = [(places[repr(p["value"])], measured(picture["measure"], p, chosen)) for p in own]
        there = [(place, m) for place, m in found if m is not None]
        if there:
            axis.errorbar(
                [place for place, _ in there],
                [m["mean"] for _, m in there],
                yerr=_widths([m for _, m in there]),
                color=COLOURS[i % len(COLOURS)],
                marker=MARKERS[i % len(MARKERS)],
                linestyle="-" if i < len(COLOURS) else "--",
                markersize=5,
                capsize=3,
                label=system,
            )
    if picture["measure"] == "goodput":
        _draw_references(axis, outcome, places)
    if picture["log"] and numbers:
        axis.set_xscale("log")
    axis.set_xticks(list(places.values()), [f"{v:g}" if numbers else str(v) for v in values])
    axis.minorticks_off()
    axis.set_xlabel(outcome["about"]["xlabel"] or outcome["about"]["sweep"]["key"])


def _draw_references(axis: Any, outcome: Table, places: Mapping[str, float]) -> None:
    """What is known from elsewhere, dashed: the experiment's, or each system's own."""
    reference = outcome["about"]["reference"]
    if not reference:
        return
    own = [(s["name"], s.get("reference")) for s in outcome["about"]["system"]]
    rows = [(f"{reference['name']}, {name}", values) for name, values in own if values]
    if reference["values"]:
        rows.append((reference["name"], reference["values"]))
    for i, (label, values) in enumerate(rows):
        there = [v for v in outcome["values"] if str(v) in values]
        colour = COLOURS[i % len(COLOURS)] if len(rows) > 1 else "#666666"
        known = [values[str(v)] for v in there]
        axis.plot([places[repr(v)] for v in there], known, "--", color=colour, label=label)


def _flows_panel(axis: Any, _outcome: Table, _picture: Table, points: Sequence[Table]) -> None:
    bars(axis, {p["system"]: p["result"] for p in points})


def _links_panel(axis: Any, _outcome: Table, _picture: Table, points: Sequence[Table]) -> None:
    """Packets of TCP that the link layer gave up on each link, in each run's time."""
    ends = {(k["from"], k["to"]) for p in points for k in p["result"]["links"]}
    found = {
        p["system"]: {link: measured("drops", p, Selection(links=[link])) for link in sorted(ends)}
        for p in points
    }
    shown = [
        link
        for link in sorted(ends)
        if any((of := own[link]) is not None and of["mean"] >= 1 for own in found.values())
    ]
    width = 0.8 / max(len(found), 1)
    for i, (system, own) in enumerate(found.items()):
        drops = [of for link in shown if (of := own[link]) is not None]
        axis.bar(
            [k + (i - (len(found) - 1) / 2) * width for k in range(len(shown))],
            [d["mean"] for d in drops],
            width * 0.94,
            yerr=_widths(drops),
            capsize=2,
            color=COLOURS[i % len(COLOURS)],
            label=system,
        )
    names = [f"{sender} > {receiver}" for sender, receiver in shown]
    axis.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
    axis.legend(loc="best", fontsize=8)


def bars(axis: Any, results: dict[str, Table]) -> None:
    """Bars of each flow and of all together, a group for each; Jain's index above the groups."""
    flows = [flow["name"] for result in results.values() for flow in result["flows"]]
    groups = [*dict.fromkeys(flows), "all"]
    width = 0.8 / len(results)
    for i, (system, result) in enumerate(results.items()):
        own = {flow["name"]: flow["goodput_kbps"] for flow in result["flows"]}
        own["all"] = result["aggregate_kbps"]
        label = f"{system} (Jain {result['jain']['mean']:.3f})"
        axis.bar(
            [groups.index(name) + (i - (len(results) - 1) / 2) * width for name in own],
            [v["mean"] for v in own.values()],
            width * 0.94,
            yerr=_widths(list(own.values())),
            color=COLOURS[i % len(COLOURS)],
            capsize=3,
            label=label,
        )
    many = len(groups) > 6
    axis.set_xticks(range(len(groups)), groups, rotation=45 if many else 0)
    axis.legend(loc="upper left", fontsize=8, ncols=1 if len(results) < 5 else 2)
    top = max(r["aggregate_kbps"]["mean"] for r in results.values())
    axis.set_ylim(0, (top or 1.0) * (1.45 + 0.04 * len(results)))


def result_figure(result: Table) -> Any:
    """A scenario's figure: goodput of its flows with intervals, and over time; that of hosts over
    time where persons are."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(PANEL_INCHES[0] * 2, PANEL_INCHES[1]), layout="constrained"
    )
    flows = result["flows"]
    left.bar(
        range(len(flows)),
        [f["goodput_kbps"]["mean"] for f in flows],
        yerr=_widths([f["goodput_kbps"] for f in flows]),
        color=[COLOURS[i % len(COLOURS)] for i in range(len(flows))],
        capsize=3,
    )
    many = len(flows) > len(COLOURS)
    size = max(4, min(10, 160 / len(flows))) if many else 10
    names = [f["name"] for f in flows]
    left.set_xticks(range(len(flows)), names, rotation=90 if many else 0, fontsize=size)
    left.set_ylabel("goodput, kbit/s")
    if result["runs"][0].get("people"):
        over_time_panel(right, {"hosts": None}, result, COLOURS)
    else:
        _goodput_over_time(right, result)
    # More lines than colours no legend tells apart.
    if len(right.get_legend_handles_labels()[1]) <= len(COLOURS):
        right.legend(loc="best")
    figure.suptitle(result["scenario"]["title"], x=0.02, ha="left", fontsize=12, fontweight="bold")
    return figure


def comparison_figure(document: Table) -> Any:
    """Goodput of every case, simulated beside emulated."""
    figure, axis = plt.subplots(
        figsize=(PANEL_INCHES[0] * 2, PANEL_INCHES[1]), layout="constrained"
    )
    entries = document["comparison"]
    for i, side in enumerate(("simulated", "emulated")):
        sums = [(k, e[side]["aggregate_kbps"]) for k, e in enumerate(entries) if e[side]]
        axis.bar(
            [k + (i - 0.5) * 0.4 for k, _ in sums],
            [s["mean"] for _, s in sums],
            0.38,
            yerr=_widths([s for _, s in sums]),
            color=COLOURS[i],
            capsize=3,
            label=side,
        )
    names = [f"{e['name']}\n{e['law']}" for e in entries]
    axis.set_xlim(-0.5, len(entries) - 0.5)  # also of those of which nothing is drawn
    axis.set_xticks(range(len(entries)), names, fontsize=7)
    axis.set_ylabel("goodput, kbit/s")
    axis.legend(loc="upper right")
    return figure


def _smooth(series: Sequence[float], width: int = 5) -> list[float]:
    half = width // 2
    return [
        sum(window) / len(window)
        for window in (series[max(i - half, 0) : i + half + 1] for i in range(len(series)))
    ]
