# SPDX-License-Identifier: GPL-2.0-only
"""The BPF maps of one gateway, of which other tests' may run beside it: read, and frozen."""

import json

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
