# SPDX-License-Identifier: GPL-2.0-only
"""The solo runs of an experiment's hosts."""

from __future__ import annotations

from collections.abc import Iterable

from pacelab.experiment.models import About
from pacelab.results.measures import MEASURES
from pacelab.results.solo import bulk_hosts, solo
from pacelab.scenario.models import Scenario


def needs_solo(about: About) -> bool:
    """Whether a check, a picture or a search looks at what hosts get alone."""
    names = [check.measure for check in about.check]
    names += [picture.measure for picture in about.picture]
    names += [about.search.measure] if about.search and about.search.measure else []
    parts = any(picture.kind == "over-time" for picture in about.picture)
    return parts or any(name in MEASURES and MEASURES[name].solo for name in names)


def solos(scenarios: Iterable[Scenario]) -> list[Scenario]:
    """The solo scenarios of all that are compared; what several share once."""
    found: dict[str, Scenario] = {}
    for scenario in scenarios:
        for host in bulk_hosts(scenario):
            alone = solo(scenario, host)
            found.setdefault(alone.model_copy(update={"title": ""}).model_dump_json(), alone)
    return list(found.values())
