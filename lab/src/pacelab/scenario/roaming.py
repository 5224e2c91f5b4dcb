# SPDX-License-Identifier: GPL-2.0-only
"""Clients that walk, and OLSR, which lets them change gateways."""

from __future__ import annotations

from collections.abc import Sequence

from pacelab.scenario import topology
from pacelab.scenario.mesh import Client, Node
from pacelab.scenario.models import ScenarioFile
from pacelab.scenario.schema import Where

OLSR_KEYS = ("metric", "hello_s", "tc_s")


def client_nodes(clients: Sequence[Client]) -> list[Node]:
    """The clients as nodes of the mesh, where they set out."""
    return [topology.node(c.name, c.x_m, c.y_m) for c in clients]


def check_olsr(file: ScenarioFile, where: Where) -> None:
    """That OLSR's keys stand with OLSR, and laws know what they need of changing routes."""
    if file.routing.protocol == "olsr":
        if file.gateway.link_rates == "known":
            raise where.at("gateway", "link_rates").error(
                '"known" means links of paths that do not change, unlike OLSR\'s; use "piggybacked"'
            )
        return
    for key in OLSR_KEYS:
        if file.routing.stated(key):
            raise where.at("routing", key).error(
                'has a meaning with protocol "olsr" only; remove it'
            )


def check_clients(file: ScenarioFile, where: Where) -> None:
    """That routes follow the clients, and laws do."""
    if not file.client:
        return
    if file.routing.protocol == "static":
        raise where.at("routing", "protocol").error(
            '"static" routes follow no client that walks; use "olsr"'
        )
    if file.gateway.law == "map":
        raise where.at("gateway", "law").error(
            '"map" measures links before the flows begin, and clients walk away; use "gap"'
        )
    for i, flow in enumerate(file.flow):
        if flow.law == "map":
            raise where.at("flow", str(i), "law").error(
                '"map" measures links before the flows begin, and clients walk away; use "gap"'
            )
