# SPDX-License-Identifier: GPL-2.0-only
"""A scenario: as a file states it, and as it is resolved for the simulator."""

from __future__ import annotations

from pydantic import Field

from pacelab.scenario.flows import Flow, Tcp, Transfers
from pacelab.scenario.gateway import Gateway, Map
from pacelab.scenario.mesh import Client, Link, LinkRate, Mesh, Node
from pacelab.scenario.people import Evening, Person, ResolvedPerson
from pacelab.scenario.pings import Ping
from pacelab.scenario.radio import PlacedRadio, Radio, Routing, Wired
from pacelab.scenario.schema import Caption, Model, Name


class Outage(Model):
    """``[[outage]]``."""

    node: Name = Field(description="a mesh node, whose radios neither send nor receive")
    at_s: float = Field(ge=0, le=1e6, description="from when on")
    for_s: float = Field(gt=0, le=1e6, description="for how long")


class _Times(Model):
    title: Caption = "Untitled"
    duration_s: float = Field(default=110.0, gt=0, le=1e6, description="of the simulation")
    warmup_s: float = Field(
        default=10.0, ge=0, le=1e6, description="what happens before does not count"
    )


class ScenarioFile(_Times):
    """All that a scenario file may say; flows have yet to get what ``[tcp]`` says."""

    radio: Radio = Radio()
    routing: Routing = Routing()
    wired: Wired = Wired()
    mesh: Mesh = Mesh()
    gateway: Gateway = Gateway()
    map: Map = Map()
    tcp: Tcp = Tcp()
    node: list[Node] = Field(default_factory=list)
    client: list[Client] = Field(default_factory=list)
    link: list[LinkRate] = Field(default_factory=list)
    flow: list[Flow] = Field(default_factory=list)
    transfers: Transfers = Transfers()
    person: list[Person] = Field(default_factory=list)
    evening: Evening = Evening()
    ping: list[Ping] = Field(default_factory=list)
    outage: list[Outage] = Field(default_factory=list)
    experiment: object = Field(default=None, description="what is compared; see pacelab.experiment")


class Scenario(_Times):
    """A scenario with every default filled in and its topology laid out."""

    radio: PlacedRadio
    routing: Routing
    wired: Wired
    nodes: list[Node]
    clients: list[Client]
    links: list[Link]
    wired_hosts: list[str]
    gateway: Gateway
    map: Map
    flows: list[Flow]
    people: list[ResolvedPerson]
    pings: list[Ping]
    outages: list[Outage]


# Tables that a file may have several of, each in double brackets.
LISTS = ("node", "client", "link", "flow", "person", "ping", "outage")
