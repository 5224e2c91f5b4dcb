# SPDX-License-Identifier: GPL-2.0-only
"""Pings (``[[ping]]``): where they may go. They are no flows."""

from __future__ import annotations

from pacelab.scenario.schema import Table, Where


def check_pings(checked: Table, where: Where) -> None:
    """That pings begin before the end."""
    for i, ping in enumerate(checked["ping"]):
        if ping["start_s"] >= checked["duration_s"]:
            raise where.at("ping", str(i), "start_s").error(
                f"{ping['start_s']:g} is not before the end at {checked['duration_s']:g}; give less"
            )
