# SPDX-License-Identifier: GPL-2.0-only
"""What every table of a file has in common.

The tables are pydantic models: a field states its type, default and range once. What pydantic
finds wrong becomes one line in pacelab's words (messages.py).
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from pacelab.errors import InputError
from pacelab.scenario.messages import first_mistake

# A table of a TOML file as it is written, or a JSON document.
Table = dict[str, Any]

# What no XML has, beside control characters.
NO_XML = "\ufffe\uffff"
# Of a name: more would widen tables beyond all screens, and pictures beyond what can be drawn.
MOST_LETTERS = 100


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


class Model(BaseModel):
    """A table: nothing is converted but whole numbers to numbers, nothing unknown is let in."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        validate_by_alias=True,
        validate_by_name=True,
        serialize_by_alias=True,
    )

    @classmethod
    def read(cls, table: object, where: Where) -> Self:
        """The model of a table; InputError, of one line, on any mistake."""
        try:
            return cls.model_validate(table)
        except ValidationError as error:
            path, text = first_mistake(cls, error, where.path)
            raise Where(where.file, tuple(path)).error(text) from None

    def stated(self, name: str) -> bool:
        """Whether the file states a key, else it has its default."""
        return name in self.model_fields_set

    def as_dict(self) -> Table:
        """The table with every key."""
        return self.model_dump()


def _words(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("name", "is empty; give a name")
    return text


def _drawn(text: str, but: str = "\t\n") -> str:
    """That a picture can hold a text, which is XML."""
    for letter in text:
        if letter not in but and (unicodedata.category(letter) == "Cc" or letter in NO_XML):
            raise PydanticCustomError("name", f"has a control character, {letter!a}; remove it")
    return text


def _named(text: str) -> str:
    """That nodes, flows, people, systems, ... can be called so, in a line of a table too."""
    if len(text) > MOST_LETTERS:
        many = f"has {len(text)} letters; give at most {MOST_LETTERS}"
        raise PydanticCustomError("name", many)
    return _drawn(_words(text), but="")


Name = Annotated[str, AfterValidator(_named)]
# What is said in words, as long as it may be.
Words = Annotated[str, AfterValidator(_words)]
# What stands above a picture, or beside it.
Caption = Annotated[str, AfterValidator(_drawn)]


def one_of(*choices: float) -> AfterValidator:
    """That a number is one of a few."""

    def check(value: float) -> float:
        if value not in choices:
            known = ", ".join(map(str, choices))
            raise PydanticCustomError("choice", f"{value} is none of {known}")
        return value

    return AfterValidator(check)


def word_of(*choices: str) -> AfterValidator:
    """That a word is one of some that a Literal cannot name."""

    def check(value: str) -> str:
        if value not in choices:
            raise PydanticCustomError("choice", f'"{value}" is none of {", ".join(choices)}')
        return value

    return AfterValidator(check)
