# SPDX-License-Identifier: GPL-2.0-only
"""What people feel, of one run: pages, calls, video, look-ups, handshakes.

What begins before the end of the warm-up does not count, nor what begins so late in a person's
time that nobody could tell how it would have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from pacelab.results import emodel
from pacelab.results.hosts import chosen_people
from pacelab.results.runs import Heard, Page, Person, Run, Took, Video

# A page that begins later before the end does not count, loaded or not. After so long attention is
# elsewhere (Miller 1968; Nielsen, Usability Engineering, 1993, 5.5).
PATIENCE_S = 10.0
SOON_S = 3.0  # within which look-ups and handshakes are done

# Between a packet's way and the ear: the speech that it holds, and as much in the playout buffer.
PACKET_MS = 20.0
PLAYOUT_MS = 20.0

People = Sequence[Person]
Felt = Callable[[Run, Sequence[str] | None], float | None]


def _end_s(run: Run, person: Person) -> float:
    stop_s = person["stop_s"]
    return run["duration_s"] if stop_s is None else min(stop_s, run["duration_s"])


def _pages(run: Run, names: Sequence[str] | None) -> list[tuple[Page, float]]:
    """The pages that count, and how long their persons could have waited for them: until they asked
    for the next one, or went; s."""
    found = []
    for person in chosen_people(run, names):
        own = sorted(person["pages"], key=lambda page: page["at_s"])
        found += [
            (page, over_s - page["at_s"])
            for page, over_s in zip(own, _overs_s(own, _end_s(run, person)), strict=True)
            if run["warmup_s"] <= page["at_s"] <= _end_s(run, person) - PATIENCE_S
        ]
    return found


def _overs_s(own: Sequence[Page | Video], end_s: float) -> list[float]:
    """When each is over that follows another: when the next one begins, or at the end."""
    return [*(one["at_s"] for one in own[1:]), end_s][: len(own)]


def load_times_s(run: Run, names: Sequence[str] | None) -> list[float | None]:
    """Load times of the pages that count; None: never loaded."""
    return [page["load_s"] for page, _ in _pages(run, names)]


def page_quantile(key: Literal["load_s", "first_byte_s"], share: float) -> Felt:
    """A quantile of a time of pages. Of one that never came, it is the time that was waited for
    it: it can only have been longer, and a quantile there is the least that it can be."""

    def of(run: Run, names: Sequence[str] | None) -> float | None:
        times = [
            waited if (took := page[key]) is None else took for page, waited in _pages(run, names)
        ]
        return float(np.quantile(times, share)) if times else None

    return of


def pages_unloaded(run: Run, names: Sequence[str] | None) -> float | None:
    """The share of pages that were never loaded."""
    times = load_times_s(run, names)
    return sum(t is None for t in times) / len(times) if times else None


def _heard(run: Run, names: Sequence[str] | None) -> list[tuple[Heard, Heard]]:
    """Both directions of each window of a call in which anything was sent both ways."""
    return [
        (window["up"], window["down"])
        for person in chosen_people(run, names)
        for call in person["calls"]
        for window in call["windows"]
        if window["at_s"] >= run["warmup_s"] and window["up"]["sent"] and window["down"]["sent"]
    ]


def direction_mos(heard: Heard) -> float:
    """The score of one direction.

    The playout buffer holds what 95% of packets need and a packet more; those that come later still
    are not counted as lost, so the score is the best that a receiver can make of it.
    """
    delay_ms = heard["delay_p95_ms"]
    if delay_ms is None or heard["lost"] >= heard["sent"]:
        return 1.0
    loss = heard["lost"] / heard["sent"]
    return emodel.mos(emodel.rating(delay_ms + PACKET_MS + PLAYOUT_MS, loss))


def call_mos(run: Run, names: Sequence[str] | None) -> float | None:
    """Mean over windows of the score of the worse direction: a conversation needs both."""
    scores = [min(map(direction_mos, both)) for both in _heard(run, names)]
    return sum(scores) / len(scores) if scores else None


def call_loss(run: Run, names: Sequence[str] | None) -> float | None:
    """The share of a call's packets that never came, both directions together."""
    heard = [one for both in _heard(run, names) for one in both]
    sent = sum(one["sent"] for one in heard)
    return sum(one["lost"] for one in heard) / sent if sent else None


def _videos(run: Run, names: Sequence[str] | None) -> list[tuple[Video, float, float]]:
    """Videos, and from when to when each counts: after the warm-up, until the next one, or until
    its person goes; s."""
    found = []
    for person in chosen_people(run, names):
        own = sorted(person["videos"], key=lambda video: video["at_s"])
        for video, over_s in zip(own, _overs_s(own, _end_s(run, person)), strict=True):
            begin_s = max(video["at_s"], run["warmup_s"])
            found += [(video, begin_s, over_s)] if begin_s < over_s else []
    return found


def video_kbps(run: Run, names: Sequence[str] | None) -> float | None:
    """Mean bit rate of what was fetched, over segments, which are of one length; of a video of
    which nothing came, as long as anybody looks, one segment of nothing counts."""
    rates = []
    for video, begin_s, over_s in _videos(run, names):
        own = [s["kbps"] for s in video["segments"] if s["at_s"] >= begin_s]
        rates += own or [0.0] * (over_s - begin_s >= PATIENCE_S)
    return sum(rates) / len(rates) if rates else None


def video_stall_share(run: Run, names: Sequence[str] | None) -> float | None:
    """The share of the time from a video's first picture to its end in which it stood still; one
    that never began stood still all the time."""
    stood = total = 0.0
    for video, begin_s, over_s in _videos(run, names):
        startup_s = video["startup_s"]
        first_s = min(max(begin_s, video["at_s"] + (startup_s or 0.0)), over_s)
        total += over_s - first_s
        stalls = [(stall["at_s"], stall["at_s"] + stall["length_s"]) for stall in video["stalls"]]
        stalls = [(first_s, over_s)] if startup_s is None else stalls
        stood += sum(max(min(b, over_s) - max(a, first_s), 0.0) for a, b in stalls)
    return stood / total if total else None


def done_soon(key: Literal["lookups", "handshakes"]) -> Felt:
    """The share of look-ups or handshakes that were done within 3 s."""

    def of(run: Run, names: Sequence[str] | None) -> float | None:
        own: list[Took] = [
            one
            for person in chosen_people(run, names)
            for one in person[key]
            if run["warmup_s"] <= one["at_s"] <= _end_s(run, person) - SOON_S
        ]
        soon = [one for one in own if one["took_s"] is not None and one["took_s"] <= SOON_S]
        return len(soon) / len(own) if own else None

    return of
