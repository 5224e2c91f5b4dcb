# SPDX-License-Identifier: GPL-2.0-only
"""The catalogue: the project's experiments by their ids."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from pacelab.errors import InputError, nearest
from pacelab.experiment import definition
from pacelab.experiment.definition import Experiment, load_experiment
from pacelab.experiment.part import WHOLE, Part
from pacelab.names import natural
from pacelab.scenario.document import read_document


def experiment_files() -> dict[str, Path]:
    """All experiments of the project: id and file, in the order of a reader's numbers."""
    files: dict[str, Path] = {}
    for file in sorted(definition.SCENARIOS.glob("*.toml")):
        about = read_document(str(file)).get("experiment")
        if isinstance(about, dict) and "id" in about:
            name = str(about["id"])
            if name in files:
                raise InputError(
                    f'{file.name}: experiment.id: "{name}" is that of {files[name].name}, too; '
                    "give one of them another"
                )
            files[name] = file
    return dict(sorted(files.items(), key=lambda item: natural(item[0])))


def other_names() -> dict[str, str]:
    """Figures and tables that another's file holds, by id: the id of that file's experiment."""
    names: dict[str, str] = {}
    for name, file in experiment_files().items():
        about = read_document(str(file))["experiment"]
        names |= dict.fromkeys(map(str, about.get("also", [])), name)
    return names


def _listed(files: dict[str, Path]) -> list[str]:
    """Those that belong to the catalogue; others are other commands' (make demo)."""
    return [
        name
        for name, file in files.items()
        if read_document(str(file))["experiment"].get("listed", True)
    ]


def _named(ids: Sequence[str], files: dict[str, Path], others: dict[str, str]) -> list[str]:
    """The ids, "all", those of other figures and patterns replaced; a pattern of none stays."""
    found: list[str] = []
    for one in ids:
        matching = [name for name in files if fnmatchcase(name, one)] if "*" in one else []
        matching = _listed(files) if one == "all" else matching
        found += matching or [others.get(one, one)]
    return list(dict.fromkeys(found))


def find_experiments(
    ids: Sequence[str], *, quick: bool, part: Part = WHOLE, emulated: bool = False
) -> list[Experiment]:
    """The experiments with these ids ("all": every one), or a part of each.

    An id with "*" in it means all that match. InputError for an unknown one, or for a part that
    one of them does not have.
    """
    files, others = experiment_files(), other_names()
    wanted = _named(ids, files, others)
    for name in wanted:
        if name not in files:
            known = [*files, *others]
            raise InputError(f'reproduce: unknown experiment "{name}"; {nearest(name, known)}')
    return [
        load_experiment(files[name], quick=quick, part=part, emulated=emulated) for name in wanted
    ]
