# SPDX-License-Identifier: GPL-2.0-only
"""The laws: of the gateways, and what MAP assumes."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from pacelab.scenario.radio import Queueing
from pacelab.scenario.schema import Model, Where


class Gateway(Model):
    """``[gateway]``."""

    law: Literal["off", "gap", "map", "shaper", "even"] = "off"
    sender_law: Literal["off", "gap", "ap", "map", "even"] = Field(
        default="off", exclude=True, description="of wireless senders of TCP whose flow states none"
    )
    goodput_control: bool = Field(default=True, description="throttle fast wired-to-wireless flows")
    local_retransmission: bool = Field(
        default=True, description="the gateway answers duplicate ACKs itself"
    )
    release: Literal["nfqueue", "fq"] = Field(
        default="nfqueue", description="how packets wait; fq fixes departures on arrival"
    )
    delay_bound_s: float = Field(
        default=0.5, ge=0, le=60, description="RTT samples above are discarded; 0: none (papers)"
    )
    rate_kbps: float = Field(
        default=0.0, ge=0, le=1e6, description="of shaper: payload rate of each flow"
    )
    bucket: int = Field(
        default=1, ge=1, le=10_000, description="of shaper: packets that may leave together"
    )
    queueing: Literal["", Queueing] = Field(
        default="", description="at gateways while the law is off; empty: the mesh's"
    )
    link_rates: Literal["single", "known", "piggybacked"] = Field(
        default="single", description="what laws know of the bit rates of a path's links; see below"
    )
    omit: Literal[
        "",
        "fast",
        "damping",
        "arrived",
        "binds",
        "least",
        "cut",
        "waits",
        "silence",
        "probes",
        "lossy",
        "feedback",
    ] = Field(
        default="", description="of even: a part that is left out, also by senders; see below"
    )


class Map(Model):
    """``[map]``."""

    assumed_exponent: float = Field(
        default=3.0, ge=1, le=10, description="path-loss exponent that the law map assumes (MAP: 3)"
    )
    positions: bool = Field(
        default=False, description="the law map knows where the path's nodes stand"
    )
    least_h_cs: int = Field(
        default=1, ge=1, le=32, description="H_cs is at least this (MAP's text: 2)"
    )
    past_end: bool = Field(default=False, description="OID is of h + 1 hops where H_cs reaches h")


# Defaults of [gateway] that a law has for itself.
LAW_DEFAULTS: dict[str, dict[str, Any]] = {
    "shaper": {"goodput_control": False, "local_retransmission": False}
}


def completed_gateway(stated: Gateway, where: Where) -> Gateway:
    """With the defaults that the law has for itself; checks what only some laws know."""
    law = stated.law
    if law == "shaper" and stated.rate_kbps <= 0:
        raise where.at("rate_kbps").error("shaper needs a rate; give each flow's payload in kbit/s")
    for key in ("rate_kbps", "bucket"):
        if law != "shaper" and stated.stated(key):
            raise where.at(key).error('has a meaning for law = "shaper" only; remove it')
    if law != "off" and stated.queueing:
        raise where.at("queueing").error(
            f"packets wait as the law {law} has them; remove it, or turn the law off"
        )
    own = {k: v for k, v in LAW_DEFAULTS.get(law, {}).items() if not stated.stated(k)}
    return stated.model_copy(update=own)
