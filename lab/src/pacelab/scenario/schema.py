# SPDX-License-Identifier: GPL-2.0-only
"""What a key of a scenario or an experiment may be, and how a table is checked by its keys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pacelab.errors import InputError, nearest

Table = dict[str, Any]


@dataclass(frozen=True)
class Key:
    """One key. ``kind`` is its type; float takes integers too. Without a default it is required."""

    kind: type
    default: Any = None
    required: bool = False
    least: float | None = None
    above: float | None = None
    most: float | None = None
    choices: tuple[Any, ...] = ()
    later: tuple[str, ...] = ()
    words: tuple[str, ...] = ()  # that stand for a value
    help: str = ""


_NAMES = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
}


@dataclass(frozen=True)
class Where:
    """Where a value stands, for messages: the file and the dotted key."""

    file: str
    path: tuple[str, ...] = field(default=())

    def at(self, *keys: str) -> Where:
        return Where(self.file, (*self.path, *keys))

    def error(self, text: str) -> InputError:
        key = ".".join(self.path)
        return InputError(f"{self.file}: {key + ': ' if key else ''}{text}")


def check_value(value: Any, key: Key, where: Where) -> Any:
    """The value in the key's type; InputError when its type, range or choice is wrong."""
    if key.kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) < 1e300 else math.inf
    if value in key.words:
        return value
    if not isinstance(value, key.kind) or (isinstance(value, bool) and key.kind is not bool):
        words = "".join(f', or "{word}"' for word in key.words)
        raise where.error(f"{value!r} is not {_NAMES[key.kind]}; give {_NAMES[key.kind]}{words}")
    if isinstance(value, float) and not math.isfinite(value):
        raise where.error(f"{value} is not finite; give a finite number")
    if value in key.later:
        ready = ", ".join(map(str, key.choices))
        raise where.error(f'"{value}" is not available yet; use {ready}')
    if key.choices and value not in key.choices:
        raise where.error(f"{_quoted(value)} is none of {', '.join(map(_shown, key.choices))}")
    _check_range(value, key, where)
    if key.required and isinstance(value, str) and not value.strip():
        raise where.error("is empty; give a name")
    return value


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _shown(choice: Any) -> str:
    """A choice in a list of them; the empty text is seen only in quotes."""
    return str(choice) or '""'


def _check_range(value: Any, key: Key, where: Where) -> None:
    if key.least is not None and value < key.least:
        raise where.error(f"{value} is too small; give at least {key.least:g}")
    if key.above is not None and value <= key.above:
        raise where.error(f"{value} is too small; give more than {key.above:g}")
    if key.most is not None and value > key.most:
        raise where.error(f"{value} is too large; give at most {key.most:g}")


def check_table(
    table: Any, keys: Mapping[str, Key], where: Where, *, defaults: bool = True
) -> Table:
    """A table with checked values and, if asked for, defaults; InputError on any mistake."""
    if not isinstance(table, dict):
        raise where.error("is not a table; write it as one")
    for name in table:
        if name not in keys:
            raise where.at(name).error(f"unknown key; {nearest(name, keys)}")
    checked: Table = {}
    for name, key in keys.items():
        if name in table:
            checked[name] = check_value(table[name], key, where.at(name))
        elif key.required:
            raise where.at(name).error(f"is missing; give {_NAMES[key.kind]}")
        elif defaults:
            checked[name] = key.default
    return checked
