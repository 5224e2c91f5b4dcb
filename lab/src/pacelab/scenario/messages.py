# SPDX-License-Identifier: GPL-2.0-only
"""From what pydantic finds wrong with a table to one line: where, what, and what to do."""

from __future__ import annotations

import math
import types
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from pacelab.errors import nearest

KINDS = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}
# What pydantic calls a value that is none of these.
TYPES: dict[str, type] = {
    "string_type": str,
    "bool_type": bool,
    "int_type": int,
    "float_type": float,
    "list_type": list,
    "dict_type": dict,
}
HUGE = 1e300  # beyond it a whole number may be no float


def key_of(name: str, of: FieldInfo) -> str:
    """A field's key in the file."""
    return of.alias or name


def table_of(of: FieldInfo) -> type[BaseModel] | None:
    """The model of the table, or of the tables, that a field holds."""
    for part in _parts(of.annotation):
        for one in (part, *get_args(part)):
            if isinstance(one, type) and issubclass(one, BaseModel):
                return one
    return None


def first_mistake(
    model: type[BaseModel], found: ValidationError, within: Sequence[str]
) -> tuple[list[str], str]:
    """The dotted path of a mistake, and what is said of it; the model stands ``within`` a path.

    An unknown key comes before others: a mistyped key may be what is missing.
    """
    errors = found.errors(include_url=False)
    first = next((e for e in errors if e["type"] == "extra_forbidden"), errors[0])
    path = list(within)
    of: FieldInfo | None = None
    here: type[BaseModel] | None = model
    for step in first["loc"]:
        if isinstance(step, int):
            path.append(str(step))
        elif here is None:  # which type of several it is that does not fit
            break
        else:
            path.append(step)
            known = {key_of(name, info): info for name, info in here.model_fields.items()}
            if step not in known:
                return path, f"unknown key; {nearest(step, known)}"
            of = known[step]
            here = table_of(of)
    if of is None:
        return path, "is not a table; write it as one"
    depth = len(path) - len(within)
    there = [e for e in errors if e["loc"][:depth] == first["loc"][:depth]]
    return path, _text(of, there, path)


class _Kind(NamedTuple):
    """What a field takes: one of KINDS, and words: all that there are, or beside a number."""

    of: type
    words: tuple[str, ...]


def _parts(annotation: Any) -> Iterator[Any]:
    """The types that an annotation joins."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _parts(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for one in get_args(annotation):
            yield from _parts(one)
    elif annotation is not types.NoneType:
        yield annotation


def _kind(of: FieldInfo) -> _Kind:
    words: tuple[str, ...] = ()
    kind: type = str
    for part in _parts(of.annotation):
        if get_origin(part) is Literal:
            words += get_args(part)
        else:
            kind = get_origin(part) or part
    return _Kind(kind, words)


def _text(of: FieldInfo, errors: list[ErrorDetails], path: list[str]) -> str:
    """What is wrong with a value; ``errors`` are those of all types that it might have."""
    kind = _kind(of)
    # Where a word may stand for a number, what is wrong with the number tells more.
    error = [e for e in errors if e["type"] != "literal_error" or kind.of is str][-1]
    if error["type"] == "missing":
        return f"is missing; give {KINDS[kind.of]}"
    if table_of(of):
        listed = kind.of is list and not path[-1].isdecimal()
        return (
            f"is not a list of tables; write [[{'.'.join(path)}]]"
            if listed
            else ("is not a table; write it as one")
        )
    value = error["input"]
    if kind.of is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) < HUGE else math.inf
    if kind.of is float and isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not finite; give a finite number"
    return _of_value(value, kind, error)


def _of_value(value: Any, kind: _Kind, error: ErrorDetails) -> str:
    limits = error.get("ctx", {})
    match error["type"]:
        case "greater_than_equal":
            return f"{value} is too small; give at least {limits['ge']:g}"
        case "greater_than":
            return f"{value} is too small; give more than {limits['gt']:g}"
        case "less_than_equal":
            return f"{value} is too large; give at most {limits['le']:g}"
        case "literal_error" if isinstance(value, str):
            known = ", ".join(word or '""' for word in kind.words)
            return f'"{value}" is none of {known}'
        case "choice" | "name":  # of schema.py
            return error["msg"]
    wanted = KINDS[TYPES.get(error["type"], kind.of)]
    words = "".join(f', or "{word}"' for word in kind.words) if kind.of is not str else ""
    return f"{value!r} is not {wanted}; give {wanted}{words}"
