# SPDX-License-Identifier: GPL-2.0-only
"""What the papers claim, as the scenarios state it, beside what was measured."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from pacelab.errors import InputError
from pacelab.results.law import ROOT
from pacelab.results.markdown import Marks, filled, stamp, with_unit
from pacelab.results.record import Record, Row

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


def _groups(record: Record) -> list[tuple[str, list[Row]]]:
    """Each criterion, with its figures at all of its values."""
    judged = [row for row in record.rows if row.verdict]
    return [(text, list(group)) for text, group in groupby(judged, key=lambda row: row.figure)]


_ORDER = ("holds", "alike", "passed", "partly", "does not hold", "failed", "undecided")


def _counted(words: Sequence[str]) -> str:
    """'holds 4, partly 3': how often each word stands, in the order of what they claim."""
    counts = Counter(words)
    order = [*_ORDER, *sorted(set(counts) - set(_ORDER))]
    return ", ".join(f"{word} {counts[word]}" for word in order if counts[word])


def verdicts(records: Iterable[Record]) -> str:
    """How many experiments came out how, and how many criteria."""
    judged = [record for record in records if record.verdict]
    words = [rows[0].verdict for record in judged for _, rows in _groups(record)]
    return filled(
        f"Of {len(judged)} experiments: {_counted([record.verdict for record in judged])}. "
        f"Of their {len(words)} criteria: {_counted(words)}."
    )


def _criteria(record: Record, marks: Marks) -> str:
    """A line for each criterion, with what was measured at each of its values."""
    lines = ["| criterion | measured | verdict |", "|---|---|---|"]
    for criterion, rows in _groups(record):
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
