# SPDX-License-Identifier: GPL-2.0-only
"""Hosts of a run over time: what each gets, when it is there, when it wants, who comes and goes.

A *host* is a mesh node, no gateway, at which flows end or persons are. All series have a run's
bins; a flow or a person is there from its start to its stop, but while it is idle and while its
node is off.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pacelab.results.runs import Person, Run, RunFlow
from pacelab.results.stats import whole_bins
from pacelab.scenario.schema import Table

Bins = NDArray[np.float64]
Flags = NDArray[np.bool_]
Span = tuple[float, float]  # from, to; s

# Traffic that takes all that it is given. Other traffic asks for an amount of its own.
BULK = ("ftp",)

# How a person's leaving is told.
LEAVING = {"closes": "leaves", "dies": "dies", "fades": "fades away"}


@dataclass(frozen=True)
class Host:
    """One host's series, by bins.

    ``bytes`` is new payload of its flows and persons, up and down. ``active``: at some time of the
    bin it has something outstanding. ``bulk``: all through the bin it has bulk demand.
    """

    bytes: Bins
    active: Flags
    bulk: Flags


@dataclass(frozen=True)
class Event:
    """A host comes or goes: ``what`` in words."""

    at_s: float
    host: str
    what: str
    gone: bool


def hosts_of(scenario: Table, people: Iterable[Table | Person] = ()) -> list[str]:
    """The hosts of a resolved scenario, in the order of its nodes; ``people`` have a ``node``."""
    ends = {end for flow in scenario["flows"] for end in (flow["from"], flow["to"])}
    ends |= {person["node"] for person in people}
    return [n["name"] for n in scenario["nodes"] if n["name"] in ends and not n["gateway"]]


def chosen_hosts(scenario: Table, run: Run, names: Sequence[str] | None) -> list[str]:
    """The hosts that are named by themselves or by a person who is there; None: all."""
    people = run.get("people", [])
    nodes = {p["node"] for p in people if names is not None and p["name"] in names}
    return [
        host
        for host in hosts_of(scenario, people)
        if names is None or host in names or host in nodes
    ]


def chosen_people(run: Run, names: Sequence[str] | None) -> list[Person]:
    """The persons who are named, by themselves or by their node; None: all."""
    people = run.get("people", [])
    return [p for p in people if names is None or p["name"] in names or p["node"] in names]


def _without(spans: Sequence[Span], gaps: Sequence[Span]) -> list[Span]:
    """What gaps leave of spans."""
    left = list(spans)
    for begin, end in gaps:
        cut = [part for a, b in left for part in ((a, min(b, begin)), (max(a, end), b))]
        left = [(a, b) for a, b in cut if a < b]
    return left


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Spans that touch or overlap become one; in order."""
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


@dataclass
class _Own:
    """What belongs to one host: flows with what was measured of them, persons, outages."""

    flows: list[tuple[Table, RunFlow]] = field(default_factory=list)
    people: list[Person] = field(default_factory=list)
    outages: list[Span] = field(default_factory=list)

    def off(self) -> list[Span]:
        """When its radio is off: in its outages, and once somebody there has died with it."""
        return self.outages + [
            (float(p["stop_s"]), math.inf)
            for p in self.people
            if p["leaves"] == "dies" and p["stop_s"] is not None
        ]


def _own(scenario: Table, run: Run) -> dict[str, _Own]:
    """What belongs to which host."""
    people = run.get("people", [])
    found = {host: _Own() for host in hosts_of(scenario, people)}
    for flow, measured in zip(scenario["flows"], run["flows"], strict=True):
        for end in (flow["from"], flow["to"]):
            if end in found:
                found[end].flows.append((flow, measured))
    for person in people:
        if person["node"] in found:
            found[person["node"]].people.append(person)
    for outage in scenario["outages"]:
        if outage["node"] in found:
            span = (float(outage["at_s"]), outage["at_s"] + outage["for_s"])
            found[outage["node"]].outages.append(span)
    return found


def _flow_spans(flow: Table) -> list[Span]:
    """When a flow has something to send, as far as its own keys say."""
    whole = (float(flow["start_s"]), float(flow["stop_s"] or math.inf))
    idle_s = float(flow.get("idle_s") or 0.0)
    idle_at_s = float(flow.get("idle_at_s") or 0.0)
    return _without([whole], [(idle_at_s, idle_at_s + idle_s)] if idle_s else [])


def _person_span(person: Person) -> Span:
    stop_s = person["stop_s"]
    return float(person["start_s"]), math.inf if stop_s is None else float(stop_s)


def _pauses(scenario: Table) -> dict[str, Span]:
    """When persons fall silent, by their names."""
    return {
        person["name"]: (person["pause_at_s"], person["pause_at_s"] + person["pause_s"])
        for person in scenario.get("people", [])
        if person.get("pause_s")
    }


def _covered_s(spans: Sequence[Span], count: int, width: float) -> Bins:
    """How much of each bin spans that do not overlap cover, s."""
    begin = np.arange(count) * width
    total = np.zeros(count)
    for a, b in spans:
        total += np.clip(np.minimum(begin + width, b) - np.maximum(begin, a), 0.0, None)
    return total


def _some(spans: Sequence[Span], count: int, width: float) -> Flags:
    return _covered_s(spans, count, width) > 1e-9


def _throughout(spans: Sequence[Span], count: int, width: float) -> Flags:
    return _covered_s(spans, count, width) > width - 1e-9


def bins_of(run: Run) -> int:
    """How many whole bins all series of a run have."""
    series = [flow["delivered_bytes"] for flow in run["flows"]]
    series += [person["delivered_bytes"] for person in run.get("people", [])]
    whole = whole_bins(run["duration_s"], run["bin_s"])
    return min([whole, *map(len, series)]) if series else 0


def host_series(scenario: Table, run: Run) -> dict[str, Host]:
    """The series of each host of a run."""
    count, width = bins_of(run), run["bin_s"]
    return {host: _series(own, count, width) for host, own in _own(scenario, run).items()}


def _series(own: _Own, count: int, width: float) -> Host:
    off = own.off()
    found = Host(np.zeros(count), np.zeros(count, bool), np.zeros(count, bool))
    for flow, measured in own.flows:
        spans = _without(_flow_spans(flow), off)
        found.bytes[:] += np.asarray(measured["delivered_bytes"][:count], float)
        # Nothing can be promised to who lies. Who is mute moves no data, either.
        receiver = flow.get("receiver", "honest")
        if receiver != "mute":
            found.active[:] |= _some(spans, count, width)
        if flow["traffic"] in BULK and receiver == "honest":
            found.bulk[:] |= _throughout(spans, count, width)
    for person in own.people:
        spans = _without([_person_span(person)], off)
        found.bytes[:] += np.asarray(person["delivered_bytes"][:count], float)
        found.active[:] |= np.asarray(person["wants"][:count], bool) & _some(spans, count, width)
        found.bulk[:] |= np.asarray(person["bulk"][:count], bool) & _throughout(spans, count, width)
    return found


def spells(flags: Flags) -> list[tuple[int, int]]:
    """From which to before which bin flags are set, in order."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(int), [0]))))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def events_of(scenario: Table, run: Run) -> list[Event]:
    """Who comes, goes, dies, falls silent after the beginning and before the end, in order.

    A host of which one flow stops and another goes on has gone nowhere.
    """
    pauses = _pauses(scenario)
    found = [e for host, own in _own(scenario, run).items() for e in _events(host, own, pauses)]
    inside = [event for event in found if 0 < event.at_s < run["duration_s"]]
    return sorted(inside, key=lambda event: (event.at_s, event.host))


def _events(host: str, own: _Own, pauses: dict[str, Span]) -> list[Event]:
    spans = [span for flow, _ in own.flows for span in _flow_spans(flow)]
    silent = {flow["idle_at_s"] for flow, _ in own.flows if flow.get("idle_s")}
    for person in own.people:
        gaps = [pauses[person["name"]]] if person["name"] in pauses else []
        spans += _without([_person_span(person)], gaps)
        silent |= {begin for begin, _ in gaps}
    off = own.off()
    stops = {p["stop_s"]: LEAVING[p["leaves"]] for p in own.people if p["stop_s"] is not None}
    found = []
    for i, (begin, end) in enumerate(_without(_merged(spans), off)):
        found.append(Event(begin, host, "comes" if i == 0 else "comes back", gone=False))
        word = "falls silent" if end in silent else stops.get(end, "leaves")
        word = "dies" if end in {a for a, _ in off} else word
        found.append(Event(end, host, word, gone=True))
    return found
