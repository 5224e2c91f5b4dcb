# SPDX-License-Identifier: GPL-2.0-only
"""``make demo``: a chain and two oncoming chains, before (NewReno) and after (even)."""

from __future__ import annotations

from pathlib import Path

from matplotlib import pyplot as plt

from pacelab.experiment.definition import SCENARIOS, load_experiment
from pacelab.experiment.reproduce import Workers, reproduce
from pacelab.results.figures import COLOURS, PANEL_INCHES, bars, save
from pacelab.results.judge import find
from pacelab.results.paired import BySeed, comparison
from pacelab.results.summary import goodput_kbps
from pacelab.results.tables import gain_text, layout, with_interval
from pacelab.scenario.schema import Table


def demo(folder: Path) -> str:
    """Runs the demonstration, writes demo.png and demo.svg; returns the table to print."""
    experiments = [
        load_experiment(SCENARIOS / f"demo-{name}.toml", quick=False)
        for name in ("chain", "oncoming")
    ]
    chain, oncoming = reproduce(experiments, Workers())
    save(_picture(chain, oncoming), folder / "demo")
    seeds = chain["seeds"]
    return (
        f"{_table(chain, oncoming)}\n"
        f"kbit/s, mean ± 95% interval over {seeds} seeds; 802.11b at 11 Mbit/s;\n"
        f"the chain with AODV routing, the oncoming chains with static routes\n"
        f"picture: {folder / 'demo.png'}"
    )


def _table(chain: Table, oncoming: Table) -> str:
    header = ["", *chain["systems"], "gain", "Jain before", "after", "over 10 s", "after"]
    rows = []
    for hops in chain["values"]:
        before, after = (_result(chain, system, hops) for system in chain["systems"])
        rows.append([f"chain, {hops} hops, down", *_goodput_cells(before, after), *["-"] * 4])
    before, after = (_result(oncoming, system, None) for system in oncoming["systems"])
    for i, flow in enumerate(before["flows"]):
        cells = (with_interval(r["flows"][i]["goodput_kbps"]) for r in (before, after))
        name = f"  {flow['from']} > {flow['to']}"
        rows.append([name, *cells, "", *[""] * 4])
    fairness = [with_interval(r[key], 3) for key in ("jain", "jain_10s") for r in (before, after)]
    rows.append(["oncoming chains, both", *_goodput_cells(before, after), *fairness])
    return layout(header, rows)


def _result(outcome: Table, system: str, value: object) -> Table:
    point = find(outcome, outcome["variants"][0], system, value)
    assert point is not None, "every point has been simulated"
    result: Table = point["result"]
    return result


def _goodput_cells(before: Table, after: Table) -> list[str]:
    gain = comparison("goodput", _kbps(after), _kbps(before))
    cells = [with_interval(result["aggregate_kbps"]) for result in (before, after)]
    return [*cells, gain_text(gain) if gain and len(gain) > 1 else "-"]


def _kbps(result: Table) -> BySeed:
    """What all flows get together, by seed."""
    flows = range(len(result["flows"]))
    return {run["seed"]: sum(goodput_kbps(run, f) for f in flows) for run in result["runs"]}


def _picture(chain: Table, oncoming: Table) -> object:
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(PANEL_INCHES[0] * 2, PANEL_INCHES[1]), layout="constrained"
    )
    width = 0.35
    for i, system in enumerate(chain["systems"]):
        sums = [_result(chain, system, v)["aggregate_kbps"] for v in chain["values"]]
        left.bar(
            [k + (i - 0.5) * width for k in range(len(sums))],
            [s["mean"] for s in sums],
            width * 0.94,
            yerr=[s["ci95"] or 0 for s in sums],
            color=COLOURS[i],
            capsize=3,
            label=system,
        )
    left.set_xticks(range(len(chain["values"])), [f"{v} hops" for v in chain["values"]])
    left.set_title("One download over a chain", loc="left", fontsize=11)
    left.set_ylabel("goodput, kbit/s")
    left.legend(loc="upper right")
    bars(right, {s: _result(oncoming, s, None) for s in oncoming["systems"]})
    right.set_title("A download and an upload over two chains", loc="left", fontsize=11)
    return figure
