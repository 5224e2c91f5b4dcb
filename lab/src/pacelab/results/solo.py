# SPDX-License-Identifier: GPL-2.0-only
"""Solo runs: the scenario in which a host is alone in its place, and what it then gets.

A host's *solo* goodput is what it gets with the same seed on the same radio, with the same TCP,
while nobody else is there and no law is at work. Where nothing but demand changes in a scenario it
is one figure: that of a bulk transfer like the host's, in a run that all scenarios share in which
somebody has that place. Where nodes go off or move it is a series, of a run with the same times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pacelab.results.guarantee import WINDOW_S
from pacelab.results.hosts import BULK, Host, host_series, hosts_of
from pacelab.results.runs import Run
from pacelab.results.stats import whole_bins
from pacelab.scenario.flows import Flow, Tcp
from pacelab.scenario.gateway import Gateway, Map
from pacelab.scenario.models import Scenario
from pacelab.scenario.people import ResolvedPerson
from pacelab.scenario.schema import Table

# The keys of a flow that belong to a law at its sender, as a flow without one has them.
NO_LAW: Table = {
    "law": "off",
    "bucket": Flow.model_fields["bucket"].default,
    "live_departures": False,
}

# How long a transfer grows before it is measured, and for how long it is: a window of the
# guarantee, and three, so that the figure varies less than what is held against it.
GROWS_S, MEASURED_S = WINDOW_S, 3 * WINDOW_S
# Its other end, whatever the scenario calls it: all wired hosts are alike.
WIRED_HOST = "B1"


def scenario_hosts(scenario: Scenario) -> list[str]:
    """The hosts of a resolved scenario, in the order of its nodes."""
    return hosts_of(scenario.as_dict(), [{"node": person.node} for person in scenario.people])


# What persons do that takes all that it is given.
BULK_ACTIVITIES = {"download", "upload"}


def bulk_hosts(scenario: Scenario) -> list[str]:
    """The hosts that have bulk demand at some time: only they have a part that can be missed."""
    ends = {e for flow in scenario.flows if _is_bulk(flow) for e in (flow.from_, flow.to)}
    ends |= {p.node for p in scenario.people if BULK_ACTIVITIES & set(p.does)}
    return [host for host in scenario_hosts(scenario) if host in ends]


def _is_bulk(flow: Flow) -> bool:
    """Whether a flow has a part: a bulk transfer whose receiver does not lie."""
    return flow.traffic in BULK and flow.receiver == "honest"


def solo(scenario: Scenario, host: str) -> Scenario:
    """A resolved scenario without the flows, pings and persons of all but one host, and without
    laws.

    Nodes and routes stay as they are. Of the gateway nothing stays, so that all systems that
    differ in it alone share the run: its queue is that of the mesh's nodes.
    """
    bare = scenario.model_copy(update={"gateway": Gateway(), "map": Map()})
    transfer = _only_transfer(scenario, host)
    return _transfer_alone(bare, host, transfer) if transfer else _host_alone(bare, host)


def _only_transfer(scenario: Scenario, host: str) -> Flow | None:
    """The bulk transfer that all bulk demand of a host is like, which then has one solo goodput;
    None where there are several kinds, or where not demand alone changes.
    """
    if scenario.outages or scenario.clients or any(p.leaves != "closes" for p in scenario.people):
        return None
    wired = scenario.wired_hosts
    flows = [f for f in scenario.flows if _is_bulk(f) and host in (f.from_, f.to)]
    if not all(flow.from_ in wired or flow.to in wired for flow in flows):
        return None
    kinds = [_transfer(flow, host, up=flow.from_ == host) for flow in flows]
    kinds += [
        _transfer(person, host, up=activity == "upload")
        for person in scenario.people
        if person.node == host
        for activity in sorted(BULK_ACTIVITIES & set(person.does))
    ]
    return kinds[0] if kinds and all(kind == kinds[0] for kind in kinds) else None


def _transfer(like: Flow | ResolvedPerson, host: str, *, up: bool) -> Flow:
    """A host's transfer all through a run, with a TCP like somebody's."""
    tcp = {key: getattr(like, key) for key in Tcp.model_fields}
    own: Table = {"opaque": like.opaque, "via": like.via} if isinstance(like, Flow) else {}
    ends = {"from": host, "to": WIRED_HOST} if up else {"from": WIRED_HOST, "to": host}
    return Flow.model_validate({"name": "alone", **ends, **tcp, **own})


def _transfer_alone(bare: Scenario, host: str, transfer: Flow) -> Scenario:
    """One transfer and nothing else."""
    own: Table = {
        "title": f"{host} alone",
        "duration_s": GROWS_S + MEASURED_S,
        "warmup_s": GROWS_S,
        "wired_hosts": [WIRED_HOST],
        "flows": [transfer],
        "pings": [],
        "people": [],
    }
    return bare.model_copy(update=own)


def _host_alone(bare: Scenario, host: str) -> Scenario:
    """All that a host does, at its times; deaths and outages of the others stay."""
    flows = [
        _without_law(f) for f in bare.flows if host in (f.from_, f.to) and f.receiver == "honest"
    ]
    own: Table = {
        "title": f"{host} alone: {bare.title}",
        "flows": flows,
        "pings": [ping for ping in bare.pings if host in (ping.from_, ping.to)],
        "people": [p.model_copy(update={"law": "off"}) for p in bare.people if p.node == host],
    }
    return bare.model_copy(update=own)


def _without_law(flow: Flow) -> Flow:
    paced = NO_LAW if flow.traffic == "cbr" else {**NO_LAW, "rate_kbps": 0.0}
    return flow.model_copy(update=paced)


def solo_series(scenario: Scenario, host: str, runs: Sequence[Run]) -> list[Table]:
    """What a result keeps of a host's solo runs, in their order: ``bytes`` and ``bulk`` by bins."""
    alone = solo(scenario, host)
    series = [host_series(alone.as_dict(), run)[host] for run in runs]
    if not _only_transfer(scenario, host):
        return [_kept(own) for own in series]
    found = []
    for own, run in zip(series, runs, strict=True):
        mean = float(own.bytes[math.ceil(GROWS_S / run["bin_s"] - 1e-9) :].mean())
        bins = whole_bins(scenario.duration_s, run["bin_s"])
        found.append(_kept(Host(np.full(bins, mean), own.active, np.ones(bins, bool))))
    return found


def _kept(series: Host) -> Table:
    return {"bytes": series.bytes.tolist(), "bulk": series.bulk.astype(int).tolist()}
