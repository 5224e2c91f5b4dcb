# SPDX-License-Identifier: GPL-2.0-only
"""What the real gateway and the real sender said of the flows, once a second."""

from __future__ import annotations

import statistics
import subprocess
from dataclasses import dataclass, field

from pacelab.emulation.gateway import Gateway, answer
from pacelab.emulation.plan import FlowPlan
from pacelab.emulation.sender import Sender
from pacelab.scenario.schema import Table


@dataclass
class _Said:
    """One answer about a flow."""

    time_s: float
    row: Table


@dataclass
class Watch:
    """Asks gateway and sender; ``pacing`` and ``local_retransmits`` tell what came of it."""

    gateway: Gateway | None
    sender: Sender | None
    plans: list[FlowPlan]
    counters: list[tuple[float, Table]] = field(default_factory=list)
    _said: dict[str, list[_Said]] = field(default_factory=dict)
    _questions: list[tuple[float, str, subprocess.Popen[str]]] = field(default_factory=list)

    def ask(self, time_s: float) -> None:
        """Takes the answers to the questions asked last, and asks anew."""
        self.collect()
        if self.gateway:
            self._questions.append((time_s, "gateway", self.gateway.ask()))
        if self.sender:
            for question in self.sender.ask():
                self._questions.append((time_s, "sender", question))

    def collect(self) -> None:
        """Takes the answers that are still to come."""
        for time_s, who, question in self._questions:
            document = answer(question)
            if document is None:
                continue
            if who == "gateway":
                self.counters.append((time_s, document["counters"]))
            for plan in self.plans:
                row = _row(document["flows"], plan, who)
                if row:
                    self._said.setdefault(f"{who} {plan.name}", []).append(_Said(time_s, row))
        self._questions.clear()

    def local_retransmits(self, plan: FlowPlan, begin_s: float, end_s: float) -> int:
        """Segments that the gateway sent again by itself."""
        return _growth(self._of("gateway", plan), "local_retransmits", begin_s, end_s)

    def pacing(self, plan: FlowPlan, begin_s: float, end_s: float) -> Table | None:
        """Means over the answers, and the median interval; None of a flow that is not paced.

        The smoothed delay follows from the interval: GAP eq. (4), R = 1 / (delay (1 + 2 CoV)).
        """
        said = self._of("gateway" if plan.direction == "down" else "sender", plan)
        rows = [s.row for s in said if begin_s <= s.time_s <= end_s and s.row["interval_us"] > 0]
        if not rows:
            return None
        delays = [row["interval_us"] / 1e3 / (1 + 2 * row["cov"]) for row in rows]
        intervals_ms = [row["interval_us"] / 1e3 for row in rows]
        return {
            "rate_pps": round(statistics.fmean(1e3 / one for one in intervals_ms), 6),
            "cov": round(statistics.fmean(row["cov"] for row in rows), 6),
            "delay_ms": round(statistics.fmean(delays), 3),
            "samples": _growth(said, "samples", begin_s, end_s),
            "discarded": _growth(said, "discarded", begin_s, end_s),
            "interval_ms": round(statistics.median(intervals_ms), 3),
            "throttled": round(statistics.fmean(row.get("throttled", False) for row in rows), 3),
        }

    def _of(self, who: str, plan: FlowPlan) -> list[_Said]:
        return self._said.get(f"{who} {plan.name}", [])


def _row(flows: list[Table], plan: FlowPlan, who: str) -> Table | None:
    """A flow's data connection in a status: that with its port which carried most."""
    if who == "gateway":
        end = "mesh" if plan.direction == "down" else "wired"
        mine = [f for f in flows if f["direction"] == plan.direction]
    else:
        end, mine = "remote", flows
    mine = [f for f in mine if f[end].endswith(f":{plan.port}")]
    return max(mine, key=lambda f: int(f["acked_bytes"]), default=None)


def _growth(said: list[_Said], key: str, begin_s: float, end_s: float) -> int:
    """By how much a counter grew; since its beginning if the flow was not there before."""
    within = [s.row[key] for s in said if s.time_s <= end_s]
    before = [s.row[key] for s in said if s.time_s <= begin_s]
    return max(int(within[-1] - (before[-1] if before else 0)), 0) if within else 0
