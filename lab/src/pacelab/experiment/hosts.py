# SPDX-License-Identifier: GPL-2.0-only
"""What an experiment says of hosts: whom its checks and pictures name, and its solo runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pacelab.errors import nearest
from pacelab.experiment.models import About, Check, Picture
from pacelab.results.measures import MEASURES
from pacelab.results.solo import bulk_hosts, scenario_hosts, solo
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Where

# Keys of a check that mean nothing to measures of hosts.
NO_HOSTS = ("flows", "over_flows", "while_", "over_while", "links", "over_links")


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


def check_hosts(about: About, scenarios: Sequence[Scenario], where: Where) -> None:
    """That hosts are named only where a measure or a picture is of them, and that all are there.

    InputError otherwise.
    """
    entries: list[tuple[str, int, Check | Picture]] = [
        *(("check", i, check) for i, check in enumerate(about.check)),
        *(("picture", i, picture) for i, picture in enumerate(about.picture)),
    ]
    known: set[str] = set()
    if any(_named(entry) for _, _, entry in entries):
        known = {host for scenario in scenarios for host in scenario_hosts(scenario)}
        known |= {person.name for scenario in scenarios for person in scenario.people}
    for table, i, entry in entries:
        _check_entry(entry, known, where.at(table, str(i)))


def _named(entry: Check | Picture) -> dict[str, list[str]]:
    """The hosts that an entry names, by its keys."""
    keys = {key: getattr(entry, key, None) for key in ("hosts", "over_hosts")}
    return {key: names for key, names in keys.items() if names}


def _check_entry(entry: Check | Picture, known: set[str], where: Where) -> None:
    of_hosts = entry.measure in MEASURES and MEASURES[entry.measure].hosts
    if isinstance(entry, Picture):
        of_hosts = of_hosts or entry.kind in ("over-time", "distribution")
    for key, names in _named(entry).items():
        if not of_hosts:
            raise where.at(key).error(f'"{entry.measure}" is of no hosts; remove it')
        for name in names:
            if name not in known:
                raise where.at(key).error(
                    f'unknown host or person "{name}"; {nearest(name, known)}'
                )
    for key in NO_HOSTS if of_hosts else ():
        if getattr(entry, key, None):
            raise where.at(key.rstrip("_")).error(
                f'"{entry.measure}" is of hosts; give hosts instead'
            )
