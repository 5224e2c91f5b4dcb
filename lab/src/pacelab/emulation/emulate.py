# SPDX-License-Identifier: GPL-2.0-only
"""``pacelab emulate``: a scenario's runs, one after the other, and their result."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Sequence

from pacelab import __version__
from pacelab.emulation.available import unavailable
from pacelab.emulation.plan import check
from pacelab.emulation.programs import MESH, MESHPACE
from pacelab.emulation.run import Live, emulate_once
from pacelab.errors import RunError
from pacelab.results.runs import Run
from pacelab.results.summary import summarize
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Table


def emulate(scenario: Scenario, seeds: Sequence[int], live: Live | None = None) -> Table:
    """The result of an emulated scenario, in the form of ``summarize``, with ``lag_ms``.

    Raises InputError for what cannot be emulated, RunError where nothing can, InconclusiveError
    when the radio was late.
    """
    check(scenario)
    reason = unavailable()
    if reason:
        raise RunError(reason)
    runs = []
    for i, seed in enumerate(seeds):
        shown = live or progress(scenario, f"run {i + 1}/{len(seeds)}")
        runs.append(emulate_once(scenario, seed, shown))
    if live is None and sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
    return summarize_emulated(scenario, runs)


def progress(scenario: Scenario, which: str) -> Live:
    """A line on a terminal: which run, second, who gets what."""
    names = [flow.name for flow in scenario.flows]

    def show(second: int, kbps: list[float]) -> None:
        if sys.stderr.isatty():
            rates = ", ".join(f"{n} {k:.0f}" for n, k in zip(names, kbps, strict=True))
            whole = scenario.duration_s
            run = f"{which}, {second + 1} of {whole:g} s: {rates} kbit/s"
            sys.stderr.write(f"\r\033[K{run}")
            sys.stderr.flush()

    return show


def summarize_emulated(scenario: Scenario, runs: Sequence[Run]) -> Table:
    """The result of emulated runs: as of simulated ones, plus the worst lag, the most that the
    radio took of a core, and other versions."""
    result = summarize(scenario, runs)
    result["emulated"] = True
    result["lag_ms"] = {
        key: max(run["lag_ms"][key] for run in runs) for key in ("p50", "p99", "max")
    }
    result["radio_core"] = max(run["radio_core"] for run in runs)
    result["versions"] = {**runs[0]["versions"], "pacelab": __version__, **_versions()}
    return result


def _versions() -> Table:
    meshpace = subprocess.run([MESHPACE, "--version"], capture_output=True, text=True, check=True)
    iperf = subprocess.run(["iperf3", "--version"], capture_output=True, text=True, check=True)
    return {
        "meshpace-mesh": hashlib.sha256(MESH.read_bytes()).hexdigest()[:12],
        "meshpace": meshpace.stdout.split()[-1],
        "iperf3": iperf.stdout.split()[1],
    }
