# SPDX-License-Identifier: GPL-2.0-only
"""From ``[mesh]``, ``[[node]]`` and ``[[client]]`` to nodes that reach each other."""

from __future__ import annotations

from typing import Any

from pacelab.scenario import roaming, topology
from pacelab.scenario.ends import WIRED_HOST
from pacelab.scenario.mesh import Mesh, Node
from pacelab.scenario.models import ScenarioFile
from pacelab.scenario.radio import Radio
from pacelab.scenario.schema import Where

# At more branches the first nodes of two are nearer to each other than to the gateway.
MOST_BRANCHES = 6
MOST_HOPS = 100

# What [mesh] may say beside the topology.
MESH_KEYS = {
    "chain": ("hops", "spacing_m"),
    "parallel": ("hops", "spacing_m"),
    "cross": ("hops", "spacing_m"),
    "tree": ("branches", "spacing_m"),
    "grid": ("rows", "columns", "spacing_m"),
    "random": ("nodes", "gateways", "width_m", "height_m", "reach_m", "topology_seed"),
    "nodes": (),
}


def laid_out(file: ScenarioFile, radio: Radio, where: Where) -> list[Node]:
    """The nodes of the mesh, the clients that walk last; InputError where some reach no gateway."""
    mesh = file.mesh
    for key in Mesh.model_fields:
        drawn = key == "topology_seed" and radio.shadowing_db > 0
        if mesh.stated(key) and key not in ("topology", *MESH_KEYS[mesh.topology]) and not drawn:
            raise where.at("mesh", key).error(
                f'has no meaning with topology "{mesh.topology}"; remove it'
            )
    if mesh.topology == "nodes":
        nodes = file.node
        _check_nodes(nodes, where)
    else:
        if file.node:
            raise where.at("node").error(
                f'has no meaning with topology "{mesh.topology}"; set mesh.topology = "nodes"'
            )
        nodes = _layout(mesh, radio, where.at("mesh"))
    nodes = nodes + roaming.client_nodes(file.client)
    _check_names(nodes, len(nodes) - len(file.client), where)
    if radio.model != "range":
        return nodes  # how far a node reaches is the simulator's to tell
    lost = topology.unreachable(nodes, radio.tx_range_m)
    if lost:
        raise where.at("node" if mesh.topology == "nodes" else "mesh").error(
            f'the mesh is disconnected: "{lost[0]}" has no path to the gateway; '
            f"place nodes at most radio.tx_range_m = {radio.tx_range_m:g} m apart"
        )
    return nodes


def _layout(mesh: Mesh, radio: Radio, where: Where) -> list[Node]:
    if mesh.topology == "tree":
        return topology.tree(_branches(mesh.branches, where.at("branches")), mesh.spacing_m)
    if mesh.topology == "grid":
        return topology.grid(mesh.rows, mesh.columns, mesh.spacing_m)
    if mesh.topology != "random":
        layout = {
            "chain": topology.chain,
            "parallel": topology.parallel,
            "cross": topology.cross,
        }[mesh.topology]
        return layout(mesh.hops, mesh.spacing_m)
    if mesh.gateways >= mesh.nodes:
        raise where.at("gateways").error(
            f"{mesh.gateways} of {mesh.nodes} nodes leave none to reach; give less"
        )
    if not mesh.reach_m and radio.model != "range":
        raise where.at("reach_m").error(
            "the sinr radio has no range to draw a mesh by; give the most between neighbours"
        )
    reach_m = mesh.reach_m or radio.tx_range_m
    area_m = (mesh.width_m, mesh.height_m)
    seed = mesh.topology_seed
    nodes = topology.random_nodes(mesh.nodes, mesh.gateways, area_m, reach_m, seed)
    if nodes is None:
        raise where.error(
            f"{mesh.nodes} nodes on {area_m[0]:g} m x {area_m[1]:g} m are not connected over "
            f"hops of {reach_m:g} m in {topology.DRAWS} draws; give more nodes, or a smaller area"
        )
    return nodes


def _branches(stated: list[Any], where: Where) -> list[int]:
    """The hops of a tree's branches, checked: with more of them, first nodes crowd together."""
    if not 1 <= len(stated) <= MOST_BRANCHES:
        raise where.error(f"{len(stated)} branches; give 1 to {MOST_BRANCHES}")
    for hops in stated:
        if not isinstance(hops, int) or isinstance(hops, bool) or not 1 <= hops <= MOST_HOPS:
            raise where.error(f"{hops!r} is no number of hops; give 1 to {MOST_HOPS}")
    return stated


def _check_nodes(nodes: list[Node], where: Where) -> None:
    if not nodes:
        raise where.at("node").error('topology "nodes" without nodes; write [[node]] tables')
    if not any(entry.gateway for entry in nodes):
        raise where.at("node").error(
            "the mesh has no gateway; set gateway = true on at least one node"
        )


def _check_names(nodes: list[Node], clients_from: int, where: Where) -> None:
    """That all names differ; the nodes from ``clients_from`` on are the clients."""
    seen: set[str] = set()
    for i, entry in enumerate(nodes):
        place = ("node", str(i)) if i < clients_from else ("client", str(i - clients_from))
        here = where.at(*place, "name")
        if entry.name in seen:
            raise here.error(f'"{entry.name}" is taken already; give another name')
        if WIRED_HOST.fullmatch(entry.name):
            raise here.error(f'"{entry.name}" means a wired host; give another name')
        seen.add(entry.name)
