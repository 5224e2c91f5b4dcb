# SPDX-License-Identifier: GPL-2.0-only
"""What the papers claim, as the scenarios state it, beside what was measured."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from pacelab.errors import InputError
from pacelab.results.law import ROOT
from pacelab.results.markdown import Marks, filled, stamp, with_unit
from pacelab.results.record import Record

SCENARIOS = ROOT / "scenarios"


def _abouts(folder: Path) -> dict[str, dict[str, Any]]:
    """The ``[experiment]`` table of each scenario that has one, by its id."""
    tables = [tomllib.loads(f.read_text(encoding="utf-8")) for f in sorted(folder.glob("*.toml"))]
    found = [t["experiment"] for t in tables if "id" in t.get("experiment", {})]
    return {about["id"]: about for about in found}


def is_stated(experiment: str) -> bool:
    """Whether a scenario states what an experiment claims."""
    return experiment in _abouts(SCENARIOS)


def _order(record: Record) -> list[tuple[int, str]]:
    """gap-fig9 before gap-fig10."""
    return [(int(p) if p.isdecimal() else -1, p) for p in re.split(r"(\d+)", record.experiment)]


def _criteria(record: Record, marks: Marks) -> str:
    """A line for each criterion, with what was measured at each of its values."""
    lines = ["| criterion | measured | verdict |", "|---|---|---|"]
    for criterion, group in groupby(record.rows, key=lambda row: row.figure):
        rows = list(group)
        texts = [
            f"{row.variant}: {with_unit(row)}" if row.variant else with_unit(row) for row in rows
        ]
        signs = "".join(dict.fromkeys(map(marks.of, rows)))
        lines.append(f"| {criterion} | {', '.join(texts)}{signs} | {rows[0].verdict} |")
    return "\n".join(lines)


def _claim(record: Record, about: dict[str, Any], laws: dict[str, str]) -> str:
    judged = replace(record, rows=tuple(row for row in record.rows if row.verdict))
    marks = Marks(judged, laws)
    verdict = f"**{record.verdict.capitalize()}.**" if record.verdict else ""
    reason = "" if record.verdict == "holds" else about.get("reason", "")
    parts = [
        f"## {record.experiment}: {record.title}",
        filled(f"{about['figure']}. Claim: {about['claim']}"),
        filled(f"{verdict} {reason}".strip()),
        filled(record.note),
        _criteria(judged, marks),
        stamp(judged, marks),
    ]
    return "\n\n".join(part for part in parts if part)


def claims(records: Iterable[Record], laws: dict[str, str]) -> str:
    """A section for each experiment: its claim, the verdict, the criteria with their figures."""
    abouts = _abouts(SCENARIOS)
    sections = []
    for record in sorted(records, key=_order):
        if record.experiment not in abouts:
            where = f"{record.group}/{record.name}.json"
            raise InputError(f'{where}: no scenario states "{record.experiment}"; correct the id')
        sections.append(_claim(record, abouts[record.experiment], laws))
    return "\n\n".join(sections)
