# SPDX-License-Identifier: GPL-2.0-only
"""``make demo`` where nothing can be emulated: the same scenario, simulated."""

from __future__ import annotations

from pacelab.experiment.campaign import run_all
from pacelab.experiment.definition import SCENARIOS
from pacelab.experiment.point_runs import PointRuns
from pacelab.scenario import resolve
from pacelab.scenario.document import override, read_document
from pacelab.scenario.schema import Table

FILE = SCENARIOS / "demo.toml"
# Of the gateway off, and on: as the file has it.
SETTINGS: tuple[Table, Table] = ({"gateway.law": "off"}, {})
SEEDS = 2
# A simulated person begins a page every 10 s at most: so long for as many as real time has.
DURATION_S = 90.0
MEAN_PAGE_BYTES = 41_000  # of 3GPP's model (docs/research/scenarios.md#people)


def demo() -> tuple[Table, Table]:
    """The results with the gateway off and on, with what hosts get alone."""
    document = simulated(read_document(str(FILE)))
    changed = [override(document, settings, str(FILE)) for settings in SETTINGS]
    points = [PointRuns(resolve(own, str(FILE)), with_solo=True) for own in changed]
    jobs = [point.of(range(1, SEEDS + 1)) for point in points]
    runs = run_all([job for own in jobs for job in own])
    for point, own in zip(points, jobs, strict=True):
        point.take(runs[: len(own)])
        runs = runs[len(own) :]
    off, on = (point.result() for point in points)
    return off, on


def simulated(document: Table) -> Table:
    """The demonstration with a person in place of the visitor, whom the simulator does not have."""
    (visitor,) = [flow for flow in document["flow"] if flow.get("traffic") == "http"]
    person = {
        "name": visitor["to"],
        "node": visitor["to"],
        "host": visitor["from"],
        "start_s": visitor["start_s"],
        "does": ["web"],
        "page_scale": visitor["objects"] * visitor["object_bytes"] / MEAN_PAGE_BYTES,
        "reading_s": visitor["pause_s"],
    }
    flows = [flow for flow in document["flow"] if flow is not visitor]
    return {**document, "duration_s": DURATION_S, "flow": flows, "person": [person]}
