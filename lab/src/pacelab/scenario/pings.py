# SPDX-License-Identifier: GPL-2.0-only
"""Pings (``[[ping]]``): where they may go. They are no flows."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from pacelab.scenario.ends import check_ends
from pacelab.scenario.schema import Model, Name, Where


class Ping(Model):
    """``[[ping]]``."""

    from_: Name = Field(alias="from", description="who asks: a node, or a wired host")
    to: Name = Field(description="who answers: a node, or a wired host")
    interval_s: float = Field(default=0.2, ge=0.001, le=1e6, description="between two requests")
    start_s: float = Field(default=0.0, ge=0, le=1e6, description="when the first is sent")


def check_pings(pings: Sequence[Ping], nodes: set[str], duration_s: float, where: Where) -> None:
    """That pings lead somewhere, and begin before the end."""
    for i, ping in enumerate(pings):
        check_ends(ping.from_, ping.to, nodes, where.at("ping", str(i)))
    for i, ping in enumerate(pings):
        if ping.start_s >= duration_s:
            raise where.at("ping", str(i), "start_s").error(
                f"{ping.start_s:g} is not before the end at {duration_s:g}; give less"
            )
