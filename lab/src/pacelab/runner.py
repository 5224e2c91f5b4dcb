# SPDX-License-Identifier: GPL-2.0-only
"""Runs of the simulator: one resolved scenario, one seed, one result; cached.

A result is kept under the hash of scenario, seed and program, so that an interrupted campaign
goes on where it stopped and a repeated one costs nothing.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacelab.errors import RunError
from pacelab.schema import Table

ROOT = Path(__file__).resolve().parents[3]
DEFAULT_PROGRAM = ROOT / "build" / "sim" / "meshpace-sim"


@dataclass(frozen=True)
class Job:
    """One run: a resolved scenario as JSON text, and a seed."""

    scenario: str
    seed: int
    use_cache: bool = True


def make_job(scenario: Table, seed: int, *, use_cache: bool = True) -> Job:
    """The job for a resolved scenario and a seed."""
    return Job(json.dumps(scenario, sort_keys=True), seed, use_cache)


def program() -> Path:
    """The simulator: $MESHPACE_SIM, or the one that ``make build`` makes."""
    path = Path(os.environ.get("MESHPACE_SIM", DEFAULT_PROGRAM))
    if not path.is_file():
        raise RunError(f"{path}: the simulator is not there; run make build")
    return path


@functools.cache
def program_hash() -> str:
    """SHA-256 of the simulator."""
    return hashlib.sha256(program().read_bytes()).hexdigest()


def cache_folder() -> Path:
    """$PACELAB_CACHE, or pacelab's folder in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("PACELAB_CACHE") or Path(base) / "pacelab")


def _cache_file(job: Job) -> Path:
    key = hashlib.sha256(f"{program_hash()}\n{job.seed}\n{job.scenario}".encode()).hexdigest()
    return cache_folder() / key[:2] / f"{key}.json"


def cached(job: Job) -> Table | None:
    """The result of an earlier run, None when there is none or it is damaged."""
    if not job.use_cache:
        return None
    try:
        result = json.loads(_cache_file(job).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return result if isinstance(result, dict) and "flows" in result else None


def _store(job: Job, text: str) -> None:
    """Writes a result so that a reader sees all of it or nothing; a full disk is no failure."""
    file = _cache_file(job)
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=file.parent, suffix=".part", delete=False, encoding="utf-8"
        ) as part:
            part.write(text)
        os.replace(part.name, file)


def execute(job: Job) -> Table:
    """Runs a job, or takes its cached result.

    Raises RunError with the simulator's last line when it fails.
    """
    known = cached(job)
    if known is not None:
        return known
    with tempfile.TemporaryDirectory(prefix="pacelab-") as folder:
        file = Path(folder) / "scenario.json"
        file.write_text(job.scenario, encoding="utf-8")
        done = subprocess.run(
            [program(), file, "--seed", str(job.seed)],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        title = json.loads(job.scenario).get("title")
        reason = lines[-1] if lines else f"status {done.returncode}"
        raise RunError(f'"{title}", seed {job.seed}: the simulator failed: {reason}')
    result: Any = json.loads(done.stdout)
    _store(job, done.stdout)
    return dict(result)
