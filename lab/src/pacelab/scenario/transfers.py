# SPDX-License-Identifier: GPL-2.0-only
"""Transfers at random (``[transfers]``): who loads what, which way, by which sender, and when.

Chosen cases show what somebody thought of; these show the rest. What comes of them is a function of
the file alone, not of a run's seed: every run, and every system that is compared, has the same.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import count

from pacelab.scenario.flows import Flow
from pacelab.scenario.mesh import Node
from pacelab.scenario.models import ScenarioFile
from pacelab.scenario.schema import Table, Where

# A download beside two for an upload; QUIC is a quarter of what is loaded.
WAYS = ("down", "down", "up")
OPAQUE = (False, False, False, True)
VARIANTS = ("cubic", "bbr")
# Half are there from the beginning; by thirds they stay, end, and pause.
COMES = (False, True)
GOES = ("stays", "ends", "pauses")

# Of the duration: before when all have come, how long each is there at least, before when pauses
# have begun, and how long they last.
COME_BY, STAYS, PAUSES_BY = 0.4, 0.2, 0.7
PAUSE = (0.05, 0.2)


def with_transfers(file: ScenarioFile, nodes: Sequence[Node], where: Where) -> ScenarioFile:
    """The file with its transfers among its flows; each has a wired host of its own."""
    most = file.transfers.hosts
    if not most:
        return file
    here = where.at("transfers", "hosts")
    places = [node.name for node in nodes if not node.gateway]
    if most < 2:
        raise here.error("one host shares with nobody; give 2 or more, or 0")
    if len(places) < 2:
        raise here.error("the mesh has no two nodes beside gateways; give nodes")
    taken = {end for flow in file.flow for end in (flow.from_, flow.to)}
    taken |= {end for ping in file.ping for end in (ping.from_, ping.to)}
    taken |= {person.host for person in file.person}
    wired = (f"B{i}" for i in count(1) if f"B{i}" not in taken)
    draw = random.Random(file.transfers.seed or file.mesh.topology_seed)
    who = draw.sample(places, draw.randint(2, min(most, len(places))))
    drawn = [
        Flow.model_validate(_drawn(f"transfer {i + 1}", node, next(wired), file.duration_s, draw))
        for i, node in enumerate(who)
    ]
    return file.model_copy(update={"flow": [*file.flow, *drawn]})


def _drawn(name: str, node: str, wired: str, duration_s: float, draw: random.Random) -> Table:
    way = draw.choice(WAYS)
    variant, opaque = draw.choice(VARIANTS), draw.choice(OPAQUE)
    ends = {"from": node, "to": wired} if way == "up" else {"from": wired, "to": node}
    return {
        "name": name,
        **ends,
        "variant": variant,
        "opaque": opaque,
        **_times(duration_s, draw),
    }


def _times(duration_s: float, draw: random.Random) -> Table:
    """When a transfer begins, ends, and pauses, s."""
    comes, goes = draw.choice(COMES), draw.choice(GOES)
    start_s = draw.uniform(0.0, COME_BY * duration_s) if comes else 0.0
    found: Table = {"start_s": round(start_s, 3)}
    settled_s = start_s + STAYS * duration_s
    if goes == "ends":
        found["stop_s"] = round(draw.uniform(settled_s, duration_s), 3)
    if goes == "pauses":
        found["idle_at_s"] = round(draw.uniform(settled_s, PAUSES_BY * duration_s), 3)
        found["idle_s"] = round(draw.uniform(*PAUSE) * duration_s, 3)
    return found
