# SPDX-License-Identifier: GPL-2.0-only
"""The laws: of the gateways, and what MAP assumes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, Literal

from pydantic import Field

from pacelab.errors import nearest
from pacelab.scenario.radio import Queueing
from pacelab.scenario.schema import Model, Where


class Gateway(Model):
    """``[gateway]``."""

    law: Literal["off", "gap", "map", "shaper", "even", "cake", "hosts"] = "off"
    sender_law: Literal["off", "gap", "ap", "map", "even"] = Field(
        default="off", exclude=True, description="of wireless senders of TCP whose flow states none"
    )
    goodput_control: bool = Field(default=True, description="throttle fast wired-to-wireless flows")
    fairness: Literal["air", "rate"] = Field(
        default="air", description="of even: equal parts of the air, or equal rates"
    )
    host_weight: dict[str, Annotated[float, Field(ge=0.01, le=100)]] = Field(
        default_factory=dict,
        description="of even: as so many hosts each mesh node named counts; else as 1",
    )
    host_least_kbps: dict[str, Annotated[float, Field(ge=0, le=1e6)]] = Field(
        default_factory=dict,
        description="of even: payload, down and up, that each named gets at least",
    )
    least_kbps: float = Field(
        default=0.0, ge=0, le=1e6, description="the same, of all who are not named; 0: nothing"
    )
    local_retransmission: bool = Field(
        default=True, description="the gateway answers duplicate ACKs itself"
    )
    release: Literal["nfqueue", "htb", "auto", "fq"] = Field(
        default="auto",
        description="how packets wait; auto: htb where it works, as it always does simulated; htb: "
        "an interval in force is kept to the next departure; nfqueue: each packet by its own "
        "timer, as the papers have it; fq fixes departures on arrival, simulated only",
    )
    delay_bound_s: float = Field(
        default=0.5, ge=0, le=60, description="RTT samples above are discarded; 0: none (papers)"
    )
    delay_bound_means: int = Field(
        default=0,
        ge=0,
        le=1000,
        description="an RTT sample counts as so many means of the last 50 at most; 0: as it is",
    )
    rate_kbps: float = Field(
        default=0.0,
        ge=0,
        le=1e6,
        description="of shaper: payload of each flow; of cake: all IP packets, in each direction",
    )
    host_kbps: dict[str, Annotated[float, Field(ge=0.001, le=1e6)]] = Field(
        default_factory=dict,
        description="of hosts: IP packets of each mesh node named, in each direction",
    )
    bucket: int = Field(
        default=1, ge=1, le=10_000, description="of shaper: packets that may leave together"
    )
    queueing: Literal["", Queueing] = Field(
        default="", description="at gateways while the law is off, cake or hosts; empty: the mesh's"
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
        "feedback",
        "sack",
        "moment",
        "opaque",
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
    link_in_oid: bool = Field(
        default=False, description="each hop of OID has t_LLD, as MAP's eq. (8) and definition have"
    )
    link_learnt: bool = Field(
        default=False,
        description="t_LLD and t_LLA are what the least RTT leaves, not the middle of (9), (10)",
    )


# Defaults of [gateway] that a law has for itself.
SHAPES_ONLY = {"goodput_control": False, "local_retransmission": False}
LAW_DEFAULTS: dict[str, dict[str, Any]] = {
    "shaper": SHAPES_ONLY,
    "cake": SHAPES_ONLY,
    "hosts": SHAPES_ONLY,
}

# Keys that only some laws know.
KEY_LAWS = {
    "rate_kbps": ("shaper", "cake"),
    "host_kbps": ("hosts",),
    "bucket": ("shaper",),
    "fairness": ("even",),
    "host_weight": ("even",),
    "host_least_kbps": ("even",),
    "least_kbps": ("even",),
}

# Those of them that name mesh nodes.
OF_HOSTS = ("host_kbps", "host_weight", "host_least_kbps")

# Laws beside which a gateway's radios have queues of their own.
QUEUEING_LAWS = ("off", "cake", "hosts")


def completed_gateway(stated: Gateway, hosts: Collection[str], where: Where) -> Gateway:
    """With the defaults that the law has for itself; checks what only some laws know.

    ``hosts`` are the names of the mesh nodes that are no gateways.
    """
    law = stated.law
    _check_rates(stated, hosts, where)
    for key, laws in KEY_LAWS.items():
        if law not in laws and stated.stated(key):
            known = " and ".join(f'"{name}"' for name in laws)
            raise where.at(key).error(f"has a meaning for law = {known} only; remove it")
    if law not in QUEUEING_LAWS and stated.queueing:
        raise where.at("queueing").error(
            f"packets wait as the law {law} has them; remove it, or turn the law off"
        )
    own = {k: v for k, v in LAW_DEFAULTS.get(law, {}).items() if not stated.stated(k)}
    return stated.model_copy(update=own)


def _check_rates(stated: Gateway, hosts: Collection[str], where: Where) -> None:
    """That a law has the rates that it needs, of hosts that there are."""
    law = stated.law
    if law == "shaper" and stated.rate_kbps <= 0:
        raise where.at("rate_kbps").error("shaper needs a rate; give each flow's payload in kbit/s")
    if law == "cake" and stated.rate_kbps <= 0:
        raise where.at("rate_kbps").error(
            "cake needs a rate; give that of each direction in kbit/s"
        )
    if law == "hosts" and not stated.host_kbps:
        raise where.at("host_kbps").error("hosts needs rates; write for example { A = 4000 }")
    for key in OF_HOSTS:
        for name in getattr(stated, key) if law in KEY_LAWS[key] else ():
            if name not in hosts:
                raise where.at(key, name).error(
                    f"is of no mesh node but a gateway; {nearest(name, hosts)}"
                )
