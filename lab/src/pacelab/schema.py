# SPDX-License-Identifier: GPL-2.0-only
"""The scenario format: every key with its type, default and range.

The tables below are the one place where a key is defined; validation, defaults and
the reference in docs/scenarios.md follow from them.
"""

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
    help: str = ""


RADIO = {
    "model": Key(str, "range", choices=("range",), later=("sinr",), help="radio model"),
    "standard": Key(str, "802.11b", choices=("802.11b",), later=("802.11g", "802.11n", "802.11ac")),
    "data_mbps": Key(float, 11.0, choices=(1.0, 2.0, 5.5, 11.0), help="bit rate of data frames"),
    "control_mbps": Key(
        float, 1.0, choices=(1.0, 2.0, 5.5, 11.0), help="bit rate of control and broadcast frames"
    ),
    "rts_cts": Key(bool, True, help="announce every data frame by RTS/CTS"),
    "tx_range_m": Key(float, 250.0, above=0, most=1e5, help="range of decoding"),
    "cs_range_m": Key(float, 550.0, above=0, most=1e5, help="range of sensing and interference"),
    "queue_packets": Key(int, 50, least=1, most=100_000, help="interface queue"),
    "cts_ignores_nav": Key(bool, False, help="ns-2's rule: an RTS is answered despite the NAV"),
    "queueing": Key(str, "fifo", choices=("fifo", "fq_codel", "codel"), help="at every mesh node"),
}

ROUTING = {"protocol": Key(str, "static", choices=("static", "aodv"), later=("olsr",))}

WIRED = {
    "mbps": Key(float, 10.0, above=0, most=1e5, help="bit rate of each wired link"),
    "delay_ms": Key(float, 40.0, least=0, most=10_000, help="one-way delay of each wired link"),
}

MESH = {
    "topology": Key(
        str,
        "chain",
        choices=("chain", "parallel", "nodes"),
        later=("cross", "grid", "random"),
    ),
    "hops": Key(int, 8, least=1, most=100, help="of each chain"),
    "spacing_m": Key(float, 200.0, above=0, most=1e5, help="between neighbours"),
}

NODE = {
    "name": Key(str, required=True),
    "x_m": Key(float, required=True, least=-1e7, most=1e7),
    "y_m": Key(float, required=True, least=-1e7, most=1e7),
    "gateway": Key(bool, False, help="exactly one node is the gateway"),
}

GATEWAY = {
    "law": Key(str, "off", choices=("off", "gap"), later=("map", "shaper", "even")),
    "goodput_control": Key(bool, True, help="throttle fast wired-to-wireless flows"),
    "local_retransmission": Key(bool, True, help="the gateway answers duplicate ACKs itself"),
    "delay_bound_s": Key(
        float, 0.5, least=0, most=60, help="RTT samples above are discarded; 0: none (papers)"
    ),
}

TCP = {
    "variant": Key(str, "newreno", choices=("newreno", "vegas", "cubic", "bbr", "westwood")),
    "sack": Key(bool, True, help="selective acknowledgements"),
    "delayed_ack": Key(int, 1, least=1, most=64, help="an ACK every so many segments"),
    "advertised_window": Key(int, 64, least=1, most=10_000, help="segments"),
    "segment_bytes": Key(int, 1460, least=100, most=1460, help="payload of a segment"),
    "initial_window": Key(int, 2, least=1, most=1000, help="segments"),
    "min_rto_s": Key(float, 0.2, least=0.001, most=60, help="least RTO - SRTT, as in Linux"),
}

FLOW = {
    "name": Key(str, help="default: FTP 1, FTP 2, ..."),
    "from": Key(str, required=True, help="a node, or a wired host B, B1, B2, ..."),
    "to": Key(str, required=True, help="a node, or a wired host"),
    "traffic": Key(str, "ftp", choices=("ftp", "cbr"), later=("http",)),
    "law": Key(
        str,
        "off",
        choices=("off", "gap", "ap"),
        later=("map", "shaper", "even"),
        help="of a wireless sender",
    ),
    "start_s": Key(float, 0.0, least=0, help="when it begins"),
    "rate_kbps": Key(float, 0.0, least=0, most=1e8, help="of cbr: payload"),
}

TOP = {
    "title": Key(str, "Untitled"),
    "duration_s": Key(float, 110.0, above=0, most=1e6, help="of the simulation"),
    "warmup_s": Key(float, 10.0, least=0, most=1e6, help="what happens before does not count"),
}

SECTIONS: dict[str, dict[str, Key]] = {
    "radio": RADIO,
    "routing": ROUTING,
    "wired": WIRED,
    "mesh": MESH,
    "gateway": GATEWAY,
    "tcp": TCP,
}
LISTS: dict[str, dict[str, Key]] = {"node": NODE, "flow": {**FLOW, **TCP}}

# Tables that other modules define (pacelab.experiment).
FOREIGN = frozenset({"experiment"})

_NAMES = {str: "a string", bool: "true or false", int: "a whole number", float: "a number"}


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
    if not isinstance(value, key.kind) or (isinstance(value, bool) and key.kind is not bool):
        raise where.error(f"{value!r} is not {_NAMES[key.kind]}; give {_NAMES[key.kind]}")
    if isinstance(value, float) and not math.isfinite(value):
        raise where.error(f"{value} is not finite; give a finite number")
    if value in key.later:
        ready = ", ".join(map(str, key.choices))
        raise where.error(f'"{value}" is not available yet; use {ready}')
    if key.choices and value not in key.choices:
        raise where.error(f"{_quoted(value)} is none of {', '.join(map(str, key.choices))}")
    _check_range(value, key, where)
    if key.required and isinstance(value, str) and not value.strip():
        raise where.error("is empty; give a name")
    return value


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


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


def check_document(document: Table, file: str) -> Table:
    """A scenario document with checked values; sections complete, lists as given.

    Flows keep only the keys that they state: the rest comes from ``[tcp]``.
    """
    where = Where(file)
    known = {*TOP, *SECTIONS, *LISTS, *FOREIGN}
    for name in document:
        if name not in known:
            raise where.at(name).error(f"unknown key; {nearest(name, known)}")
    checked = check_table({k: v for k, v in document.items() if k in TOP}, TOP, where)
    for name, keys in SECTIONS.items():
        checked[name] = check_table(document.get(name, {}), keys, where.at(name))
    for name, keys in LISTS.items():
        entries = document.get(name, [])
        if not isinstance(entries, list):
            raise where.at(name).error(f"is not a list of tables; write [[{name}]]")
        checked[name] = [
            check_table(entry, keys, where.at(name, str(i)), defaults=name == "node")
            for i, entry in enumerate(entries)
        ]
    return checked
