# SPDX-License-Identifier: GPL-2.0-only
"""The OpenWrt package's scripts under busybox's shell, with the stand-ins in ../openwrt."""

import os
import re
import shlex
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.gateway import PATIENCE_S, PROGRAM
from harness.replay import ROOT

PACKAGE = ROOT / "packaging/openwrt"
FILES = PACKAGE / "files"
STAND_INS = Path(__file__).parents[1] / "openwrt"
DOCUMENTED = ROOT / "docs/operate/gateway.toml"
# A key that has no default, or a heading: behind one "#" and a space.
SHOWN = re.compile(r"^# (?=[a-z_]+ = |\[\[)", re.MULTILINE)

Table = dict[str, Any]


def every_key() -> Table:
    """All keys that there are, as gateway.toml documents them, those behind a "#" included."""
    return tomllib.loads(SHOWN.sub("", DOCUMENTED.read_text()))


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "'\\''") + "'"


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


@dataclass
class Uci:
    """A package of UCI: its sections in order, which `uci export` gives names."""

    sections: list[tuple[str, Table]] = field(default_factory=list)

    @classmethod
    def of(cls, configuration: Table) -> "Uci":
        """Of what a gateway.toml holds; the top last, for UCI has no order."""
        top = {key: one for key, one in configuration.items() if not _is_tables(one)}
        sections = []
        for kind, found in configuration.items():
            for one in found if _is_tables(found) and isinstance(found, list) else [found]:
                if kind not in top:
                    sections.append((kind, one))
        return cls([*sections, ("gateway", top)])

    @classmethod
    def read(cls, text: str) -> "Uci":
        """Of a file as people write it, each line of which is complete."""
        uci = cls()
        for words in (shlex.split(line, comments=True) for line in text.splitlines()):
            match words:
                case ["config", kind, *_]:
                    uci.sections.append((kind, {}))
                case ["option", key, value]:
                    uci.sections[-1][1][key] = value
                case ["list", key, value]:
                    uci.sections[-1][1].setdefault(key, []).append(value)
                case []:
                    pass
                case _:
                    raise AssertionError(f"no UCI: {words}")
        return uci

    def exported(self) -> str:
        lines = ["package meshpace"]
        for number, (kind, keys) in enumerate(self.sections):
            lines.append(f"config {kind} 'cfg{number:02x}'")
            for key, value in keys.items():
                if isinstance(value, list):
                    lines += [f"\tlist {key} {_quoted(_text(one))}" for one in value]
                else:
                    lines.append(f"\toption {key} {_quoted(_text(value))}")
        return "\n".join(lines) + "\n"


def _is_tables(value: object) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and isinstance(value[0], dict)
    )


@dataclass
class Router:
    """Where the scripts find what they would find on a router."""

    folder: Path

    def __post_init__(self) -> None:
        (self.folder / "config").mkdir()

    def configure(self, uci: Uci) -> None:
        (self.folder / "config/meshpace").write_text(uci.exported())

    def run(self, *words: str | Path, **settings: str) -> "subprocess.CompletedProcess[str]":
        """Under ash, as it is on a router: no locale, no bash."""
        given = {
            "PATH": os.environ["PATH"],
            "IPKG_INSTROOT": str(STAND_INS / "root"),
            "UCI_FILES": str(self.folder / "config"),
            "ASKED": str(self.folder / "asked"),
            **settings,
        }
        return subprocess.run(
            ["busybox", "ash", *words],
            env=given,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def toml(self, uci: Uci) -> "subprocess.CompletedProcess[str]":
        self.configure(uci)
        return self.run(FILES / "meshpace-toml")

    def asked(self) -> list[str]:
        """What procd was asked so far, which is forgotten."""
        file = self.folder / "asked"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return lines


def checked(text: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """What the program says of a configuration."""
    file = folder / "gateway.toml"
    file.write_text(text)
    return subprocess.run(
        [PROGRAM, "config", "check", file],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
