# SPDX-License-Identifier: GPL-2.0-only
"""``[experiment]`` as a file states it: what is compared, what is searched, what is claimed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from pacelab.results.measures import MEASURES
from pacelab.scenario.schema import Caption, Model, Name, Table, Words, word_of

Kind = Literal["sweep", "flows", "time", "links", "over-time", "distribution"]
Measured = Annotated[str, word_of(*MEASURES)]
Checked = Annotated[str, word_of("gain", "jain_gain", "flow_difference", "reference", *MEASURES)]


class Reference(Model):
    """Figures known from elsewhere, by the swept value."""

    name: Name
    values: Table | None = None


class Sweep(Model):
    """The key whose values are gone through, or tables of settings for each value."""

    key: Name
    values: list[Any] = Field(min_length=1)
    set: list[Table] | None = None


# The rates of hosts at the gateway, kbit/s by name.
HOST_RATES = "gateway.host_kbps"


class Search(Model):
    """The key whose best value is looked for.

    ``measure`` and ``seeds`` are of the goal guarantee, which searches for rates of hosts: what is
    to be great, and with how many seeds of its own.
    """

    key: Name
    goal: Literal["loss", "goodput", "guarantee"] = "loss"
    measure: Measured | None = None
    seeds: int = Field(default=3, ge=1, le=1000)
    low: float | None = Field(default=None, gt=0)
    high: float | None = Field(default=None, gt=0)
    loss: float | None = Field(default=None, ge=0, le=1)
    values: list[int | float] | None = None
    flows: list[str] | None = None
    rounds: int = Field(default=6, ge=0, le=20)
    each: Literal["point", "system"] = "point"


class Quick(Model):
    """What of it is run in a hurry."""

    seeds: int = Field(default=3, ge=1)
    values: list[Any] | None = None
    variants: list[str] | None = None
    systems: list[str] | None = None
    search: list[int | float] | None = None
    rounds: int | None = Field(default=None, ge=0, le=20)
    set: Table | None = None


class Variant(Model):
    """Conditions under which systems are compared."""

    name: Name
    set: Table | None = None


class System(Variant):
    """What is compared."""

    search: bool = True
    reference: Table | None = None


class Picture(Model):
    """A picture of what came out."""

    id: Name
    title: Caption = ""
    kind: Kind | None = None
    measure: Measured = "goodput"
    systems: list[str] | None = None
    variants: list[str] | None = None
    hosts: list[str] | None = None
    at: Any = None
    log: bool = False


class Check(Model):
    """A claim, and what meets it."""

    text: Words
    measure: Checked
    of: Name
    over: str | None = None
    overs: list[str] | None = None
    over_at: Any = None
    over_variant: str | None = None
    at: list[Any] | None = None
    variant: str | None = None
    every_variant: bool = False
    flows: list[str] | None = None
    over_flows: list[str] | None = None
    while_: list[str] | None = Field(default=None, alias="while")
    over_while: list[str] | None = None
    links: list[list[str]] | None = None
    over_links: list[list[str]] | None = None
    hosts: list[str] | None = None
    over_hosts: list[str] | None = None
    which: Literal["every", "some"] = "every"
    trend: Literal["rises", "falls"] | None = None
    least: float | None = None
    most: float | None = None
    margin: float | None = Field(default=None, gt=0)


class About(Model):
    """``[experiment]``."""

    id: Name
    also: list[str] | None = None
    listed: bool = True
    paper: Words
    figure: Words
    claim: Words
    reason: str = ""
    plot: Kind | None = None
    xlabel: Caption = ""
    seeds: int = Field(default=10, ge=1, le=1000)
    first_seed: int = Field(default=1, ge=1, le=1_000_000)
    sweep: Sweep | None = None
    search: Search | None = None
    reference: Reference | None = None
    quick: Quick | None = None
    system: list[System] = Field(min_length=1)
    variant: list[Variant] = Field(default_factory=list)
    check: list[Check] = Field(default_factory=list)
    picture: list[Picture] = Field(default_factory=list)
