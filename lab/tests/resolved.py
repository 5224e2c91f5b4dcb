# SPDX-License-Identifier: GPL-2.0-only
"""Digests of what the simulator is handed for each file of scenarios/.

``resolved.json`` has them as they were when somebody last meant to change them. To change them:
``python tests/resolved.py >tests/resolved.json``, in lab/.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from pacelab.experiment.catalogue import experiment_files
from pacelab.experiment.definition import SCENARIOS, load_experiment
from pacelab.experiment.runner import make_job
from pacelab.scenario import load

KEPT = Path(__file__).with_suffix(".json")


def _jobs(file: Path) -> Iterator[str]:
    """The scenario of the file itself, and of each point and each base of a search."""
    yield make_job(load(str(file), emulated=True), 1).scenario
    if file not in experiment_files().values():
        return
    for quick in (False, True):
        experiment = load_experiment(file, quick=quick)
        for point in (*experiment.points, *experiment.bases):
            yield make_job(point.scenario(), 1).scenario


def digests() -> dict[str, str]:
    """By the name of the file."""
    found = {}
    for file in sorted(SCENARIOS.glob("*.toml")):
        text = "\n".join(_jobs(file))
        found[file.name] = hashlib.sha256(text.encode()).hexdigest()
    return found


if __name__ == "__main__":
    json.dump(digests(), sys.stdout, indent=1)
    print()
