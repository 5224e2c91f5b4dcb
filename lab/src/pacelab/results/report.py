# SPDX-License-Identifier: GPL-2.0-only
"""The report: one HTML page that needs nothing beside it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pacelab.errors import InputError
from pacelab.names import natural
from pacelab.results.comparison import comparison_rows
from pacelab.results.figures import comparison_figure, outcome_figure, result_figure, save, shown
from pacelab.results.judge import MISSING
from pacelab.results.tables import (
    count_text,
    measured_text,
    needs_text,
    outcome_rows,
    pages_text,
    ping_text,
    unmeasured_text,
    with_interval,
)
from pacelab.results.verdicts import ALIKE, FAILED, PASSED, UNDECIDED, present_word
from pacelab.scenario.schema import Table

RESULT = "result.json"
REPORT = "report.html"


def write_outcome(outcome: Table, folder: Path) -> None:
    """Writes an experiment's result and figure into a folder of its own."""
    own = folder / outcome["id"]
    own.mkdir(parents=True, exist_ok=True)
    (own / RESULT).write_text(json.dumps(outcome, indent=1) + "\n", encoding="utf-8")
    for picture in _pictures(outcome):
        save(outcome_figure(outcome, picture), own / picture["id"])


def _pictures(outcome: Table) -> list[Table]:
    """The pictures that show anything of what was run."""
    pictures, points = outcome["about"]["picture"], outcome["points"]
    return [p for p in pictures if any(shown(p, point) for point in points)]


def write_result(result: Table, folder: Path, name: str) -> None:
    """Writes a scenario's result and figure into a folder of its own."""
    own = folder / name
    own.mkdir(parents=True, exist_ok=True)
    (own / RESULT).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    save(result_figure(result), own / name)


def write_comparison(document: Table, folder: Path) -> None:
    """Writes a comparison of emulation and simulation, and its figure."""
    own = folder / "validation"
    own.mkdir(parents=True, exist_ok=True)
    (own / RESULT).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    save(comparison_figure(document), own / "validation")


def write_report(folder: Path, *, strict: bool = False) -> Path:
    """Makes the report of all results in a folder; InputError when there are none.

    A file that is none, as an older pacelab may have left it, is named and left out; ``strict``:
    is an error.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; give one that pacelab wrote results into")
    sections: list[Table] = []
    files = sorted(folder.glob(f"*/{RESULT}"), key=lambda file: natural(file.parent.name))
    for file in files:
        try:
            section = _section_of(file)
        except InputError as error:
            if strict:
                raise
            sys.stderr.write(f"pacelab: not in the report: {error}\n")
            continue
        sections.append(section)
    if not sections:
        raise InputError(f"{folder}: holds no results; run pacelab reproduce or pacelab run --out")
    page = _render(sections)
    (folder / REPORT).write_text(page, encoding="utf-8")
    return folder / REPORT


def _section_of(file: Path) -> Table:
    document = _read(file)
    try:
        return _section(document, file)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError):
        raise InputError(f"{file}: is no result of pacelab; remove it") from None


def _read(file: Path) -> Table:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(f"{file}: cannot be read as JSON; remove it and run again") from None
    if not isinstance(document, dict):
        raise InputError(f"{file}: is no result of pacelab; remove it")
    return document


def _section(document: Table, file: Path) -> Table:
    """What the page shows of a result or an outcome, with the versions that it was made with."""
    name = file.parent.name
    kinds = {"points": _outcome_section, "comparison": _comparison_section}
    make = next((kinds[key] for key in kinds if key in document), _result_section)
    section, versions = make(document)
    ids = [picture["id"] for picture in _pictures(document)] if "about" in document else [name]
    svgs = [_svg(file.with_name(f"{i}.svg")) for i in ids]
    made_with = ", ".join(f"{of} {version}" for of, version in versions.items())
    return {**EMPTY, **section, "id": name, "svgs": svgs, "versions": made_with}


def _svg(file: Path) -> str:
    """A picture to stand in the page, "" when it is not there."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return text[text.find("<svg") :]


# What a section shows where its document has nothing of the kind.
EMPTY: Table = {
    "paper": "",
    "figure": "",
    "claim": "",
    "verdict": "",
    "style": "",
    "reason": "",
    "measured": "",
    "cost": "",
    "checks": [],
}

STYLES = {
    "holds": "passed",
    "partly": "undecided",
    "does not hold": "failed",
    "undecided": "undecided",
}


def _outcome_section(outcome: Table) -> tuple[Table, Table]:
    about = outcome["about"]
    first = outcome["points"][0]["result"]
    return {
        "title": outcome["title"],
        "paper": about["paper"],
        "figure": about["figure"],
        "claim": about["claim"],
        "verdict": outcome["verdict"],
        "style": STYLES.get(outcome["verdict"], ""),
        "reason": about["reason"] if outcome["verdict"] != "holds" else "",
        "measured": _in_short(outcome["checks"]),
        "cost": _cost_text(outcome["cpu_s"]),
        "checks": [_check_row(check) for check in outcome["checks"]],
        "alt": f"{outcome['title']}, with 95% intervals: {', '.join(outcome['systems'])}",
        "tables": [
            {"caption": caption, "header": header, "rows": rows}
            for caption, header, rows in outcome_rows(outcome)
        ],
        "scenario": json.dumps(first["scenario"], indent=1),
        "scenario_note": f" of the first point, resolved ({outcome['file']})",
        "runs_text": f"{len(outcome['points'])} points, {_seeds_text(outcome)} each, runs of "
        f"{first['scenario']['duration_s']:g} s, {_how_much(outcome)}.",
    }, first["versions"]


def _seeds_text(outcome: Table) -> str:
    """'10 seeds'; '11 to 34 seeds' where they were added until checks were decided."""
    counts = [len(point["result"]["seeds"]) for point in outcome["points"]]
    least, most = min(counts), max(counts)
    return f"{most} seeds" if least == most else f"{least} to {most} seeds"


def _how_much(outcome: Table) -> str:
    """Whether an outcome is of the whole experiment."""
    quick = "quick" if outcome["quick"] else "full"
    return f"{quick}; just {outcome['part']}" if outcome["part"] else quick


def _in_short(checks: Sequence[Table]) -> str:
    """How many criteria are met, and what the first of them measured."""
    words = [present_word(check["outcome"]) for check in checks]
    judged = sum(word in (PASSED, FAILED, ALIKE, UNDECIDED) for word in words)
    first = measured_text(checks[0]) if checks else ""
    count = f"{sum(check['passed'] is True for check in checks)} of {judged} criteria"
    for word in (UNDECIDED, MISSING):
        count += f", {words.count(word)} {word}" if word in words else ""
    return f"{count}; {checks[0]['text']}: {first}" if first else count


def _cost_text(cpu_s: float | None) -> str:
    return "" if cpu_s is None else f"{cpu_s / 60:.1f}"


def _comparison_section(document: Table) -> tuple[Table, Table]:
    header, lines = comparison_rows(document)
    words = {True: "passed", False: "failed", None: "not measured"}
    return {
        "title": document["title"],
        "verdict": document["verdict"],
        "checks": [
            {**check, "word": words[check["passed"]], "style": words[check["passed"]]}
            for check in document["checks"]
        ],
        "alt": "Goodput simulated and emulated, with 95% intervals",
        "tables": [{"caption": "Side by side", "header": header, "rows": lines}],
        "scenario": json.dumps(document["comparison"][0]["simulated"]["scenario"], indent=1),
        "scenario_note": " of the first case, resolved",
        "runs_text": "Emulated: real Linux TCP and the real gateway over ns-3 in real time. RTT in "
        "ms: of each sample simulated, smoothed by Linux emulated.",
    }, document["versions"]


def _check_row(check: Table) -> Table:
    word = present_word(check["outcome"])
    style = word if word in (PASSED, FAILED, ALIKE, UNDECIDED) else ""
    return {
        "text": check["text"],
        "measured": "; ".join(
            t for t in (measured_text(check), unmeasured_text(check), needs_text(check)) if t
        ),
        "word": word,
        "style": style,
    }


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
            count_text(flow["timeouts"], 1),
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
    for flow in result["flows"]:
        if "pages" in flow:
            total.append([f"{flow['name']}: web pages", pages_text(flow)])
    for ping in result.get("pings", []):
        total.append([f"ping {ping['from']} > {ping['to']}", ping_text(ping)])
    if "lag_ms" in result:
        total.append(["emulated; lag of the radio, ms, p99", f"{result['lag_ms']['p99']:.2f}"])
    return {
        "title": result["scenario"]["title"],
        "alt": "Goodput of each flow with 95% intervals, and over time",
        "tables": [
            {"caption": "", "header": header, "rows": rows},
            {"caption": "", "header": ["together", "kbit/s, or index"], "rows": total},
        ],
        "scenario": json.dumps(result["scenario"], indent=1),
        "scenario_note": ", resolved",
        "runs_text": f"Seeds {', '.join(map(str, result['seeds']))}; {result['statistics']}.",
    }, result["versions"]


def _render(sections: Sequence[Table]) -> str:
    from jinja2 import Environment, PackageLoader

    environment = Environment(loader=PackageLoader("pacelab.results", "."), autoescape=True)
    title = sections[0]["title"] if len(sections) == 1 else "meshpace: experiments"
    verdicts = [section["verdict"] for section in sections]
    counts = {word: verdicts.count(word) for word in STYLES if word in verdicts}
    return environment.get_template("report.html").render(
        title=title, sections=sections, counts=counts, styles=STYLES
    )
