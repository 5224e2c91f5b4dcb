# SPDX-License-Identifier: GPL-2.0-only
"""
Figures that tests measure, kept as data: `--record DIR` writes DIR/NAME.json for each test_NAME.py,
with the median over rounds (`--count 3`), commit, law and command. Schema: results/README.md. What
such a file says of what was measured before stays, and rows that a run does not measure stay too.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any, cast

import pytest

PROPERTY = "figure"
REPOSITORY = Path(__file__).parents[3]
LAW = REPOSITORY / "lab" / "src" / "pacelab" / "results" / "law.py"


@dataclass(frozen=True)
class Recorder:
    """record(figure, unit, value, wanted) notes what one round of a test measured."""

    properties: list[tuple[str, object]]

    def __call__(self, figure: str, unit: str, value: float, wanted: str = "") -> None:
        print(f"{figure}: {value:.4g} {unit}")
        self.properties.append((PROPERTY, (figure, unit, value, wanted)))


@dataclass
class Collector:
    """Gathers the figures of all rounds, failed ones too; a median must not leave out the bad."""

    folder: Path
    commit: str
    law: str
    made: str
    # By file, then by variant, figure, unit and what is wanted.
    values: dict[str, dict[tuple[str, str, str, str], list[float]]] = field(default_factory=dict)
    # By test, how much of what it noted has been taken.
    noted: dict[str, int] = field(default_factory=dict)
    # The files as they were when the run began.
    there: dict[Path, dict[str, Any]] = field(default_factory=dict)

    def add(self, report: pytest.TestReport) -> None:
        if report.when != "call":
            return
        file = Path(report.location[0]).stem.removeprefix("test_")
        # A further attempt's report has what the attempts before it noted, too.
        noted = self.noted.get(report.nodeid, 0)
        self.noted[report.nodeid] = len(report.user_properties)
        for name, found in report.user_properties[noted:]:
            if name == PROPERTY:
                figure, unit, value, wanted = cast(tuple[str, str, float, str], found)
                key = (variant(report.location[2]), figure, unit, wanted)
                self.values.setdefault(file, {}).setdefault(key, []).append(value)

    def write(self) -> None:
        """After each test, so that what an interrupted run has measured is there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for file, rows in self.values.items():
            command = ".venv/bin/python -m pytest " + " ".join(sys.argv[1:])
            self.write_one(title(file), command, file, rows)

    def write_one(
        self,
        title: str,
        command: str,
        experiment: str,
        rows: dict[tuple[str, str, str, str], list[float]],
        middle: Callable[[list[float]], float] = median,
    ) -> None:
        path = self.folder / f"{experiment}.json"
        if path not in self.there:
            self.there[path] = json.loads(path.read_text()) if path.exists() else {"rows": []}
        document = {
            "schema": 1,
            "experiment": experiment,
            "title": title,
            "commit": self.commit,
            "law": self.law,
            "command": command,
            "made": self.made,
            **{key: self.there[path][key] for key in ("note",) if key in self.there[path]},
            "rows": beside(
                [row(*key, values, middle(values)) for key, values in rows.items()],
                self.there[path],
            ),
        }
        path.write_text(json.dumps(document, indent=1) + "\n")


def collector(folder: Path) -> Collector:
    """Commit, law and date are of the beginning; a changed checkout is marked with +."""
    told = subprocess.run([sys.executable, LAW], capture_output=True, text=True, check=True)
    tree = json.loads(told.stdout)
    mark = "+" if tree["changed"] else ""
    return Collector(folder, tree["commit"] + mark, tree["law"], date.today().isoformat())


def beside(new: list[dict[str, Any]], old: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows, each with what the file said of before, and then those that were not measured."""
    there = {(one.get("variant"), one["figure"]): one for one in old["rows"]}
    rows = []
    for one in new:
        known = there.pop((one["variant"], one["figure"]), {})
        rows.append({**one, **{key: known[key] for key in ("before",) if key in known}})
    of = {key: old[key] for key in ("commit", "law") if key in old}
    return rows + [{**of, **one} for one in there.values()]


def variant(test: str) -> str:
    """A test's name and parameters in words, without the number of the round."""
    name, _, parameters = re.sub(r"-?\d+-\d+\]$", "]", test).removesuffix("]").partition("[")
    words = name.removeprefix("test_").replace("_", " ")
    return f"{words}: {parameters}" if parameters else words


def title(file: str) -> str:
    """The first sentence of the test's own text."""
    text = (Path(__file__).parents[1] / f"test_{file}.py").read_text()
    words = " ".join(text.split('"""')[1].split())
    return words.split(". ")[0].rstrip(".")


def row(
    variant: str, figure: str, unit: str, wanted: str, values: list[float], middle: float
) -> dict[str, Any]:
    return {
        "variant": variant,
        "figure": figure,
        "unit": unit,
        "value": round(middle, 4),
        "interval": None,
        "n": len(values),
        "values": [round(value, 4) for value in values],
        "wanted": wanted,
    }
