#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Which law a figure is of: fingerprints of core's headers, one of each law and one of all.

Comments, white space and the way headers include each other do not change what a law computes, so
they do not change its fingerprint; nor does the folder in which a header stands. A law's own one
leaves out what only other laws compute: `OWN` has the headers, and the function `mp_law_NAME` its
parameters. A figure is of a law where it states ``even:0123456789ab``, of several with a space
between, and of all headers where it states the digits alone, as older records do.

The file uses the standard library only and runs by itself, for tools that do not import pacelab:
``law.py`` prints the commit and the fingerprints of the tree as it is, ``law.py COMMIT`` those of
a commit.
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
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
HEADERS = "core/include"
DIGITS = 12

LAWS = ("off", "gap", "ap", "map", "shaper", "even")
# Headers that only some laws compute with. All others count for all laws; so would a new one.
_EVEN = """active air airtime alone budget demand echo excess feedback hostpace opaque police probe
queueing sack search silence turn"""
GONE = "hosts presence share trial"  # of `even`, in commits of before
OWN = {
    **{f"{name}.h": ("even",) for name in f"{_EVEN} {GONE}".split()},
    "goodput.h": ("gap", "map"),
    "shaper.h": ("shaper",),
    "retreat.h": (),  # a gateway's whose operator tries it; no simulated one has it
    "hold.h": (),  # the kernel's; no simulated gateway has it
    "verdict.h": (),  # what is shown of hosts
    **{f"{name}.h": ("map",) for name in ("decibel", "oid", "radio")},
    "yang.h": ("off",),  # adaptive pacing of a node's queue, beside flows without a law
}
# GAP's parameters are where those of all others begin.
_PARAMETERS = re.compile(
    r"^MP_INLINE struct mp_law mp_law_(ap|map|shaper|even)\(.*?^}", re.DOTALL | re.MULTILINE
)

# Fingerprints before and after changes that leave what was measured before as it was: nothing but
# names changed, or what a figure does not have came or changed (SACK, by which `even` alone goes;
# weights and least rates of hosts; readings of MAP; a bound in means; receivers that make
# acknowledgements up). Runs are the same to the byte; figures of the one are of the other.
SAME = {
    "5a0928bb79a6": "c60945800e1a",  # off
    "e1dd0aa4178a": "c60945800e1a",
    "75c1d9a99b79": "c60945800e1a",
    "6d7d9e2d661c": "c60945800e1a",
    "7bf699f74339": "c60945800e1a",
    "b255976d03a3": "c60945800e1a",
    "632ef60eb6c7": "c60945800e1a",
    "b3fea0df956e": "c60945800e1a",
    "7bf1fdbe0315": "c60945800e1a",
    "9e88740b8873": "c60945800e1a",
    "7e949ce2c40e": "c60945800e1a",
    "1b9cb88cc27f": "c60945800e1a",
    "de75e1258b14": "c60945800e1a",
    "41eac76ac467": "c60945800e1a",
    "d9a65d58d070": "c09cee848f25",  # gap
    "72ba4e34c200": "c09cee848f25",
    "4f0ae39cf138": "c09cee848f25",
    "e2ed8dc865cb": "c09cee848f25",
    "79db9990e46b": "c09cee848f25",
    "48720c710595": "c09cee848f25",
    "9cf6866a0ee5": "c09cee848f25",
    "4b053660f625": "c09cee848f25",
    "03af91348833": "c09cee848f25",
    "e20e8f816416": "c09cee848f25",
    "042e68003b7d": "c09cee848f25",
    "036e3f4b5058": "c09cee848f25",
    "2cc5c72df37f": "c09cee848f25",
    "8927e8517d43": "c09cee848f25",
    "3d982adf7931": "e35bdac935ff",  # ap
    "0231da4bc5e8": "e35bdac935ff",
    "84ba637de571": "e35bdac935ff",
    "f38e01727901": "e35bdac935ff",
    "5f1995fc72ad": "e35bdac935ff",
    "05f7ea8dd6ff": "e35bdac935ff",
    "ce2bd8661737": "e35bdac935ff",
    "857807e9d660": "e35bdac935ff",
    "42db2f4ab524": "e35bdac935ff",
    "0ea6e62c9995": "e35bdac935ff",
    "bff4e1c07101": "e35bdac935ff",
    "3c11d80f0773": "e35bdac935ff",
    "b842ecef4c33": "e35bdac935ff",
    "9a04084c507b": "e35bdac935ff",
    "01e8f5c546f2": "7b34049eeac4",  # map
    "1a8b2b4d822a": "7b34049eeac4",
    "eee054d610c1": "7b34049eeac4",
    "2caa31ea9a37": "7b34049eeac4",
    "e1382a6258b4": "7b34049eeac4",
    "96719ee4153e": "7b34049eeac4",
    "815ebf09f1a6": "7b34049eeac4",
    "4a18a3863a43": "7b34049eeac4",
    "e7174d6fb592": "7b34049eeac4",
    "f88989cc4170": "7b34049eeac4",
    "20c7548b4646": "7b34049eeac4",
    "290bc12821d7": "7b34049eeac4",
    "ea2c09403c75": "7b34049eeac4",
    "902a1f2b308e": "7b34049eeac4",
    "06a6851bd722": "b327e16f0cdf",  # shaper
    "c4f85fda9edb": "b327e16f0cdf",
    "9f2abbb227fa": "b327e16f0cdf",
    "1ed4e2896e38": "b327e16f0cdf",
    "ce0343feb3d6": "b327e16f0cdf",
    "442791a5a3c4": "b327e16f0cdf",
    "ed34dd86ea91": "b327e16f0cdf",
    "898f0f9f51c5": "b327e16f0cdf",
    "40216d5ebc3e": "b327e16f0cdf",
    "07065306e881": "b327e16f0cdf",
    "2cb621127916": "b327e16f0cdf",
    "c6d91c0844ec": "b327e16f0cdf",
    "b45f73d0eaca": "b327e16f0cdf",
    "529139b9a2de": "b327e16f0cdf",
    "7530b41b1eeb": "34f7c89e8e3e",  # even
    "12f38168db82": "aad8bd635db2",  # trials, which it had beside shares of the air, are gone
    "85fa3e8579a7": "17d3a3f17957",
    "ab430129aeb1": "398532cff291",  # a bound in means
    "fb913ae81442": "398532cff291",  # no copies for who acknowledges ahead; even-hostile has such
    "3ed8a067e39a": "398532cff291",  # ACKs in excess are paid for; even-hostile has such
    "7a9bb08facf9": "398532cff291",
    "f6fa8226bce2": "398532cff291",
    "715b8d8d0105": "c1a96b4dc35c",  # all
}

# Strings and characters are matched first, so that what looks like a comment in one of them stays.
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b[^\n]*", re.MULTILINE)


def fingerprint(headers: Iterable[tuple[str, str]], law: str | None = None) -> str:
    """Of headers, each its name and its text, in any order; of all laws, or of what one needs."""
    digest = hashlib.sha256()
    for name, text in sorted((Path(name).name, text) for name, text in headers):
        if law and law not in OWN.get(name, LAWS):
            continue
        code = _TOKEN.sub(lambda m: " " if m[0].startswith("/") else m[0], text)
        if law:
            code = _PARAMETERS.sub(lambda m: m[0] if m[1] == law else "", code)
        bare = "".join(_INCLUDE.sub("", code).split())
        if bare:
            digest.update(f"{name}\0{bare}\0".encode())
    return digest.hexdigest()[:DIGITS]


def _all(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The fingerprint of all laws under the empty name, and each law's under its own."""
    headers = list(headers)
    return {"": fingerprint(headers), **{law: fingerprint(headers, law) for law in LAWS}}


def stated(laws: Iterable[str], prints: dict[str, str]) -> str:
    """What a figure states that these laws had a part in. Without any: of that which is `off`."""
    paced = sorted(set(laws) - {"off"}) or ["off"]
    return " ".join(f"{law}:{prints[law]}" for law in paced)


def _now(digits: str) -> str:
    return SAME.get(digits, digits)


def is_of(stated: str, prints: dict[str, str]) -> bool:
    """Whether all that a figure states to be of is as in these fingerprints, or the same."""
    pairs = (word.rpartition(":")[::2] for word in stated.split())
    return all(_now(prints.get(law, "")) == _now(digits) for law, digits in pairs)


def present_laws(root: Path = ROOT) -> dict[str, str]:
    """The fingerprints of the headers as they are on disk."""
    files = sorted((root / HEADERS).rglob("*.h"))
    return _all((file.name, file.read_text(encoding="utf-8")) for file in files)


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


def laws_of(commit: str, root: Path = ROOT) -> dict[str, str] | None:
    """The fingerprints of the headers at a commit; None where it is not known, or has none."""
    archive = _git(root, "archive", "--format=tar", commit, "--", HEADERS)
    if archive is None:
        return None
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        files = {m.name: tar.extractfile(m) for m in tar if m.name.endswith(".h")}
        return _all((name, f.read().decode()) for name, f in files.items() if f)


def is_changed(root: Path = ROOT) -> bool:
    """Whether the tree's programs differ from the commit's."""
    programs = ("contrib", "core", "lab", "linux", "scenarios", "sim")
    return bool(_git(root, "status", "--porcelain", "--untracked-files=no", "--", *programs))


@dataclass(frozen=True)
class Tree:
    """What figures are measured with: the commit as results state it, and the fingerprints."""

    commit: str | None
    laws: dict[str, str]


def present_tree() -> Tree:
    """The tree as it is now: to be asked before the runs begin, which may take days."""
    commit = commit_of()
    return Tree(f"{commit}+" if commit and is_changed() else commit, present_laws())


def main() -> None:
    """Prints ``{"commit", "law", "laws", "changed"}``, the last of the checkout; law: of all."""
    revision = sys.argv[1] if len(sys.argv) > 1 else None
    commit = commit_of(revision or "HEAD")
    prints = present_laws() if revision is None else (commit and laws_of(commit)) or {}
    laws = {law: prints[law] for law in LAWS if prints}
    found = {"commit": commit, "law": prints.get(""), "laws": laws, "changed": is_changed()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
