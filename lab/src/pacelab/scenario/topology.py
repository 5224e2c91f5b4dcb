# SPDX-License-Identifier: GPL-2.0-only
"""Where the mesh nodes stand, and who reaches whom.

Names follow the papers' figures: relays are numbered from the far end towards the gateway
``IG``. GAP figure 3: ``A``, ``RL1`` .. ``RL(h-1)``; figure 5: ``A1``, ``RL1`` .. ``RL4`` above and
``A2``, ``RL5`` .. ``RL8`` below, at 5 hops.
"""

import math
import random
from collections import deque

from pacelab.scenario.mesh import Node

DRAWS = 2000


def node(name: str, x_m: float, y_m: float, gateway: bool = False) -> Node:
    """A mesh node as the runner takes it."""
    return Node(name=name, x_m=x_m, y_m=y_m, gateway=gateway)


def chain(hops: int, spacing_m: float) -> list[Node]:
    """A line: the gateway, hops - 1 relays, the far end ``A``."""
    nodes = [node("IG", 0.0, 0.0, gateway=True)]
    nodes += [node(f"RL{hops - i}", i * spacing_m, 0.0) for i in range(1, hops)]
    return [*nodes, node("A", hops * spacing_m, 0.0)]


def parallel(hops: int, spacing_m: float) -> list[Node]:
    """Two lines, 2 * spacing_m apart, that meet at the gateway (GAP figure 5)."""
    nodes = [node("IG", 0.0, 0.0, gateway=True)]
    for number, y_m in ((1, spacing_m), (2, -spacing_m)):
        last_relay = number * (hops - 1)
        for i in range(1, hops):
            nodes.append(node(f"RL{last_relay - i + 1}", (1 - i) * spacing_m, y_m))
        nodes.append(node(f"A{number}", (1 - hops) * spacing_m, y_m))
    return nodes


def cross(hops: int, spacing_m: float) -> list[Node]:
    """Four lines that meet at the gateway, their ends ``A1`` .. ``A4`` (GAP figure 17).

    Arms point west, north, east, south; relays are numbered arm by arm, from the far end on.
    """
    nodes = [node("IG", 0.0, 0.0, gateway=True)]
    for number, (x, y) in enumerate(((-1, 0), (0, 1), (1, 0), (0, -1)), start=1):
        last_relay = number * (hops - 1)
        for i in range(1, hops + 1):
            name = f"A{number}" if i == hops else f"RL{last_relay - i + 1}"
            nodes.append(node(name, float(x * i * spacing_m), float(y * i * spacing_m)))
    return nodes


def tree(branches: list[int], spacing_m: float) -> list[Node]:
    """Lines of so many hops that meet at the gateway, at equal angles, the first one westwards.

    Names as of cross: ends ``A1`` .., relays branch by branch from the far end on. Positions are
    whole centimetres.
    """
    nodes = [node("IG", 0.0, 0.0, gateway=True)]
    relays = 0
    for number, hops in enumerate(branches):
        relays += hops - 1
        angle = math.pi - 2 * math.pi * number / len(branches)
        for i in range(1, hops + 1):
            name = f"A{number + 1}" if i == hops else f"RL{relays - i + 1}"
            x_m, y_m = i * spacing_m * math.cos(angle), i * spacing_m * math.sin(angle)
            nodes.append(node(name, round(x_m, 2), round(y_m, 2)))
    return nodes


def grid(rows: int, columns: int, spacing_m: float) -> list[Node]:
    """Rows and columns, ``R1C1`` in a corner, which is the gateway, to ``R<rows>C<columns>``.

    A row's neighbours and a column's are spacing_m apart.
    """
    return [
        node(f"R{r + 1}C{c + 1}", c * spacing_m, r * spacing_m, gateway=r == c == 0)
        for r in range(rows)
        for c in range(columns)
    ]


def random_nodes(
    count: int, gateways: int, area_m: tuple[float, float], reach_m: float, seed: int
) -> list[Node] | None:
    """Nodes drawn uniformly over an area until all are connected over hops of at most reach_m.

    The first ``gateways`` drawn are gateways ``IG1`` .., the others ``N1`` .. Positions are whole
    centimetres. None when DRAWS draws have not given a connected mesh.
    """
    draw = random.Random(seed).random
    names = [f"IG{i + 1}" for i in range(gateways)] + [f"N{i + 1}" for i in range(count - gateways)]
    for _ in range(DRAWS):
        nodes = [
            node(name, round(draw() * area_m[0], 2), round(draw() * area_m[1], 2), i < gateways)
            for i, name in enumerate(names)
        ]
        if not unreachable(nodes, reach_m):
            return nodes
    return None


def unreachable(nodes: list[Node], range_m: float) -> list[str]:
    """Names of the nodes that have no path to the gateway when each node reaches range_m."""
    start = next(n for n in nodes if n.gateway)
    seen = {start.name}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for other in nodes:
            distance_m = math.hypot(here.x_m - other.x_m, here.y_m - other.y_m)
            if other.name not in seen and distance_m <= range_m:
                seen.add(other.name)
                queue.append(other)
    return [n.name for n in nodes if n.name not in seen]
