# SPDX-License-Identifier: GPL-2.0-only
"""From ``[[person]]`` and ``[evening]`` to people with everything that they have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from pacelab.errors import nearest
from pacelab.scenario.ends import WIRED_HOST
from pacelab.scenario.evening import evening_people
from pacelab.scenario.flows import BBR_DEFAULTS, Tcp
from pacelab.scenario.mesh import Node
from pacelab.scenario.models import Outage, ScenarioFile
from pacelab.scenario.people import (
    ACTIVITIES,
    MOST_PEOPLE,
    OPAQUE,
    TCP_DEFAULTS,
    Person,
    ResolvedPerson,
)
from pacelab.scenario.schema import MOST_LETTERS, Where
from pacelab.scenario.tcp_checks import check_tcp


def completed_people(
    file: ScenarioFile, nodes: Sequence[Node], hosts: set[str], where: Where
) -> list[ResolvedPerson]:
    """All people with the TCP, the host and the name that each has unless he states his own.

    ``hosts`` are the wired hosts that flows and pings name.
    """
    places = [node.name for node in nodes if not node.gateway]
    if file.evening.persons and not places:
        raise where.at("evening", "persons").error("the mesh has no node but gateways; give nodes")
    seed = file.evening.seed or file.mesh.topology_seed
    guests = evening_people(file.evening, places, file.duration_s, seed)
    if file.evening.persons and not guests:
        raise where.at("evening", "arrivals_per_min").error(
            f"nobody comes before the end at {file.duration_s:g}; give more, or a longer duration_s"
        )
    taken = hosts | {person.host for person in file.person}
    own_hosts = (f"B{i}" for i in count(1) if f"B{i}" not in taken)
    people: list[ResolvedPerson] = []
    for i, stated in enumerate([*file.person, *guests]):
        here = where.at("person", str(i)) if i < len(file.person) else where.at("evening")
        person = _completed(stated, i, file, own_hosts)
        _check_place(person, nodes, here)
        _check_times(person, file.duration_s, here)
        _check_activities(person, here)
        _check_tcp(person, here)
        people.append(person)
    _check_names(people, where)
    return people


def deaths(people: Sequence[ResolvedPerson], file: ScenarioFile, where: Where) -> list[Outage]:
    """The outages of the nodes of those who die, from then to the end."""
    found = []
    for i, person in enumerate(people):
        if person.leaves != "dies" or not person.stop_s or person.stop_s >= file.duration_s:
            continue
        if any(client.name == person.node for client in file.client):
            raise where.at("person", str(i), "leaves").error(
                "a client that walks has no outages; use fades"
            )
        for_s = file.duration_s - person.stop_s
        found.append(Outage(node=person.node, at_s=person.stop_s, for_s=for_s))
    return found


def _completed(
    stated: Person, index: int, file: ScenarioFile, own_hosts: Iterator[str]
) -> ResolvedPerson:
    tcp = {
        key: getattr(file.tcp, key) if file.tcp.stated(key) else default
        for key, default in _tcp_defaults().items()
    }
    own = {key: getattr(stated, key) for key in Tcp.model_fields if stated.stated(key)}
    if (own.get("variant") or tcp["variant"]) == "bbr":
        unsaid = {k: v for k, v in BBR_DEFAULTS.items() if not file.tcp.stated(k)}
        tcp |= unsaid
    law = stated.law if stated.stated("law") else file.gateway.sender_law
    fixed = {
        "name": stated.name if stated.stated("name") else f"person {index + 1}",
        "host": stated.host or next(own_hosts),
        "opaque": OPAQUE[stated.opaque],
        "law": law,
    }
    return ResolvedPerson.model_validate(stated.as_dict() | tcp | own | fixed)


def _tcp_defaults() -> dict[str, object]:
    return {key: of.default for key, of in Tcp.model_fields.items()} | TCP_DEFAULTS


def _check_place(person: ResolvedPerson, nodes: Sequence[Node], where: Where) -> None:
    gateways = {node.name: node.gateway for node in nodes}
    if person.node not in gateways:
        remedy = nearest(person.node, gateways)
        raise where.at("node").error(f'unknown mesh node "{person.node}"; {remedy}')
    if gateways[person.node]:
        raise where.at("node").error(
            f'"{person.node}" is a gateway, where nothing is measured; give another node'
        )
    if not WIRED_HOST.fullmatch(person.host) or len(person.host) > MOST_LETTERS:
        raise where.at("host").error(f'"{person.host}" is no wired host; give B, B1, B2, ...')


def _check_times(person: ResolvedPerson, duration_s: float, where: Where) -> None:
    """That he comes before the end, leaves after he has come, and pauses in between."""
    if person.start_s >= duration_s:
        raise where.at("start_s").error(
            f"{person.start_s:g} is not before the end at {duration_s:g}; give less"
        )
    if person.stop_s and person.stop_s <= person.start_s:
        raise where.at("stop_s").error(
            f"{person.stop_s:g} is not after start_s {person.start_s:g}; give more, or 0: he stays"
        )
    if person.leaves != "closes" and not person.stop_s:
        raise where.at("stop_s").error(
            f"is missing: leaves is {person.leaves}; give when, or remove leaves"
        )
    if person.pause_at_s and not person.pause_s:
        raise where.at("pause_s").error("is missing; give how long he asks for nothing")
    if person.pause_s and person.pause_at_s <= person.start_s:
        raise where.at("pause_at_s").error(
            f"{person.pause_at_s:g} is not after start_s {person.start_s:g}; give more"
        )
    if person.pause_s and person.pause_at_s >= min(person.stop_s or duration_s, duration_s):
        raise where.at("pause_at_s").error(
            f"{person.pause_at_s:g} is not before he leaves, or the end; give less"
        )


def _check_activities(person: ResolvedPerson, where: Where) -> None:
    if not person.does:
        raise where.at("does").error(f"is empty; give at least one of {', '.join(ACTIVITIES)}")
    if len(set(person.does)) < len(person.does):
        raise where.at("does").error("names something twice; name it once, or write two people")


def _check_tcp(person: ResolvedPerson, where: Where) -> None:
    if person.delayed_ack == "thinning":
        raise where.at("delayed_ack").error("people have no thinned ACKs; give a whole number")
    check_tcp(person, where)


def _check_names(people: Sequence[ResolvedPerson], where: Where) -> None:
    if len(people) > MOST_PEOPLE:
        raise where.at("person").error(f"{len(people)} people are too many; give {MOST_PEOPLE}")
    seen: set[str] = set()
    for i, person in enumerate(people):
        here = where.at("person", str(i), "name")
        if person.name in seen:
            raise here.error(f'"{person.name}" is taken already; give another name')
        seen.add(person.name)
