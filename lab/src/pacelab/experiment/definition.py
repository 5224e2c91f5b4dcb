# SPDX-License-Identifier: GPL-2.0-only
"""Experiments: a scenario file with an ``[experiment]`` table, which says what is compared.

An experiment has *systems* (what is compared), *variants* (the conditions under which), and may
sweep one key; each combination is a *point*, a resolved scenario that runs with several seeds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pacelab.errors import nearest
from pacelab.experiment.cost import cpu_s
from pacelab.experiment.part import WHOLE, Part
from pacelab.results.measures import MEASURES
from pacelab.scenario import resolve
from pacelab.scenario.document import override, read_document
from pacelab.scenario.keys import FOREIGN
from pacelab.scenario.schema import Key, Table, Where, check_table
from pacelab.simulator import ROOT

SCENARIOS = ROOT / "scenarios"

PICTURES = ("sweep", "flows", "time", "links")

EXPERIMENT = {
    "id": Key(str, required=True),
    "also": Key(list),
    "listed": Key(bool, True),
    "paper": Key(str, required=True),
    "figure": Key(str, required=True),
    "claim": Key(str, required=True),
    "reason": Key(str, ""),
    "plot": Key(str, "sweep", choices=PICTURES),
    "xlabel": Key(str, ""),
    "seeds": Key(int, 10, least=1, most=1000),
    "sweep": Key(dict),
    "search": Key(dict),
    "reference": Key(dict),
    "quick": Key(dict),
    "system": Key(list, required=True),
    "variant": Key(list),
    "check": Key(list),
    "picture": Key(list),
}
SWEEP = {"key": Key(str, required=True), "values": Key(list, required=True), "set": Key(list)}
SEARCH = {
    "key": Key(str, required=True),
    "goal": Key(str, "loss", choices=("loss", "goodput")),
    "low": Key(float, above=0),
    "high": Key(float, above=0),
    "loss": Key(float, least=0, most=1),
    "values": Key(list),
    "flows": Key(list),
    "rounds": Key(int, 6, least=0, most=20),
    "each": Key(str, "point", choices=("point", "system")),
}
QUICK = {
    "seeds": Key(int, 3, least=1),
    "values": Key(list),
    "variants": Key(list),
    "systems": Key(list),
    "search": Key(list),
    "rounds": Key(int, least=0, most=20),
    "set": Key(dict),
}
VARIANT = {"name": Key(str, required=True), "set": Key(dict)}
SYSTEM = {**VARIANT, "search": Key(bool, True), "reference": Key(dict)}
REFERENCE = {"name": Key(str, required=True), "values": Key(dict)}
PICTURE = {
    "id": Key(str, required=True),
    "title": Key(str, ""),
    "kind": Key(str, "sweep", choices=PICTURES),
    "measure": Key(str, "goodput", choices=tuple(MEASURES)),
    "systems": Key(list),
    "variants": Key(list),
    "at": Key(object),
    "log": Key(bool, False),
}
CHECK = {
    "text": Key(str, required=True),
    "measure": Key(
        str, required=True, choices=("gain", "jain_gain", "flow_difference", "reference", *MEASURES)
    ),
    "of": Key(str, required=True),
    "over": Key(str),
    "overs": Key(list),
    "over_at": Key(object),
    "over_variant": Key(str),
    "at": Key(list),
    "variant": Key(str),
    "every_variant": Key(bool, False),
    "flows": Key(list),
    "over_flows": Key(list),
    "while": Key(list),
    "over_while": Key(list),
    "links": Key(list),
    "over_links": Key(list),
    "which": Key(str, "every", choices=("every", "some")),
    "trend": Key(str, choices=("rises", "falls")),
    "least": Key(float),
    "most": Key(float),
}


@dataclass(frozen=True)
class Point:
    """One combination; ``value`` is the swept key's, None without a sweep."""

    variant: str
    system: str
    value: Any
    document: Table
    file: str
    searched: bool = True

    def scenario(self, settings: Table | None = None) -> Table:
        """The resolved scenario, with further settings."""
        return resolve(override(self.document, settings or {}, self.file), self.file)


@dataclass(frozen=True)
class Experiment:
    """An experiment as its file states it, or a part of it; ``quick`` applied or not."""

    file: str
    title: str
    about: Table
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
        return str(self.about["id"])

    @property
    def search(self) -> Table | None:
        """The search, None where there is none."""
        found: Table | None = self.about["search"]
        return found

    def tries(self) -> list[tuple[Point, int]]:
        """What is simulated: points, and how often each (a search takes several tries)."""
        if not self.search:
            return [(point, 1) for point in self.points]
        rounds = self.search["rounds"]
        per_search = rounds
        if self.search["goal"] == "goodput":
            per_search = len(self.search["values"]) + 2 * rounds
        if self.search["each"] == "system":
            done = [(point, per_search) for point in self.bases if point.searched]
            return done + [(point, 1) for point in self.points]
        return [(point, per_search if point.searched else 1) for point in self.points]

    def runs(self) -> int:
        """How many runs it takes."""
        return self.seeds * sum(count for _, count in self.tries())

    def cpu_s(self) -> float:
        """What it costs, roughly, in CPU seconds, if nothing of it is cached."""
        return self.seeds * sum(cpu_s(_tried(p, self.search)) * n for p, n in self.tries())


def _tried(point: Point, search: Table | None) -> Table:
    """The scenario of a point somewhere in the middle of its search."""
    if not search or not point.searched:
        return point.scenario()
    values = search["values"] or [search["low"], search["high"]]
    return point.scenario({search["key"]: values[len(values) // 2 - 1]})


def load_experiment(file: Path, *, quick: bool, part: Part = WHOLE) -> Experiment:
    """The experiment of a scenario file, or a part of it; InputError on any mistake."""
    document = read_document(str(file))
    name = file.name
    about = _check_about(document.get("experiment"), Where(name, ("experiment",)))
    hurry = about["quick"] if quick else None
    base = {k: v for k, v in document.items() if k not in FOREIGN}
    if hurry and hurry["set"]:
        base = override(base, hurry["set"], name)
    left = part.over(hurry, about)
    systems = [
        system | {"set": (system["set"] or {}) | part.settings}
        for system in _some(about["system"], left.get("systems"))
    ]
    variants = _some(about["variant"] or [{"name": "", "set": None}], left.get("variants"))
    values = left.get("values") or (about["sweep"]["values"] if about["sweep"] else [None])
    if hurry and about["search"]:
        about["search"] = _hurried(about["search"], hurry)
    about["check"] = _checks(about, [s["name"] for s in systems], [v["name"] for v in variants])
    pairs = [(variant, system) for variant in variants for system in systems]
    points = [_point(base, about, v, s, value, name) for v, s in pairs for value in values]
    # A search for a system as a whole is made where the file stands, the sweep's key unset.
    bases = [_point(base, about, v, s, None, name) for v, s in pairs]
    for point in points:
        _tried(point, about["search"])
    return Experiment(
        file=name,
        title=str(document.get("title", about["id"])),
        about=about,
        seeds=left.get("seeds") or about["seeds"],
        points=points,
        bases=bases,
        quick=quick,
        part=part,
        systems=[s["name"] for s in systems],
        variants=[v["name"] for v in variants],
        values=values,
    )


def _hurried(search: Table, quick: Table) -> Table:
    """A search as ``quick`` has it."""
    rounds = search["rounds"] if quick["rounds"] is None else quick["rounds"]
    return search | {"values": quick["search"] or search["values"], "rounds": rounds}


def _some(alternatives: list[Table], names: list[str] | None) -> list[Table]:
    return [a for a in alternatives if not names or a["name"] in names]


def _checks(about: Table, systems: list[str], variants: list[str]) -> list[Table]:
    """The checks of what is left."""
    first = about["variant"][0]["name"] if about["variant"] else ""
    return [one for check in about["check"] for one in _each(check, systems, variants, first)]


def _each(check: Table, systems: list[str], variants: list[str], first: str) -> list[Table]:
    """A check for each of ``overs``, and for every variant, that are left.

    Else as it stands, for its variant or, if it names none, for the ``first`` of the file.
    """
    overs = [o for o in check["overs"] if o in systems] if check["overs"] else [check["over"]]
    own = first if check["variant"] is None else check["variant"]
    places = variants if check["every_variant"] else [own]
    return [
        check
        | {"over": over, "variant": variant}
        | {"text": _text(check, over, variant if check["every_variant"] else "")}
        for over in overs
        for variant in places
    ]


def _text(check: Table, over: str | None, variant: str) -> str:
    text = str(check["text"])
    if check["overs"]:
        text = text.replace("{over}", str(over))
    return f"{text}; {variant}" if variant else text


def _check_about(table: Any, where: Where) -> Table:
    about = check_table(table if table is not None else {}, EXPERIMENT, where)
    for name, keys in (
        ("sweep", SWEEP),
        ("search", SEARCH),
        ("quick", QUICK),
        ("reference", REFERENCE),
    ):
        if about[name] is not None:
            about[name] = check_table(about[name], keys, where.at(name))
    for name, keys in (
        ("system", SYSTEM),
        ("variant", VARIANT),
        ("check", CHECK),
        ("picture", PICTURE),
    ):
        about[name] = [
            check_table(entry, keys, where.at(name, str(i)))
            for i, entry in enumerate(about[name] or [])
        ]
    _check_names(about, where)
    _check_search(about["search"], where.at("search"))
    sweep = about["sweep"]
    if sweep and sweep["set"] and len(sweep["set"]) != len(sweep["values"]):
        raise where.at("sweep", "set").error("has not one table for each of values; give as many")
    if not about["picture"]:
        first = {"id": about["id"], "kind": about["plot"]}
        about["picture"] = [check_table(first, PICTURE, where.at("picture"))]
    return about


def _check_names(about: Table, where: Where) -> None:
    """That checks and pictures name systems, variants and values that there are."""
    known = {
        "system": [s["name"] for s in about["system"]],
        "variant": [v["name"] for v in about["variant"]] or [""],
        "value": list(about["sweep"]["values"]) if about["sweep"] else [None],
    }
    kinds = {
        "of": "system",
        "over": "system",
        "overs": "system",
        "systems": "system",
        "variant": "variant",
    }
    kinds |= {"over_variant": "variant", "variants": "variant", "at": "value", "over_at": "value"}
    for name in ("check", "picture"):
        for i, entry in enumerate(about[name]):
            for key, kind in kinds.items():
                stated = entry.get(key)
                for one in stated if isinstance(stated, list) else [stated]:
                    if one is not None and one not in known[kind]:
                        raise where.at(name, str(i), key).error(
                            f'unknown {kind} "{one}"; {nearest(str(one), map(str, known[kind]))}'
                        )


def _check_search(search: Table | None, where: Where) -> None:
    if not search:
        return
    needed = ("values",) if search["goal"] == "goodput" else ("low", "high", "loss")
    for key in needed:
        if search[key] is None:
            raise where.at(key).error(f'is missing; goal = "{search["goal"]}" needs it')


def _point(
    base: Table, about: Table, variant: Table, system: Table, value: Any, file: str
) -> Point:
    settings = dict(variant["set"] or {}) | dict(system["set"] or {})
    sweep = about["sweep"]
    if sweep and value is not None:
        if sweep["set"]:
            settings |= sweep["set"][sweep["values"].index(value)]
        else:
            settings[sweep["key"]] = value
    # Whole tables before single keys, which may stand in them.
    settings = dict(sorted(settings.items(), key=lambda item: "." in item[0]))
    document = override(base, settings, file)
    return Point(variant["name"], system["name"], value, document, file, system["search"])
