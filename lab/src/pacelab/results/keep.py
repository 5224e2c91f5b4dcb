# SPDX-License-Identifier: GPL-2.0-only
"""Keeps what an experiment gave as a file of ``results/``, from which the pages are made."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pacelab.errors import InputError, nearest
from pacelab.results.host_tables import UNSERVED, host_figures, unserved_hosts
from pacelab.results.judge import MISSING
from pacelab.results.law import LAWS, Tree, present_tree, stated
from pacelab.results.measures import MEASURES, Measure, Selection, measured
from pacelab.results.pages import RESULTS, TEMPLATE, check_shown
from pacelab.results.paired import Singles
from pacelab.results.record import NAME, SCHEMA, write_record
from pacelab.results.stats import Interval
from pacelab.results.summary import together_kbps
from pacelab.results.verdicts import base_measure, in_percent
from pacelab.scenario.schema import Table

# What is kept of every point that has it; pictures and checks ask for more.
OF_ALL = ("goodput", "rtt_p95", "ping_p95", "transfer_kbps")
OF_SEVERAL = ("jain", "jain_10s", "starved_10s", "worst_share")
UNITS = ("kbit/s", "ms", "s", "MOS")
DIGITS = 6  # of a figure; more are of no run


class Target(NamedTuple):
    """Where figures are kept, and what they are measured with."""

    group: str
    name: str | None
    tree: Tree


def target(text: str, ids: Sequence[str]) -> Target:
    """Group and name of ``--keep GROUP`` or ``--keep GROUP/NAME``, before runs begin.

    InputError for what could not be kept when they have ended, days later.
    """
    group, _, name = text.partition("/")
    groups = [file.parent.name for file in RESULTS.glob(f"*/{TEMPLATE}")]
    if group not in groups:
        raise InputError(f'--keep {text}: no group "{group}"; {nearest(group, groups)}')
    if name and not NAME.fullmatch(name):
        raise InputError(f"--keep {text}: {name!r} is no name; use a-z, 0-9 and -")
    if name and len(ids) > 1:
        raise InputError(f"--keep {text}: one name for {len(ids)} experiments; give the group only")
    if not name and not ids:
        raise InputError(f"--keep {text}: these runs have no id; give GROUP/NAME")
    for experiment in ids or [name]:
        check_shown(RESULTS / group, name or experiment, experiment)
    return Target(group, name or None, present_tree())


def _unit(measure: Measure) -> str:
    if measure.percent:
        return "%"
    last = measure.label.rpartition(", ")[2]
    return last if last in UNITS else "index" if "Jain" in measure.label else ""


def _round(value: float) -> float:
    return float(f"{value:.{DIGITS}g}") + 0.0  # no "-0.0"


def _figure(name: str, unit: str, value: Interval, factor: float = 1.0) -> Table:
    width = value["ci95"]
    return {
        "figure": name,
        "unit": unit,
        "value": _round(factor * value["mean"]),
        "interval": None if width is None else _round(factor * width),
    }


def _ends(measured_at: Table, factor: float) -> Table:
    """Both ends of a check's interval, which need not lie evenly around its value."""
    ends = {key: measured_at.get(key) for key in ("low", "high")}
    return {key: _round(factor * end) for key, end in ends.items() if end is not None}


def _names(outcome: Table, several: bool) -> list[str]:
    pictures = [p["measure"] for p in outcome["about"]["picture"] if p.get("measure") in MEASURES]
    return list(dict.fromkeys([*OF_ALL, *(OF_SEVERAL if several else ()), *pictures]))


def _of_point(outcome: Table, point: Table, tree: Tree) -> list[Table]:
    sweep = outcome["about"]["sweep"]
    at = f"{sweep['key'].rpartition('.')[2]} = {point['value']}" if sweep else ""
    variant = ", ".join(part for part in (point["variant"], at) if part)
    names = _names(outcome, len(point["result"]["flows"]) > 1)
    of = {"system": point["system"], "variant": variant}
    rows = _figures(point, names, of, tree)
    if any(picture.get("kind") == "links" for picture in outcome["about"]["picture"]):
        rows += [{**of, **row, "law": rows[0]["law"]} for row in _of_links(point)]
    return rows


def _of_links(point: Table) -> list[Table]:
    """A row for each link on which TCP's packets were dropped, where a picture shows them."""
    rows = []
    for link in point["result"]["links"]:
        ends = link["from"], link["to"]
        drops = measured("drops", point, Selection(links=[ends]))
        if drops is not None:
            row = _figure(f"drops on {' > '.join(ends)}", "packets", drops)
            rows.append({**row, "n": len(point["result"]["seeds"])})
    return rows


def _figures(point: Table, names: Sequence[str], of: Table, tree: Tree) -> list[Table]:
    """A row for each measure that a point has, and for each of its flows and hosts."""
    result = point["result"]
    singles = Singles()
    rows = []
    for name in names:
        value = measured(name, point)
        if value is not None:
            unit = _unit(MEASURES[name])
            row = _figure(name, unit, value, 100.0 if unit == "%" else 1.0)
            rows.append(row | {"n": _runs_with(name, point, singles)})
    if len(result["flows"]) > 1:
        rows += [
            _figure(f"goodput of {f['name']}", "kbit/s", f["goodput_kbps"]) for f in result["flows"]
        ]
    rows += _of_hosts(point, set(names))
    rows[0] |= {
        "values": [_round(together_kbps(run)) for run in result["runs"]],
        "seeds": result["seeds"],
    }
    law = law_of(result, tree)
    return [{**of, "n": len(result["seeds"]), **row, "law": law} for row in rows]


def _runs_with(name: str, point: Table, singles: Singles) -> int:
    """In how many of a point's runs a measure has a value."""
    if not MEASURES[name].each_run:
        return len(point["result"]["seeds"])
    return len(singles.values({"variant": "", "system": "", "value": None, **point}, name))


def law_of(result: Table, tree: Tree) -> str:
    """What the figures of a result state of the laws that had a part in it."""
    return stated(_laws(result), tree.laws)


def _laws(result: Table) -> set[str]:
    """The laws of core that had a part in a result: the gateways', and those of senders."""
    used = {result["scenario"]["gateway"]["law"], *(flow["law"] for flow in result["flows"])}
    return used & set(LAWS)


def _of_hosts(point: Table, known: set[str]) -> list[Table]:
    """A row for each measure of hosts and persons that is not known yet, and who is not served."""
    rows = []
    for figure in host_figures(point):
        if figure.host or figure.measure not in known:
            unit = _unit(MEASURES[figure.measure])
            name = f"{figure.measure} of {figure.host}" if figure.host else figure.measure
            rows.append(_figure(name, unit, figure.value, 100.0 if unit == "%" else 1.0))
    without = unserved_hosts(point)
    if without:
        own = {"figure": UNSERVED, "unit": "", "value": len(without), "interval": None}
        rows.append({**own, "text": ", ".join(without)})
    return rows


def _of_check(check: Table, seeds: int, law: str) -> list[Table]:
    many = len(check["measured"]) > 1
    measure = MEASURES.get(base_measure(check))
    own = _unit(measure) if measure else ""
    unit, factor = ("%", 100.0) if in_percent(check) else (own, 1.0)
    rows = []
    for m in check["measured"]:
        row = _figure(check["text"], unit, {"mean": m["value"], "ci95": m["ci95"]}, factor)
        row |= _ends(m, factor)
        at = {"variant": f"at {m['at']}"} if many else {}
        n = check["seeds"] or seeds
        rows.append({**at, **row, "n": n, "verdict": check["outcome"], "law": law})
    # A criterion of what was not run is not of these figures; one of what gave none is.
    lack = {"figure": check["text"], "unit": unit, "value": None, "text": MISSING}
    for value in check.get("unmeasured") or []:
        at = {} if value is None else {"variant": f"at {value}"}
        rows.append({**at, **lack, "n": seeds, "verdict": check["outcome"], "law": law})
    return rows


def record_of(outcome: Table, command: str, tree: Tree) -> Table:
    """An experiment's outcome in the format of ``results/``."""
    points = [row for point in outcome["points"] for row in _of_point(outcome, point, tree)]
    compared = {law for point in outcome["points"] for law in _laws(point["result"])}
    law = stated(compared, tree.laws)
    checks = [row for c in outcome["checks"] for row in _of_check(c, outcome["seeds"], law)]
    head = _head(outcome["id"], outcome["title"], command, tree)
    head |= _in_real_time([point["result"] for point in outcome["points"]])
    cost = outcome.get("cpu_s")
    head["cpu_s"] = None if cost is None else round(cost, 1)
    return {**head, "verdict": outcome["verdict"], "rows": points + checks}


def _head(experiment: str, title: str, command: str, tree: Tree) -> Table:
    """What a file says of what it was measured with, and when."""
    return {
        "schema": SCHEMA,
        "experiment": experiment,
        "title": title,
        "commit": tree.commit,
        "law": tree.laws[""],
        "command": command,
        "made": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
    }


def keep(outcome: Table, where: Target, command: str) -> Path:
    """Writes an experiment's outcome into a group; a name other than its id for a part of it."""
    record = record_of(outcome, command, where.tree)
    return write_record(record, RESULTS / where.group, where.name or outcome["id"])


def keep_results(
    results: Sequence[tuple[str, str, Table]],
    where: Target,
    title: str,
    command: str,
) -> Path:
    """Writes results of scenarios, each with the words for its system and variant, into a file."""
    rows = [
        row
        for system, variant, result in results
        for row in _figures(
            {"result": result},
            [*OF_ALL, *(OF_SEVERAL if len(result["flows"]) > 1 else ())],
            {"system": system, "variant": variant},
            where.tree,
        )
    ]
    note = _in_real_time([result for _, _, result in results])
    head = _head(_name(where), title, command, where.tree)
    return _write({**head, **note, "rows": rows}, where)


def _name(where: Target) -> str:
    assert where.name, "target() has seen to it"
    return where.name


def _write(record: Table, where: Target) -> Path:
    return write_record(record, RESULTS / where.group, _name(where))


def _in_real_time(results: Sequence[Table]) -> Table:
    """How fast emulated runs went, as a record's note; nothing where none was emulated."""
    emulated = [result for result in results if result.get("emulated")]
    if not emulated:
        return {}
    p99_ms = max(result["lag_ms"]["p99"] for result in emulated)
    max_ms = max(result["lag_ms"]["max"] for result in emulated)
    core = max(result["radio_core"] for result in emulated)
    note = (
        f"Emulated in real time, a simulated second a second: the radio's lag is at most "
        f"{p99_ms:.2f} ms at the 99th percentile and {max_ms:.1f} ms at worst, and it takes at "
        f"most {100 * core:.0f}% of a core."
    )
    return {"note": note}


def keep_rows(
    rows: Sequence[Table],
    where: Target,
    title: str,
    command: str,
    results: Sequence[Table] = (),
) -> Path:
    """Writes rows as they are into a file; ``results`` are those that they were made of."""
    head = _head(_name(where), title, command, where.tree)
    return _write({**head, **_in_real_time(results), "rows": rows}, where)
