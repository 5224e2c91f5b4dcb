# SPDX-License-Identifier: GPL-2.0-only
"""People (``[[person]]``, ``[evening]``): who is there, when, and what each does."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from pacelab.scenario.flows import Tcp
from pacelab.scenario.schema import Model, Name, word_of

ACTIVITIES = ("web", "video", "call", "download", "upload", "lookups")

# Of TCP unless [tcp] or the person says otherwise: what people have. CUBIC (RFC 9438), ten segments
# (RFC 6928), an ACK every second one (RFC 5681), and no window but that of the sender's buffer.
TCP_DEFAULTS: dict[str, Any] = {
    "variant": "cubic",
    "initial_window": 10,
    "delayed_ack": 2,
    "advertised_window": 400,
}
# What part of his pages and videos is opaque.
OPAQUE = {False: 0.0, True: 1.0, "half": 0.5}
# His ports, four each, have to fit below those that clients are given.
MOST_PEOPLE = 4000


class _Own(Model):
    """What a person has beside his TCP, stated or resolved."""

    name: Name = Field(default="", description="default: person 1, person 2, ...")
    node: Name = Field(description="the mesh node where he is, no gateway")
    start_s: float = Field(default=0.0, ge=0, le=1e6, description="when he arrives")
    stop_s: float = Field(default=0.0, ge=0, le=1e6, description="when he leaves; 0: he stays")
    leaves: Literal["closes", "dies", "fades"] = Field(default="closes", description="see below")
    pause_at_s: float = Field(
        default=0.0, ge=0, le=1e6, description="when he asks for nothing more for a while"
    )
    pause_s: float = Field(default=0.0, ge=0, le=1e6, description="for how long; 0: never")
    does: list[Annotated[str, word_of(*ACTIVITIES)]] = Field(description="see below")
    page_scale: float = Field(
        default=1.0, ge=0.001, le=1000, description="of web: times 3GPP's sizes of objects"
    )
    reading_s: float = Field(
        default=30.0, ge=0.1, le=1e6, description="of web: mean time for which he reads a page"
    )
    lookup_s: float = Field(
        default=5.0, ge=0.01, le=1e6, description="of lookups: mean time from one to the next"
    )
    law: Literal["off", "gap", "ap", "map", "even"] = Field(
        default="off", description="of the connections that he opens, at his end"
    )


class Person(Tcp, _Own):
    """``[[person]]``: as the file states him."""

    host: str = Field(default="", description="the wired host that serves him; default: his own")
    opaque: bool | Literal["half"] = Field(
        default=False, description="which of his pages and videos come by QUIC; see below"
    )


class ResolvedPerson(Tcp, _Own):
    """A person as the simulator takes him."""

    host: str
    opaque: float = Field(ge=0, le=1, description="part of his pages and videos")


class Evening(Model):
    """``[evening]``: people who come one after the other, at random places."""

    persons: int = Field(
        default=0, ge=0, le=MOST_PEOPLE, description="how many; after the end nobody comes"
    )
    arrivals_per_min: float = Field(
        default=6.0, gt=0, le=1e6, description="of a Poisson process, from the beginning on"
    )
    stay_s: float = Field(
        default=0.0, ge=0, le=1e6, description="mean of an exponential law; 0: they stay"
    )
    opaque: bool | Literal["half"] = Field(default="half", description="as of a person")
    variant: Literal["", "newreno", "vegas", "cubic", "bbr", "westwood"] = Field(
        default="", description="as of a person; empty: as of people"
    )
    seed: int = Field(
        default=0, ge=0, le=2**31 - 1, description="which of many; 0: as mesh.topology_seed"
    )
