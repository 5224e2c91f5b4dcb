# SPDX-License-Identifier: GPL-2.0-only
"""Figures of a bench: `--record DIR` keeps them as DIR/NAME.json, beside what is printed."""

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path

from harness import record


@dataclass
class Figures:
    """What a bench has measured, each figure with the values of its rounds."""

    name: str
    title: str
    values: dict[tuple[str, str, str, str], list[float]] = field(default_factory=dict)

    def note(
        self, variant: str, figure: str, unit: str, values: list[float], wanted: str = ""
    ) -> None:
        self.values[variant, figure, unit, wanted] = values

    def keep(self, arguments: list[str], before: str = "") -> None:
        """Writes them where --record says; the last that a bench does. before: other arguments."""
        folder = folder_of(arguments)
        if folder is None:
            return
        program = Path("linux") / "test" / Path(sys.argv[0]).name
        command = f".venv/bin/python {program} {before}{' '.join(arguments)}"
        folder.mkdir(parents=True, exist_ok=True)
        record.collector(folder).write_one(self.title, command, self.name, self.values)


def folder_of(arguments: list[str]) -> Path | None:
    """--record DIR; a usage error ends the program before it measures."""
    parser = argparse.ArgumentParser(description="Measures, and prints what it has measured.")
    parser.add_argument("--record", type=Path, metavar="DIR", help="write DIR/NAME.json, too")
    folder: Path | None = parser.parse_args(arguments).record
    return folder
