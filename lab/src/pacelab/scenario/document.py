# SPDX-License-Identifier: GPL-2.0-only
"""The document of a scenario: the TOML as written, and settings over it."""

from __future__ import annotations

import copy
import tomllib
from pathlib import Path
from typing import Any

from pacelab.errors import InputError, nearest
from pacelab.scenario.flows import flow_name
from pacelab.scenario.models import LISTS
from pacelab.scenario.schema import Table

MAX_BYTES = 1_000_000


def read_document(file: str) -> Table:
    """The document in a TOML file; InputError when it cannot be read or parsed."""
    path = Path(file)
    if not path.exists():
        raise InputError(f"{file}: no such file; give the path of a scenario file")
    if path.is_dir():
        raise InputError(f"{file}: is a folder; give the path of a scenario file")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{file}: larger than {MAX_BYTES} bytes; give a scenario file")
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror}); check its rights") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: is not UTF-8 text; give a TOML file") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file}: is not TOML: {error}; correct it there") from None
    except RecursionError:
        raise InputError(f"{file}: is nested too deeply; give a scenario file") from None
    if not document:
        raise InputError(f"{file}: is empty; write a scenario, see docs/research/scenarios.md")
    return document


def parse_setting(text: str) -> tuple[str, Any]:
    """Splits KEY=VALUE; the value is TOML, or a bare string."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f'--set "{text}": is not KEY=VALUE; write for example mesh.hops=4')
    try:
        parsed = tomllib.loads(f"value = {value}")
        return key.strip(), parsed["value"] if set(parsed) == {"value"} else value
    except tomllib.TOMLDecodeError:
        return key.strip(), value


def flattened(settings: Table) -> Table:
    """Settings by dotted keys: of a table of keys (``gateway.law = "gap"`` without quotes, which
    TOML reads as one) each for itself, so that it leaves what else that table has."""
    flat: Table = {}
    for key, value in settings.items():
        if not isinstance(value, dict) or "." in key:
            flat[key] = value
            continue
        inner = flattened(value) if key in LISTS else value
        flat |= {f"{key}.{own}": v for own, v in inner.items()}
    return flat


def override(document: Table, settings: Table, origin: str) -> Table:
    """A copy of the document with dotted keys set.

    ``flow.KEY`` sets every flow, ``flow.0.KEY`` and ``flow.NAME.KEY`` one; the same for nodes.
    """
    result = copy.deepcopy(document)
    # Copies of values too: a list of flows that one system changes is not another's.
    for dotted, value in copy.deepcopy(flattened(settings)).items():
        parts = dotted.split(".")
        if len(parts) == 1:
            result[parts[0]] = value
        elif parts[0] in LISTS:
            for entry in _entries(result, parts, origin, dotted):
                entry[parts[-1]] = value
        elif len(parts) == 2:
            section = result.setdefault(parts[0], {})
            if not isinstance(section, dict):
                raise InputError(f"{origin}: {dotted}: {parts[0]} is no table; set {parts[0]}")
            section[parts[1]] = value
        else:
            raise InputError(f"{origin}: {dotted}: no such key; see docs/research/scenarios.md")
    return result


def _entries(document: Table, parts: list[str], origin: str, dotted: str) -> list[Table]:
    entries = [e for e in document.get(parts[0], []) if isinstance(e, dict)]
    if not entries:
        raise InputError(f"{origin}: {dotted}: no [[{parts[0]}]] there; give one, or remove this")
    if len(parts) == 2:
        return entries
    wanted = ".".join(parts[1:-1])
    if wanted.isdecimal() and int(wanted) < len(entries):
        return [entries[int(wanted)]]
    named = {
        flow_name(e.get("name"), e.get("traffic", "ftp"), i)
        if parts[0] == "flow"
        else str(e.get("name")): e
        for i, e in enumerate(entries)
    }
    if wanted not in named:
        names = [*named, *map(str, range(len(entries)))]
        raise InputError(f'{origin}: {dotted}: no {parts[0]} "{wanted}"; {nearest(wanted, names)}')
    return [named[wanted]]


def _name(table: str, entry: Table, index: int) -> str:
    if table == "flow":
        return flow_name(entry.get("name"), entry.get("traffic", "ftp"), index)
    return str(entry.get("name"))
