#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Which law a figure is of: a fingerprint of core's headers.

Comments, white space and the way headers include each other do not change what the law computes,
so they do not change its fingerprint; nor does the folder in which a header stands. The file uses
the standard library only and runs by itself, for tools that do not import pacelab: ``law.py``
prints the commit and the fingerprint of the tree as it is, ``law.py COMMIT`` those of a commit.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
HEADERS = "core/include"
DIGITS = 12

# Strings and characters are matched first, so that what looks like a comment in one of them stays.
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b[^\n]*", re.MULTILINE)


def fingerprint(headers: Iterable[tuple[str, str]]) -> str:
    """Of headers, each its name and its text, in any order."""
    digest = hashlib.sha256()
    for name, text in sorted((Path(name).name, text) for name, text in headers):
        code = _TOKEN.sub(lambda m: " " if m[0].startswith("/") else m[0], text)
        bare = "".join(_INCLUDE.sub("", code).split())
        if bare:
            digest.update(f"{name}\0{bare}\0".encode())
    return digest.hexdigest()[:DIGITS]


def present_law(root: Path = ROOT) -> str:
    """The fingerprint of the headers as they are on disk."""
    files = sorted((root / HEADERS).rglob("*.h"))
    return fingerprint((file.name, file.read_text(encoding="utf-8")) for file in files)


def _git(root: Path, *arguments: str) -> bytes | None:
    """What git prints; None where there is no git, no repository or no such object."""
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


def commit_of(revision: str = "HEAD", root: Path = ROOT) -> str | None:
    """A revision's commit in the digits that results state; None where it is not known."""
    found = _git(root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    return found.decode()[:DIGITS] if found else None


def law_of(commit: str, root: Path = ROOT) -> str | None:
    """The fingerprint of the headers at a commit; None where it is not known, or has none."""
    archive = _git(root, "archive", "--format=tar", commit, "--", HEADERS)
    if archive is None:
        return None
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        files = {m.name: tar.extractfile(m) for m in tar if m.name.endswith(".h")}
        return fingerprint((name, f.read().decode()) for name, f in files.items() if f)


def is_changed(root: Path = ROOT) -> bool:
    """Whether the tree's programs differ from the commit's."""
    programs = ("core", "lab", "linux", "scenarios", "sim")
    return bool(_git(root, "status", "--porcelain", "--untracked-files=no", "--", *programs))


def main() -> None:
    """Prints ``{"commit": ..., "law": ..., "changed": ...}``, the last of the checkout."""
    revision = sys.argv[1] if len(sys.argv) > 1 else None
    commit = commit_of(revision or "HEAD")
    law = present_law() if revision is None else commit and law_of(commit)
    print(json.dumps({"commit": commit, "law": law, "changed": is_changed()}))


if __name__ == "__main__":
    main()
