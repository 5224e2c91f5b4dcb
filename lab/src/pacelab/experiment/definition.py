# SPDX-License-Identifier: GPL-2.0-only
"""Experiments: a scenario file with an ``[experiment]`` table, which says what is compared.

An experiment has *systems* (what is compared), *variants* (the conditions under which), and may
sweep one key; each combination is a *point*, a resolved scenario that runs with several seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pacelab.errors import nearest
from pacelab.experiment import rates
from pacelab.experiment.cost import cpu_s
from pacelab.experiment.hosts import needs_solo, solos
from pacelab.experiment.models import (
    HOST_RATES,
    About,
    Check,
    Picture,
    Quick,
    Search,
    System,
    Variant,
)
from pacelab.experiment.part import WHOLE, Part
from pacelab.experiment.selections import check_selections
from pacelab.results.record import NAME
from pacelab.results.solo import bulk_hosts
from pacelab.results.verdicts import compares
from pacelab.scenario import resolve
from pacelab.scenario.document import flattened, override, read_document
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Model, Table, Where
from pacelab.simulator import ROOT

SCENARIOS = ROOT / "scenarios"

# Any rate: what a scenario costs hardly depends on it.
TRIED_KBPS = 1000.0

# Of a file without variants.
NO_VARIANT = Variant.model_construct(name="")


@dataclass(frozen=True)
class Point:
    """One combination; ``value`` is the swept key's, None without a sweep. What an ``emulated`` one
    does not state is as the emulation has it.
    """

    variant: str
    system: str
    value: Any
    document: Table
    file: str
    searched: bool = True
    emulated: bool = False

    def scenario(self, settings: Table | None = None) -> Scenario:
        """The resolved scenario, with further settings."""
        document = override(self.document, settings or {}, self.file)
        return resolve(document, self.file, emulated=self.emulated)


@dataclass(frozen=True)
class Experiment:
    """An experiment as its file states it, or a part of it; ``quick`` applied or not."""

    file: str
    title: str
    about: About
    seeds: int
    points: list[Point]
    bases: list[Point]
    quick: bool
    part: Part = WHOLE
    systems: list[str] = field(default_factory=list)
    variants: list[str] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    @property
    def id(self) -> str:
        """Its name for ``pacelab reproduce``."""
        return self.about.id

    @property
    def search(self) -> Search | None:
        """The search, None where there is none."""
        return self.about.search

    def tries(self) -> list[tuple[Point, int]]:
        """What is simulated: points, and the runs of each, at most (a search takes several)."""
        search = self.search
        if not search:
            return [(point, self.seeds) for point in self.points]
        if search.each == "system":
            done = [(p, self._search_runs(p, search)) for p in self.bases if p.searched]
            return done + [(point, self.seeds) for point in self.points]
        # The last runs of a search are those that are reported, unless its seeds are others.
        again = self.seeds if search.goal == "guarantee" else 0
        return [
            (p, self._search_runs(p, search) + again if p.searched else self.seeds)
            for p in self.points
        ]

    def _search_runs(self, point: Point, search: Search) -> int:
        if search.goal == "guarantee":
            hosts = bulk_hosts(point.scenario())
            return search.seeds * rates.tries(search, len(hosts))
        if search.goal == "goodput":
            return self.seeds * (len(search.values or []) + 2 * search.rounds)
        return self.seeds * (search.rounds + 2)  # both ends, too

    @property
    def solo(self) -> bool:
        """Whether hosts are simulated alone, too."""
        return needs_solo(self.about)

    def solos(self) -> list[Scenario]:
        """What is simulated of hosts that are alone."""
        return solos(_tried(p, self.search) for p in self.points) if self.solo else []

    def runs(self) -> int:
        """How many runs it takes, at most."""
        return sum(count for _, count in self.tries()) + self.seeds * len(self.solos())

    def cpu_s(self) -> float:
        """What it costs, roughly, in CPU seconds, if nothing of it is cached."""
        together = sum(cpu_s(_tried(p, self.search)) * n for p, n in self.tries())
        return together + self.seeds * sum(map(cpu_s, self.solos()))


def _tried(point: Point, search: Search | None) -> Scenario:
    """The scenario of a point somewhere in the middle of its search."""
    if not search or not point.searched:
        return point.scenario()
    if search.goal == "guarantee":
        hosts = bulk_hosts(point.scenario())
        return point.scenario(rates.settings(dict.fromkeys(hosts, TRIED_KBPS)))
    values: Sequence[float | None] = search.values or [search.low, search.high]
    return point.scenario({search.key: values[len(values) // 2 - 1]})


def load_experiment(
    file: Path, *, quick: bool, part: Part = WHOLE, emulated: bool = False
) -> Experiment:
    """The experiment of a scenario file, or a part of it; InputError on any mistake."""
    document = read_document(str(file))
    name = file.name
    about = _checked(document.get("experiment"), Where(name, ("experiment",)))
    hurry = about.quick if quick else None
    base = {k: v for k, v in document.items() if k != "experiment"}
    if hurry and hurry.set:
        base = override(base, hurry.set, name)
    left = part.over(hurry, about)
    systems = [
        system.model_copy(update={"set": flattened(system.set or {}) | flattened(part.settings)})
        for system in about.system
        if system.name in left.systems
    ]
    known = about.variant or [NO_VARIANT]
    variants = [v for v in known if not about.variant or v.name in left.variants]
    search = _hurried(about.search, hurry) if hurry and about.search else about.search
    checks = _checks(about, [s.name for s in systems], [v.name for v in variants])
    about = about.model_copy(update={"search": search, "check": checks})
    pairs = [(variant, system) for variant in variants for system in systems]
    combined = [(v, s, value) for v, s in pairs for value in left.values]
    points = [replace(_point(base, about, *one, name), emulated=emulated) for one in combined]
    # A search for a system as a whole is made where the file stands, the sweep's key unset.
    bases = [_point(base, about, v, s, None, name) for v, s in pairs]
    scenarios = [_tried(point, about.search) for point in points]
    check_selections(about, scenarios, Where(name, ("experiment",)))
    _check_searched(about, scenarios, left.seeds, Where(name, ("experiment",)))
    return Experiment(
        file=name,
        title=str(document.get("title", about.id)),
        about=about,
        seeds=left.seeds,
        points=points,
        bases=bases,
        quick=quick,
        part=part,
        systems=[s.name for s in systems],
        variants=[v.name for v in variants],
        values=left.values,
    )


def _hurried(search: Search, quick: Quick) -> Search:
    """A search as ``quick`` has it."""
    rounds = search.rounds if quick.rounds is None else quick.rounds
    return search.model_copy(update={"values": quick.search or search.values, "rounds": rounds})


def _checks(about: About, systems: list[str], variants: list[str]) -> list[Check]:
    """The checks of what is left."""
    first = about.variant[0].name if about.variant else ""
    return [one for check in about.check for one in _each(check, systems, variants, first)]


def _each(check: Check, systems: list[str], variants: list[str], first: str) -> list[Check]:
    """A check for each of ``overs``, and for every variant, that are left.

    Else as it stands, for its variant or, if it names none, for the ``first`` of the file.
    """
    overs = [o for o in check.overs if o in systems] if check.overs else [check.over]
    own = first if check.variant is None else check.variant
    places = variants if check.every_variant else [own]
    return [
        check.model_copy(
            update={
                "over": over,
                "variant": variant,
                "text": _text(check, over, variant if check.every_variant else ""),
            }
        )
        for over in overs
        for variant in places
    ]


def _text(check: Check, over: str | None, variant: str) -> str:
    text = check.text
    if check.overs:
        text = text.replace("{over}", str(over))
    return f"{text}; {variant}" if variant else text


def _checked(table: Any, where: Where) -> About:
    about = About.read(table if table is not None else {}, where)
    _check_ids(about, where)
    _check_names(about, where)
    _check_margins(about, where)
    _check_search(about, where.at("search"))
    sweep = about.sweep
    if sweep and sweep.set and len(sweep.set) != len(sweep.values):
        raise where.at("sweep", "set").error("has not one table for each of values; give as many")
    pictures = about.picture or [Picture(id=about.id, kind=about.plot)]
    return about.model_copy(update={"picture": [_drawable(p, about, where) for p in pictures]})


def _drawable(picture: Picture, about: About, where: Where) -> Picture:
    """Of a stated kind: over the values of a sweep where there is one, else of flows."""
    if picture.kind is None:
        return picture.model_copy(update={"kind": "sweep" if about.sweep else "flows"})
    if picture.kind == "sweep" and not about.sweep:
        raise where.error(f'has no sweep, over which to draw "{picture.id}"; give one, or "flows"')
    if picture.kind != "sweep" and about.sweep and picture.at is None:
        raise where.error(
            f'picture "{picture.id}" is of one value of the sweep; say "at" which, or draw "sweep"'
        )
    if picture.kind in NO_MEASURE and picture.stated("measure"):
        raise where.error(
            f'picture "{picture.id}": measure has no meaning for kind "{picture.kind}"; remove it'
        )
    return picture


# Pictures that show what they show, whatever else is measured.
NO_MEASURE = ("flows", "links", "time")


def _check_ids(about: About, where: Where) -> None:
    """That what becomes a file's or folder's name can be one, and that no name stands for two."""
    for key, name in (("id", about.id), *(("picture", p.id) for p in about.picture)):
        if not NAME.fullmatch(name):
            raise where.at(key).error(f'"{name}" is no name of a file; use a-z, 0-9, - and _')
    named = {
        "system": [system.name for system in about.system],
        "variant": [variant.name for variant in about.variant],
        "sweep.values": list(map(repr, about.sweep.values)) if about.sweep else [],
        "picture": [picture.id for picture in about.picture],
    }
    for key, names in named.items():
        for name in names:
            if names.count(name) > 1:
                raise where.at(key).error(f"{name} is there twice; rename one")


def _check_names(about: About, where: Where) -> None:
    """That checks and pictures name systems, variants and values that there are."""
    known = {
        "system": [s.name for s in about.system],
        "variant": [v.name for v in about.variant] or [""],
        "value": about.sweep.values if about.sweep else [None],
    }
    kinds = {
        "of": "system",
        "over": "system",
        "overs": "system",
        "systems": "system",
        "variant": "variant",
    }
    kinds |= {
        "over_variant": "variant",
        "variants": "variant",
        "at": "value",
        "over_at": "value",
        "values": "value",
    }
    entries: list[tuple[str, int, Model]] = [
        *(("check", i, check) for i, check in enumerate(about.check)),
        *(("picture", i, picture) for i, picture in enumerate(about.picture)),
    ]
    places = [(entry, where.at(table, str(i))) for table, i, entry in entries]
    for entry, place in [*places, *([(about.quick, where.at("quick"))] if about.quick else [])]:
        for key, kind in kinds.items():
            stated = getattr(entry, key, None)
            for one in stated if isinstance(stated, list) else [stated]:
                if one is not None and one not in known[kind]:
                    raise place.at(key).error(
                        f'unknown {kind} "{one}"; {nearest(str(one), map(str, known[kind]))}'
                    )


def _check_margins(about: About, where: Where) -> None:
    """That what has a margin is a difference: just that can be none."""
    for i, check in enumerate(about.check):
        table = check.as_dict()
        differs = compares(table) or table["overs"] or check.trend or check.measure == "reference"
        if check.margin is not None and not differs:
            raise where.at("check", str(i), "margin").error(
                'is of no difference; name what it compares, by "over" or "trend", or leave it out'
            )


# What each goal of a search needs.
NEEDED = {
    "loss": ("low", "high", "loss"),
    "goodput": ("values",),
    "guarantee": ("values", "measure"),
}


def _check_search(about: About, where: Where) -> None:
    search = about.search
    if not search:
        return
    for key in NEEDED[search.goal]:
        if getattr(search, key) in (None, []):
            raise where.at(key).error(f'is missing; goal = "{search.goal}" needs it')
    if search.goal == "loss" and (search.low or 0.0) >= (search.high or 0.0):
        raise where.at("high").error(f"is no more than low, {search.low:g}; give more")
    if search.goal != "guarantee":
        for key in ("measure", "seeds"):
            if search.stated(key):
                raise where.at(key).error('has a meaning for goal = "guarantee" only; remove it')
        return
    if search.key != HOST_RATES:
        raise where.at("key").error(
            f'goal = "guarantee" searches for rates of hosts; write "{HOST_RATES}"'
        )
    for value in search.values or []:
        if value <= 0:
            raise where.at("values").error(f"{value} is no sum of fractions; give more than 0")


def _check_searched(about: About, scenarios: Sequence[Scenario], seeds: int, where: Where) -> None:
    """That what is searched for can be found, and is reported on other seeds."""
    search = about.search
    traffic = {flow.traffic for scenario in scenarios for flow in scenario.flows}
    if search and search.goal == "loss" and "cbr" not in traffic:
        raise where.at("search", "goal").error('"loss" is of flows of a constant rate ("cbr")')
    if not search or search.goal != "guarantee":
        return
    last = about.first_seed + seeds - 1
    if about.first_seed < rates.SEARCH_SEED + search.seeds and last >= rates.SEARCH_SEED:
        raise where.at("search", "seeds").error(
            f"the search has seeds from {rates.SEARCH_SEED} on, and seeds to {last} are reported; "
            f"let them end before {rates.SEARCH_SEED}"
        )


def _point(
    base: Table, about: About, variant: Variant, system: System, value: Any, file: str
) -> Point:
    settings = flattened(variant.set or {}) | flattened(system.set or {})
    sweep = about.sweep
    if sweep and value is not None:
        if sweep.set:
            settings |= flattened(sweep.set[sweep.values.index(value)])
        else:
            settings[sweep.key] = value
    # Whole tables before single keys, which may stand in them.
    settings = dict(sorted(settings.items(), key=lambda item: "." in item[0]))
    document = override(base, settings, file)
    return Point(variant.name, system.name, value, document, file, system.search)
