# SPDX-License-Identifier: GPL-2.0-only
"""How the folders of pacelab depend on each other: in one direction, whoever imports where."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import pacelab

SOURCE = Path(pacelab.__file__).parent

# Each may import those before it.
FOLDERS = ("scenario", "results", "experiment", "emulation")


def modules(folder: Path) -> dict[str, Path]:
    """The modules of a package by their dotted names."""
    found = {}
    for file in folder.rglob("*.py"):
        parts = (folder.name, *file.relative_to(folder).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imported(file: Path, known: set[str]) -> Iterator[str]:
    """The known modules that a file imports, also inside functions and for types alone."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in known else str(node.module)


def graph(folder: Path) -> dict[str, set[str]]:
    """Who imports whom, by modules."""
    files = modules(folder)
    return {name: set(imported(file, set(files))) for name, file in files.items()}


def circle(edges: dict[str, set[str]]) -> list[str]:
    """The names along a circle, from one of them back to it; empty when there is none."""
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for other in sorted(edges[name]):
            found = walk(other, [*path, name])
            if found:
                return found
        done.add(name)
        return []

    return next(filter(None, (walk(name, []) for name in sorted(edges))), [])


def folder_of(module: str) -> str:
    """The folder of a module; those at the root of the package stand for themselves."""
    parts = module.split(".")
    return parts[1] if len(parts) > 2 or (parts[1:] and parts[1] in FOLDERS) else module


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert not circle(graph(SOURCE))


def test_folders_import_in_one_direction() -> None:
    backwards = [
        f"{module} imports {other}"
        for module, others in graph(SOURCE).items()
        for other in others
        if folder_of(module) in FOLDERS
        and (
            FOLDERS.index(folder_of(other)) > FOLDERS.index(folder_of(module))
            if folder_of(other) in FOLDERS
            else other in ("pacelab.cli", "pacelab.__main__")
        )
    ]
    assert not backwards


def test_every_module_stands_in_a_folder() -> None:
    """Beside the command line, only what all folders share stands at the root."""
    at_root = {file.stem for file in SOURCE.glob("*.py")}
    assert at_root == {"__init__", "__main__", "cli", "errors", "interrupts", "names", "simulator"}
    assert {f.name for f in SOURCE.iterdir() if list(f.glob("*.py"))} == set(FOLDERS)


@pytest.mark.parametrize("where", ["", "    ", "if TYPE_CHECKING:\n    "])
def test_a_circle_is_found_wherever_it_is_imported(where: str, tmp_path: Path) -> None:
    package = tmp_path / "ring"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("from ring.b import x\n")
    (package / "b.py").write_text("from ring import c\n")
    head = "def f():\n" if re.fullmatch(" +", where) else ""
    (package / "c.py").write_text(f"{head}{where}import ring.a\n")
    assert circle(graph(package)) == ["ring.a", "ring.b", "ring.c", "ring.a"]
