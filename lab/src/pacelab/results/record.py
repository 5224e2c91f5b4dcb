# SPDX-License-Identifier: GPL-2.0-only
"""What was measured, as data: one JSON file an experiment, ``results/GROUP/NAME.json``.

The format is plain on purpose: tools that do not import pacelab write such files too.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacelab.errors import InputError, nearest
from pacelab.results.verdicts import present_word

SCHEMA = 1
NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_HEX = "[0-9a-f]{12}"
LAW = re.compile(rf"{_HEX}|[a-z]+:{_HEX}( [a-z]+:{_HEX})*")  # law.py: of all, or of those named
COMMIT = re.compile(r"[0-9a-f]{12}\+?")  # + marks a checkout with changes
DAY = re.compile(r"\d{4}-\d\d-\d\d")

_NUMBER = (int, float)
_TEXT_OR_NUMBER = (str, int, float)
# Of each key: the types that its value may have, and whether it must be there. None stands where
# something is not known.
_RECORD_KEYS: dict[str, tuple[tuple[type, ...], bool]] = {
    "schema": ((int,), True),
    "experiment": ((str,), True),
    "title": ((str,), True),
    "commit": ((str, type(None)), True),
    "law": ((str, type(None)), True),
    "command": ((str,), True),
    "made": ((str,), True),
    "cpu_s": ((*_NUMBER, type(None)), False),
    "note": ((str,), False),
    "verdict": ((str,), False),
    "rows": ((list,), True),
}
_ROW_KEYS: dict[str, tuple[tuple[type, ...], bool]] = {
    "system": ((str,), False),
    "variant": ((str,), False),
    "figure": ((str,), True),
    "unit": ((str,), True),
    "value": ((*_NUMBER, type(None)), True),
    "interval": ((*_NUMBER, type(None)), False),
    "low": (_NUMBER, False),
    "high": (_NUMBER, False),
    "range": ((list,), False),
    "text": ((str,), False),
    "n": ((int, type(None)), False),
    "values": ((list,), False),
    "seeds": ((list,), False),
    "wanted": (_TEXT_OR_NUMBER, False),
    "before": (_TEXT_OR_NUMBER, False),
    "verdict": ((str,), False),
    "commit": ((str, type(None)), False),
    "law": ((str, type(None)), False),
}


@dataclass(frozen=True)
class Row:
    """One figure: what of, its value, half its 95% interval, of how many runs.

    ``low`` and ``high`` are the ends of that interval, where they are known: it need not lie evenly
    around the value, and ``interval`` then reaches to the farther end.
    """

    figure: str
    unit: str
    value: float | None
    system: str = ""
    variant: str = ""
    interval: float | None = None
    low: float | None = None
    high: float | None = None
    range: tuple[float, float] | None = None
    text: str = ""
    n: int | None = None
    wanted: str | float | None = None
    before: str | float | None = None
    verdict: str = ""
    commit: str | None = None
    law: str | None = None


@dataclass(frozen=True)
class Record:
    """A file of ``results/``; each row has its own commit and law, the file's unless it says so."""

    group: str
    name: str
    experiment: str
    title: str
    commit: str | None
    law: str | None
    command: str
    made: str
    note: str
    verdict: str
    rows: tuple[Row, ...]
    cpu_s: float | None = None  # what the runs took where they were made


def _check_keys(
    table: Mapping[str, Any], keys: Mapping[str, tuple[tuple[type, ...], bool]], where: str
) -> None:
    for key, value in table.items():
        if key not in keys:
            raise InputError(f'{where}: no key "{key}" here; {nearest(key, keys)}')
        kinds = keys[key][0]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            names = " or ".join("null" if k is type(None) else k.__name__ for k in kinds)
            raise InputError(f"{where}: {key} is {value!r}; write {names}")
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"{where}: {key} is {value!r}; write null where nothing was measured")
    for key, (_, required) in keys.items():
        if required and key not in table:
            raise InputError(f'{where}: "{key}" is missing; add it')


def _check_patterns(table: Mapping[str, Any], where: str) -> None:
    for key, pattern in (("commit", COMMIT), ("law", LAW), ("made", DAY)):
        value = table.get(key)
        if value is not None and not pattern.fullmatch(value):
            raise InputError(f"{where}: {key} is {value!r}, not {pattern.pattern}; correct it")


def _numbers(values: Any, where: str) -> None:
    if not all(isinstance(v, _NUMBER) and not isinstance(v, bool) for v in values):
        raise InputError(f"{where}: {values!r} holds more than numbers; correct it")


def _check_ends(table: Mapping[str, Any], where: str) -> None:
    """That an interval with ends has both, and its value between them."""
    if "low" not in table and "high" not in table:
        return
    ends = table.get("low"), table["value"], table.get("high")
    if None in ends or not ends[0] <= ends[1] <= ends[2]:
        raise InputError(f"{where}: low, value, high are {ends!r}; write both ends, in this order")


def _row(table: Any, of: Mapping[str, Any], where: str) -> Row:
    if not isinstance(table, dict):
        raise InputError(f"{where}: is no table; write an object")
    _check_keys(table, _ROW_KEYS, where)
    _check_patterns(table, where)
    for key in ("values", "range"):
        _numbers(table.get(key, []), f"{where}: {key}")
    if "range" in table and len(table["range"]) != 2:
        raise InputError(f"{where}: range is {table['range']!r}; write the least and the greatest")
    _check_ends(table, where)
    if table["value"] is None and not (table.get("text") or "range" in table):
        raise InputError(f'{where}: has neither value, range nor "text"; add one')
    own = "commit" in table
    kept = {k: v for k, v in table.items() if k not in ("values", "seeds", "commit", "law")}
    if "verdict" in kept:
        kept["verdict"] = present_word(kept["verdict"])
    if "range" in kept:
        kept["range"] = tuple(kept["range"])
    return Row(
        **kept,
        commit=table["commit"] if own else of["commit"],
        law=table.get("law") if own else table.get("law", of["law"]),
    )


def _check_twice(rows: Sequence[Row], where: str) -> None:
    """A criterion may stand twice, for two variants; a figure may not."""
    keys = [(row.system, row.variant, row.figure) for row in rows if not row.verdict]
    twice = [key for key, count in Counter(keys).items() if count > 1]
    if twice:
        name = ", ".join(part for part in twice[0] if part)
        raise InputError(f"{where}: two rows are of {name}; name what they differ in")


def read_record(file: Path) -> Record:
    """A file of results; InputError, in one line, where it is not as the format has it."""
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be read as JSON ({error}); correct it") from None
    where = f"{file.parent.name}/{file.name}"
    if not isinstance(table, dict):
        raise InputError(f"{where}: is no table; write an object")
    _check_keys(table, _RECORD_KEYS, where)
    if table["schema"] != SCHEMA:
        raise InputError(f"{where}: schema {table['schema']} is not known; write {SCHEMA}")
    _check_patterns(table, where)
    if not table["rows"] and not table.get("note"):
        raise InputError(f"{where}: has no rows and no note, so it says nothing; remove it")
    rows = tuple(_row(r, table, f"{where}: row {i + 1}") for i, r in enumerate(table["rows"]))
    _check_twice(rows, where)
    return Record(
        group=file.parent.name,
        name=file.stem,
        rows=rows,
        note=table.get("note", ""),
        verdict=table.get("verdict", ""),
        cpu_s=table.get("cpu_s"),
        **{k: table[k] for k in ("experiment", "title", "commit", "law", "command", "made")},
    )


def read_group(folder: Path) -> dict[str, Record]:
    """All results of a group, by their names."""
    records = [read_record(file) for file in sorted(folder.glob("*.json"))]
    return {record.name: record for record in records}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _text(table: Mapping[str, Any]) -> str:
    """A key a line and a row a line, so that a figure that changed is a line that changed."""
    head = [f" {_json(key)}: {_json(value)}" for key, value in table.items() if key != "rows"]
    rows = ",\n".join(f"  {_json(row)}" for row in table["rows"])
    body = f"[\n{rows}\n ]" if rows else "[]"
    return "{\n" + ",\n".join([*head, f' "rows": {body}']) + "\n}\n"


def write_record(table: Mapping[str, Any], folder: Path, name: str) -> Path:
    """Writes a file of results, and reads it back: what cannot be read is not kept."""
    if not NAME.fullmatch(name) or not NAME.fullmatch(folder.name):
        raise InputError(f"{folder.name}/{name}: no name of results; use a-z, 0-9 and -")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    fresh = file.with_suffix(".new")
    fresh.write_text(_text(table), encoding="utf-8")
    try:
        read_record(fresh)
    except InputError:
        fresh.unlink()
        raise
    return fresh.replace(file)
