# SPDX-License-Identifier: GPL-2.0-only
"""The documents: what they link to is there, and what programs name is a document."""

import re
from pathlib import Path

import pytest

from pacelab.results.law import ROOT

PARTS = ("contrib", "core", "docs", "lab", "linux", "packaging", "results", "scenarios", "sim")
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(file for part in PARTS for file in (ROOT / part).rglob("*.md"))]
)
LINK = re.compile(r"\]\(([^()\s]+)\)")
MAP = re.compile(r"\}\s*(\w+)\s+SEC\(\"\.maps\"\)|\b(\w+) SEC\(\"\.(?:ro)?data\.\w+\"\)")
TABLE_ROW = re.compile(r"^\| `(mp_\w+)` \| `([\w.]+)` \|", re.MULTILINE)
NAME = re.compile(r"`([A-Za-z]\w*(?:::\w+)?|[\w/-]+\.(?:h|c|rs|py)|[\w/]+/)`")
UNDERSTAND = ROOT / "docs" / "understand"
SOURCES = tuple(ROOT / part for part in ("contrib", "core", "linux", "sim", "lab"))
CODE_FOLDERS = ("linux/crates/meshpace/src",)
SOURCE_SUFFIXES = {".py", ".rs", ".h", ".c", ".cc"}
NAMED = re.compile(r"\bdocs/[\w/.-]*\w")


def _anchors(text: str) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    bare = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.replace(" ", "-") for heading in bare}


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda f: str(f.relative_to(ROOT)))
def test_links_lead_somewhere(file: Path) -> None:
    """Else a reader who follows one is lost."""
    text = file.read_text(encoding="utf-8")
    for link in LINK.findall(text):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = (file.parent / path).resolve() if path else file
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in _anchors(target.read_text(encoding="utf-8")), link


def test_what_programs_name_is_a_document() -> None:
    """Else an error message would send its reader to a page that has moved."""
    suffixes = {*SOURCE_SUFFIXES, ".toml", ".txt", ".sh"}
    files = [f for part in PARTS for f in (ROOT / part).rglob("*") if f.suffix in suffixes]
    named = {(name, f) for f in files for name in NAMED.findall(f.read_text(encoding="utf-8"))}
    assert named
    assert not [(name, f) for name, f in named if not (ROOT / name).exists()]


def test_every_map_is_in_the_table() -> None:
    """Else who looks for what a map holds, or who writes it, does not find it."""
    found = {
        (next(filter(None, names)), file.name)
        for file in (ROOT / "linux" / "bpf").iterdir()
        for names in MAP.findall(file.read_text(encoding="utf-8"))
    }
    told = set(TABLE_ROW.findall((UNDERSTAND / "architecture.md").read_text(encoding="utf-8")))
    assert len(found) > 15
    assert told == found


def _source_words() -> set[str]:
    files = [f for part in SOURCES for f in part.rglob("*") if f.suffix in SOURCE_SUFFIXES]
    return {word for f in files for word in re.findall(r"\w+", f.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("name", ["architecture.md", "glossary.md"])
def test_what_documents_call_the_codes_names_are(name: str) -> None:
    """Else a reader searches the code for a name that it no longer has."""
    text = (UNDERSTAND / name).read_text(encoding="utf-8")
    words = _source_words()
    files = {f.name for part in SOURCES for f in part.rglob("*")}
    lost = []
    for told in set(NAME.findall(text)):
        if "/" in told:
            known = any((ROOT / part / told).exists() for part in ("", *CODE_FOLDERS))
        elif "." in told:
            known = told in files
        else:
            known = set(told.split("::")) <= words
        if not known:
            lost.append(told)
    assert not lost


def test_the_first_hour_shows_what_the_trace_has() -> None:
    """Else the first thing that a newcomer sees is not what the page says."""
    text = (ROOT / "docs" / "develop" / "first-hour.md").read_text(encoding="utf-8")
    trace = (ROOT / "core" / "test" / "traces" / "chain.trace").read_text(encoding="utf-8")
    shown = re.findall(r"^    < (.*)$", text, re.MULTILINE)
    assert shown
    assert set(shown) <= set(trace.splitlines())


FAULTS = ROOT / "docs" / "operate" / "faults.md"
WHERE_TESTED = "## Where each row is tested"
NAMED_TEST = re.compile(r"`([\w-]+\.(?:py|rs|c))::(\w+)`")
TEST_FOLDERS = ("linux/test", "linux/crates", "core/test")
DEFINED = {".py": r"^def {}\(", ".rs": r"^ *fn {}\(", ".c": r"^static void {}\("}


def _rows(text: str) -> list[list[str]]:
    """The cells of all tables' rows, without their heads."""
    lines = text.splitlines()
    heads = {n - 1 for n, line in enumerate(lines) if line.startswith("| ---")}
    rows = [
        line
        for n, line in enumerate(lines)
        if line.startswith("| ") and n not in heads and not line.startswith("| ---")
    ]
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows]


def test_every_fault_has_a_test() -> None:
    """Else a row is a promise that nobody looks after."""
    told, tested = FAULTS.read_text(encoding="utf-8").split(WHERE_TESTED)
    faults, tests = [row[0] for row in _rows(told)], dict(_rows(tested))
    assert len(faults) > 40
    assert not set(faults) - set(tests)
    assert all(NAMED_TEST.search(cell) or "none" in cell for cell in tests.values())


def test_every_test_that_is_named_is_there() -> None:
    files: dict[str, list[Path]] = {}
    for file in (f for folder in TEST_FOLDERS for f in (ROOT / folder).rglob("*")):
        files.setdefault(file.name, []).append(file)
    named = NAMED_TEST.findall(FAULTS.read_text(encoding="utf-8"))
    assert named
    for name, function in named:
        defined = re.compile(DEFINED[Path(name).suffix].format(function), re.MULTILINE)
        texts = [file.read_text(encoding="utf-8") for file in files.get(name, [])]
        assert any(defined.search(text) for text in texts), f"{name}::{function}"
