# SPDX-License-Identifier: GPL-2.0-only
"""Nodes whose radios fail for a while (``[[outage]]``)."""

from __future__ import annotations

from pacelab.errors import nearest
from pacelab.scenario.models import ScenarioFile
from pacelab.scenario.schema import Where


def check_outages(file: ScenarioFile, nodes: set[str], where: Where) -> None:
    """That outages are of mesh nodes, and begin before the end."""
    for i, outage in enumerate(file.outage):
        here = where.at("outage", str(i))
        if outage.node not in nodes:
            remedy = nearest(outage.node, nodes)
            raise here.at("node").error(f'unknown mesh node "{outage.node}"; {remedy}')
        if any(client.name == outage.node for client in file.client):
            raise here.at("node").error("a client that walks has no outages; name another node")
        if outage.at_s >= file.duration_s:
            raise here.at("at_s").error(
                f"{outage.at_s:g} is not before the end at {file.duration_s:g}; give less"
            )
