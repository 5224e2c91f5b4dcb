# SPDX-License-Identifier: GPL-2.0-only
"""Where flows and pings may lead."""

from __future__ import annotations

import re

from pacelab.errors import nearest
from pacelab.scenario.schema import Where

WIRED_HOST = re.compile(r"B\d*")


def check_ends(begin: str, end: str, nodes: set[str], where: Where) -> None:
    """That a flow or a ping leads from one place to another, not past the mesh."""
    for key, name in (("from", begin), ("to", end)):
        if name not in nodes and not WIRED_HOST.fullmatch(name):
            raise where.at(key).error(f'unknown node "{name}"; {nearest(name, {*nodes, "B"})}')
    if begin == end:
        raise where.at("to").error(f'"{end}" is where it begins; give another node')
    if begin not in nodes and end not in nodes:
        raise where.at("to").error("both ends are wired hosts; give a mesh node for one")
