# SPDX-License-Identifier: GPL-2.0-only
"""The documents: what they link to is there, and what programs name is a document."""

import re
from pathlib import Path

import pytest

from pacelab.results.law import ROOT

PARTS = ("core", "docs", "lab", "linux", "packaging", "results", "scenarios", "sim")
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(file for part in PARTS for file in (ROOT / part).rglob("*.md"))]
)
LINK = re.compile(r"\]\(([^()\s]+)\)")
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
    suffixes = {".py", ".rs", ".h", ".c", ".cc", ".toml", ".txt", ".sh"}
    files = [f for part in PARTS for f in (ROOT / part).rglob("*") if f.suffix in suffixes]
    named = {(name, f) for f in files for name in NAMED.findall(f.read_text(encoding="utf-8"))}
    assert named
    assert not [(name, f) for name, f in named if not (ROOT / name).exists()]
