# SPDX-License-Identifier: GPL-2.0-only
"""The 1/n guarantee and what belongs to it, of one run (docs/research/measures.md).

A host's *part* of a bin is what it gets there when alone, by the number of hosts that are active:
solo(t) / n(t). Goodput and part are compared over the same bins, so that a window in which somebody
comes or goes has the mean of both parts, by the time that each holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pacelab.results.hosts import Bins, Flags, Host, chosen_hosts, events_of, host_series, spells
from pacelab.results.runs import Run
from pacelab.scenario.schema import Table

WINDOW_S = 10.0  # over which a host has its part
GRACE_S = 5.0  # from when on, after its demand begins
KEPT = 0.9  # of the part: less is missed
SHARED = 0.8  # of the part: who gets as much has come, or recovered
SHORT_S = 3.0  # over which that is looked at

# Goodput comes in segments: a part, or what stands for nothing, is no less than one of them.
SEGMENT_BYTES = 1460.0


@dataclass(frozen=True)
class Field:
    """One run: its hosts, those that are looked at, and the parts of those with bulk demand.

    A host that gets nothing even when it is alone has a part of 0, and no window of it counts.
    """

    width: float
    warm: int  # the first bin after the warm-up
    hosts: dict[str, Host]
    chosen: list[str]
    parts: dict[str, Bins]
    solos: dict[str, Bins]


def field_of(
    scenario: Table, run: Run, solos: Mapping[str, Table], names: Sequence[str] | None
) -> Field:
    """The field of a run; ``solos`` as ``solo.solo_series`` has them, by hosts."""
    hosts = host_series(scenario, run)
    chosen = chosen_hosts(scenario, run, names)
    count = np.maximum(sum(host.active.astype(int) for host in hosts.values()), 1)
    alone = {
        name: solo_bytes(solos[name])[: len(hosts[name].bytes)] for name in chosen if name in solos
    }
    width = run["bin_s"]
    return Field(
        width=width,
        warm=math.ceil(run["warmup_s"] / width - 1e-9),
        hosts=hosts,
        chosen=[name for name in chosen if name in alone and hosts[name].bulk.any()],
        parts={name: own / count for name, own in alone.items()},
        solos=alone,
    )


def solo_bytes(solo: Table) -> Bins:
    """What a host would get alone, by bins, all through its demand.

    A transfer that ends may be over earlier when its host is alone: from then on the mean of the
    time that it took stands for what more of it would have brought.
    """
    got, bulk = np.asarray(solo["bytes"], float), np.asarray(solo["bulk"], bool)
    return np.where(bulk, got, got[bulk].mean() if bulk.any() else 0.0)


def _sums(series: Bins, length: int) -> Bins:
    """Sums over windows of so many bins, by their first bin."""
    total = np.concatenate(([0.0], np.cumsum(series)))
    return total[length:] - total[:-length] if len(total) > length else np.zeros(0)


def _ratios(field: Field, name: str, window_s: float) -> Bins:
    """Goodput by part of a host over windows, by their first bin; nan where there is no part.

    There is none where the host gets nothing alone in more than half of the bins, as behind a relay
    that has died: what was under way then is no measure.
    """
    length = max(round(window_s / field.width), 1)
    got = _sums(field.hosts[name].bytes, length)
    part = _sums(field.parts[name], length)
    served = 2 * _sums((field.solos[name] > 0).astype(float), length) >= length
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(served & (part >= SEGMENT_BYTES), got / part, np.nan)


def window_ratios(field: Field) -> dict[str, list[float]]:
    """Goodput by part in each 10 s window that counts, by hosts; windows begin at every bin."""
    found: dict[str, list[float]] = {}
    length = max(round(WINDOW_S / field.width), 1)
    for name in field.chosen:
        ratios = _ratios(field, name, WINDOW_S)
        found[name] = [
            float(ratio)
            for begin, end in spells(field.hosts[name].bulk)
            for ratio in ratios[
                max(begin + math.ceil(GRACE_S / field.width), field.warm) : max(end - length + 1, 0)
            ]
            if not math.isnan(ratio)
        ]
    return found


def _all_ratios(field: Field) -> list[float]:
    """Those of all hosts' windows."""
    return [ratio for own in window_ratios(field).values() for ratio in own]


def least(field: Field) -> float | None:
    """The least ratio of any host in any window; None where no window counts."""
    return min(_all_ratios(field), default=None)


def middle(field: Field) -> float | None:
    """The median ratio of all hosts' windows; None where no window counts."""
    ratios = _all_ratios(field)
    return float(np.median(ratios)) if ratios else None


def missed(field: Field) -> float | None:
    """The share of all hosts' windows in which the part was missed."""
    ratios = _all_ratios(field)
    return sum(r < KEPT for r in ratios) / len(ratios) if ratios else None


def _short_ratios(field: Field) -> dict[str, Bins]:
    """Goodput by part over windows of 3 s, by hosts."""
    return {name: _ratios(field, name, SHORT_S) for name in field.chosen}


def _until_shared_s(ratios: Bins, width: float, begin: int, end: int) -> float | None:
    """How long a host waits, from one bin and before another, until it has had its part for 3 s.
    ``ratios`` are those of its short windows.

    Who never has it has waited as long as there was a part, which is then the least that it can
    have been. None where the time is too short to tell, or there is no part.
    """
    length = max(round(SHORT_S / width), 1)
    own = ratios[begin : max(end - length + 1, 0)]
    parts = np.flatnonzero(~np.isnan(own))
    if not len(parts):
        return None
    there = np.flatnonzero(own >= SHARED)
    return (int(there[0] if len(there) else parts[-1]) + length) * width


def _mean(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if known else None


def time_to_share_s(field: Field) -> float | None:
    """From where a host's bulk demand begins, after the warm-up, to its part: the mean over all
    who come."""
    return _mean(
        [
            _until_shared_s(ratios, field.width, begin, end)
            for name, ratios in _short_ratios(field).items()
            for begin, end in spells(field.hosts[name].bulk)
            if begin >= max(field.warm, 1)
        ]
    )


def time_to_recover_s(scenario: Table, run: Run, field: Field) -> float | None:
    """From where somebody has left, died or fallen silent to where the last of the others has its
    new part, of those with bulk demand before and after: the mean over all who go after the
    warm-up."""
    gone: dict[int, set[str]] = {}
    for event in events_of(scenario, run):
        begin = math.floor(event.at_s / field.width + 1e-9)
        if event.gone and begin >= field.warm:
            gone.setdefault(begin, set()).add(event.host)
    waits: dict[int, float] = {}
    for name, ratios in _short_ratios(field).items():
        for first, end in spells(field.hosts[name].bulk):
            for begin in (b for b, who in gone.items() if first < b < end and name not in who):
                wait = _until_shared_s(ratios, field.width, begin, end)
                if wait is not None:
                    waits[begin] = max(wait, waits.get(begin, 0.0))
    return _mean(list(waits.values()))


def _counted(field: Field, name: str) -> Flags:
    """The bins after the warm-up in which a host has bulk demand."""
    flags = field.hosts[name].bulk.copy()
    flags[: field.warm] = False
    return flags


def nash(field: Field) -> float | None:
    """Mean over hosts of log(goodput / solo) while each has bulk demand; n equal parts: -log n.

    Who gets nothing counts as if one segment had come: a logarithm needs something, and less cannot
    be told from nothing.
    """
    logs = []
    for name in field.chosen:
        bins = _counted(field, name)
        got, alone = field.hosts[name].bytes[bins].sum(), field.solos[name][bins].sum()
        if alone >= SEGMENT_BYTES:
            logs.append(math.log(max(got, SEGMENT_BYTES) / alone))
    return sum(logs) / len(logs) if logs else None


def host_goodput_kbps(scenario: Table, run: Run, names: Sequence[str] | None) -> float | None:
    """What a host gets while it has bulk demand, after the warm-up: the mean over hosts."""
    field = field_of(scenario, run, {}, names)
    found: list[float | None] = []
    for name in chosen_hosts(scenario, run, names):
        bins = _counted(field, name)
        got = float(field.hosts[name].bytes[bins].sum())
        found.append(got * 8 / 1e3 / (bins.sum() * field.width) if bins.any() else None)
    return _mean(found)


def unserved(scenario: Table, run: Run, solos: Mapping[str, Table]) -> list[str]:
    """The hosts with bulk demand that get nothing even when they are alone: they count nowhere."""
    field = field_of(scenario, run, solos, None)
    return [name for name in field.chosen if field.solos[name].sum() < SEGMENT_BYTES]
