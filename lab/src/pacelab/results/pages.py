# SPDX-License-Identifier: GPL-2.0-only
"""The pages of ``results/``, made of the files there and of a text, ``page.md``, beside them.

Each page says of each figure its commit and its command, and marks by itself a figure of another
law than the one that stands in ``core/``. A page is committed, so that it is read without pacelab.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pacelab.errors import InputError, nearest
from pacelab.results.claims import claims, is_stated, verdicts
from pacelab.results.law import ROOT, is_of, present_laws
from pacelab.results.markdown import Marks, cross_table, filled, list_table, stamp
from pacelab.results.record import Record, read_group

RESULTS = ROOT / "results"
TEMPLATE, PAGE = "page.md", "README.md"
HEAD = """<!-- SPDX-License-Identifier: GPL-2.0-only -->
<!-- Made by `bin/pacelab results` of page.md and the JSON files beside it: change those. -->
"""


class _Group:
    """What the text of a group's page may call."""

    def __init__(self, folder: Path, laws: dict[str, str]) -> None:
        self.folder = folder
        self.laws = laws
        self.records = read_group(folder)
        self.shown: set[str] = set()  # whose figures, or note where there are none, the page has

    def _record(self, name: str) -> Record:
        if name not in self.records:
            remedy = nearest(name, self.records) if self.records else "there are no results"
            raise InputError(f'{self.folder.name}/{TEMPLATE}: no results "{name}"; {remedy}')
        return self.records[name]

    def _with_stamp(self, name: str, draw: Callable[[Record, Marks], str]) -> str:
        record = self._record(name)
        self.shown.add(name)
        marks = Marks(record, self.laws)
        return f"{draw(record, marks)}\n\n{stamp(record, marks)}"

    def table(self, name: str, cell: str, **options: Any) -> str:
        """Figures side by side: a cell holds those that share two of their words."""
        try:
            return self._with_stamp(name, lambda r, m: cross_table(r, m, cell, **options))
        except KeyError as error:
            where = f"{self.folder.name}/{TEMPLATE}: table {name}"
            raise InputError(
                f"{where}: nothing is called {error}; name what its rows have"
            ) from None

    def listing(self, name: str) -> str:
        """A line for each figure."""
        return self._with_stamp(name, list_table)

    def note(self, name: str) -> str:
        """What is known beyond the rows; with its stamp where there are no rows."""
        record = self._record(name)
        if record.rows:
            return filled(record.note)
        return self._with_stamp(name, lambda r, _: filled(r.note))

    def show(self, name: str) -> str:
        """A note, and a line for each figure: whatever there is."""
        parts = [self.note(name), self.listing(name) if self.records[name].rows else ""]
        return "\n\n".join(part for part in parts if part)

    def rest(self) -> str:
        """All results that the page has not shown before, each under its title."""
        left = [record for name, record in self.records.items() if name not in self.shown]
        return "\n\n".join(map(self._section, left))

    def _section(self, record: Record) -> str:
        return f"### {record.title}\n\n{self.show(record.name)}"

    def claims(self) -> str:
        """All results of the group as judged claims of the papers."""
        self.shown |= set(self.records)
        return claims(self.records.values(), self.laws)

    def verdicts(self) -> str:
        """How many of the group's claims hold, and how many of their criteria are met."""
        return verdicts(self.records.values())

    def names(self) -> Mapping[str, Any]:
        shown = (self.table, self.listing, self.note, self.show, self.rest)
        calls = (*shown, self.claims, self.verdicts)
        return {call.__name__: call for call in calls}


def _render(template: Path, names: Mapping[str, Any]) -> str:
    from jinja2 import Environment, StrictUndefined, TemplateError

    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
    where = f"{template.parent.name}/{template.name}"
    try:
        text = environment.from_string(template.read_text(encoding="utf-8")).render(**names)
    except OSError as error:
        raise InputError(f"{where}: cannot be read ({error.strerror}); write the page") from None
    except (TemplateError, TypeError) as error:
        raise InputError(f"{where}: {error}; correct the text") from None
    return f"{HEAD}{text.rstrip()}\n"


def _group_page(folder: Path, laws: dict[str, str]) -> tuple[str, _Group]:
    group = _Group(folder, laws)
    page = _render(folder / TEMPLATE, group.names())
    left = sorted(set(group.records) - group.shown)
    if left:
        where = f"{folder.name}/{TEMPLATE}"
        raise InputError(f'{where}: does not show "{left[0]}"; add {{{{ rest() }}}}')
    return page, group


class _Asked:
    """What the text of a page asks for, of results that are not there yet."""

    def __init__(self) -> None:
        self.named: set[str] = set()
        self.takes_rest = False
        self.takes_claims = False

    def show(self, name: str, *_words: Any, **_options: Any) -> str:
        self.named.add(name)
        return ""

    def note(self, _name: str) -> str:
        return ""  # beside figures it shows none of them

    def rest(self) -> str:
        self.takes_rest = True
        return ""

    def claims(self) -> str:
        self.takes_claims = True
        return ""

    def verdicts(self) -> str:
        return ""  # counts, and shows none of them


def check_shown(folder: Path, name: str, experiment: str) -> None:
    """That a group's page would show results of a name, of an experiment; InputError otherwise."""
    asked = _Asked()
    calls = {"table": asked.show, "listing": asked.show, "show": asked.show}
    others = {"note": asked.note, "rest": asked.rest, "claims": asked.claims}
    others["verdicts"] = asked.verdicts
    _render(folder / TEMPLATE, {**calls, **others})
    where = f"{folder.name}/{TEMPLATE}"
    if asked.takes_claims and not is_stated(experiment):
        raise InputError(
            f'--keep: {where} has claims, and no scenario states "{experiment}"; give another group'
        )
    if not (asked.takes_claims or asked.takes_rest or name in asked.named):
        raise InputError(
            f'--keep: {where} would not show "{name}"; add {{{{ rest() }}}} or {{{{ show("{name}") '
            "}} there, or give a name that it shows"
        )


def _heading(page: str) -> str:
    lines = [line[2:] for line in page.splitlines() if line.startswith("# ")]
    return lines[0] if lines else ""


def _overview(pages: Mapping[Path, tuple[str, _Group]], laws: dict[str, str]) -> str:
    """A line for each group."""
    lines = ["| page | experiments | figures | of the present law |", "| --- | --- | --- | --- |"]
    for folder, (page, group) in pages.items():
        rows = [row for record in group.records.values() for row in record.rows]
        fresh = sum(row.law is not None and is_of(row.law, laws) for row in rows)
        title = f"[{_heading(page)}]({folder.name}/{PAGE})"
        lines.append(f"| {title} | {len(group.records)} | {len(rows)} | {fresh} |")
    return "\n".join(lines)


def make_pages(results: Path | None = None, laws: dict[str, str] | None = None) -> dict[Path, str]:
    """All pages, by their files; nothing is written."""
    results = results or RESULTS
    present = laws or present_laws()
    folders: Sequence[Path] = sorted(file.parent for file in results.glob(f"*/{TEMPLATE}"))
    stray = sorted({file.parent for file in results.glob("*/*.json")} - set(folders))
    if stray:
        raise InputError(f"results/{stray[0].name}: has results and no {TEMPLATE}; write one")
    pages = {folder: _group_page(folder, present) for folder in folders}
    overview = _render(results / TEMPLATE, {"groups": lambda: _overview(pages, present)})
    made = {folder / PAGE: page for folder, (page, _) in pages.items()}
    return {results / PAGE: overview, **made}


def stale_pages(results: Path | None = None, laws: dict[str, str] | None = None) -> list[Path]:
    """The pages that are not what the files make."""
    pages = make_pages(results, laws)
    return [
        file
        for file, text in pages.items()
        if not file.exists() or file.read_text(encoding="utf-8") != text
    ]


def write_pages(results: Path | None = None, laws: dict[str, str] | None = None) -> list[Path]:
    """Writes the pages that have changed; returns them."""
    pages = make_pages(results, laws)
    changed = stale_pages(results, laws)
    for file in changed:
        file.write_text(pages[file], encoding="utf-8")
    return changed
