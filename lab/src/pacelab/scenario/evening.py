# SPDX-License-Identifier: GPL-2.0-only
"""An evening (``[evening]``): from a number of people to who they are.

What comes of it is a function of the file alone, not of a run's seed: every run, and every system
that is compared, has the same people.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import TypeVar

from pacelab.scenario.people import Evening, Person
from pacelab.scenario.schema import Table

_T = TypeVar("_T")

# What each does beside surfing. Video is most of what networks carry (Sandvine, The Global Internet
# Phenomena Report 2024: two thirds of all bytes), and half of the people watch some.
OCCUPATIONS = (("video",), ("video",), ("video",), ("call",), ("download",), ("upload",))
ALWAYS = ("web", "lookups")


def evening_people(
    evening: Evening, nodes: Sequence[str], duration_s: float, seed: int
) -> list[Person]:
    """The people of an evening, in the order of their arrival.

    Times between arrivals are exponential. Places are drawn among the nodes without putting one
    back, and anew when all have somebody; likewise what people do, so that six have all of it.
    """
    draw = random.Random(seed)
    places, occupations = _drawn(nodes, draw), _drawn(OCCUPATIONS, draw)
    people: list[Person] = []
    now_s = 0.0
    for number in range(evening.persons):
        now_s += draw.expovariate(evening.arrivals_per_min / 60)
        if now_s >= duration_s:
            break
        stay_s = draw.expovariate(1 / evening.stay_s) if evening.stay_s else 0.0
        person: Table = {
            "name": f"guest {number + 1}",
            "node": next(places),
            "start_s": round(now_s, 3),
            "stop_s": round(now_s + max(stay_s, 1.0), 3) if evening.stay_s else 0.0,
            "does": [*ALWAYS, *next(occupations)],
            "opaque": evening.opaque,
        }
        if evening.variant:
            person["variant"] = evening.variant
        people.append(Person.model_validate(person))
    return people


def _drawn(of: Sequence[_T], draw: random.Random) -> Iterator[_T]:
    """All of a sequence in a random order, again and again."""
    while True:
        yield from draw.sample(of, len(of))
