# SPDX-License-Identifier: GPL-2.0-only
"""``pacelab validate``: the pure simulation against the emulation, side by side."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pacelab.emulation.available import unavailable
from pacelab.emulation.emulate import emulate, summarize_emulated
from pacelab.errors import InconclusiveError, RunError
from pacelab.experiment.campaign import run_all
from pacelab.experiment.definition import SCENARIOS
from pacelab.experiment.runner import make_job
from pacelab.results.comparison import comparison_rows
from pacelab.results.runs import Run
from pacelab.results.stats import Interval
from pacelab.results.summary import summarize
from pacelab.results.tables import layout
from pacelab.scenario import load
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Table

CHAIN_HOPS = (1, 2, 4, 8)
JUDGED_HOPS = (2, 4, 8)
LEAST_RATIO, MOST_RATIO = 0.85, 1.15
MOST_INTERVAL_ERROR = 0.15
SEEDS, QUICK_SEEDS = 5, 1
TIMES = {"duration_s": 50.0, "warmup_s": 10.0}
QUICK_TIMES = {"duration_s": 25.0, "warmup_s": 8.0}
TRIES = 3  # of a run whose radio was late
LAWS = {"off": "NewReno, gateway off", "gap": "gateway gap"}


@dataclass(frozen=True)
class Case:
    """A scenario under a law: what is compared."""

    name: str
    law: str
    scenario: Scenario
    judged: bool


def cases(*, quick: bool) -> Iterator[Case]:
    """Chains of 1, 2, 4 and 8 hops, then the oncoming chains, each with and without the law."""
    times = QUICK_TIMES if quick else TIMES
    for hops in CHAIN_HOPS:
        for law in LAWS:
            settings = {**times, "mesh.hops": hops, "gateway.law": law}
            scenario = load(str(SCENARIOS / "chain.toml"), settings)
            yield Case(f"chain, {hops} hops", law, scenario, hops in JUDGED_HOPS)
    for law in LAWS:
        settings = {**times, "gateway.law": law, "flow.FTP 2.law": law}
        scenario = load(str(SCENARIOS / "oncoming.toml"), settings)
        yield Case("oncoming chains", law, scenario, False)


def validate(*, quick: bool, runs: int | None = None) -> Table:
    """Runs both sides of every case; the comparison's document. RunError where none can run.

    ``runs``: emulated ones of each case, by default 5, and 1 with ``quick``.
    """
    reason = unavailable()
    if reason:
        raise RunError(reason)
    todo = list(cases(quick=quick))
    seeds = range(1, (runs or (QUICK_SEEDS if quick else SEEDS)) + 1)
    simulated = _simulate([case.scenario for case in todo])
    compared = []
    for number, (case, simulation) in enumerate(zip(todo, simulated, strict=True), 1):
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\033[K{number}/{len(todo)}: {case.name}, {LAWS[case.law]}\n")
        emulation = _emulate(case.scenario, seeds)
        compared.append(compare(case, simulation, emulation))
    checks = judge(compared)
    return {
        "title": "Emulation against simulation",
        "quick": quick,
        "comparison": compared,
        "checks": checks,
        "verdict": verdict(checks),
        "versions": next((c["emulated"]["versions"] for c in compared if c["emulated"]), {}),
    }


def _simulate(scenarios: Sequence[Scenario]) -> list[Table]:
    jobs = [make_job(s, seed) for s in scenarios for seed in range(1, SEEDS + 1)]
    runs = run_all(jobs)
    return [summarize(s, runs[i * SEEDS : (i + 1) * SEEDS]) for i, s in enumerate(scenarios)]


def _emulate(scenario: Scenario, seeds: Sequence[int]) -> Table | None:
    """The runs in which the radio was in time; None when it never was."""
    runs: list[Run] = []
    for seed in seeds:
        for _ in range(TRIES):
            try:
                runs += emulate(scenario, [seed])["runs"]
                break
            except InconclusiveError as error:
                print(f"pacelab: {error}", file=sys.stderr)
    return summarize_emulated(scenario, runs) if runs else None


def ratio(over: Interval, under: Interval) -> Interval | None:
    """A quotient of means with its 95% interval, to first order, of independent means; None: it
    is to nothing.
    """
    if not under["mean"]:
        return None
    value = over["mean"] / under["mean"]
    if not over["mean"] or over["ci95"] is None or under["ci95"] is None:
        return {"mean": value, "ci95": None}
    relative = math.hypot(over["ci95"] / over["mean"], under["ci95"] / under["mean"])
    return {"mean": value, "ci95": abs(value) * relative}


def compare(case: Case, simulated: Table, emulated: Table | None) -> Table:
    """A case's figures side by side."""
    entry: Table = {
        "name": case.name,
        "law": case.law,
        "judged": case.judged,
        "simulated": simulated,
        "emulated": emulated,
        "goodput_ratio": None,
        "interval_ratio": None,
    }
    if emulated:
        both = (emulated["aggregate_kbps"], simulated["aggregate_kbps"])
        entry["goodput_ratio"] = ratio(*both)
        entry["interval_ratio"] = _interval_ratio(simulated, emulated)
    return entry


def _interval_ratio(simulated: Table, emulated: Table) -> float | None:
    """Median over runs and flows of the real interval over the simulated one.

    Both are those of the mean rate: the simulator tells no other.
    """
    ratios = []
    for index, flow in enumerate(simulated["flows"]):
        if flow["pacing"] is None or not flow["pacing"]["rate_pps"]:
            continue
        for run in emulated["runs"]:
            pacing = run["flows"][index]["pacing"]
            if pacing and pacing["rate_pps"]:
                ratios.append(flow["pacing"]["rate_pps"] / pacing["rate_pps"])
    return statistics.median(ratios) if ratios else None


def judge(compared: Sequence[Table]) -> list[Table]:
    """The criteria: text, what was measured, whether it passed (None: inconclusive)."""
    checks: list[Table] = []
    for entry in compared:
        where = f"{entry['name']}, {LAWS[entry['law']]}"
        if entry["judged"]:
            value = entry["goodput_ratio"]
            bounds = f"{LEAST_RATIO} .. {MOST_RATIO}"
            text = f"{where}: emulated over simulated goodput within {bounds}"
            checks.append(_check(text, value and value["mean"], LEAST_RATIO, MOST_RATIO))
        if entry["law"] != "off" and entry["judged"]:
            least, most = 1 - MOST_INTERVAL_ERROR, 1 + MOST_INTERVAL_ERROR
            text = f"{where}: the gateway's interval within 15% of the simulated one"
            checks.append(_check(text, entry["interval_ratio"], least, most))
    return checks


def _check(text: str, value: float | None, least: float, most: float) -> Table:
    passed = None if value is None else least <= value <= most
    measured = "inconclusive" if value is None else f"{value:.2f}"
    return {"text": text, "measured": measured, "passed": passed}


def verdict(checks: Sequence[Table]) -> str:
    """'confirmed', 'failed', or 'inconclusive' when none failed and some could not be measured."""
    outcomes = {check["passed"] for check in checks}
    if False in outcomes:
        return "failed"
    return "inconclusive" if None in outcomes else "confirmed"


def table(document: Table) -> str:
    """The comparison and the criteria, for a terminal."""
    words = {True: "passed", False: "FAILED", None: "inconclusive"}
    lines = [layout(*comparison_rows(document)), ""]
    lines += [f"{words[c['passed']]}: {c['text']} ({c['measured']})" for c in document["checks"]]
    return "\n".join([*lines, f"verdict: {document['verdict']}"])
