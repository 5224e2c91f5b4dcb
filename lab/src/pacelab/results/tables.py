# SPDX-License-Identifier: GPL-2.0-only
"""Results as text tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from pacelab.results.host_tables import UNSERVED, host_rows, unserved_hosts
from pacelab.results.measures import MEASURES, measured
from pacelab.results.sequential import MOST_SEEDS
from pacelab.results.stats import Interval
from pacelab.results.verdicts import FAILED, base_measure, compares, in_percent
from pacelab.scenario.schema import Table


def with_interval(value: Interval, digits: int = 0) -> str:
    """'612 ± 4'; without an interval just the mean."""
    text = f"{value['mean']:.{digits}f}"
    return text if value["ci95"] is None else f"{text} ± {value['ci95']:.{digits}f}"


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
            count_text(flow["timeouts"], 1),
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
        # Flows alone do not make up the sum where there are people.
        who = "all, with people" if result["runs"][0].get("people") else "all"
        rows.append([who, "", "", "", total, "", "", ""])
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
        f"{result['scenario']['title']}\n{layout(header, rows)}\n"
        f"{_pages(result)}{_transfers(result)}{_pings(result)}{_people(result)}{fairness}"
        f"mean ± 95% interval, {how}"
    )


def count_text(count: float | None, digits: int) -> str:
    """A count, or "-" where nobody counted."""
    return "-" if count is None else f"{count:.{digits}f}"


def _pages(result: Table) -> str:
    """A line for each flow of web pages."""
    lines = [f"{flow['name']}: {pages_text(flow)}\n" for flow in result["flows"] if "pages" in flow]
    return "".join(lines)


def pages_text(flow: Table) -> str:
    """'2.34 ± 0.10 s a page, 12 pages'."""
    if not flow["page_load_s"]:
        return "no page was loaded"
    return f"{with_interval(flow['page_load_s'], 2)} s a page, {flow['pages']} pages"


def _people(result: Table) -> str:
    """A line for each figure of hosts and persons."""
    rows = host_rows([{"result": result}])
    return "".join(f"{label}: {_text(name, values[0])}\n" for label, name, values in rows)


def _transfers(result: Table) -> str:
    """A line for each flow of files, one for all of them."""
    lines = [
        f"{flow['name']}: {with_interval(flow['transfer_kbps'])} kbit/s a transfer, "
        f"{flow['transfers']} transfers, {flow['unfinished']} unfinished\n"
        for flow in result["flows"]
        if "transfers" in flow
    ]
    if len(lines) > 1:
        lines.append(
            f"transfers together: {with_interval(result['transfer_kbps'])} kbit/s, "
            f"Jain {with_interval(result['transfer_jain'], 3)}\n"
        )
    return "".join(lines)


def _pings(result: Table) -> str:
    """A line for each ping."""
    return "".join(
        f"ping {ping['from']} > {ping['to']}: {ping_text(ping)}\n" for ping in result["pings"]
    )


def ping_text(ping: Table) -> str:
    """'45 ± 3 ms, 95% within 90 ± 8 ms, 0.4 of 500 lost'."""
    rtt = ping["rtt_ms"]
    times = "no answer"
    if rtt:
        mean, p95 = with_interval(rtt["mean"]), with_interval(rtt["p95"])
        times = f"{mean} ms, 95% within {p95} ms"
    return f"{times}, {ping['lost']['mean']:.3g} of {ping['sent']['mean']:.0f} lost"


def outcome_table(outcome: Table) -> str:
    """An experiment's points, then its checks."""
    parts = [f"{outcome['about']['figure']}: {outcome['title']}"]
    for caption, header, rows in outcome_rows(outcome):
        parts.append(f"\n{caption}")
        parts.append(layout(header, rows))
    parts.append("")
    parts += [check_line(check) for check in outcome["checks"]]
    return "\n".join(parts)


Rows = tuple[str, list[str], list[list[str]]]


def outcome_rows(outcome: Table) -> list[Rows]:
    """Captions, headers and rows of an experiment's tables, a set for each variant."""
    tables: list[Rows] = []
    for variant in outcome["variants"]:
        points = [p for p in outcome["points"] if p["variant"] == variant]
        before = f"{variant}: " if variant else ""
        if outcome["about"]["sweep"]:
            for name in _swept_measures(outcome):
                tables.append(_swept(outcome, points, name, before))
        else:
            tables.append(_of_flows(points, before))
        if outcome["about"]["sweep"] and len(points[0]["result"]["flows"]) > 1:
            tables.append(_fairness(points, before))
        tables += _of_hosts(points, before)
    return tables


def _swept_measures(outcome: Table) -> list[str]:
    """What the pictures show, goodput first."""
    pictures = [p["measure"] for p in outcome["about"]["picture"] if p["kind"] == "sweep"]
    return list(dict.fromkeys(["goodput", *pictures]))


def _swept(outcome: Table, points: Sequence[Table], name: str, before: str) -> Rows:
    """A measure, systems side by side, a row for each value of the swept key."""
    about = outcome["about"]
    cells = {(p["system"], p["value"]): _cell(name, p) for p in points}
    rows = [
        [str(v), *(cells.get((s, v), "-") for s in outcome["systems"])] for v in outcome["values"]
    ]
    header = [about["xlabel"] or about["sweep"]["key"], *outcome["systems"]]
    return f"{before}{MEASURES[name].label}", header, rows


def _cell(name: str, point: Table) -> str:
    return _text(name, measured(name, point))


def _text(name: str, value: Interval | None) -> str:
    if value is None:
        return "-"
    if not MEASURES[name].percent:
        return with_interval(value, MEASURES[name].digits)
    width = None if value["ci95"] is None else 100 * value["ci95"]
    return f"{with_interval({'mean': 100 * value['mean'], 'ci95': width}, 1)}%"


def _of_flows(points: Sequence[Table], before: str) -> Rows:
    """Flows, their sum, fairness and TCP's losses, systems side by side."""
    results = [p["result"] for p in points]
    names = list(dict.fromkeys(f["name"] for r in results for f in r["flows"]))
    rows = [[name, *(_flow_cell(r, name) for r in results)] for name in names]
    rows.append(["aggregate", *(_cell("goodput", p) for p in points)])
    shown = ["retransmits", "timeouts"]
    if max(len(r["flows"]) for r in results) > 1 and all(map(ever_together, results)):
        shown = ["jain", "jain_10s", "starved_10s", *shown]
    if any(r.get("transfer_kbps") for r in results):
        shown = ["transfer_kbps", "transfer_jain", *shown]
    rows += [[MEASURES[m].label, *(_cell(m, p) for p in points)] for m in shown]
    return f"{before}goodput, kbit/s", ["flow", *(p["system"] for p in points)], rows


def ever_together(result: Table) -> bool:
    """Whether there is a time in which all flows are there; else no fairness is theirs."""
    flows = result["scenario"]["flows"]
    begin_s = max(float(f["start_s"]) for f in flows)
    return all(not f["stop_s"] or float(f["stop_s"]) > begin_s for f in flows)


def _flow_cell(result: Table, name: str) -> str:
    of = next((f["goodput_kbps"] for f in result["flows"] if f["name"] == name), None)
    return "-" if of is None else with_interval(of)


def _fairness(points: Sequence[Table], before: str) -> Rows:
    """Fairness over the run and over 10 s, a row for each point."""
    shown = ("jain", "jain_10s", "starved_10s")
    rows = [[f"{p['system']}, {p['value']}", *(_cell(m, p) for m in shown)] for p in points]
    return f"{before}fairness", ["", *(MEASURES[m].label for m in shown)], rows


def _of_hosts(points: Sequence[Table], before: str) -> list[Rows]:
    """What hosts get and what persons feel, points side by side; nothing where neither is known."""
    rows = [
        [label, *(_text(name, value) for value in values)]
        for label, name, values in host_rows(points)
    ]
    if not rows:
        return []
    without = [", ".join(unserved_hosts(point)) for point in points]
    rows += [[UNSERVED, *(names or "none" for names in without)]] if any(without) else []
    systems = [
        p["system"] if p["value"] is None else f"{p['system']}, {p['value']}" for p in points
    ]
    return [(f"{before}hosts and persons", ["", *systems], rows)]


def check_line(check: Table) -> str:
    """'passed: text (measured +16 ± 3%)'; of an undecided one, what it would take."""
    word = check["outcome"].upper() if check["outcome"] == FAILED else check["outcome"]
    parts = (
        _measured_in_words(check),
        unmeasured_text(check),
        without_text(check),
        needs_text(check),
    )
    text = "; ".join(part for part in parts if part)
    return f"{word}: {check['text']}" + (f" ({text})" if text else "")


def _measured_in_words(check: Table) -> str:
    text = measured_text(check)
    return f"measured {text}" if text else ""


def unmeasured_text(check: Table) -> str:
    """At which values there was nothing to be measured in any run; "" where at none of several."""
    values = check.get("unmeasured") or []
    lack = [str(value) for value in values if value is not None]
    return f"nothing to measure at {', '.join(lack)}" if lack else ""


def without_text(check: Table) -> str:
    """In how many runs there was nothing to be measured; "" where in each."""
    without = check.get("without") or 0
    return f"in {without} more runs there is nothing to measure" if without else ""


def needs_text(check: Table) -> str:
    """What it would take to decide a check that is undecided; "" where that was not asked."""
    needs = check.get("needs")
    if needs is None:
        return ""
    if needs["seeds"] is None:
        most = needs.get("most", MOST_SEEDS)
        return f"not to be decided by {most} seeds as it looks now"
    return f"about {needs['seeds']} seeds would decide it, {needs['cpu_s'] / 60:.1f} CPU min more"


def measured_text(check: Table) -> str:
    """What a check measured, at each of its values."""
    percent = in_percent(check)
    digits = 3 if percent or check["measure"] == "flow_difference" else _digits(check)
    many = len(check["measured"]) > 1
    return ", ".join(
        (f"{m['at']}: " if many else "") + _number(m, percent, digits, compares(check))
        for m in check["measured"]
    )


def _digits(check: Table) -> int:
    if check["measure"] == "reference":
        return 3
    return MEASURES[base_measure(check)].digits


def _number(m: Table, percent: bool, digits: int, signed: bool) -> str:
    factor = 100 if percent else 1
    places = 1 if percent else digits
    sign = "+" if signed else ""
    text = f"{factor * m['value']:{sign}.{places}f}"
    if m["ci95"] is not None:
        text += f" ± {factor * m['ci95']:.{places}f}"
    return text + ("%" if percent else "")
