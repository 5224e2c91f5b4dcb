# SPDX-License-Identifier: GPL-2.0-only
"""Experiments: a scenario file with an ``[experiment]`` table, which says what is compared.

An experiment has *systems* (what is compared), *variants* (the conditions under which), and may
sweep one key; each combination is a *point*, a resolved scenario that runs with several seeds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pacelab.errors import InputError, nearest
from pacelab.runner import ROOT
from pacelab.scenario import override, read_document, resolve
from pacelab.schema import FOREIGN, Key, Table, Where, check_table

SCENARIOS = ROOT / "scenarios"

EXPERIMENT = {
    "id": Key(str, required=True),
    "paper": Key(str, required=True),
    "figure": Key(str, required=True),
    "claim": Key(str, required=True),
    "plot": Key(str, "sweep", choices=("sweep", "flows")),
    "xlabel": Key(str, ""),
    "seeds": Key(int, 10, least=1, most=1000),
    "sweep": Key(dict),
    "search": Key(dict),
    "reference": Key(dict),
    "quick": Key(dict),
    "system": Key(list, required=True),
    "variant": Key(list),
    "check": Key(list),
}
SWEEP = {"key": Key(str, required=True), "values": Key(list, required=True)}
SEARCH = {
    "key": Key(str, required=True),
    "low": Key(float, required=True, above=0),
    "high": Key(float, required=True, above=0),
    "loss": Key(float, required=True, least=0, most=1),
    "rounds": Key(int, 6, least=1, most=20),
}
QUICK = {
    "seeds": Key(int, 3, least=1),
    "values": Key(list),
    "variants": Key(list),
    "set": Key(dict),
}
ALTERNATIVE = {"name": Key(str, required=True), "set": Key(dict)}
REFERENCE = {"name": Key(str, required=True), "values": Key(dict, required=True)}
CHECK = {
    "text": Key(str, required=True),
    "measure": Key(
        str, required=True, choices=("gain", "jain", "jain_10s", "flow_difference", "reference")
    ),
    "of": Key(str, required=True),
    "over": Key(str),
    "at": Key(list),
    "variant": Key(str, ""),
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

    def scenario(self, settings: Table | None = None) -> Table:
        """The resolved scenario, with further settings."""
        return resolve(override(self.document, settings or {}, self.file), self.file)


@dataclass(frozen=True)
class Experiment:
    """An experiment as its file states it, ``quick`` applied or not."""

    file: str
    title: str
    about: Table
    seeds: int
    points: list[Point]
    quick: bool
    systems: list[str] = field(default_factory=list)
    variants: list[str] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    @property
    def id(self) -> str:
        """Its name for ``pacelab reproduce``."""
        return str(self.about["id"])

    def rounds(self) -> int:
        """How often each point is simulated with each seed (a search takes several)."""
        return self.about["search"]["rounds"] if self.about["search"] else 1

    def runs(self) -> int:
        """How many runs it takes."""
        return len(self.points) * self.seeds * self.rounds()

    def cpu_s(self) -> float:
        """What it costs, roughly, in CPU seconds."""
        return sum(_cpu_s(p.scenario()) for p in self.points) * self.seeds * self.rounds()


def _cpu_s(scenario: Table) -> float:
    """About 0.014 CPU seconds for each node and simulated second of a saturated chain."""
    return 0.014 * (len(scenario["nodes"]) - 1) * float(scenario["duration_s"])


def load_experiment(file: Path, *, quick: bool) -> Experiment:
    """The experiment of a scenario file; InputError on any mistake."""
    document = read_document(str(file))
    name = file.name
    where = Where(name, ("experiment",))
    about = _check_about(document.get("experiment"), where)
    hurry = about["quick"] if quick else None
    base = {k: v for k, v in document.items() if k not in FOREIGN}
    if hurry and hurry["set"]:
        base = override(base, hurry["set"], name)
    variants = about["variant"] or [{"name": "", "set": None}]
    if hurry and hurry["variants"]:
        variants = [v for v in variants if v["name"] in hurry["variants"]]
    values = _sweep_values(about, hurry)
    points = [
        _point(base, about, variant, system, value, name)
        for variant in variants
        for system in about["system"]
        for value in values
    ]
    for point in points:
        point.scenario()
    return Experiment(
        file=name,
        title=str(document.get("title", about["id"])),
        about=about,
        seeds=hurry["seeds"] if hurry else about["seeds"],
        points=points,
        quick=quick,
        systems=[s["name"] for s in about["system"]],
        variants=[v["name"] for v in variants],
        values=values,
    )


def _check_about(table: Any, where: Where) -> Table:
    about = check_table(table if table is not None else {}, EXPERIMENT, where)
    for name, keys in (("sweep", SWEEP), ("search", SEARCH), ("quick", QUICK)):
        if about[name] is not None:
            about[name] = check_table(about[name], keys, where.at(name))
    if about["reference"] is not None:
        about["reference"] = check_table(about["reference"], REFERENCE, where.at("reference"))
    for name, keys in (("system", ALTERNATIVE), ("variant", ALTERNATIVE), ("check", CHECK)):
        about[name] = [
            check_table(entry, keys, where.at(name, str(i)))
            for i, entry in enumerate(about[name] or [])
        ]
    return about


def _sweep_values(about: Table, hurry: Table | None) -> list[Any]:
    if not about["sweep"]:
        return [None]
    return list(hurry["values"] if hurry and hurry["values"] else about["sweep"]["values"])


def _point(
    base: Table, about: Table, variant: Table, system: Table, value: Any, file: str
) -> Point:
    settings = dict(variant["set"] or {}) | dict(system["set"] or {})
    if about["sweep"]:
        settings[about["sweep"]["key"]] = value
    return Point(variant["name"], system["name"], value, override(base, settings, file), file)


def experiment_files() -> dict[str, Path]:
    """All experiments of the project: id and file."""
    files: dict[str, Path] = {}
    for file in sorted(SCENARIOS.glob("*.toml")):
        about = read_document(str(file)).get("experiment")
        if isinstance(about, dict) and "id" in about:
            files[str(about["id"])] = file
    return dict(sorted(files.items(), key=lambda item: _natural(item[0])))


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Sorts gap-fig9 before gap-fig10."""
    return [
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in re.split(r"(\d+)", name)
        if part
    ]


def find_experiments(ids: Sequence[str], *, quick: bool) -> list[Experiment]:
    """The experiments with these ids ("all": every one); InputError for an unknown one."""
    files = experiment_files()
    wanted = list(files) if "all" in ids else list(dict.fromkeys(ids))
    for name in wanted:
        if name not in files:
            raise InputError(f'reproduce: unknown experiment "{name}"; {nearest(name, files)}')
    return [load_experiment(files[name], quick=quick) for name in wanted]
