# SPDX-License-Identifier: GPL-2.0-only
"""What ``make demo`` shows of its runs: a table, the same figures to keep, a picture."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from matplotlib import pyplot as plt

from pacelab.results.felt import load_times_s
from pacelab.results.figures import COLOURS
from pacelab.results.guarantee import Field, field_of, time_to_share_s, window_ratios
from pacelab.results.host_figures import EVENT_SHARE, draw_event, over_time_panel, title_pad
from pacelab.results.host_measures import solos_of_run
from pacelab.results.hosts import Bins
from pacelab.results.keep import law_of
from pacelab.results.law import Tree
from pacelab.results.runs import Run
from pacelab.results.stats import interval
from pacelab.results.tables import layout
from pacelab.scenario.schema import Table

STATES = ("gateway off", "gateway on")
HALF = "half of alone"
NEAR, FAR = "near", "far"  # the hosts of scenarios/demo.toml
WIDTHS = (3, 3, 2)  # of the picture's panels
INCHES = (9.6, 3.5)
TITLES = ("without meshpace", "with meshpace")
LEGEND = ("near: one hop away", "far: four hops away", "its part: 1/n of what it has alone")
SPREAD = 0.22  # of a state's column, over which pages lie side by side


@dataclass(frozen=True)
class _Seen:
    """A run, and its hosts with what each gets alone."""

    run: Run
    field: Field

    def mbps(self, host: str) -> float:
        """A host's goodput while both download."""
        return self._mean_mbps(self.field.hosts[host].bytes)

    def half_mbps(self, host: str) -> float:
        """Half of what it has alone."""
        return self._mean_mbps(self.field.parts[host])

    def _mean_mbps(self, series: Bins) -> float:
        both = self.field.hosts[NEAR].bulk & self.field.hosts[FAR].bulk
        return float(series[both].mean()) * 8 / 1e6 / self.field.width

    def worst(self, host: str) -> float | None:
        """Its worst 10 s, in percent of its part."""
        least = min(window_ratios(self.field)[host], default=None)
        return None if least is None else 100 * least

    def pages_s(self) -> list[float]:
        """How long each page took that was loaded, of a flow's or of a person's."""
        flows = [t for flow in self.run["flows"] for t in flow.get("page_loads_s", [])]
        return [*flows, *(t for t in load_times_s(self.run, None) if t is not None)]

    def page_s(self) -> float | None:
        """The median of these."""
        pages = self.pages_s()
        return statistics.median(pages) if pages else None

    def rtt_ms(self, host: str) -> float | None:
        """The median round trip of the host's download, as its sender measures it."""
        flow = next(flow for flow in self.run["flows"] if flow["name"] == host)
        return flow["rtt_ms"]["p50"] if flow["rtt_ms"] else None


@dataclass(frozen=True)
class _Figure:
    """A row of the table; ``half_of``: the host whose half, which the law aims at, is beside it."""

    name: str
    unit: str
    digits: int
    of: Callable[[_Seen], float | None]
    half_of: str | None = None

    def halves(self, seen: Sequence[_Seen]) -> list[float]:
        """What the law aims at in each run; nothing where there is no such thing."""
        return [one.half_mbps(self.half_of) for one in seen] if self.half_of else []


_FIGURES = (
    _Figure("near, while both download", "Mbit/s", 1, partial(_Seen.mbps, host=NEAR), NEAR),
    _Figure("far, while both download", "Mbit/s", 1, partial(_Seen.mbps, host=FAR), FAR),
    _Figure("near, its worst 10 s, of its part", "%", 0, partial(_Seen.worst, host=NEAR)),
    _Figure("far, its worst 10 s, of its part", "%", 0, partial(_Seen.worst, host=FAR)),
    _Figure("far waits for its part", "s", 0, lambda seen: time_to_share_s(seen.field)),
    _Figure("a web page at far, median", "s", 2, _Seen.page_s),
    _Figure("TCP's round trip to near, median", "ms", 0, partial(_Seen.rtt_ms, host=NEAR)),
    _Figure("TCP's round trip to far, median", "ms", 0, partial(_Seen.rtt_ms, host=FAR)),
)


def _seen(result: Table) -> list[_Seen]:
    return [
        _Seen(run, field_of(result["scenario"], run, solos_of_run(result, i), None))
        for i, run in enumerate(result["runs"])
    ]


def table(off: Table, on: Table) -> str:
    """Before and after, and what the law aims at; of several runs the mean, and the range."""
    seen = [_seen(off), _seen(on)]
    rows = []
    for figure in _FIGURES:
        cells = [_text(list(map(figure.of, own)), figure.digits) for own in seen]
        aim = figure.halves(seen[0])
        half = _text(aim, figure.digits) if aim else ""
        rows.append([f"{figure.name}, {figure.unit}", *cells, half])
    pages = (sum(len(one.pages_s()) for one in own) for own in seen)
    rows.append(["web pages loaded", *map(str, pages), ""])
    return layout(["", *STATES, HALF], rows)


def _text(values: Sequence[float | None], digits: int) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    mean = f"{statistics.fmean(known):.{digits}f}"
    between = f"{min(known):.{digits}f} to {max(known):.{digits}f}"
    return f"{mean} ({between})" if len(known) > 1 else mean


def rows_to_keep(off: Table, on: Table, tree: Tree) -> list[Table]:
    """The table's figures as rows of a file of ``results/``."""
    rows = []
    for state, result in zip(STATES, (off, on), strict=True):
        seen, of = _seen(result), {"n": len(result["runs"]), "law": law_of(result, tree)}
        seeds = [run["seed"] for run in result["runs"]]
        for figure in _FIGURES:
            rows += _row(state, figure, list(map(figure.of, seen)), seeds, of)
            aim = figure.halves(seen) if state == STATES[0] else []
            rows += _row(HALF, figure, aim, seeds[: len(aim)], of)
    return rows


def _row(
    state: str, figure: _Figure, values: Sequence[float | None], seeds: Sequence[int], of: Table
) -> list[Table]:
    """A row of the runs that have the figure; none where none has it."""
    there = [(seed, v) for seed, v in zip(seeds, values, strict=True) if v is not None]
    if not there:
        return []
    known = [round(value, figure.digits + 1) for _, value in there]
    mean = interval(known)
    row: Table = {"system": state, "figure": figure.name, "unit": figure.unit}
    row |= {"value": round(mean["mean"], figure.digits + 1), "range": [min(known), max(known)]}
    return [{**row, "values": known, "seeds": [seed for seed, _ in there], **of, "n": len(known)}]


def picture(off: Table, on: Table) -> Any:
    """Goodput of both hosts over time, off and then on, and how long pages took; first runs."""
    figure, axes = plt.subplots(
        1, 3, figsize=INCHES, width_ratios=WIDTHS, layout="constrained", squeeze=True
    )
    firsts = [_first(result) for result in (off, on)]
    for axis, title, result in zip(axes, TITLES, firsts, strict=False):
        over_time_panel(axis, {"hosts": [NEAR, FAR]}, result, COLOURS)
        _draw_pages_begin(axis, result["scenario"])
        axis.set_title(title, loc="left", fontsize=11, fontweight="bold", pad=title_pad(axis))
        axis.set_xlabel("time, s")
        axis.yaxis.set_major_formatter(lambda kbps, _position: f"{kbps / 1e3:g}")
    axes[0].set_ylabel("goodput, Mbit/s")
    top = max(axis.get_ylim()[1] for axis in axes[:2])
    for axis in axes[:2]:
        axis.set_ylim(0, top)
    handles, _ = axes[0].get_legend_handles_labels()
    _draw_pages(axes[2], [_seen(result)[0].pages_s() for result in firsts])
    figure.legend(handles, LEGEND, loc="outside lower center", ncols=len(LEGEND), fontsize=10)
    return figure


def _first(result: Table) -> Table:
    solo = {host: series[:1] for host, series in result["solo"].items()}
    return {**result, "runs": result["runs"][:1], "solo": solo}


def _draw_pages_begin(axis: Any, scenario: Table) -> None:
    """Above the words of the arrival where these are near."""
    comes_s = next(flow["start_s"] for flow in scenario["flows"] if flow["name"] == FAR)
    begins = [flow["start_s"] for flow in scenario["flows"] if flow["traffic"] == "http"]
    at_s = min([*begins, *(person["start_s"] for person in scenario["people"])])
    is_near = at_s - comes_s < EVENT_SHARE * scenario["duration_s"]
    draw_event(axis, at_s, "far loads pages", int(is_near))


def _draw_pages(axis: Any, loads: Sequence[Sequence[float]]) -> None:
    """A point a page, and the median of each state."""
    for i, own in enumerate(loads):
        step = SPREAD / max(len(own) - 1, 1)
        places = [i - SPREAD / 2 + k * step for k in range(len(own))]
        axis.plot(places, own, "o", color=COLOURS[1], markersize=5, alpha=0.7)
        if own:
            median = statistics.median(own)
            axis.hlines(median, i - SPREAD, i + SPREAD, color="#000000", linewidth=1.5)
            axis.annotate(f"{median:.1f} s", (i + SPREAD, median), (3, 0),
                          textcoords="offset points", va="center", fontsize=10)  # fmt: skip
    axis.set_xticks(range(len(STATES)), ["without", "with"])
    axis.set_xlim(-0.5, len(STATES) - 0.3)
    axis.set_ylim(bottom=0)
    axis.set_title("a web page at far, s", loc="left", fontsize=11, fontweight="bold", pad=16)
