# SPDX-License-Identifier: GPL-2.0-only
"""Results as tables in Markdown, each figure with its mark."""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from textwrap import wrap

from pacelab.results.law import is_of
from pacelab.results.record import Record, Row

SIGNIFICANT = 4
COMMIT_DIGITS = 7
LINE = 178  # columns of text in documents
_PIECE = re.compile(r"\[([^\[\]]*)\]|\{([^{}:]+)(?::(\d+))?\}")


class Marks:
    """Which commits a record's figures are of; all but the most frequent have a letter."""

    def __init__(self, record: Record, present: dict[str, str]) -> None:
        self.present = present
        rows = [self._origin(of) for of in record.rows or (record,)]
        self.origins = [origin for origin, _ in Counter(rows).most_common()]
        letters = dict(zip(self.origins[1:], _letters(), strict=False))
        self._marks = {origin: f"<sup>{letter}</sup>" for origin, letter in letters.items()}

    def _origin(self, of: Row | Record) -> tuple[str | None, bool | None]:
        """The commit, and whether its law is the present one; None: it is not known."""
        return of.commit, None if of.law is None else is_of(of.law, self.present)

    def of(self, row: Row) -> str:
        """What stands behind a figure."""
        return self._marks.get(self._origin(row), "")

    def texts(self) -> list[str]:
        """Of each commit what there is to say, its mark first."""
        return [f"{self._marks.get(origin, '')}{_origin_text(*origin)}" for origin in self.origins]


def _origin_text(commit: str | None, present: bool | None) -> str:
    if commit is None:
        return "of no known commit"
    short = commit[:COMMIT_DIGITS] + ("+" if commit.endswith("+") else "")
    if present is None:
        return f"of {short}, **whose law is not known**"
    return f"of {short}" if present else f"**law of {short}, older**"


def _letters() -> Sequence[str]:
    one = string.ascii_lowercase
    return [*one, *(a + b for a in one for b in one)]


def filled(text: str) -> str:
    """Paragraphs in lines of documents; tables, lists and code stay as they are."""
    return "\n".join(
        line if line.startswith(("|", "-", " ", "`" * 3)) else _wrapped(line)
        for line in text.split("\n")
    )


def _wrapped(line: str) -> str:
    return "\n".join(wrap(line, LINE, break_long_words=False, break_on_hyphens=False))


def stamp(record: Record, marks: Marks) -> str:
    """The line under a table: command, day, runs, commits."""
    counts = {row.n for row in record.rows}
    runs = next(iter(counts)) if len(counts) == 1 else None
    parts = [f"`{record.command}`" if record.command else "", record.made]
    parts += [f"n = {runs}" if runs else "", _cost(record), *marks.texts()]
    line = f"<sub>{'; '.join(part for part in parts if part)}</sub>"
    # A command may be long; a line's end in it is read as a space.
    return filled(line)


def _cost(record: Record) -> str:
    return "" if record.cpu_s is None else f"{record.cpu_s / 60:.1f} CPU min"


def _decimals(*numbers: float | None) -> int:
    """As many as the numbers were stated with, but no more than four digits of the first."""
    known = [n for n in numbers if n is not None]
    stated = max(len(f"{n!r}".partition("e")[0].partition(".")[2]) for n in known)
    first = abs(known[0])
    whole = math.floor(math.log10(first)) + 1 if first >= 1 else 0
    return min(stated, max(SIGNIFICANT - max(whole, 1), 0))


def figure_text(row: Row, digits: int | None = None) -> str:
    """'714 ± 16', '91%', '2.8 to 3.1', or what was found in words.

    '38 [8, 102]' where the interval, as it reads, does not lie evenly around the value.
    """
    ends = row.range or ()
    numbers = ends if row.value is None else (row.value, row.interval, *ends)
    if not numbers:
        return row.text
    places = _decimals(*numbers) if digits is None else digits
    between = " to ".join(f"{end:.{places}f}" for end in ends)
    text = between if row.value is None else f"{row.value:.{places}f}"
    uneven = _uneven(row, places)
    if row.interval is not None and not uneven:
        text += f" ± {row.interval:.{places}f}"
    text += ("%" if row.unit == "%" else "") + uneven
    if row.value is not None and ends:
        text += f" ({between})"
    return f"{text} {row.text}".rstrip()


def _uneven(row: Row, places: int) -> str:
    """The ends of an interval that does not read the same to both sides."""
    if row.value is None or row.low is None or row.high is None:
        return ""
    below, above = row.value - row.low, row.high - row.value
    if f"{below:.{places}f}" == f"{above:.{places}f}":
        return ""
    return f" [{row.low:.{places}f}, {row.high:.{places}f}]"


def with_unit(row: Row) -> str:
    """A figure and its unit."""
    bare = row.unit in ("", "%", "index") or (row.value is None and row.range is None)
    return figure_text(row) if bare else f"{figure_text(row)} {row.unit}"


def _fill(cell: str, rows: Sequence[Row], marks: Marks) -> str:
    """A cell's pattern with figures in it; what stands in [ ] goes where its figures are not."""
    by_figure = {row.figure: row for row in rows}
    used: list[Row] = []

    def piece(found: re.Match[str]) -> str:
        if found[1] is not None:
            names = [m[2] for m in _PIECE.finditer(found[1])]
            there = all(name in by_figure for name in names)
            return _PIECE.sub(piece, found[1]) if there else ""
        row = by_figure.get(found[2])
        if row is None:
            return "-"
        used.append(row)
        return figure_text(row, None if found[3] is None else int(found[3]))

    text = _PIECE.sub(piece, cell)
    # One mark where all figures of the cell are of one commit.
    return text + "".join(dict.fromkeys(marks.of(row) for row in used)) if used else ""


def _only(rows: Sequence[Row], marks: Marks) -> str:
    return "".join(figure_text(row) + marks.of(row) for row in rows[:1])


def _named_figures(cell: str) -> set[str]:
    flat = cell.replace("[", "").replace("]", "")
    return {m[2] for m in _PIECE.finditer(flat)}


def _best_columns(columns: Sequence[str], of: Sequence[Sequence[Row]], figure: str) -> set[str]:
    """The columns with the greatest value of a figure."""
    values = {
        column: row.value
        for column, rows in zip(columns, of, strict=True)
        for row in rows
        if row.figure == figure and row.value is not None
    }
    return {c for c, v in values.items() if v == max(values.values())} if len(values) > 1 else set()


def _by_value(lines: Sequence[str], key: str) -> list[str]:
    """Lines in the order of the values with which they end, each value's in their own."""
    ends = [line.rpartition(f"{key} = ")[2] for line in lines]
    values = list(dict.fromkeys(ends))
    return [line for value in values for line, end in zip(lines, ends, strict=True) if end == value]


def cross_table(
    record: Record,
    marks: Marks,
    cell: str,
    rows: str = "variant",
    columns: str = "system",
    best: str = "",
    corner: str = "",
    only: str = "",
    together: str = "",
) -> str:
    """Figures side by side; ``rows`` and ``columns`` are "system", "variant" or "figure".

    ``cell`` is a pattern: "{goodput}[ ({ping:0})]" shows a figure, and another, without decimals,
    where it is known; "{}" stands for the only one. ``best`` names a figure whose greatest is bold.
    ``only`` takes the variants that begin with it and a comma, and leaves it out of their names.
    ``together`` is the key of a sweep: lines that end with one value of it stand together.
    """
    figures = _named_figures(cell)
    missing = figures - {row.figure for row in record.rows}
    if missing and "figure" not in (rows, columns):
        raise KeyError(min(missing))
    chosen = [r for r in record.rows if "figure" in (rows, columns) or r.figure in figures]
    if only:
        start = f"{only}, "
        chosen = [
            replace(r, variant=r.variant.removeprefix(start))
            for r in chosen
            if r.variant.startswith(start)
        ]
        if not chosen:
            raise KeyError(only)
    lines = list(dict.fromkeys(getattr(row, rows) for row in chosen))
    if together:
        lines = _by_value(lines, together)
    heads = list(dict.fromkeys(getattr(row, columns) for row in chosen))
    out = [f"| {corner} | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for line in lines:
        own = [
            [r for r in chosen if getattr(r, rows) == line and getattr(r, columns) == head]
            for head in heads
        ]
        bold = _best_columns(heads, own, best)
        cells = []
        for head, found in zip(heads, own, strict=True):
            text = _fill(cell, found, marks) if figures else _only(found, marks)
            cells.append(f"**{text}**" if head in bold else text)
        out.append(f"| {line} | {' | '.join(cells)} |")
    return "\n".join(out)


def _what(row: Row) -> str:
    return ", ".join(part for part in (row.system, row.variant) if part)


def _beside(value: str | float | None) -> str:
    return "" if value is None else value if isinstance(value, str) else f"{value:g}"


def list_table(record: Record, marks: Marks) -> str:
    """A line for each figure, with the columns that the figures have."""
    columns = {
        "what": [_what(row) for row in record.rows],
        "figure": [row.figure for row in record.rows],
        "wanted": [_beside(row.wanted) for row in record.rows],
        "before": [_beside(row.before) for row in record.rows],
        "measured": [f"{with_unit(row)}{marks.of(row)}" for row in record.rows],
        "verdict": [row.verdict for row in record.rows],
    }
    kept = {head: cells for head, cells in columns.items() if any(cells)}
    lines = [" | ".join(cells) for cells in zip(*kept.values(), strict=True)]
    return "\n".join(
        [f"| {' | '.join(kept)} |", "|---" * len(kept) + "|", *(f"| {line} |" for line in lines)]
    )
