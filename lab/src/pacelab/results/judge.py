# SPDX-License-Identifier: GPL-2.0-only
"""Judges an experiment by its checks.

Each check is judged at each of its values. A check claims a difference when 0 would not meet it;
it passes only where the intervals do not touch, since a difference inside them is no difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pacelab.results.measures import MEASURES, Selection, apart, measured
from pacelab.results.stats import Interval, interval
from pacelab.scenario.schema import Table

PASSED, FAILED, INSIDE = "passed", "failed", "inside the intervals"
STATED, MISSING = "stated", "not measured"

# Measures that compare two systems by another's name.
COMPARING = {"gain": "goodput", "jain_gain": "jain"}


def find(outcome: Table, variant: str, system: str, value: Any) -> Table | None:
    """The point of an outcome, None when it was not simulated."""
    for point in outcome["points"]:
        if (point["variant"], point["system"], point["value"]) == (variant, system, value):
            found: Table = point
            return found
    return None


def base_measure(check: Table) -> str:
    """The measure that a check looks at, or compares."""
    return COMPARING.get(check["measure"], str(check["measure"]))


def compares(check: Table) -> bool:
    """Whether a check looks at how far one thing lies above another."""
    others = ("over", "over_variant", "over_while", "over_links", "over_flows", "over_hosts")
    return any(check.get(key) for key in others) or check.get("over_at") is not None


def in_percent(check: Table) -> bool:
    """Whether what a check measures reads as a percentage."""
    if check["measure"] in ("reference", "flow_difference"):
        return True
    measure = MEASURES[base_measure(check)]
    if check.get("trend") and not compares(check):
        return measure.percent
    return measure.percent or (compares(check) and not measure.absolute)


def _at(check: Table, outcome: Table, at: Any) -> Interval | None:
    """What a check measures at a value."""
    variant = check["variant"]
    point = find(outcome, variant, check["of"], at)
    if point is None:
        return None
    if check["measure"] == "reference":
        return _over_reference(outcome, point, at)
    if check["measure"] == "flow_difference":
        return _flow_difference(point)
    name = base_measure(check)
    own = Selection(check["flows"], check["while"], check["links"], check["hosts"])
    value = measured(name, point, own)
    if not compares(check) or value is None:
        return value
    other = find(
        outcome,
        variant if check["over_variant"] is None else check["over_variant"],
        check["over"] or check["of"],
        at if check["over_at"] is None else check["over_at"],
    )
    if other is None:
        return None
    links = check["over_links"] or check["links"]
    alone = check["over_while"] or check["while"]
    flows = check["over_flows"] or check["flows"]
    hosts = check["over_hosts"] or check["hosts"]
    base = measured(name, other, Selection(flows, alone, links, hosts))
    return apart(name, value, base) if base is not None else None


def _over_reference(outcome: Table, point: Table, at: Any) -> Interval | None:
    """Goodput above a figure known from elsewhere: the system's own, or the experiment's."""
    about = outcome["about"]
    own = next((s.get("reference") for s in about["system"] if s["name"] == point["system"]), None)
    known = (own or (about["reference"] or {}).get("values") or {}).get(str(at))
    goodput = point["result"]["aggregate_kbps"]
    return apart("goodput", goodput, {"mean": float(known), "ci95": None}) if known else None


def _flow_difference(point: Table) -> Interval:
    flows = [flow["goodput_kbps"]["mean"] for flow in point["result"]["flows"]]
    return interval([max(flows) / max(min(flows), 1e-9) - 1])


def _bounds(check: Table) -> tuple[float, float]:
    low = -math.inf if check["least"] is None else float(check["least"])
    high = math.inf if check["most"] is None else float(check["most"])
    return low, high


def _outcome_of(check: Table, value: Interval) -> str:
    """passed, failed, or inside the intervals, of one measured value."""
    low, high = _bounds(check)
    width = value["ci95"] or 0.0
    if not low <= value["mean"] <= high:
        reaches = value["mean"] + width >= low and value["mean"] - width <= high
        return INSIDE if reaches else FAILED
    claims = compares(check) and (low >= 0 or high <= 0)
    return INSIDE if claims and abs(value["mean"]) <= width else PASSED


def _trend(check: Table, values: Sequence[Interval]) -> str:
    """Whether the last value lies beyond the first, outside their intervals."""
    step = values[-1]["mean"] - values[0]["mean"]
    width = (values[-1]["ci95"] or 0.0) + (values[0]["ci95"] or 0.0)
    right = step > 0 if check["trend"] == "rises" else step < 0
    if abs(step) <= width:
        return INSIDE
    return PASSED if right else FAILED


def _together(outcomes: Sequence[str], which: str) -> str:
    """Of a check that has to pass at every value, or at some."""
    order = (FAILED, INSIDE, PASSED) if which == "every" else (PASSED, INSIDE, FAILED)
    return next(o for o in order if o in outcomes)


def judge(check: Table, outcome: Table) -> Table:
    """The check with what was measured at each value, its ``outcome`` and whether it ``passed``.

    ``passed`` is None for what was not measured or is stated without a criterion.
    """
    places = check["at"] or outcome["values"]
    found = [(at, _at(check, outcome, at)) for at in places]
    measured_at = [(at, value) for at, value in found if value is not None]
    values = [value for _, value in measured_at]
    if not values or (check["trend"] and len(values) < 2):
        word = MISSING
    elif check["trend"]:
        word = _trend(check, values)
    elif check["least"] is None and check["most"] is None:
        word = STATED
    else:
        word = _together([_outcome_of(check, value) for value in values], check["which"])
    return {
        **check,
        "measured": [{"at": at, "value": v["mean"], "ci95": v["ci95"]} for at, v in measured_at],
        "outcome": word,
        "passed": {PASSED: True, FAILED: False, INSIDE: False}.get(word),
    }


def verdict(checks: Sequence[Table]) -> str:
    """holds / partly / does not hold, from the checks that could be judged."""
    passed = [check["passed"] for check in checks if check["passed"] is not None]
    if not passed:
        return "not judged"
    if all(passed):
        return "holds"
    return "partly" if any(passed) else "does not hold"
