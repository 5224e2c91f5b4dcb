# SPDX-License-Identifier: GPL-2.0-only
"""What ``meshpace-mesh`` says: when it is ready, and when it has ended."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from pacelab.results.runs import Drops

# ``[radio]`` of a gateway's or a sender's configuration, as the simulated radio has it.
RadioKeys = dict[str, float | bool]


class Route(TypedDict):
    """The way to an address."""

    to: str
    address: str
    via: str


class Neighbour(TypedDict):
    """A mesh node's address on the radio."""

    node: str
    address: str
    mac: str


class Port(TypedDict):
    """Where a namespace is connected: to the mesh, or to the wired part."""

    node: str
    side: Literal["mesh", "wired"]
    netns: str
    interface: str
    address: str
    routes: list[Route]
    default_via: NotRequired[str]
    # Of ends in the mesh: the path from the gateway, and its radios if their law is map.
    hops: int
    mbps: float
    radio_here: RadioKeys
    radio_at_gateway: RadioKeys


class Ready(TypedDict):
    """The network stands."""

    gateway: str
    ports: list[Port]
    neighbours: list[Neighbour]


class Report(TypedDict):
    """The run is over."""

    lag_ms: dict[str, float]
    links: list[Drops]
