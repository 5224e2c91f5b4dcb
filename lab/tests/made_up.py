# SPDX-License-Identifier: GPL-2.0-only
"""Runs that nobody has simulated, for tests of what is made of runs: bins of a second, in bytes."""

from typing import Any

from pacelab.scenario.schema import Table


def flow(name: str, to: str, **own: Any) -> Table:
    """A download of a resolved scenario."""
    keys = {"traffic": "ftp", "start_s": 0.0, "stop_s": 0.0, "idle_at_s": 0.0, "idle_s": 0.0}
    return {"name": name, "from": "B", "to": to, **keys, **own}


def scenario(flows: list[Table], *nodes: str, **own: Any) -> Table:
    """A resolved scenario, with a gateway."""
    placed = [{"name": "IG", "gateway": True}, *({"name": n, "gateway": False} for n in nodes)]
    return {"title": "Made up", "nodes": placed, "flows": flows, "outages": [], **own}


def person(name: str, node: str, count: int, **own: Any) -> Table:
    """A person in a run of so many bins who wants nothing, unless it is said."""
    nothing = [0] * count
    series: Table = {"delivered_bytes": nothing, "wants": nothing, "bulk": nothing}
    done: Table = {key: [] for key in ("pages", "videos", "calls", "lookups", "handshakes")}
    stay: Table = {"start_s": 0.0, "stop_s": None, "leaves": "closes", "hops": 1}
    return {"name": name, "node": node, **stay, **series, **done, **own}


def run(bins: list[list[float]], people: list[Table] | None = None, **own: Any) -> Table:
    """A run of flows FTP 1, FTP 2, ... and persons, without a warm-up unless it is said."""
    flows = [{"name": f"FTP {i}", "delivered_bytes": b} for i, b in enumerate(bins, start=1)]
    series = [*bins, *(p["delivered_bytes"] for p in people or [])]
    times = {"duration_s": float(len(series[0])), "warmup_s": 0.0, "bin_s": 1.0}
    return {"seed": 1, **times, "flows": flows, "people": people or [], **own}


def alone(bins: list[float], bulk: list[int] | None = None) -> Table:
    """What a result keeps of a solo run."""
    return {"bytes": bins, "bulk": bulk or [1] * len(bins)}


def page(at_s: float, load_s: float | None, first_byte_s: float | None = 0.1) -> Table:
    """A page of a person."""
    size: Table = {"bytes": 1000, "objects": 3, "opaque": False}
    return {"at_s": at_s, "first_byte_s": first_byte_s, "load_s": load_s, **size}
