# SPDX-License-Identifier: GPL-2.0-only
"""The BPF maps of one gateway, of which other tests' may run beside it: read, frozen, filled."""

import contextlib
import json
import tempfile
from collections.abc import Iterator

from harness.flow_table import shown_map
from harness.gateway import Gateway
from harness.namespace import run

Row = tuple[bytes, bytes]


def _id(gateway: Gateway, name: str) -> str:
    return str(shown_map(gateway.pid, name)["id"])


def _bytes(words: list[str]) -> bytes:
    return bytes(int(word, 16) for word in words)


def rows(gateway: Gateway, name: str) -> list[Row]:
    """Key and value of each entry."""
    dumped = json.loads(run("bpftool", "-j", "map", "dump", "id", _id(gateway, name)))
    return [(_bytes(row["key"]), _bytes(row["value"])) for row in dumped]


def freeze(gateway: Gateway, name: str) -> None:
    """From now on nobody but BPF programs writes there: system calls that want to are refused."""
    run("bpftool", "map", "freeze", "id", _id(gateway, name))


def _batch(lines: list[str]) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".bpftool") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        run("bpftool", "batch", "file", file.name)


@contextlib.contextmanager
def filled(gateway: Gateway, name: str) -> Iterator[None]:
    """A hash map in which nothing is so far has no room for anything meanwhile."""
    shown = shown_map(gateway.pid, name)
    map_ = f"map {{}} id {shown['id']} key hex {{}}"
    keys = [
        (0xFFFFFF00000000 + n).to_bytes(shown["bytes_key"]).hex(" ")
        for n in range(shown["max_entries"])
    ]
    value = bytes(shown["bytes_value"]).hex(" ")
    _batch([f"{map_.format('update', key)} value hex {value}" for key in keys])
    try:
        yield
    finally:
        _batch([map_.format("delete", key) for key in keys])
