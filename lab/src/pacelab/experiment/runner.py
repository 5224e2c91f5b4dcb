# SPDX-License-Identifier: GPL-2.0-only
"""Runs of the simulator: one resolved scenario, one seed, one result; cached.

A result is kept under the hash of scenario, seed and program, so that an interrupted campaign
goes on where it stopped and a repeated one costs nothing. The title is no part of the hash:
experiments share the runs that they have in common. What a run cost is kept beside its result,
not in it: results are the same wherever they are made.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from pacelab.errors import InputError, RunError
from pacelab.results.runs import Run
from pacelab.scenario.models import Scenario
from pacelab.simulator import present_hash, program, program_hash

# What a file with a run's CPU seconds ends in.
COST = ".cost"

# The exit status at which it refuses a scenario.
BAD_SCENARIO = 2


@dataclass(frozen=True)
class Job:
    """One run: a resolved scenario as JSON text, and a seed."""

    scenario: str
    seed: int
    use_cache: bool = True


def make_job(scenario: Scenario, seed: int, *, use_cache: bool = True) -> Job:
    """The job for a resolved scenario and a seed."""
    return Job(json.dumps(scenario.as_dict(), sort_keys=True), seed, use_cache)


def cache_folder() -> Path:
    """$PACELAB_CACHE, or pacelab's folder in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("PACELAB_CACHE") or Path(base) / "pacelab")


def same_run(job: Job, by: str | None = None) -> str:
    """A name that two jobs share just when their runs are the same; ``by``: the simulator's hash,
    None: that of this process.
    """
    scenario = json.loads(job.scenario)
    scenario.pop("title", None)
    text = json.dumps(scenario, sort_keys=True)
    return hashlib.sha256(f"{by or program_hash()}\n{job.seed}\n{text}".encode()).hexdigest()


def _cache_file(job: Job, by: str | None = None) -> Path:
    key = same_run(job, by)
    return cache_folder() / key[:2] / f"{key}.json"


def cached(job: Job, by: str | None = None) -> Run | None:
    """The result of an earlier run, None when there is none or it is damaged."""
    if not job.use_cache:
        return None
    try:
        result = json.loads(_cache_file(job, by).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return cast(Run, result) if isinstance(result, dict) and "flows" in result else None


def cost_s(job: Job) -> float | None:
    """The CPU seconds that a run took when it was made; None where it was made elsewhere."""
    try:
        return float(_cache_file(job).with_suffix(COST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def need_cache() -> None:
    """InputError where no run can be kept here, for what must find them again."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"room")
    except OSError as error:
        raise InputError(
            f"{folder}: runs cannot be kept there ({error.strerror}); "
            "make room, or set PACELAB_CACHE to another folder"
        ) from None


def _store(file: Path, text: str) -> None:
    """Writes a file so that a reader sees all of it or nothing; a full disk is no failure."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=file.parent, suffix=".part", delete=False, encoding="utf-8"
        ) as part:
            part.write(text)
        os.replace(part.name, file)


def _store_cost(file: Path, cpu_s: float) -> None:
    _store(file.with_suffix(COST), f"{cpu_s:.3f}\n")


def keep(job: Job, result: Run, cpu_s: float | None = None) -> None:
    """Caches here what a run gave elsewhere, so that a later call finds it, whoever then works;
    and what it cost, where that is known.
    """
    file = _cache_file(job)
    if job.use_cache and not file.exists():
        _store(file, json.dumps(result))
        if cpu_s is not None:
            _store_cost(file, cpu_s)


def execute_by(program_sha256: str, job: Job) -> Run:
    """``execute`` for a campaign, here or elsewhere; RunError where this machine's simulator is
    another, or has become one since the campaign began.
    """
    own = present_hash()
    if own != program_sha256:
        raise RunError(
            f"worker {socket.gethostname()}: has another simulator ({own[:8]}, and the campaign "
            f"{program_sha256[:8]}); build the same commit there, or set MESHPACE_SIM to the same; "
            "if it was built anew here meanwhile, run it again, to begin with it"
        )
    return execute(job, program_sha256)


def execute(job: Job, by: str | None = None) -> Run:
    """Runs a job by this process's simulator, or that of a hash, or takes its cached result.

    Raises InputError when the simulator refuses the scenario, RunError when it fails; either
    with its last line. RunError, too, where another simulator was built meanwhile: nobody knows
    which of them ran.
    """
    by = by or program_hash()
    known = cached(job, by)
    if known is not None:
        return known
    with tempfile.TemporaryDirectory(prefix="pacelab-") as folder:
        file = Path(folder) / "scenario.json"
        file.write_text(job.scenario, encoding="utf-8")
        done = _run([str(program()), str(file), "--seed", str(job.seed)], Path(folder))
    if present_hash() != by:
        raise RunError(f"{program()}: was built anew while it ran; run it again, to begin with it")
    if done.status != 0:
        title = json.loads(job.scenario).get("title")
        reason = _reason(done)
        if done.status == BAD_SCENARIO:
            raise InputError(f'"{title}": {reason.removeprefix("meshpace-sim: ")}')
        raise RunError(f'"{title}", seed {job.seed}: the simulator failed: {reason}')
    result: Run = json.loads(done.output)
    _store(_cache_file(job, by), done.output)
    _store_cost(_cache_file(job, by), done.cpu_s)
    return result


# What ns-3 says before it gives itself up; its last line is the C++ library's, which says nothing.
NS3_REASONS = ("NS_ASSERT", "NS_ABORT", "msg=")


def _reason(done: _Done) -> str:
    """Why a program has failed, in one line."""
    lines = done.error.strip().splitlines() or [f"status {done.status}"]
    return next((line for line in lines if line.startswith(NS3_REASONS)), lines[-1])


@dataclass(frozen=True)
class _Done:
    """A program that has ended."""

    status: int
    output: str
    error: str
    cpu_s: float


class UnderWay:
    """The simulators that run for this process, in whichever of its threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pids: set[int] = set()
        self._ended = False

    def start(self, command: list[str], out: IO[bytes], err: IO[bytes]) -> subprocess.Popen[bytes]:
        """Starts one; RunError once all are ended."""
        with self._lock:
            if self._ended:
                raise RunError("interrupted")
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            self._pids.add(process.pid)
            return process

    def wait(self, pid: int) -> tuple[int, float]:
        """Its exit status, and the CPU time that it took, s."""
        _, status, usage = os.wait4(pid, 0)
        with self._lock:
            self._pids.discard(pid)
        return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime

    @contextlib.contextmanager
    def ended_if_interrupted(self) -> Iterator[None]:
        """All of them end, and none begins until the next campaign, once this is interrupted."""
        self._ended = False
        try:
            yield
        except KeyboardInterrupt:
            with self._lock:
                self._ended = True
                for pid in self._pids:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGTERM)
            raise


UNDER_WAY = UnderWay()


def _run(command: list[str], folder: Path) -> _Done:
    """Runs a program to its end; its output goes through files, so that its CPU time is its own."""
    output, error = folder / "output", folder / "error"
    with output.open("wb") as out, error.open("wb") as err:
        process = UNDER_WAY.start(command, out, err)
        process.returncode, cpu_s = UNDER_WAY.wait(process.pid)
    return _Done(
        process.returncode,
        output.read_text(encoding="utf-8", errors="replace"),
        error.read_text(encoding="utf-8", errors="replace"),
        cpu_s,
    )
