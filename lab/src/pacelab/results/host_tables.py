# SPDX-License-Identifier: GPL-2.0-only
"""What tables and files of results say of hosts and persons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pacelab.results.guarantee import unserved
from pacelab.results.host_figures import called
from pacelab.results.host_measures import HOST_MEASURES, solos_of_run
from pacelab.results.hosts import chosen_hosts
from pacelab.results.measures import Selection, measured
from pacelab.results.stats import Interval
from pacelab.scenario.schema import Table

# What is said of each host, where there are not too many to read.
OF_EACH = ("host_goodput", "guarantee_least", "page_load_p95_s", "call_mos", "lookups_3s")
FEW = 8

UNSERVED = "hosts that get nothing even when they are alone, and count nowhere"


@dataclass(frozen=True)
class HostFigure:
    """A measure of all hosts of a point together, or of the one that is named."""

    measure: str
    host: str
    value: Interval


def host_figures(point: Table) -> list[HostFigure]:
    """All that a point has of hosts and persons; nothing where neither persons nor solo runs are
    there."""
    result = point["result"]
    run = result["runs"][0]
    if not result.get("solo") and not run.get("people"):
        return []
    hosts = chosen_hosts(result["scenario"], run, None)
    single = hosts if 1 < len(hosts) <= FEW else []
    found = [("", name, Selection()) for name in HOST_MEASURES]
    found += [
        (called(run, host), name, Selection(hosts=[host])) for host in single for name in OF_EACH
    ]
    values = [(host, name, measured(name, point, selection)) for host, name, selection in found]
    return [HostFigure(name, host, value) for host, name, value in values if value is not None]


def unserved_hosts(point: Table) -> list[str]:
    """The hosts that in some run get nothing even when they are alone, in order."""
    result = point["result"]
    names = [
        name
        for i, run in enumerate(result["runs"])
        for name in unserved(result["scenario"], run, solos_of_run(result, i))
    ]
    return sorted(set(names))


def host_rows(points: Sequence[Table]) -> list[tuple[str, str, list[Interval | None]]]:
    """Of points side by side: label, measure, and each point's value, None where it has none."""
    columns = [{(f.measure, f.host): f for f in host_figures(point)} for point in points]
    keys = dict.fromkeys(key for column in columns for key in column)
    rows = []
    for measure, host in keys:
        there = [column.get((measure, host)) for column in columns]
        label = HOST_MEASURES[measure].label
        values = [figure.value if figure else None for figure in there]
        rows.append((f"{label}: {host}" if host else label, measure, values))
    return rows
