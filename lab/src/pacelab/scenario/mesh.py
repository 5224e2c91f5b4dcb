# SPDX-License-Identifier: GPL-2.0-only
"""The nodes of a mesh: where they stand, who walks, which links have bit rates of their own."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from pacelab.errors import nearest
from pacelab.scenario.radio import DATA_MBPS, DataRate, check_data_rate
from pacelab.scenario.schema import Model, Name, Where


class Mesh(Model):
    """``[mesh]``."""

    topology: Literal["chain", "parallel", "cross", "tree", "grid", "random", "nodes"] = Field(
        default="chain"
    )
    hops: int = Field(default=8, ge=1, le=100, description="of each chain")
    spacing_m: float = Field(default=200.0, gt=0, le=1e5, description="between neighbours")
    branches: list[Any] = Field(
        default_factory=lambda: [1, 2, 4],
        description="of tree: hops of each, at most 6 around the gateway",
    )
    rows: int = Field(default=3, ge=1, le=30, description="of grid")
    columns: int = Field(default=7, ge=2, le=30, description="of grid: nodes in each row")
    nodes: int = Field(
        default=20, ge=2, le=300, description="of random: how many, with the gateways"
    )
    gateways: int = Field(default=1, ge=1, le=100, description="of random: how many")
    width_m: float = Field(default=1000.0, gt=0, le=1e5, description="of random: the area's")
    height_m: float = Field(default=1000.0, gt=0, le=1e5, description="of random: the area's")
    reach_m: float = Field(
        default=0.0,
        ge=0,
        le=1e5,
        description="of random: neighbours stand as near; 0: tx_range_m, of range only",
    )
    topology_seed: int = Field(
        default=1, ge=0, le=2**31 - 1, description="of random, and of shadowing: which of many"
    )


class Node(Model):
    """``[[node]]``."""

    name: Name
    x_m: float = Field(ge=-1e7, le=1e7)
    y_m: float = Field(ge=-1e7, le=1e7)
    gateway: bool = Field(default=False, description="whether it is a gateway; at least one is")


class Client(Model):
    """``[[client]]``."""

    name: Name
    x_m: float = Field(ge=-1e6, le=1e6, exclude=True, description="where it sets out")
    y_m: float = Field(ge=-1e6, le=1e6, exclude=True, description="where it sets out")
    to_x_m: float = Field(ge=-1e6, le=1e6, description="where it turns round")
    to_y_m: float = Field(ge=-1e6, le=1e6, description="where it turns round")
    speed_mps: float = Field(
        default=1.0, ge=0, le=100, description="how fast it walks; 0: it stands"
    )
    start_s: float = Field(default=0.0, ge=0, le=1e6, description="when it sets out")


class LinkRate(Model):
    """``[[link]]``."""

    between: list[Any] = Field(description='two mesh nodes, such as ["IG", "RL1"]')
    mbps: Annotated[float, DataRate] = Field(
        description="bit rate of data frames, both ways; else data_mbps"
    )


class Link(Model):
    """A link with a bit rate of its own, as the simulator takes it."""

    from_: str = Field(alias="from")
    to: str
    mbps: float


def links(stated: list[LinkRate], standard: str, nodes: set[str], where: Where) -> list[Link]:
    """The links with bit rates of their own."""
    found: list[Link] = []
    for i, link in enumerate(stated):
        here = where.at("link", str(i))
        if standard not in DATA_MBPS:
            raise here.error(f"links of {standard} have one bit rate; remove it")
        ends = link.between
        named = all(isinstance(end, str) for end in ends)
        if not named or len(ends) != 2 or ends[0] == ends[1]:
            raise here.at("between").error('does not name two nodes; give such as ["IG", "RL1"]')
        for end in ends:
            if end not in nodes:
                remedy = nearest(end, nodes)
                raise here.at("between").error(f'unknown mesh node "{end}"; {remedy}')
        check_data_rate(link.mbps, standard, here.at("mbps"))
        if any({one.from_, one.to} == set(ends) for one in found):
            raise here.at("between").error("this link has a bit rate already; remove one")
        found.append(Link.model_validate({"from": ends[0], "to": ends[1], "mbps": link.mbps}))
    return found
