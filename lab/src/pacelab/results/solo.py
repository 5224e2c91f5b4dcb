# SPDX-License-Identifier: GPL-2.0-only
"""Solo runs: the scenario in which a host is alone in its place, and what it then gets.

A host's *solo* goodput is what it gets with the same seed on the same radio, with the same TCP and
the same outages, while nobody else is there and no law is at work.
"""

from __future__ import annotations

from collections.abc import Sequence

from pacelab.results.hosts import BULK, Host, host_series, hosts_of
from pacelab.results.runs import Run
from pacelab.scenario.flows import Flow
from pacelab.scenario.gateway import Gateway, Map
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Table

# The keys of a flow that belong to a law at its sender, as a flow without one has them.
NO_LAW: Table = {"law": "off", "bucket": Flow.model_fields["bucket"].default}


def scenario_hosts(scenario: Scenario) -> list[str]:
    """The hosts of a resolved scenario, in the order of its nodes."""
    return hosts_of(scenario.as_dict(), [{"node": person.node} for person in scenario.people])


# What persons do that takes all that it is given.
BULK_ACTIVITIES = {"download", "upload"}


def bulk_hosts(scenario: Scenario) -> list[str]:
    """The hosts that have bulk demand at some time: only they have a part that can be missed."""
    ends = {e for flow in scenario.flows if flow.traffic in BULK for e in (flow.from_, flow.to)}
    ends |= {p.node for p in scenario.people if BULK_ACTIVITIES & set(p.does)}
    return [host for host in scenario_hosts(scenario) if host in ends]


def solo(scenario: Scenario, host: str) -> Scenario:
    """A resolved scenario without the flows, pings and persons of all but one host, and without
    laws.

    Nodes, wired hosts, routes and outages, deaths of the others among them, stay as they are, and
    what the host does keeps its times. Of the gateway nothing stays, so that all systems that
    differ in it alone share the run: its queue is that of the mesh's nodes.
    """
    flows = [_without_law(f) for f in scenario.flows if host in (f.from_, f.to)]
    own: Table = {
        "title": f"{host} alone: {scenario.title}",
        "gateway": Gateway(),
        "map": Map(),
        "flows": flows,
        "pings": [ping for ping in scenario.pings if host in (ping.from_, ping.to)],
        "people": [p.model_copy(update={"law": "off"}) for p in scenario.people if p.node == host],
    }
    return scenario.model_copy(update=own)


def _without_law(flow: Flow) -> Flow:
    paced = NO_LAW if flow.traffic == "cbr" else {**NO_LAW, "rate_kbps": 0.0}
    return flow.model_copy(update=paced)


def solo_series(scenario: Scenario, host: str, runs: Sequence[Run]) -> list[Table]:
    """What a result keeps of a host's solo runs, in their order: ``bytes`` and ``bulk`` by bins."""
    document = solo(scenario, host).as_dict()
    return [_kept(host_series(document, run)[host]) for run in runs]


def _kept(series: Host) -> Table:
    return {"bytes": series.bytes.tolist(), "bulk": series.bulk.astype(int).tolist()}
