# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios: a document is checked and resolved.

A *document* (document.py) is the TOML as written; a *resolved* scenario has every default filled
in, every topology laid out and is what the simulation runner takes.
"""

from __future__ import annotations

from collections.abc import Sequence

from pacelab.errors import nearest
from pacelab.scenario import roaming
from pacelab.scenario.document import override, read_document
from pacelab.scenario.flow_checks import completed_flows
from pacelab.scenario.flows import Flow
from pacelab.scenario.gateway import QUEUEING_LAWS, Gateway, completed_gateway
from pacelab.scenario.layout import laid_out
from pacelab.scenario.mesh import Node, links
from pacelab.scenario.models import Scenario, ScenarioFile
from pacelab.scenario.outages import check_outages
from pacelab.scenario.people_checks import completed_people, deaths
from pacelab.scenario.pings import check_pings
from pacelab.scenario.radio import PlacedRadio, completed_radio
from pacelab.scenario.schema import Table, Where
from pacelab.scenario.transfers import with_transfers


def resolve(document: Table, file: str, *, emulated: bool = False) -> Scenario:
    """The resolved scenario of a document; InputError on any mistake.

    Only an ``emulated`` scenario may have web pages.
    """
    where = Where(file)
    stated = ScenarioFile.read(document, where)
    if stated.warmup_s >= stated.duration_s:
        raise where.at("warmup_s").error(
            f"{stated.warmup_s:g} leaves nothing of duration_s {stated.duration_s:g}; give less"
        )
    radio = completed_radio(stated.radio, where.at("radio"))
    nodes = laid_out(stated, radio, where)
    stated = with_transfers(stated, nodes, where)
    names = {node.name for node in nodes}
    roaming.check_olsr(stated, where)
    roaming.check_clients(stated, where)
    flows = completed_flows(stated, names, where)
    hosts = [node.name for node in nodes if not node.gateway]
    gateway = completed_gateway(stated.gateway, hosts, where.at("gateway"))
    rates = links(stated.link, radio.standard, names, where)
    _check_gateways(stated, nodes, flows, where)
    if not emulated:
        _check_simulated(flows, where)
        gateway = _simulated_release(gateway)
    check_pings(stated.ping, names, stated.duration_s, where)
    check_outages(stated, names, where)
    ends = {end for flow in flows for end in (flow.from_, flow.to)}
    ends |= {end for ping in stated.ping for end in (ping.from_, ping.to)}
    people = completed_people(stated, nodes, ends - names, where)
    ends |= {person.host for person in people}
    return Scenario(
        title=stated.title,
        duration_s=stated.duration_s,
        warmup_s=stated.warmup_s,
        radio=PlacedRadio(**radio.as_dict(), topology_seed=stated.mesh.topology_seed),
        routing=stated.routing,
        wired=stated.wired,
        nodes=nodes,
        clients=stated.client,
        links=rates,
        wired_hosts=sorted(ends - names, key=lambda host: int(host[1:] or 0)),
        gateway=gateway,
        map=stated.map,
        flows=flows,
        people=people,
        pings=stated.ping,
        outages=[*stated.outage, *deaths(people, stated, where)],
    )


def _check_gateways(
    file: ScenarioFile, nodes: Sequence[Node], flows: Sequence[Flow], where: Where
) -> None:
    """That flows name gateways, each wired host one; and that the routing can do with them."""
    gateways = [n.name for n in nodes if n.gateway]
    etx = file.routing.metric == "etx"
    if (file.routing.protocol == "aodv" or etx) and len(gateways) > 1:
        here = where.at("routing", "metric" if etx else "protocol")
        word, others = ("etx", '"hops"') if etx else ("aodv", '"static" or "olsr"')
        raise here.error(f'"{word}" knows one gateway, not {len(gateways)}; use {others}')
    if file.routing.protocol != "static" and file.radio.radios > 1:
        raise where.at("routing", "protocol").error(
            f'"{file.routing.protocol}" knows one radio a node, not 2; use "static"'
        )
    mesh = {n.name for n in nodes}
    named: dict[str, str] = {}
    for i, flow in enumerate(flows):
        if not flow.via:
            continue
        here = where.at("flow", str(i), "via")
        if file.routing.protocol == "olsr":
            raise here.error("OLSR chooses the gateway; remove it")
        if flow.via not in gateways:
            raise here.error(f'"{flow.via}" is no gateway; {nearest(flow.via, gateways)}')
        hosts = {flow.from_, flow.to} - mesh
        if not hosts:
            raise here.error("the flow has no wired end; remove it")
        host = hosts.pop()
        if named.setdefault(host, flow.via) != flow.via:
            raise here.error(
                f'wired host "{host}" hangs behind "{named[host]}" by another flow; '
                "give both the same, or two hosts"
            )


def _simulated_release(gateway: Gateway) -> Gateway:
    """Simulated, every way to hold packets works, so that auto finds the first.

    Beside a law that holds none all are one, whichever is stated, so that such runs are made once.
    """
    if gateway.law in QUEUEING_LAWS:
        return gateway.model_copy(update={"release": "nfqueue"})
    return gateway.model_copy(update={"release": "htb"}) if gateway.release == "auto" else gateway


def _check_simulated(flows: Sequence[Flow], where: Where) -> None:
    for i, flow in enumerate(flows):
        if flow.traffic == "http":
            raise where.at("flow", str(i), "traffic").error(
                '"http" is not simulated; run it with pacelab emulate'
            )


def load(file: str, settings: Table | None = None, *, emulated: bool = False) -> Scenario:
    """The resolved scenario of a file with overrides."""
    document = read_document(file)
    if settings:
        document = override(document, settings, "--set")
    return resolve(document, file, emulated=emulated)
