# SPDX-License-Identifier: GPL-2.0-only
"""Whom and what an experiment's checks, pictures and search name: that all of it is there, and that
what is measured can be narrowed to it. Else a check of nobody would pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pacelab.errors import nearest
from pacelab.experiment.models import About, Check, Picture
from pacelab.results.measures import MEASURES
from pacelab.results.solo import scenario_hosts
from pacelab.results.verdicts import COMPARING
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Where

# The keys that narrow what is looked at, by what they name.
KEYS = {
    "flows": ("flows", "over_flows"),
    "while": ("while_", "over_while"),
    "links": ("links", "over_links"),
    "hosts": ("hosts", "over_hosts"),
}
WORDS = {"flows": "flow", "while": "flow", "links": "node", "hosts": "host or person"}
# Pictures of hosts, whatever their measure.
OF_HOSTS = ("over-time", "distribution")


def check_selections(about: About, scenarios: Sequence[Scenario], where: Where) -> None:
    """That everything named is in one of the scenarios; InputError otherwise."""
    flows = {flow.name for scenario in scenarios for flow in scenario.flows}
    hosts = {host for scenario in scenarios for host in scenario_hosts(scenario)}
    hosts |= {person.name for scenario in scenarios for person in scenario.people}
    nodes = {node.name for scenario in scenarios for node in scenario.nodes}
    known = {"flows": flows, "while": flows, "links": nodes, "hosts": hosts}
    entries: list[tuple[str, int, Check | Picture]] = [
        *(("check", i, check) for i, check in enumerate(about.check)),
        *(("picture", i, picture) for i, picture in enumerate(about.picture)),
    ]
    for table, i, entry in entries:
        for what, keys in KEYS.items():
            for key in keys:
                _check(entry, what, key, known[what], where.at(table, str(i), key.rstrip("_")))
    if about.search and about.search.flows:
        _check_names(about.search.flows, "flows", flows, where.at("search", "flows"))


def _check(entry: Check | Picture, what: str, key: str, known: set[str], where: Where) -> None:
    names = getattr(entry, key, None)
    if names is None:
        return
    allowed = _narrowing(entry)
    if what not in allowed:
        narrowed = f"give {' or '.join(allowed)} instead" if allowed else "remove it"
        raise where.error(f'"{entry.measure}" is of no {what}; {narrowed}')
    ends = [end for link in names for end in link] if what == "links" else names
    _check_names(ends, what, known, where)


def _narrowing(entry: Check | Picture) -> tuple[str, ...]:
    """What an entry may be narrowed by."""
    if isinstance(entry, Picture) and entry.kind in OF_HOSTS:
        return ("hosts",)
    measure = MEASURES.get(COMPARING.get(entry.measure, entry.measure))
    return measure.narrowed_by if measure else ()


def _check_names(names: Iterable[str], what: str, known: set[str], where: Where) -> None:
    for name in names:
        if name not in known:
            raise where.error(f'unknown {WORDS[what]} "{name}"; {nearest(name, known)}')
