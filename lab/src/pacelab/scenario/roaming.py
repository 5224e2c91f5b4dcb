# SPDX-License-Identifier: GPL-2.0-only
"""Clients that walk, and OLSR, which lets them change gateways."""

from __future__ import annotations

from pacelab.scenario import topology
from pacelab.scenario.schema import Table, Where

# Between two HELLOs and two TCs of a node.
OLSR_KEYS = ("hello_s", "tc_s")


def client_nodes(checked: Table) -> list[topology.Node]:
    """The clients as nodes of the mesh, where they set out."""
    return [topology.node(c["name"], c["x_m"], c["y_m"]) for c in checked["client"]]


def clients(checked: Table) -> list[Table]:
    """What the simulator has to know of the clients beside their nodes."""
    return [{k: v for k, v in c.items() if k not in ("x_m", "y_m")} for c in checked["client"]]


def check_olsr(checked: Table, stated: Table, where: Where) -> None:
    """That OLSR's keys stand with OLSR, and laws know what they need of changing routes."""
    if checked["routing"]["protocol"] == "olsr":
        if checked["gateway"]["link_rates"] == "known":
            raise where.at("gateway", "link_rates").error(
                '"known" means links of paths that do not change, unlike OLSR\'s; use "piggybacked"'
            )
        return
    for key in OLSR_KEYS:
        if key in stated:
            raise where.at("routing", key).error(
                'has a meaning with protocol "olsr" only; remove it'
            )


def check_clients(checked: Table, where: Where) -> None:
    """That routes follow the clients, and laws do."""
    if not checked["client"]:
        return
    if checked["routing"]["protocol"] == "static":
        raise where.at("routing", "protocol").error(
            '"static" routes follow no client that walks; use "olsr"'
        )
    if checked["gateway"]["law"] == "map":
        raise where.at("gateway", "law").error(
            '"map" measures links before the flows begin, and clients walk away; use "gap"'
        )
    for i, flow in enumerate(checked["flow"]):
        if flow.get("law") == "map":
            raise where.at("flow", str(i), "law").error(
                '"map" measures links before the flows begin, and clients walk away; use "gap"'
            )
