# SPDX-License-Identifier: GPL-2.0-only
"""What one run gives, simulated or emulated: the document that ``meshpace-sim`` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict

# What is counted of each flow.
Count = Literal["retransmits", "timeouts", "local_retransmits"]
COUNTS: tuple[Count, ...] = ("retransmits", "timeouts", "local_retransmits")

Direction = Literal["down", "up", "mesh"]  # from a wired host, to one, neither
Quantile = Literal["mean", "p50", "p95", "max"]


class Rtt(TypedDict):
    """Round-trip times of a flow or a ping, ms."""

    mean: float
    p50: float
    p95: float
    max: NotRequired[float]  # of pings


class Counted(TypedDict):
    """What is counted of a flow at its ends, by the kind of its traffic."""

    retransmits: int
    timeouts: int
    rtt_ms: Rtt | None
    sent_bytes: NotRequired[float]  # of cbr
    transfers: NotRequired[list[tuple[float, float]]]  # of files: bytes and seconds of each
    unfinished: NotRequired[int]
    page_loads_s: NotRequired[list[float]]  # of http
    pages_failed: NotRequired[int]
    most_cwnd_segments: NotRequired[int]  # emulated


Ends = TypedDict("Ends", {"from": str, "to": str})


class RunFlow(Ends, Counted):
    """A flow in a run."""

    name: str
    direction: Direction
    hops: int
    law: str
    goodput_bytes: float
    delivered_bytes: Sequence[float]  # in each bin
    local_retransmits: int
    pacing: dict[str, float | None] | None


class Ping(Ends):
    """A ping in a run."""

    sent: int
    lost: int
    rtt_ms: Rtt | None


class Drops(Ends):
    """Packets that the link layer gave up on a link."""

    data_drops: float
    ack_drops: float
    other_drops: float


class Run(TypedDict):
    """One run."""

    seed: int
    duration_s: float
    warmup_s: float
    bin_s: float
    flows: list[RunFlow]
    links: list[Drops]
    pings: NotRequired[list[Ping]]
    gateway: dict[str, float] | None
    lag_ms: NotRequired[dict[str, float]]  # emulated
    versions: dict[str, str]
