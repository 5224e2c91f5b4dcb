# SPDX-License-Identifier: GPL-2.0-only
"""``make demo``: somebody comes, downloads and loads pages; the real gateway off and then on."""

from __future__ import annotations

import math
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

from pacelab.emulation.available import unavailable
from pacelab.emulation.emulate import emulate, summarize_emulated
from pacelab.emulation.run import Live
from pacelab.errors import InconclusiveError, RunError
from pacelab.experiment import demo as simulated
from pacelab.results.demo import FAR, NEAR, STATES, picture, table
from pacelab.results.figures import save
from pacelab.results.runs import Run
from pacelab.scenario import resolve
from pacelab.scenario.document import override, read_document
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Table

TRIES = 3  # of a run whose radio was late, where the figures are kept
BAR_COLUMNS = 20
# Of the far host alone: across four hops CUBIC has its rate within 3 s.
ALONE: Table = {"gateway.law": "off", "duration_s": 12.0, "warmup_s": 4.0}


@dataclass(frozen=True)
class Shown:
    """What to print, and the results that it is of."""

    text: str
    off: Table
    on: Table


def demo(folder: Path, seeds: int = 1, *, kept: bool = False) -> Shown:
    """Runs the demonstration, writes demo.png and demo.svg.

    Where nothing can be emulated, or the machine is too busy, it is simulated; where the figures
    are to be kept that is an error, RunError or InconclusiveError.
    """
    reason = unavailable()
    if reason and kept:
        raise RunError(reason)
    if reason is None:
        try:
            off, on = _emulated(seeds, TRIES if kept else 1)
            return _shown(off, on, folder, _real(off, on))
        except InconclusiveError as error:
            if kept:
                raise
            reason = str(error)
    _clear()
    sys.stderr.write(f"pacelab: not emulated, simulated only: {reason}\n")
    off, on = simulated.demo()
    text = f"SIMULATED, means of {simulated.SEEDS} runs; nothing here is of a real kernel: {reason}"
    return _shown(off, on, folder, text)


def _shown(off: Table, on: Table, folder: Path, what: str) -> Shown:
    save(picture(off, on), folder / "demo")
    return Shown(f"{table(off, on)}\n\n{what}\npicture: {folder / 'demo.png'}", off, on)


def _real(off: Table, on: Table) -> str:
    lag_ms = max(result["lag_ms"]["p99"] for result in (off, on))
    return (
        f"Real Linux TCP and the real gateway; the radio of {len(off['scenario']['nodes'])} nodes, "
        f"802.11n with rate control,\nis ns-3 in real time (lag p99 {lag_ms:.2f} ms)."
    )


def _emulated(seeds: int, tries: int) -> tuple[Table, Table]:
    """The results of both states, with what both hosts have alone; all of a seed, then the next."""
    document = read_document(str(simulated.FILE))
    alone = _resolved(document, {**ALONE, "flow": _far_alone(document)})
    scenarios = [_resolved(document, settings) for settings in simulated.SETTINGS]
    runs: dict[str, list[Run]] = {state: [] for state in STATES}
    solo: dict[str, list[Table]] = {NEAR: [], FAR: []}
    for seed in range(1, seeds + 1):
        far = _run("far alone", alone, seed, tries)
        for state, scenario in zip(STATES, scenarios, strict=True):
            runs[state].append(_run(state, scenario, seed, tries))
        first = runs[STATES[0]][-1]
        solo[FAR].append(_alone(far, FAR, far["duration_s"], first))
        solo[NEAR].append(_alone(first, NEAR, _comes_s(scenarios[0]), first))
    _clear()
    off, on = (
        {**summarize_emulated(scenario, own), "solo": solo}
        for scenario, own in zip(scenarios, runs.values(), strict=True)
    )
    return off, on


def _resolved(document: Table, settings: Table) -> Scenario:
    file = str(simulated.FILE)
    return resolve(override(document, settings, file), file, emulated=True)


def _far_alone(document: Table) -> list[Table]:
    """The far host's download, all through a run."""
    whole = {"start_s": 0.0, "stop_s": 0.0}
    return [{**flow, **whole} for flow in document["flow"] if flow["name"] == FAR]


def _comes_s(scenario: Scenario) -> float:
    return next(float(flow.start_s) for flow in scenario.flows if flow.name == FAR)


def _run(what: str, scenario: Scenario, seed: int, tries: int) -> Run:
    """A run whose radio was in time, of so many tries."""
    for left in reversed(range(tries)):
        try:
            run: Run = emulate(scenario, [seed], _live(what, scenario))["runs"][0]
        except InconclusiveError:
            if not left:
                raise
        else:
            return run
    raise AssertionError("the last try returns or raises")


def _alone(run: Run, host: str, end_s: float, of: Run) -> Table:
    """What a host has alone, from a run's warm-up until it is no longer, for each bin of a run."""
    flow = next(flow for flow in run["flows"] if flow["to"] == host)
    first, last = math.ceil(run["warmup_s"] / run["bin_s"]), math.floor(end_s / run["bin_s"])
    count = len(of["flows"][0]["delivered_bytes"])
    mean = statistics.fmean(flow["delivered_bytes"][first:last])
    return {"bytes": [mean] * count, "bulk": [1] * count}


def _clear() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")


def _live(what: str, scenario: Scenario) -> Live:
    """A line on a terminal: who gets what, each second."""
    hosts = list(dict.fromkeys(flow.to for flow in scenario.flows))
    most_kbps = [1.0]

    def show(second: int, kbps: list[float]) -> None:
        if not sys.stderr.isatty():
            return
        flows = zip(scenario.flows, kbps, strict=True)
        sums = dict.fromkeys(hosts, 0.0)
        for flow, rate in flows:
            sums[flow.to] += rate
        most_kbps[0] = max(most_kbps[0], *sums.values())
        bars = []
        for host, rate in sums.items():
            filled = "█" * round(rate / most_kbps[0] * BAR_COLUMNS)
            bars.append(f"{host} {filled:<{BAR_COLUMNS}}{rate / 1e3:5.1f}")
        when = f"{second + 1:2} of {scenario.duration_s:.0f} s"
        sys.stderr.write(f"\r\033[K{what:<11} {when} {' '.join(bars)}")
        sys.stderr.flush()

    return show
