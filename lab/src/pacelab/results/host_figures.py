# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of hosts and persons: goodput around who comes and goes, load times of pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import LogFormatter

from pacelab.results.felt import load_times_s
from pacelab.results.guarantee import SHORT_S, Field, field_of
from pacelab.results.host_measures import solos_of_run
from pacelab.results.hosts import Bins, Flags, chosen_hosts, events_of
from pacelab.results.runs import Run
from pacelab.scenario.schema import Table

OVER_TIME_LABEL = f"goodput, kbit/s ({SHORT_S:g} s means)"
DISTRIBUTION_LABEL = "pages loaded by then, %"
EVENT_ROWS = 3
EVENT_SHARE = 0.25  # of a panel's width, that the words of an event may take
PART_LABEL = "its 1/n part of what it gets alone"


def _smoothed_kbps(series: Bins, there: Flags, width: float) -> Bins:
    """Means over 3 s around each bin, kbit/s, of those bins that are there; nan where none is."""
    if not len(series):
        return np.zeros(0)
    ones = np.ones(max(round(SHORT_S / width), 1))
    first = (len(ones) - 1) // 2  # a run may be shorter than what is meant over
    sums, counts = (
        np.convolve(own, ones)[first : first + len(own)] for own in (series * there, there * 1.0)
    )
    kbps = sums * 8 / 1e3 / width / np.maximum(np.round(counts), 1)
    return np.where(there, kbps, np.nan)


def _fields(result: Table, names: Sequence[str] | None) -> list[Field]:
    runs = enumerate(result["runs"])
    return [field_of(result["scenario"], run, solos_of_run(result, i), names) for i, run in runs]


def called(run: Run, host: str) -> str:
    """What a host is called: as the one person who is there, else as the node."""
    people = [person["name"] for person in run.get("people", []) if person["node"] == host]
    return people[0] if len(people) == 1 else host


def over_time_panel(axis: Any, picture: Table, result: Table, colours: Sequence[str]) -> None:
    """Goodput of each host over time, the mean of all runs in a band from the least to the greatest
    of them; dashed its part, while it has bulk demand; who comes and goes."""
    run, fields = result["runs"][0], _fields(result, picture.get("hosts"))
    hosts = chosen_hosts(result["scenario"], run, picture.get("hosts"))
    for i, host in enumerate(hosts):
        _draw_host(axis, fields, host, colours[i % len(colours)], called(run, host))
    if any(field.chosen for field in fields):
        axis.plot([], [], "--", color="#666666", linewidth=1.2, label=PART_LABEL)
    events = [event for event in events_of(result["scenario"], run) if event.host in hosts]
    rows = _rows([event.at_s for event in events], run["duration_s"] * EVENT_SHARE)
    for event, row in zip(events, rows, strict=True):
        draw_event(axis, event.at_s, f"{called(run, event.host)} {event.what}", row)
    axis.set_xlim(0, run["duration_s"])
    many = len(fields) > 1
    of = f"mean, least and greatest of {len(fields)} runs" if many else f"seed {run['seed']}"
    axis.set_xlabel(f"time, s ({of})")


def _draw_host(axis: Any, fields: Sequence[Field], host: str, colour: str, name: str) -> None:
    width = fields[0].width
    count = min(len(field.hosts[host].bytes) for field in fields)
    times = (np.arange(count) + 0.5) * width
    everywhere = np.ones(count, bool)
    rows = [_smoothed_kbps(f.hosts[host].bytes[:count], everywhere, width) for f in fields]
    axis.plot(times, np.mean(rows, axis=0), color=colour, linewidth=1.8, label=f"{name} gets")
    if len(rows) > 1:
        axis.fill_between(
            times, np.min(rows, axis=0), np.max(rows, axis=0), color=colour, alpha=0.18, linewidth=0
        )
    parts = [
        _smoothed_kbps(field.parts[host], field.hosts[host].bulk, width)[:count]
        for field in fields
        if host in field.chosen
    ]
    if parts:
        there = ~np.isnan(parts).all(axis=0)
        mean = np.full(count, np.nan)
        mean[there] = np.nanmean(np.asarray(parts)[:, there], axis=0)
        axis.plot(times, mean, "--", color=colour, linewidth=1.2)


def _rows(times_s: Sequence[float], apart_s: float) -> list[int]:
    """For each event the lowest row whose latest one is far enough; else that of the earliest."""
    latest_s = [-math.inf] * EVENT_ROWS
    rows = []
    for at_s in times_s:
        free = [row for row, last_s in enumerate(latest_s) if at_s - last_s >= apart_s]
        rows.append(free[0] if free else latest_s.index(min(latest_s)))
        latest_s[rows[-1]] = at_s
    return rows


def title_pad(axis: Any) -> float:
    """Points between a panel and its title, which stands above the words of events."""
    return max((text.xyann[1] for text in axis.texts), default=0.0) + 12.0


def draw_event(axis: Any, at_s: float, text: str, row: int) -> None:
    """A line through the panel, and above it what happens, in one of the rows by turns."""
    axis.axvline(at_s, color="#666666", linestyle=":", linewidth=1)
    axis.annotate(
        text,
        (at_s, 1.0),
        (0, 2 + 9 * row),
        xycoords=axis.get_xaxis_transform(),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=8,
        color="#444444",
    )


def distribution_panel(
    axis: Any, picture: Table, results: dict[str, Table], colours: Sequence[str]
) -> None:
    """The share of pages that were loaded within a time, by systems, of all runs together.

    A curve that does not reach 100% is of a system under which some pages never came.
    """
    for i, (system, result) in enumerate(results.items()):
        times = [t for run in result["runs"] for t in load_times_s(run, picture.get("hosts"))]
        loaded = sorted(t for t in times if t is not None)
        if not times:
            continue
        never = 100 * (1 - len(loaded) / len(times))
        label = f"{system} ({never:.1f}% never)" if never else system
        shares = 100 * np.arange(len(loaded) + 1) / len(times)
        first = loaded[0] if loaded and picture["log"] else 0.0
        axis.step(
            [first, *loaded], shares, where="post", color=colours[i % len(colours)], label=label
        )
    axis.axhline(50, color="#999999", linestyle=":", linewidth=1)
    axis.text(0.99, 51, "half of all pages", transform=axis.get_yaxis_transform(), **_NOTE)
    axis.set_ylim(0, 102)
    if picture["log"]:
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter(_Decades())
        axis.xaxis.set_minor_formatter(_Decades())
    axis.set_xlabel("time from asking for a page until all of it is there, s")


class _Decades(LogFormatter):
    """Numbers along an axis in decades as digits: matplotlib writes powers as formulas, which are
    not read as such (figures.py)."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x:g}" if super().__call__(x, pos) else ""


_NOTE: Table = {"ha": "right", "va": "bottom", "fontsize": 8, "color": "#666666"}
