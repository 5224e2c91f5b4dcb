# SPDX-License-Identifier: GPL-2.0-only
"""What interrupts flows: nodes whose radios fail (``[[outage]]``), applications that are idle."""

from __future__ import annotations

from pacelab.errors import nearest
from pacelab.scenario.schema import Table, Where


def check_outages(checked: Table, nodes: set[str], where: Where) -> None:
    """That outages are of mesh nodes, and begin before the end."""
    for i, outage in enumerate(checked["outage"]):
        here = where.at("outage", str(i))
        if outage["node"] not in nodes:
            remedy = nearest(outage["node"], nodes)
            raise here.at("node").error(f'unknown mesh node "{outage["node"]}"; {remedy}')
        if any(client["name"] == outage["node"] for client in checked["client"]):
            raise here.at("node").error("a client that walks has no outages; name another node")
        if outage["at_s"] >= checked["duration_s"]:
            raise here.at("at_s").error(
                f"{outage['at_s']:g} is not before the end at {checked['duration_s']:g}; give less"
            )


def check_idle(flow: Table, checked: Table, where: Where) -> None:
    """That an idle time of a flow has a length, and begins before the end."""
    if flow["idle_at_s"] and not flow["idle_s"]:
        raise where.at("idle_s").error("is missing; give how long the application is idle")
    if flow["idle_s"] and flow["idle_at_s"] >= checked["duration_s"]:
        raise where.at("idle_at_s").error(
            f"{flow['idle_at_s']:g} is not before the end at {checked['duration_s']:g}; give less"
        )


def interruptions_s(scenario: Table) -> list[tuple[float, float]]:
    """From when to when something is interrupted, in a resolved scenario, in order."""
    outages = [(o["at_s"], o["at_s"] + o["for_s"]) for o in scenario["outages"]]
    idle = [
        (flow["idle_at_s"], flow["idle_at_s"] + flow["idle_s"])
        for flow in scenario["flows"]
        if flow["idle_s"]
    ]
    return sorted(outages + idle)
