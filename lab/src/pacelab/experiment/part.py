# SPDX-License-Identifier: GPL-2.0-only
"""What of an experiment is run: all that its file states, its quick form, or what a call names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pacelab.errors import InputError, nearest
from pacelab.experiment.models import About, Quick
from pacelab.scenario.document import parse_setting
from pacelab.scenario.schema import Table


@dataclass(frozen=True)
class Left:
    """What of an experiment is run, by names; ``values`` are [None] where nothing is swept."""

    seeds: int
    systems: list[str]
    variants: list[str]
    values: list[Any]


@dataclass(frozen=True)
class Part:
    """What a call names; empty, or None: what the file, or its quick form, says.

    ``settings`` hold for every system and variant, whatever these set.
    """

    seeds: int | None = None
    systems: Sequence[str] = ()
    variants: Sequence[str] = ()
    values: Sequence[Any] = ()
    settings: Table = field(default_factory=dict)

    def text(self) -> str:
        """What is left and what is set, for a report; "" where all is as the file states it."""
        named = [*self.systems, *self.variants, *map(str, self.values)]
        named += [f"{key} = {value}" for key, value in self.settings.items()]
        return "; ".join(named)

    def over(self, quick: Quick | None, about: About) -> Left:
        """What a ``quick`` table says (None: nothing), with what the call names in its place.

        InputError where it names what ``[experiment]`` has not, or sets what is swept or searched.
        """
        known: dict[str, list[Any]] = {
            "systems": [system.name for system in about.system],
            "variants": [variant.name for variant in about.variant],
            "values": about.sweep.values if about.sweep else [],
        }
        named = {"systems": self.systems, "variants": self.variants, "values": self.values}
        for kind, names in named.items():
            for name in names:
                if name not in known[kind]:
                    raise _unknown(about.id, kind, name, known[kind])
        for key in self.settings:
            if key in _varied(about):
                raise InputError(
                    f"reproduce {about.id}: --set {key}: is swept or searched there; leave it "
                    "out, or set it with pacelab run"
                )
        return Left(
            self.seeds or (quick or about).seeds,
            list(self.systems) or (quick and quick.systems) or known["systems"],
            list(self.variants) or (quick and quick.variants) or known["variants"],
            list(self.values) or (quick and quick.values) or known["values"] or [None],
        )


WHOLE = Part()


def parse_value(text: str) -> Any:
    """A swept value: TOML, or a bare string."""
    return parse_setting(f"value={text}")[1]


def _varied(about: About) -> set[str]:
    """The keys that are swept, or searched."""
    keys = {table.key for table in (about.sweep, about.search) if table}
    return keys.union(*(about.sweep.set or [])) if about.sweep else keys


def _unknown(experiment: str, kind: str, name: Any, known: Sequence[Any]) -> InputError:
    if not known:
        remedy = f"it has no {kind}"
    elif isinstance(name, str):
        remedy = nearest(name, map(str, known))
    else:  # of numbers none is meant because it looks alike
        remedy = f"known: {', '.join(map(str, known))}"
    return InputError(f'reproduce {experiment}: "{name}" is none of its {kind}; {remedy}')
