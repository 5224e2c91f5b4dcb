# SPDX-License-Identifier: GPL-2.0-only
"""Results as text tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from pacelab.schema import Table
from pacelab.stats import Interval, difference


def with_interval(value: Interval, digits: int = 0) -> str:
    """'612 ± 4'; without an interval just the mean."""
    text = f"{value['mean']:.{digits}f}"
    return text if value["ci95"] is None else f"{text} ± {value['ci95']:.{digits}f}"


def gain_text(value: Interval, base: Interval) -> str:
    """'+16%' over a base; '≈ +1%' when the difference lies inside the intervals."""
    if not base["mean"]:
        return "-"
    gain = f"{100 * (value['mean'] / base['mean'] - 1):+.0f}%"
    return gain if difference(value, base) else f"≈ {gain}"


def layout(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned, the first to the left, the others to the right."""
    widths = [max(len(r[i]) for r in [header, *rows]) for i in range(len(header))]

    def line(row: Sequence[str]) -> str:
        first = row[0].ljust(widths[0])
        return "  ".join([first, *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])

    return "\n".join([line(header), "-" * len(line(header)), *map(line, rows)])


def result_table(result: Table) -> str:
    """A scenario's flows, their sum, fairness."""
    rows = [
        [
            flow["name"],
            f"{flow['from']} > {flow['to']}",
            str(flow["hops"]),
            flow["law"],
            with_interval(flow["goodput_kbps"]),
            f"{flow['retransmits']:.0f}",
            f"{flow['timeouts']:.1f}",
            f"{flow['rtt_ms']['p50']:.0f}/{flow['rtt_ms']['p95']:.0f}" if flow["rtt_ms"] else "-",
        ]
        for flow in result["flows"]
    ]
    header = [
        "flow",
        "path",
        "hops",
        "law",
        "goodput kbit/s",
        "resent",
        "timeouts",
        "RTT ms 50/95%",
    ]
    if len(rows) > 1:
        total = with_interval(result["aggregate_kbps"])
        rows.append(["all", "", "", "", total, "", "", ""])
    seeds = len(result["seeds"])
    fairness = (
        f"Jain {with_interval(result['jain'], 3)} over the run, "
        f"{with_interval(result['jain_10s'], 3)} over 10 s; in "
        f"{100 * result['starved_10s']['mean']:.0f}% of the 10 s windows a flow gets under 5%\n"
        if len(result["flows"]) > 1
        else ""
    )
    how = f"{seeds} seeds" if seeds > 1 else "1 seed, batch means"
    return (
        f"{result['scenario']['title']}\n{layout(header, rows)}\n{fairness}"
        f"mean ± 95% interval, {how}"
    )


def outcome_table(outcome: Table) -> str:
    """An experiment's points, then its checks."""
    parts = [f"{outcome['about']['figure']}: {outcome['title']}"]
    for variant in outcome["variants"]:
        parts.append(f"\n{variant or 'kbit/s'}")
        parts.append(layout(*outcome_rows(outcome, variant)))
    parts.append("")
    parts += [check_line(check) for check in outcome["checks"]]
    return "\n".join(parts)


def outcome_rows(outcome: Table, variant: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a variant's table: systems side by side."""

    def result(system: str, value: object) -> Table:
        return next(
            p["result"]
            for p in outcome["points"]
            if (p["variant"], p["system"], p["value"]) == (variant, system, value)
        )

    systems = outcome["systems"]
    if outcome["about"]["plot"] == "sweep":
        return [outcome["about"]["sweep"]["key"], *systems], [
            [str(v), *(with_interval(result(s, v)["aggregate_kbps"]) for s in systems)]
            for v in outcome["values"]
        ]
    results = [result(system, None) for system in systems]
    names = [flow["name"] for flow in results[0]["flows"]]
    rows = [
        [name, *(with_interval(r["flows"][i]["goodput_kbps"]) for r in results)]
        for i, name in enumerate(names)
    ]
    rows.append(["aggregate", *(with_interval(r["aggregate_kbps"]) for r in results)])
    rows.append(["Jain", *(with_interval(r["jain"], 3) for r in results)])
    rows.append(["Jain over 10 s", *(with_interval(r["jain_10s"], 3) for r in results)])
    starved = (f"{100 * r['starved_10s']['mean']:.0f}%" for r in results)
    rows.append(["10 s with a flow < 5%", *starved])
    return ["kbit/s", *systems], rows


def check_line(check: Table) -> str:
    """'passed: text (measured +16%)'."""
    word = {True: "passed", False: "FAILED", None: "not measured"}[check["passed"]]
    return f"{word}: {check['text']}{measured_text(check)}"


def measured_text(check: Table) -> str:
    """What a check measured, in brackets."""
    percent = check["measure"] in ("gain", "reference", "flow_difference")
    shown = [
        (f"{m['at']}: " if len(check["measured"]) > 1 else "")
        + (f"{100 * m['value']:+.1f}%" if percent else f"{m['value']:.3f}")
        for m in check["measured"]
    ]
    return f" (measured {', '.join(shown)})" if shown else ""
