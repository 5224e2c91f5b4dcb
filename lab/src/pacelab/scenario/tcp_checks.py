# SPDX-License-Identifier: GPL-2.0-only
"""What a TCP connection cannot have at once, of a flow or of a person."""

from __future__ import annotations

from pacelab.scenario.flows import BYTE_COUNTING, Tcp
from pacelab.scenario.schema import Where


def check_tcp(tcp: Tcp, where: Where) -> None:
    """InputError, in one line, for keys of which one makes another meaningless."""
    if tcp.byte_counting and tcp.variant not in BYTE_COUNTING:
        known = ", ".join(BYTE_COUNTING)
        raise where.at("byte_counting").error(
            f'has no meaning for variant "{tcp.variant}", only for {known}; remove it'
        )
    if tcp.variant == "reno" and tcp.sack:
        raise where.at("variant").error(
            'reno has no SACK; set sack = false, or variant = "newreno"'
        )
    if tcp.rack and not tcp.sack:
        raise where.at("rack").error("goes by what SACK tells; remove it, or set sack = true")
