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
    timeouts: int | None  # None: a kernel that does not count them
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


class Page(TypedDict):
    """A web page: when it was asked for, and how long it took; None: it never came."""

    at_s: float
    first_byte_s: float | None
    load_s: float | None
    bytes: int
    objects: int
    opaque: bool


class Segment(TypedDict):
    """A segment of a video, in the bit rate in which it was fetched."""

    at_s: float
    kbps: float


class Stall(TypedDict):
    """A time in which a video that had begun stood still."""

    at_s: float
    length_s: float


class Video(TypedDict):
    """A video: after how long it began (None: never), what was fetched, where it stood still."""

    at_s: float
    startup_s: float | None
    opaque: bool
    segments: list[Segment]
    stalls: list[Stall]


class Heard(TypedDict):
    """Packets of one direction of a call in a window; None: none has come."""

    sent: int
    lost: int
    delay_ms: float | None  # one way
    delay_p95_ms: float | None


class CallWindow(TypedDict):
    """Ten seconds of a call."""

    at_s: float
    up: Heard
    down: Heard


class Call(TypedDict):
    """A call."""

    at_s: float
    length_s: float
    windows: list[CallWindow]


class Took(TypedDict):
    """A look-up or a handshake, and how long it took; None: it was never done."""

    at_s: float
    took_s: float | None


class Person(TypedDict):
    """A person in a run. Times are those of the simulation."""

    name: str
    node: str
    start_s: float
    stop_s: float | None  # None: stays
    leaves: Literal["closes", "dies", "fades"]
    hops: int
    delivered_bytes: Sequence[float]  # in each bin, both directions, as are the next two
    wants: Sequence[int]  # 1: something was outstanding
    bulk: Sequence[int]  # 1: a bulk transfer was there
    pages: list[Page]
    videos: list[Video]
    calls: list[Call]
    lookups: list[Took]
    handshakes: list[Took]


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
    people: NotRequired[list[Person]]
    gateway: dict[str, float] | None
    lag_ms: NotRequired[dict[str, float]]  # emulated
    radio_core: NotRequired[float]  # emulated: CPU s a second that the radio took
    versions: dict[str, str]
