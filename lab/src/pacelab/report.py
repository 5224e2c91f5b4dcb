# SPDX-License-Identifier: GPL-2.0-only
"""The report: one HTML page that needs nothing beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pacelab.errors import InputError
from pacelab.figures import outcome_figure, result_figure, save
from pacelab.schema import Table
from pacelab.tables import measured_text, outcome_rows, with_interval

RESULT = "result.json"
REPORT = "report.html"


def write_outcome(outcome: Table, folder: Path) -> None:
    """Writes an experiment's result and figure into a folder of its own."""
    own = folder / outcome["id"]
    own.mkdir(parents=True, exist_ok=True)
    (own / RESULT).write_text(json.dumps(outcome, indent=1) + "\n", encoding="utf-8")
    save(outcome_figure(outcome), own / outcome["id"])


def write_result(result: Table, folder: Path, name: str) -> None:
    """Writes a scenario's result and figure into a folder of its own."""
    own = folder / name
    own.mkdir(parents=True, exist_ok=True)
    (own / RESULT).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    save(result_figure(result), own / name)


def write_report(folder: Path) -> Path:
    """Makes the report of all results in a folder; InputError when there are none."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; give one that pacelab wrote results into")
    sections: list[Table] = []
    versions: Table = {}
    for file in sorted(folder.glob(f"*/{RESULT}")):
        document = _read(file)
        try:
            section, of_section = _section(document, file)
        except (KeyError, TypeError, IndexError):
            raise InputError(f"{file}: is no result of pacelab; remove it") from None
        sections.append(section)
        versions |= of_section
    if not sections:
        raise InputError(f"{folder}: holds no results; run pacelab reproduce or pacelab run --out")
    page = _render(sections, versions)
    (folder / REPORT).write_text(page, encoding="utf-8")
    return folder / REPORT


def _read(file: Path) -> Table:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(f"{file}: cannot be read as JSON; remove it and run again") from None
    if not isinstance(document, dict):
        raise InputError(f"{file}: is no result of pacelab; remove it")
    return document


def _section(document: Table, file: Path) -> tuple[Table, Table]:
    """What the page shows of a result or an outcome, and the versions in it."""
    name = file.parent.name
    svg_file = file.with_name(f"{name}.svg")
    svg = svg_file.read_text(encoding="utf-8") if svg_file.exists() else ""
    svg = svg[svg.find("<svg") :]
    make = _outcome_section if "points" in document else _result_section
    section, versions = make(document)
    return {**section, "id": name, "svg": svg}, versions


def _outcome_section(outcome: Table) -> tuple[Table, Table]:
    about = outcome["about"]
    first = outcome["points"][0]["result"]
    seeds = outcome["seeds"]
    return {
        "title": outcome["title"],
        "paper": about["paper"],
        "figure": about["figure"],
        "claim": about["claim"],
        "verdict": outcome["verdict"],
        "checks": [_check_row(check) for check in outcome["checks"]],
        "alt": f"Goodput in kbit/s with 95% intervals: {', '.join(outcome['systems'])}",
        "tables": [
            {"caption": variant, "header": header, "rows": rows}
            for variant in outcome["variants"]
            for header, rows in [outcome_rows(outcome, variant)]
        ],
        "scenario": json.dumps(first["scenario"], indent=1),
        "scenario_note": f" of the first point, resolved ({outcome['file']})",
        "runs_text": f"{len(outcome['points'])} points, {seeds} seeds each, "
        f"{'quick' if outcome['quick'] else 'full'}.",
    }, first["versions"]


def _check_row(check: Table) -> Table:
    word = {True: "passed", False: "failed", None: "not measured"}[check["passed"]]
    measured = measured_text(check).removeprefix(" (measured ").removesuffix(")")
    return {"text": check["text"], "measured": measured, "word": word, "style": word}


def _result_section(result: Table) -> tuple[Table, Table]:
    header = ["flow", "from", "to", "hops", "law", "goodput, kbit/s", "resent", "timeouts"]
    rows: list[list[Any]] = [
        [
            flow["name"],
            flow["from"],
            flow["to"],
            flow["hops"],
            flow["law"],
            with_interval(flow["goodput_kbps"], 1),
            f"{flow['retransmits']:.1f}",
            f"{flow['timeouts']:.1f}",
        ]
        for flow in result["flows"]
    ]
    fairness = [
        [label, with_interval(result[key], 3)]
        for label, key in (
            ("Jain's index over the run", "jain"),
            ("Jain's index over 10 s", "jain_10s"),
            ("share of 10 s with a flow under 5%", "starved_10s"),
        )
    ]
    total = [["all flows", with_interval(result["aggregate_kbps"], 1)], *fairness]
    return {
        "title": result["scenario"]["title"],
        "paper": "",
        "figure": "",
        "claim": "",
        "verdict": "",
        "checks": [],
        "alt": "Goodput of each flow with 95% intervals, and over time",
        "tables": [
            {"caption": "", "header": header, "rows": rows},
            {"caption": "", "header": ["together", "kbit/s, or index"], "rows": total},
        ],
        "scenario": json.dumps(result["scenario"], indent=1),
        "scenario_note": ", resolved",
        "runs_text": f"Seeds {', '.join(map(str, result['seeds']))}; {result['statistics']}.",
    }, result["versions"]


def _render(sections: Sequence[Table], versions: Table) -> str:
    from jinja2 import Environment, PackageLoader

    environment = Environment(loader=PackageLoader("pacelab", "."), autoescape=True)
    title = sections[0]["title"] if len(sections) == 1 else "meshpace: experiments"
    return environment.get_template("report.html").render(
        title=title, sections=sections, versions=versions
    )
