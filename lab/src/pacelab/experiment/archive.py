# SPDX-License-Identifier: GPL-2.0-only
"""Runs that a campaign keeps with its figures, from which a later call goes on, elsewhere too.

The cache names a run by the program that made it, and each build is another program. Here a run
stands with its scenario, and those of another program are taken on trial: of each *kind* (laws,
congestion control of flows and of people, radio, opaque flows or none) one, drawn by lot, is
simulated again. Where it comes out the same, the kind is taken; where not, its runs are made anew,
as if they were not there. What changes one run of a kind in a thousand passes this; a change of a
law, of a sender or of the radio does not.
"""

from __future__ import annotations

import json
import lzma
import random
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from pacelab.errors import InputError, RunError
from pacelab.experiment.campaign import run_all
from pacelab.experiment.reproduce import Workers
from pacelab.experiment.runner import Job, cache_folder, cached, cost_s, keep
from pacelab.results.runs import Run
from pacelab.scenario.models import Scenario
from pacelab.scenario.schema import Table
from pacelab.simulator import program_hash

NAME = "runs.xz"  # in a group's folder
SCHEMA = 1

Kept = Mapping[Job, tuple[Run, float | None]]


def write(file: Path, jobs: Collection[Job]) -> None:
    """Writes the runs of jobs, and those that the file has of others and the cache too.

    Raises RunError, and leaves the file as it is, where the cache has lost some of jobs.
    """
    program, before, _ = _read(file) if file.exists() else ("", {}, 0)
    known = dict(before) if program == program_hash() else {}
    for job in {*jobs, *before}:
        run = cached(job)
        if run is not None:
            known[job] = run, cost_s(job)
    lost = sum(job not in known for job in jobs)
    if lost:
        raise RunError(
            f"{cache_folder()}: has {lost} runs of this call no longer, so that {file} is left as "
            "it was; make room there, or set PACELAB_CACHE to another folder"
        )
    text = json.dumps(_document(known), sort_keys=True)
    part = file.with_suffix(".part")
    part.write_bytes(lzma.compress(text.encode()))
    part.replace(file)  # an interruption leaves the file as it was


def take(file: Path, workers: Workers) -> None:
    """Puts a file's runs into the cache, those of kinds that come out the same again.

    Raises InputError when the file is no archive.
    """
    program, kept, unknown = _read(file)
    if unknown:
        sys.stderr.write(
            f"pacelab: {unknown} kept runs are left out: scenarios have other keys now\n"
        )
    for job, (run, cpu_s) in (
        kept if program == program_hash() else _trusted(kept, workers)
    ).items():
        keep(job, run, cpu_s)


def _trusted(kept: Kept, workers: Workers) -> Kept:
    """Of runs of another program those whose kinds come out the same here.

    The lot falls on the same run of a kind however often a campaign is begun with this program, and
    whatever it has made meanwhile: what was refused is not taken the next time, by better luck.
    """
    kinds: dict[str, list[Job]] = defaultdict(list)
    for job in kept:
        kinds[_kind(json.loads(job.scenario))].append(job)
    drawn = {
        kind: random.Random(program_hash() + kind).choice(sorted(jobs, key=repr))
        for kind, jobs in sorted(kinds.items())
    }
    again = run_all(list(drawn.values()), workers.jobs, workers.scheduler)
    trusted: dict[Job, tuple[Run, float | None]] = {}
    for (kind, job), run in zip(drawn.items(), again, strict=True):
        if run == kept[job][0]:
            trusted |= {one: kept[one] for one in kinds[kind]}
        else:
            count = len(kinds[kind])
            sys.stderr.write(f"pacelab: {count} kept runs are made anew, by another law: {kind}\n")
    return trusted


def _kind(scenario: Table) -> str:
    """What is likely to change a run when it changes: the words of its laws, senders, radio."""
    flows, people = scenario["flows"], scenario["people"]
    words = [
        scenario["gateway"]["law"],
        *sorted({f"{flow['law']} {flow['variant']}" for flow in flows}),
        *sorted({f"people {one['law']} {one['variant']}" for one in people}),
        *(["opaque"] if any(one["opaque"] for one in [*flows, *people]) else []),
        *(word for word in scenario["radio"].values() if isinstance(word, str)),
        scenario["routing"]["protocol"],
    ]
    return ", ".join(words)


def _document(found: Kept) -> Table:
    """Scenarios, each once, with their runs; in an order that does not depend on the campaign's."""
    scenarios: dict[str, list[Table]] = defaultdict(list)
    for job in sorted(found, key=lambda job: (job.scenario, job.seed)):
        run, cpu_s = found[job]
        scenarios[job.scenario].append({"seed": job.seed, "cpu_s": cpu_s, "run": run})
    listed = [{"scenario": json.loads(text), "runs": runs} for text, runs in scenarios.items()]
    return {"schema": SCHEMA, "program": program_hash(), "scenarios": listed}


def _read(file: Path) -> tuple[str, Kept, int]:
    """The program that made a file's runs, the runs, and how many are of no scenario of now."""
    try:
        document = json.loads(lzma.decompress(file.read_bytes()))
        if document["schema"] != SCHEMA:
            raise ValueError
        runs = [len(of["runs"]) for of in document["scenarios"]]
        kept = dict(_runs_of(document))
        return str(document["program"]), kept, sum(runs) - len(kept)
    except (OSError, ValueError, KeyError, TypeError, lzma.LZMAError):
        raise InputError(
            f"{file}: holds no runs that this pacelab reads; delete it, and they are made again"
        ) from None


def _completed(scenario: Table) -> str | None:
    """A scenario with the defaults of keys that came after it was kept; None: one has gone."""
    try:
        # Where a client sets out is said among the nodes alone.
        places = {node["name"]: {k: node[k] for k in ("x_m", "y_m")} for node in scenario["nodes"]}
        clients = [{**places[client["name"]], **client} for client in scenario["clients"]]
        whole = Scenario.model_validate({**scenario, "clients": clients})
    except (KeyError, ValidationError):
        return None
    return json.dumps(whole.as_dict(), sort_keys=True)


def _runs_of(document: Table) -> Iterator[tuple[Job, tuple[Run, float | None]]]:
    for of in document["scenarios"]:
        scenario = _completed(of["scenario"])
        if scenario is None:
            continue
        for own in of["runs"]:
            yield Job(scenario, own["seed"]), (own["run"], own["cpu_s"])
