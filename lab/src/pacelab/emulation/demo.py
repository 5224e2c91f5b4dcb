# SPDX-License-Identifier: GPL-2.0-only
"""``make demo``: two oncoming flows over two chains, the real gateway off and then on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt

from pacelab.emulation.available import unavailable
from pacelab.emulation.emulate import emulate
from pacelab.emulation.run import Live
from pacelab.errors import InconclusiveError
from pacelab.experiment.definition import SCENARIOS
from pacelab.experiment.demo import demo as simulated_demo
from pacelab.results.figures import COLOURS, PANEL_INCHES, save
from pacelab.results.tables import layout
from pacelab.scenario import resolve
from pacelab.scenario.document import override, read_document
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Table

FILE = SCENARIOS / "demo-oncoming.toml"
STATES = ("gateway off", "gateway on")
STEPS = " ▁▂▃▄▅▆▇█"
BAR_COLUMNS = 24
SMOOTH_S = 5


def demo(folder: Path) -> str:
    """Runs the demonstration, writes demo.png and demo.svg; returns what to print.

    Where nothing can be emulated, or the machine is too busy, it is the pure simulation's.
    """
    reason = unavailable()
    if reason is None:
        try:
            return _emulated(folder)
        except InconclusiveError as error:
            reason = str(error)
    _clear()
    sys.stderr.write(f"pacelab: not emulated, simulated only: {reason}\n")
    return simulated_demo(folder)


def _emulated(folder: Path) -> str:
    document = read_document(str(FILE))
    results = []
    for state, system in zip(STATES, document["experiment"]["system"], strict=True):
        changed = override(document, system.get("set", {}), str(FILE))
        scenario = resolve(changed, str(FILE), emulated=True)
        results.append(emulate(scenario, [1], _live(state, scenario)))
    _clear()
    off, on = results
    save(picture(off, on), folder / "demo")
    lag_ms = max(result["lag_ms"]["p99"] for result in results)
    return (
        f"{table(off, on)}\n\n{rendering(off, on)}\n\n"
        f"Real Linux TCP and the real gateway; the radio of {len(off['scenario']['nodes'])} nodes "
        f"is ns-3 in real time (lag p99 {lag_ms:.2f} ms).\npicture: {folder / 'demo.png'}"
    )


def _clear() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")


def _live(state: str, scenario: Scenario) -> Live:
    """A line on a terminal: who gets what, each second."""
    names = [flow.name for flow in scenario.flows]
    whole_s = scenario.duration_s
    most_kbps = [1.0]

    def show(second: int, kbps: list[float]) -> None:
        if not sys.stderr.isatty():
            return
        most_kbps[0] = max(most_kbps[0], *kbps)
        bars = []
        for name, rate in zip(names, kbps, strict=True):
            filled = "█" * round(rate / most_kbps[0] * BAR_COLUMNS)
            bars.append(f"{name} {filled:<{BAR_COLUMNS}} {rate:4.0f}")
        sys.stderr.write(
            f"\r\033[K{state:<11} {second + 1:3} of {whole_s:.0f} s  {'  '.join(bars)}"
        )
        sys.stderr.flush()

    return show


def table(off: Table, on: Table) -> str:
    """Before and after: each flow, all, fairness, latency."""
    rows = []
    for before, after in zip(off["flows"], on["flows"], strict=True):
        name = f"{before['name']}, {before['from']} > {before['to']}"
        rows.append(_row(name, before["goodput_kbps"]["mean"], after["goodput_kbps"]["mean"]))
    both = (result["aggregate_kbps"]["mean"] for result in (off, on))
    rows.append(_row("both together", *both))
    for name, key in (("Jain's index", "jain"), ("over 10 s", "jain_10s")):
        rows.append([name, f"{off[key]['mean']:.3f}", f"{on[key]['mean']:.3f}", ""])
    starved = (f"{100 * result['starved_10s']['mean']:.0f}%" for result in (off, on))
    rows.append(["10 s with a flow < 5%", *starved, ""])
    for before, after in zip(off["flows"], on["flows"], strict=True):
        p95 = (flow["rtt_ms"]["p95"] for flow in (before, after))
        rows.append(_row(f"{before['name']}, TCP's RTT, p95, ms", *p95))
    return layout(["goodput, kbit/s", *STATES, ""], rows)


def _row(name: str, before: float, after: float) -> list[str]:
    change = f"{100 * (after / before - 1):+.0f}%" if before else "-"
    return [name, f"{before:.0f}", f"{after:.0f}", change]


def _kbps(result: Table, flow: int) -> list[float]:
    """A flow's goodput over time, means over SMOOTH_S."""
    run = result["runs"][0]
    series = [octets * 8 / 1e3 / run["bin_s"] for octets in run["flows"][flow]["delivered_bytes"]]
    half = SMOOTH_S // 2
    spans = (series[max(i - half, 0) : i + half + 1] for i in range(len(series)))
    return [sum(span) / len(span) for span in spans]


def rendering(off: Table, on: Table) -> str:
    """Goodput over time as a line of text for each flow, off and then on."""
    count = range(len(off["flows"]))
    top = max(max(_kbps(result, i)) for result in (off, on) for i in count) or 1.0
    lines = [f"{'':<8}{STATES[0]:<{len(_kbps(off, 0)) + 2}}{STATES[1]}"]
    for i in count:
        drawn = [
            "".join(STEPS[round(k / top * (len(STEPS) - 1))] for k in _kbps(result, i))
            for result in (off, on)
        ]
        lines.append(f"{off['flows'][i]['name']:<8}{drawn[0]}  {drawn[1]}")
    return "\n".join(lines)


def picture(off: Table, on: Table) -> Any:
    """Goodput of each flow over time: off to the left, on to the right."""
    figure, axes = plt.subplots(
        1,
        2,
        figsize=(PANEL_INCHES[0] * 2, PANEL_INCHES[1]),
        sharey=True,
        layout="constrained",
    )
    for axis, state, result in zip(axes, STATES, (off, on), strict=True):
        for i, flow in enumerate(result["flows"]):
            series = _kbps(result, i)
            label = f"{flow['from']} > {flow['to']}"
            axis.plot([k + 0.5 for k in range(len(series))], series, color=COLOURS[i], label=label)
        fair = f"Jain {result['jain']['mean']:.2f}"
        axis.set_title(f"{state}: {fair}", loc="left", fontsize=11)
        axis.set_xlabel("time, s")
        axis.axvline(result["scenario"]["warmup_s"], color="#999999", linestyle=":", linewidth=1)
    axes[0].set_ylabel(f"goodput, kbit/s ({SMOOTH_S} s means)")
    axes[0].set_ylim(bottom=0)
    axes[1].legend(loc="upper right")
    return figure
